"""Secrets: which values are known to be secret, and how they may be spelt."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
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

# Those that are texts are compiled when they are first used, which in most environments is never.
_SECRET_NAME = re.compile(
    r".*_(?:API)?(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|PASS|PWD|CREDENTIAL|PAT|AUTH|SAS|COOKIE)S?|"
    r"(?:API_?KEY|TOKEN|SECRET|PASSWORD|PGPASSWORD|SSHPASS)S?",
    re.IGNORECASE,
)
# Names under which people choose the value; a word or a number may well be the secret.
_CHOSEN = r"(?i:.*PASS(?:WORD|WD|PHRASE)?S?|.*(?:PWD|SECRETS?))"
_WORD = r"(?i:changeme|disabled|enabled|localhost|minioadmin|password|placeholder|postgres|required|undefined)"
_SHORTEST = 8
_PATH = (
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
    return len(value) < _SHORTEST or bool(re.fullmatch(_WORD, value)) or len(set(value)) == 1


def _ordinary(name: str, value: str) -> bool:
    """Tell whether a variable with a secret's name holds something else."""
    if re.match(_PATH, value):
        return True
    return not re.fullmatch(_CHOSEN, name) and (value.isdecimal() or bool(re.fullmatch(r"[a-z _.-]{1,15}", value)))


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
