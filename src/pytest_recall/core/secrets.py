"""Secrets: which values are known to be secret, how they may be spelt, and what looks like one."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import groupby, pairwise
from typing import Final
from urllib.parse import unquote

WELL_KNOWN: Final = (
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "AZURE_OPENAI_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_ACCESS_KEY_ID",
    "AWS_SESSION_TOKEN",
    "AWS_BEARER_TOKEN_BEDROCK",
    "GOOGLE_API_KEY",
    "GEMINI_API_KEY",
    "MISTRAL_API_KEY",
    "HF_TOKEN",
    "GITHUB_TOKEN",
    "OPENAI_ORG_ID",
    "OPENAI_PROJECT_ID",
)
"""Variables that are secret whatever they hold, and that name a value which others hold too."""

_SECRET_NAME = re.compile(
    r".*_(?:API)?(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|PASS|PWD|CREDENTIAL|PAT|AUTH|SAS|COOKIE)S?|"
    r"(?:API_?KEY|TOKEN|SECRET|PASSWORD|PGPASSWORD|SSHPASS)S?",
    re.IGNORECASE,
)
# Names under which people choose the value; a word or a number may well be the secret.
_CHOSEN = re.compile(r".*PASS(?:WORD|WD|PHRASE)?S?|.*(?:PWD|SECRETS?)", re.IGNORECASE)
_WORD = re.compile(
    r"changeme|disabled|enabled|localhost|minioadmin|password|placeholder|postgres|required|undefined", re.IGNORECASE
)
_SHORTEST = 8
_RUNS = ("0123456789", "abcdefghijklmnopqrstuvwxyz")
_PATH = re.compile(
    r"(?:~|\.{1,2}|[A-Za-z]:)[/\\]|/(?:app|bin|data|dev|etc|home|lib|mnt|opt|private|proc|root|run|srv|tmp|usr|var|"
    r"workspace|Library|Users|Volumes)(?:/|$)"
)
_URL_PASSWORD = re.compile(r"[A-Za-z][\w+.-]*://[^/?#@:\s]*:([^/?#\s]+)@")

# Nothing that encodes URLs, JSON or forms touches these.
_UNTOUCHED = re.compile(r"[A-Za-z0-9_.~-]+")
_JSON_LETTERS = {'"': '"', "'": "'", "/": "/", "\n": "n", "\r": "r", "\t": "t", "\b": "b", "\f": "f"}
# JSON within JSON doubles the backslashes; eight are four levels of it.
_BACKSLASHES = r"\\{1,8}"


def secret_names(env: Mapping[str, str], more: Iterable[str] = ()) -> dict[str, str]:
    """Return the variables of `env` that hold secrets, with their values; the well-known first.

    Secret are the well-known names, those in `more`, every name that ends like one (`_KEY`,
    `_TOKEN`, `_PASSWORD`…), and the password within a URL such as `DATABASE_URL`. Passed over are
    values of less than eight characters and those that are plainly none: words, numbers and paths
    that stand in ordinary text too.
    """
    found: dict[str, str] = {}
    named = list(dict.fromkeys([*WELL_KNOWN, *more]))
    for name in [*named, *sorted(env.keys() - set(named))]:
        value = env.get(name, "").strip()
        if name in named:
            found[name] = value
        elif _SECRET_NAME.fullmatch(name):
            # A list of keys (`API_KEYS=a,b`) is never sent as a whole.
            parts = re.split(r"[,;\s]+", value) if name.upper().endswith("KEYS") else [value]
            numbered = {f"{name}.{number}": part for number, part in enumerate(parts, 1)}
            plausible = numbered if len(parts) > 1 else {name: value}
            found.update({key: part for key, part in plausible.items() if not _ordinary(name, part)})
        elif url := _URL_PASSWORD.match(value):
            found[name] = unquote(url[1])
    return {name: value for name, value in found.items() if not _is_word(value)}


def _is_word(value: str) -> bool:
    """Tell whether nobody's secret looks like this."""
    return len(value) < _SHORTEST or bool(_WORD.fullmatch(value)) or len(set(value)) == 1


def _ordinary(name: str, value: str) -> bool:
    """Tell whether a variable with a secret's name holds something else."""
    if _PATH.match(value):
        return True
    return not _CHOSEN.fullmatch(name) and (value.isdecimal() or bool(re.fullmatch(r"[a-z _.-]{1,15}", value)))


def spellings(value: str) -> Iterator[tuple[bytes, bytes]]:
    """Yield the ways in which `value` may be spelt: a stretch that it must hold, and a regular expression.

    Any of its characters may be escaped for a URL, a form or JSON, or the whole be base64.
    """
    yield _raw(max(_UNTOUCHED.findall(value), key=len, default="")), _raw(_expression(value))
    data = _raw(value)
    # Three bytes are four characters, so there are three ways to fall on their boundaries. Only
    # the characters that hold nothing but bits of the value are looked for.
    for lead in range(3) if len(data) >= 6 else ():
        encoded = b64encode(b"\0" * lead + data + b"\0\0").decode()
        sure = encoded[-(-lead * 8 // 6) : (lead + len(data)) * 8 // 6]
        expression = "".join(_BASE64_SIGNS.get(char, char) for char in sure)
        yield _raw(max(re.split(r"[+/]", sure), key=len)), _raw(expression)


def _raw(text: str) -> bytes:
    """Return the bytes of any string that Python can hold."""
    return text.encode("utf-8", "surrogatepass")


def _expression(value: str) -> str:
    """Return a regular expression for `value`, each character as it is or escaped somehow."""
    pieces = []
    for char, run in groupby(value):
        count = len(list(run))
        if char == "\\":
            # As a run: one backslash after another, each of any length, would be tried in all ways.
            pieces.append(rf"(?:\\{{{count},{8 * count}}}|(?i:%(?:25){{0,3}}5c){{{count}}})")
        else:
            pieces.append(_sign(char) * count)
    return "".join(pieces)


def _sign(char: str, *also: str) -> str:
    """Return a regular expression for one character, as it is or escaped for a URL, a form or JSON."""
    if _UNTOUCHED.match(char):
        return re.escape(char)
    units = char.encode("utf-16-be", "surrogatepass").hex()
    ways = [
        re.escape(char),
        f"(?i:{''.join(f'%(?:25){{0,3}}{byte:02x}' for byte in _raw(char))})",
        f"(?i:{''.join(f'{_BACKSLASHES}u{units[at : at + 4]}' for at in range(0, len(units), 4))})",
        *also,
    ]
    if char in _JSON_LETTERS:
        ways.append(_BACKSLASHES + _JSON_LETTERS[char])
    if char == " ":
        ways.append(r"\+")
    return f"(?:{'|'.join(ways)})"


# The URL-safe alphabet writes these two otherwise.
_BASE64_SIGNS = {"+": _sign("+", "-"), "/": _sign("/", "_")}


# Lower-case words that mark a token as an example, and repetitions that nobody's generator makes.
_EXAMPLES = re.compile(
    r"(?<![a-z0-9])(?:dummy|fake|here|insert|invalid|local|mock|placeholder|redacted|replace|sample|test|your?)"
    r"(?![a-z0-9])|example|(.)\1{5}"
)
# What nobody's generator makes either, but may stand within a key: `123456`, `abcdef`.
_RUN = re.compile(
    rf"(?:{'|'.join(f'{one}(?={two})' for run in _RUNS for one, two in pairwise(run))}){{5,}}[0-9a-z]", re.IGNORECASE
)
_SHORTEST_TOKEN = 20
_ESCAPE = re.compile(r"\\{1,8}(?:[nrtbf\"'/]|u[0-9a-fA-F]{4})|%(?:25){0,3}[0-9A-Fa-f]{2}")
_VALUE = r"[\"']?\s{0,4}[:=]\s{0,4}[\"']?(?:(?:bearer|basic|token)\s)?([\w/+.~-]{20,}=*)"


@cache
def _tokens() -> tuple[tuple[str, str, re.Pattern[str]], ...]:
    """Return a description, a marker and an expression, which begins with the marker, per kind of token.

    The marker leads the expression, as that is what makes a search fast; that no word goes
    before it is looked up afterwards. Most runs write no recording and need none of them.
    """
    return tuple(
        (said, marker, re.compile(rf"{re.escape(marker)}(?<![\w-]{re.escape(marker)}){rest}", re.ASCII))
        for said, marker, rest in _TOKENS
    )


_TOKENS = (
    ("an Anthropic key", "sk-ant-", r"[\w-]{20,}"),
    ("an OpenRouter key", "sk-or-", r"[\w-]{20,}"),
    ("an OpenAI key", "sk-", r"(?!ant-|or-)[\w-]{20,}"),
    ("an AWS key id", "AKIA", r"[A-Z2-7]{16}(?![\w/+=-])"),
    ("an AWS key id", "ASIA", r"[A-Z2-7]{16}(?![\w/+=-])"),
    ("an AWS Bedrock key", "ABSK", r"[\w+/]{60,}=*"),
    *(("a GitHub token", f"gh{kind}_", r"[A-Za-z0-9]{36,}") for kind in "pousr"),
    ("a GitHub token", "github_pat_", r"\w{22,}"),
    ("a GitLab token", "glpat-", r"[\w-]{20,}"),
    ("a Google key", "AIza", r"[\w-]{35}(?![\w/+=-])"),
    ("a Google token", "ya29.", r"[\w-]{20,}"),
    ("a Google client secret", "GOCSPX-", r"[\w-]{20,}"),
    ("a Slack token", "xox", r"[abeoprs]-[\w-]{10,}"),
    ("a Hugging Face token", "hf_", r"[A-Za-z0-9]{30,}"),
    ("a Stripe key", "sk_live_", r"\w{16,}"),
    ("a Groq key", "gsk_", r"[A-Za-z0-9]{32,}"),
    ("an xAI key", "xai-", r"[A-Za-z0-9]{32,}"),
    ("an NVIDIA key", "nvapi-", r"[\w-]{32,}"),
    ("a LangSmith key", "lsv2_", r"[ps][kt]_\w{32,}"),
    ("a PyPI token", "pypi-", r"[\w-]{50,}"),
    ("an npm token", "npm_", r"[A-Za-z0-9]{36,}"),
    ("a JSON web token", "eyJ", r"[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}"),
)
_BEARER = re.compile(r"earer\s{1,4}([\w.~+/-]{20,}=*)", re.ASCII)
_PRIVATE_KEY = re.compile(r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----\s{1,8}([A-Za-z0-9+/=]{16,})")
# In lower case, so that one expression does for `apiKey`, `API_KEY` and `api-key`.
_NAMED = tuple(
    re.compile(rf"{last}(?:{'|'.join(f'(?<={name})' for name in names)}){_VALUE}", re.ASCII)
    for last, names in {
        "key": ("api.key", "apikey", "access.key", "accesskey", "account.key", "accountkey", "subscription.key"),
        "token": ("access.token", "accesstoken", "auth.token", "authtoken", "refresh.token"),
        "secret": ("client.secret", "clientsecret"),
        "authorization": ("authorization",),
    }.items()
)


def suspicious(text: str) -> list[str]:
    """Return what in `text` still looks like a credential, each once, masked: `an OpenAI key (sk-pr…, 51 characters)`.

    Placeholders and examples are let through, and so is what only looks random: digests, uuids,
    images. It is for what is about to be written, so text may be escaped as in JSON or in a URL.
    """
    if "\\" in text or "%" in text:
        # What is behind `\n` begins a word.
        text = _ESCAPE.sub(" ", text)
    found: dict[str, str] = {}
    seen: set[str] = set()

    def note(said: str, token: str, shown: int) -> None:
        key = token.lower().rstrip("=")
        if key not in seen:
            seen.add(key)
            if _random(token):
                found[key] = f"{said} ({token[:shown]}…, {len(token)} characters)"

    for said, marker, pattern in _tokens():
        if marker in text:
            for match in pattern.finditer(text):
                note(said, match[0], 5)
    if "earer" in text:
        for match in _BEARER.finditer(text):
            note("a bearer token", match[1], 2)
    if "PRIVATE KEY" in text and (header := _PRIVATE_KEY.search(text)):
        found[header[1].lower()] = "a private key"
    lower = text.lower()
    for pattern in _NAMED:
        for match in pattern.finditer(lower):
            if re.search(r"[a-z0-9/+]{16}", match[1]) and len(re.findall(r"\d", match[1])) > 1:
                note("a credential beside its name", match[1], 2)
    return list(dict.fromkeys(found.values()))


def _random(token: str) -> bool:
    """Tell whether a token looks as if a generator had made it, rather than somebody as an example."""
    rest = _RUN.sub("", token)
    if rest != token and len(rest) < _SHORTEST_TOKEN:
        return False
    kinds = sum(bool(re.search(kind, token[3:])) for kind in ("[a-z]", "[A-Z]", "[0-9]"))
    mixed = kinds > 1 or token.startswith(("AKIA", "ASIA"))
    return mixed and len(set(token)) > 7 and not _EXAMPLES.search(token.lower())
