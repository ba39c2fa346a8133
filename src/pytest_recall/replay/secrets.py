"""Find secrets: values that are known to be secret, and texts that look like credentials.

The expressions are our own. What they say (marks, alphabets, lengths) is what the vendors document, compared with
the rules of gitleaks (https://github.com/gitleaks/gitleaks, MIT), which names more of them; lengths are the least
that is issued, as vendors lengthen their keys. Keys without a mark, such as those of Azure, Mistral and Cohere, are
known only by the name beside them.

What has no mark of its own is found as well: a value beside the name `api_key`, `password` and the like, the password
within a URL, bearer and basic credentials, and private keys. What is written in escapes of JSON or of URLs, or in
base64, is looked for as it is meant (see `replay.encodings`).
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from itertools import groupby, pairwise
from typing import Final, NamedTuple
from urllib.parse import unquote

from pytest_recall.replay.encodings import SHORTEST_LINE, decoded_texts, from_base64, marked, unescaped
from pytest_recall.replay.tokens import claims_read


class Format(NamedTuple):
    """What a kind of token looks like."""

    said: str
    """What it is called."""
    mark: str
    """What it begins with."""
    rest: str
    """What follows the mark."""
    before: str = ""
    """What must stand in front of the mark, within `REACH` characters; by default it must be no part of a word."""


REACH = 48
_ALONE = r"(?![\w/+=-])"
_HEX_32 = r"[0-9a-f]{32}" + _ALONE

_FORMATS = (
    # Models and what stands around them
    Format("an Anthropic key", "sk-ant-", r"[\w-]{20,}"),
    Format("an OpenRouter key", "sk-or-", r"[\w-]{20,}"),
    Format("an OpenAI key", "sk-", r"(?!ant-|or-)[\w-]{20,}"),
    Format("a Google key", "AIza", r"[\w-]{35}" + _ALONE),
    Format("a Google token", "ya29.", r"[\w-]{20,}"),
    Format("a Google client secret", "GOCSPX-", r"[\w-]{20,}"),
    Format("a Hugging Face token", "hf_", r"[A-Za-z0-9]{30,}"),
    Format("a Groq key", "gsk_", r"[A-Za-z0-9]{32,}"),
    Format("an xAI key", "xai-", r"[A-Za-z0-9]{32,}"),
    Format("an NVIDIA key", "nvapi-", r"[\w-]{32,}"),
    Format("a Cerebras key", "csk-", r"[a-z0-9]{32,}"),
    Format("a Fireworks key", "fw_", r"[A-Za-z0-9]{20,}" + _ALONE),
    Format("a Perplexity key", "pplx-", r"[A-Za-z0-9]{32,}"),
    Format("a Replicate token", "r8_", r"[A-Za-z0-9]{37,}"),
    Format("a LangSmith key", "lsv2_", r"[ps][kt]_\w{32,}"),
    Format("a Pinecone key", "pcsk_", r"\w{40,}"),
    Format("a Tavily key", "tvly-", r"[\w-]{20,}"),
    Format("an E2B key", "e2b_", r"[0-9a-f]{40,}"),
    # Clouds and databases
    *(Format("an AWS key id", mark, r"[A-Z2-7]{16}" + _ALONE) for mark in ("AKIA", "ASIA")),
    Format("an AWS Bedrock key", "ABSK", r"[\w+/]{60,}=*"),
    Format("an Azure client secret", "Q~", r"[\w.~-]{31,34}" + _ALONE, before=r"(?<![\w.~])[\w.~]{3}\d"),
    Format("a Databricks token", "dapi", r"[0-9a-f]{32}(?:-\d)?" + _ALONE),
    *(Format("a DigitalOcean token", f"do{kind}_v1_", r"[0-9a-f]{64}") for kind in "opr"),
    Format("a Supabase token", "sbp_", r"[0-9a-f]{40}"),
    Format("a Supabase key", "sb_secret_", r"[\w-]{20,}"),
    Format("a PlanetScale credential", "pscale_", r"(?:tkn|oauth|pw)_[\w=.-]{32,}"),
    Format("a Heroku key", "HRKU-", r"[\w-]{36,}"),
    Format("a Vault token", "hvs.", r"[\w-]{24,}"),
    Format("a Doppler token", "dp.", r"(?:pt|st\.[\w-]{1,40}|sa|ct)\.[A-Za-z0-9]{40,}"),
    Format("a Terraform token", ".atlasv1.", r"[\w=-]{60,}", before=r"(?<![A-Za-z0-9])[A-Za-z0-9]{14}"),
    Format("an age key", "AGE-SECRET-KEY-1", r"[A-Z0-9]{50,}"),
    # Code, packages and work
    *(Format("a GitHub token", f"gh{kind}_", r"[A-Za-z0-9]{36,}") for kind in "pousr"),
    Format("a GitHub token", "github_pat_", r"\w{22,}"),
    *(
        Format("a GitLab token", f"gl{kind}-", r"[\w-]{20,}(?:\.[\w-]{6,})*")
        for kind in ("pat", "ptt", "dt", "rt", "soat", "cbt")
    ),
    Format("a PyPI token", "pypi-", r"[\w-]{50,}"),
    Format("an npm token", "npm_", r"[A-Za-z0-9]{36,}"),
    Format("a Docker token", "dckr_pat_", r"[\w-]{20,}"),
    Format("an Atlassian token", "ATATT3", r"[\w=-]{60,}"),
    Format("a Linear key", "lin_api_", r"[A-Za-z0-9]{32,}"),
    Format("a Notion token", "ntn_", r"[A-Za-z0-9]{40,}"),
    Format("a Figma token", "figd_", r"[\w-]{36,}"),
    Format("a Postman key", "PMAK-", r"[0-9a-f]{24}-[0-9a-f]{34}"),
    Format("a Sentry token", "sntrys_", r"[\w+/=-]{60,}"),
    Format("a Sentry token", "sntryu_", r"[0-9a-f]{64}"),
    *(Format("a Grafana token", mark, r"[\w=+/-]{32,}") for mark in ("glsa_", "glc_")),
    Format("a New Relic key", "NRAK-", r"[A-Z0-9]{27}"),
    # Mail, messages, money
    Format("a Slack token", "xox", r"[abeoprs]-[\w-]{10,}"),
    Format("a Slack token", "xapp-", r"\d-[\w-]{30,}"),
    Format("a Slack webhook", "hooks.slack.com/", r"(?:services|workflows|triggers)/[\w/+-]{24,}"),
    Format("a Discord webhook", "/webhooks/", r"\d{16,20}/[\w-]{40,}", before=r"/api(?:/v\d{1,2})?"),
    Format("a Teams webhook", ".webhook.office.com/", r"webhookb2/[\w@/-]{60,}", before=r"\w"),
    Format("a Telegram token", ":A", r"[\w-]{34}(?![\w-])", before=r"(?<![0-9A-Za-z])(?:bot)?\d{8,10}"),
    Format("a SendGrid key", "SG.", r"[\w-]{16,32}\.[\w-]{32,64}"),
    Format("a Mailgun key", "key-", _HEX_32),
    Format("a Mailchimp key", "-us", r"\d{1,2}(?!\w)", before=r"(?<![0-9A-Za-z])[0-9a-f]{32}"),
    Format("a Brevo key", "xkeysib-", r"[0-9a-f]{64}-\w{16}"),
    Format("a Twilio key", "SK", _HEX_32),
    *(
        Format("a Stripe key", f"{kind}_{mode}_", r"\w{16,}")
        for kind in ("sk", "rk")
        for mode in ("live", "test", "prod")
    ),
    Format("a Stripe webhook secret", "whsec_", r"[A-Za-z0-9+/]{24,}"),
    *(Format("a Shopify token", f"shp{kind}_", r"[0-9a-fA-F]{32}") for kind in ("at", "ca", "pa", "ss")),
    *(Format("a Square token", f"sq0{kind}-", r"[\w-]{22,}") for kind in ("atp", "csp")),
    Format("a JSON web token", "eyJ", r"[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}"),
)


class Compiled(NamedTuple):
    """A format whose expressions are compiled."""

    said: str
    mark: str
    token: re.Pattern[str]
    """Begins with the mark, which is what makes a search fast."""
    before: re.Pattern[str] | None


class _Marks(NamedTuple):
    """The formats whose marks must be no part of a word."""

    begun: re.Pattern[str]
    """A pattern by which all of these are looked for at once."""
    by_mark: dict[str, list[Compiled]]
    """Each format, listed under the shortest mark that its own begins with."""


@cache
def _marks() -> _Marks:
    by_mark: dict[str, list[Compiled]] = {}
    for one in sorted(formats(), key=lambda one: len(one.mark)):
        if one.before is None:
            shortest = next((mark for mark in by_mark if one.mark.startswith(mark)), one.mark)
            by_mark.setdefault(shortest, []).append(one)
    # By their first letters, as a pattern tries one way after the other.
    ways = (
        f"{re.escape(first)}(?:{'|'.join(re.escape(mark[1:]) for mark in marks)})"
        for first, marks in groupby(sorted(by_mark), key=lambda mark: mark[0])
    )
    letters = "".join(sorted({mark[0] for mark in by_mark}))
    begun = re.compile(rf"[^\w-](?=[{re.escape(letters)}])(?=({'|'.join(ways)}))", re.ASCII)
    return _Marks(begun, by_mark)


@cache
def formats() -> tuple[Compiled, ...]:
    """Return the formats. They are compiled when something is about to be written, which in most runs is never."""
    return tuple(
        Compiled(
            said,
            mark,
            # That no word goes before it is looked up behind the mark.
            re.compile(re.escape(mark) + ("" if before else rf"(?<![\w-]{re.escape(mark)})") + rest, re.ASCII),
            re.compile(before + r"\Z", re.ASCII) if before else None,
        )
        for said, mark, rest, before in _FORMATS
    )


_RUNS = ("0123456789", "abcdefghijklmnopqrstuvwxyz")
# Lower-case words that mark a token as an example, and repetitions that no generator makes.
_EXAMPLES = re.compile(
    r"(?<![a-z0-9])(?:dummy|fake|here|insert|invalid|local|mock|placeholder|redacted|replace|sample|test|your?)"
    r"(?![a-z0-9])|example|(.)\1{5}"
)
# What no generator makes either, but may stand within a key: `123456`, `abcdef`.
_RUN = re.compile(
    rf"(?:{'|'.join(f'{one}(?={two})' for run in _RUNS for one, two in pairwise(run))}){{5,}}[0-9a-z]", re.IGNORECASE
)
_SHORTEST_TOKEN = 20
_SHORTEST_PASSWORD = 6
_SHORTEST_MATCH = 15
"""No format matches less."""
_SPACE = re.compile("[\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]")
_BLANK = marked(byte for byte in range(128) if not chr(byte).isspace())
_VISIBLE = marked(byte for byte in range(127) if not chr(byte).isspace())
_LEVELS = 2
"""How often base64 may lie within base64."""
_VALUE = r"[\"']?\s{0,4}[:=]\s{0,4}[\"']?(?:(?:bearer|basic|token)\s)?([\w/+.~-]{20,}=*)"
_PASSWORD = re.compile(
    r"(?:password|passwd|passphrase|pwd)([\"']?\s{0,4}[:=]\s{0,4}[\"']?)"
    r"([^\s\"'&<>,;()\[\]{}\\|`]{6,64})(?=[\s\"'&<>,;)\]}\\|`]|$)",
    re.IGNORECASE,
)
_URL_PASSWORD = re.compile(r"://[^\s:/?#@\"'<>\\]{0,100}:([^\s@/\"'<>\\]{6,100})@[\w.-]")
_BEARER = re.compile(r"earer\s{1,4}([\w.~+/-]{20,}=*)", re.ASCII)
_BASIC = re.compile(r"asic\s{1,4}([A-Za-z0-9+/]{12,})")
_USER = re.compile(r"[^:\s]{0,100}:([^\s]{6,100})")
_PRIVATE_KEY = re.compile(
    r"-----BEGIN[ +](?:[A-Z0-9]{1,12}[ +]){0,3}PRIVATE[ +]KEY(?:[ +]BLOCK)?-----[\s+]{1,8}([A-Za-z0-9+/=]{16,})"
)
# The name and the first line of a field of a form in parts; its line ends may have been escapes, each of which is one.
_FIELD = re.compile(
    r"form-data;[^\r\n]{0,200}?\bname=[\"']?([^\r\n\"';]{1,100})[^\r\n]{0,200}"
    r"(?:[\r\n]{1,2}[A-Za-z-]{1,40}:[^\r\n]{0,200}){0,4}[\r\n]{2,4}([^\r\n]{6,400})"
)
_PROSE_PASSWORD = re.compile(r"[A-Za-z]\d+[A-Za-z].*[\dA-Z]|^(?=.*[a-z])(?=.*[A-Z])(?=.*[0-9])")
# Of words such as these a password in a manual is made, or the name of what holds one.
_PLAIN = """
a abc admin app argon args auth bar base baz bcrypt change changeme cli client cloud conf config correct current
data database db default demo dummy enter env environ example examples fake field file foo form get guest here
hidden host in input insert invalid is it key letmein local login md me mock my name new none null of old opts or os
parameter params pass passphrase passwd password passwords path placeholder please postgres pw pwd qwerty redacted
replace req request required reset root sample secret secrets self session set settings sha some string temp
temporary test tester testing text the this to todo token undefined uri url use user username utf value var variable
welcome with word wrong you your
"""
_PLAIN_WORDS = frozenset(_PLAIN.split())


@cache
def _named() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Return expressions for a value beside its name, in lower case: one does for `apiKey`, `API_KEY` and `api-key`."""
    names = {
        "key": (
            *("api.key", "apikey", "access.key", "accesskey", "account.key", "accountkey", "subscription.key"),
            *("secret.key", "secretkey", "signing.key", "encryption.key", "master.key"),
        ),
        "token": (
            *("access.token", "accesstoken", "api.token", "apitoken", "auth.token", "authtoken", "bot.token"),
            *("client.token", "clienttoken", "id.token", "idtoken", "refresh.token", "refreshtoken"),
            *("session.token", "sessiontoken"),
        ),
        "secret": ("secret",),
        "authorization": ("authorization",),
    }
    return tuple(
        (last, re.compile(rf"{last}(?:{'|'.join(f'(?<={name})' for name in ways)}){_VALUE}", re.ASCII))
        for last, ways in names.items()
    )


def suspicious(text: str) -> list[str]:
    """Return the kinds of credentials that `text` still looks to hold, each once, as `an OpenAI key`; nothing of them.

    Placeholders and examples are let through, and so is what only looks random: digests, uuids,
    images. It is for what is about to be written, so text may be escaped as in JSON or in a URL.
    """
    return list(dict.fromkeys(_looks_like(text).values()))


HIDDEN = "[REDACTED]"
"""What stands for what looks like a credential, where people read it."""
_ROUNDS = 5


def hidden(text: str) -> str:
    """Return `text` with `HIDDEN` in place of what looks like a credential; of all of it, if that is encoded."""
    for _ in range(_ROUNDS):
        found = _looks_like(text)
        if not found:
            return text
        tokens = sorted(found, key=len, reverse=True)
        text = re.sub("|".join(f"{re.escape(token)}=*" for token in tokens), HIDDEN, text, flags=re.IGNORECASE)
        if "a private key" in found.values():
            break  # What was found is its first line.
    return HIDDEN


def _looks_like(text: str) -> dict[str, str]:
    """Return what looks like a credential, in any case of its letters, and the kind of each."""
    found: dict[str, str] = {}
    seen: set[str] = set()

    def note(said: str, token: str, secret: str) -> None:
        key = token.lower().rstrip("=")
        if key not in seen:
            seen.add(key)
            if _random(secret):
                found[key] = said

    def chosen(said: str, password: str) -> None:
        if _is_password(password):
            found.setdefault(password, said)

    texts = [(claims_read(unescaped(text)), 0)]
    while texts:
        plain, level = texts.pop()
        # All but passwords are of ASCII, which takes half the time.
        ascii = plain if plain.isascii() else _in_ascii(plain)
        words = _long_words(ascii)
        if words:
            _search_formats(words, note)
        if words and level < _LEVELS:
            texts += ((unescaped(inner), level + 1) for inner in decoded_texts(words))
        _search(plain, ascii, note, chosen, found)
    return found


def _in_ascii(text: str) -> str:
    """Return text with `?` for all but ASCII, its blanks as such, and DEL for each byte that was no text."""
    return _SPACE.sub(" ", text.replace("\ufffd", "\x7f")).encode("ascii", "replace").decode("ascii")


def _long_words(text: str) -> str:
    """Return the lines of what is long enough to be a token: of prose and of bytes that are no text little is left.

    It is what stands between blanks, and has as many signs in a row as the shortest token; and a shorter line behind
    it, which may be the last one of wrapped base64.
    """
    data = text.encode("ascii")
    visible, blanks, words, end = data.translate(_VISIBLE), data.translate(_BLANK), [], 0
    while (at := visible.find(b"x" * _SHORTEST_MATCH, end)) >= 0:
        start = blanks.rfind(b" ", end, at) + 1 or end
        end = blanks.find(b" ", at)
        if end < 0:
            end = len(data)
        if end - start >= _SHORTEST_TOKEN:
            words.append(text[start:end])
            if last := _LAST_LINE.match(text, end):
                words.append(last[1])
    return "\n".join(words)


_LAST_LINE = re.compile(rf"\r?\n[ \t]*([\w+/-]{{2,{_SHORTEST_TOKEN - 1}}})(?![\w+/-])", re.ASCII)


def _search_formats(words: str, note: Callable[[str, str, str], None]) -> None:
    """Look for the tokens of vendors in words."""
    marks = _marks()
    found: dict[str, list[tuple[str, str]]] = {}
    for place in marks.begun.finditer("\n" + words):
        at = place.start()  # In `words`, where the mark begins.
        for one in marks.by_mark[place[1]]:
            if match := one.token.match(words, at):
                found.setdefault(one.mark, []).append((match[0], match[0][len(one.mark) :]))
    for said, mark, token, before in formats():
        if before is None:
            for whole, rest in found.get(mark, ()):
                note(said, whole, rest)
        elif mark in words:
            for match in token.finditer(words):
                at = match.start()
                if led := before.search(words[max(0, at - REACH) : at]):
                    note(said, led[0] + match[0], max(match[0][len(mark) :], led[0], key=len))


def _search(
    text: str,
    ascii: str,
    note: Callable[[str, str, str], None],
    chosen: Callable[[str, str], None],
    found: dict[str, str],
) -> None:
    """Look for what has no mark of its own, in text without escapes, and the same with `?` for all but ASCII."""
    if "earer" in ascii:
        for match in _BEARER.finditer(ascii):
            note("a bearer token", match[1], match[1])
    if "asic" in ascii:
        for match in _BASIC.finditer(text):
            if user := _USER.fullmatch(from_base64(match[1].encode("ascii")).decode("utf-8", "replace")):
                chosen("a password in basic credentials", user[1])
    if "PRIVATE" in ascii and (header := _PRIVATE_KEY.search(text)):
        found[header[1].lower()] = "a private key"
    if "@" in ascii and "://" in ascii:
        for match in _URL_PASSWORD.finditer(text):
            chosen("a password in a URL", match[1])
    if "form-data" in ascii:
        fields = "".join(f'\n{match[1]}="{match[2]}"' for match in _FIELD.finditer(text))
        text, ascii = text + fields, ascii + _in_ascii(fields)
    lower = ascii.lower()
    for name, pattern in _named():
        for match in _beside((name,), pattern, lower, lower) if name in lower else ():
            if re.search(r"[a-z0-9/+]{16}", match[1]) and len(re.findall(r"\d", match[1])) > 1:
                note("a credential beside its name", match[1], match[1])
    if "pass" not in lower and "pwd" not in lower:
        return
    for match in _beside(("passw", "passphrase", "pwd"), _PASSWORD, lower, text):
        # In prose, as in `password: 12-character minimum`, there is more that is none.
        if match[1].endswith(("=", "'", '"')) or _PROSE_PASSWORD.search(match[2]):
            chosen("a password beside its name", match[2])


def _beside(names: tuple[str, ...], pattern: re.Pattern[str], lower: str, text: str) -> Iterator[re.Match[str]]:
    """Yield what matches where a name begins, as a search by the pattern would, but many times faster."""
    following = {name: at for name in names if (at := lower.find(name)) >= 0}
    while places := [at for at in following.values() if at >= 0]:
        at = min(places)
        if match := pattern.match(text, at):
            yield match
        end = at + 1 if match is None else match.end()
        following = {name: lower.find(name, end) if 0 <= at < end else at for name, at in following.items()}


def _random(secret: str) -> bool:
    """Tell whether what follows the mark of a token looks as if a generator had made it, rather than a person."""
    rest = _RUN.sub("", secret)
    if rest != secret and len(rest) < _SHORTEST_TOKEN - 4:
        return False
    kinds = sum(bool(re.search(kind, secret)) for kind in ("[a-z]", "[A-Z]", "[0-9]"))
    mixed = kinds > 1 or secret.isupper()  # Few letters of an id of AWS are digits.
    return mixed and len(set(secret)) > 7 and not _EXAMPLES.search(secret.lower())


def _is_password(text: str) -> bool:
    """Tell whether a value beside the name `password` is one: letters, and digits or signs; no words of a manual."""
    if len(text) < _SHORTEST_PASSWORD or text[0] in "/~$%*.:=" or "..." in text or "…" in text or "://" in text:
        return False
    if not re.search(r"[A-Za-z]", text) or not re.search(r"[0-9!@#$%^&*+?~]", text) or re.search(r"(.)\1{4}", text):
        return False
    if re.fullmatch(r"\d{1,3}[-_]?[A-Za-z]+", text):
        return False
    words = re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", text)
    return len(set(text)) > 4 and not all(word.lower() in _PLAIN_WORDS for word in words)


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
_SECRETS_URL_PASSWORD = re.compile(r"[A-Za-z][\w+.-]*://[^/?#@:\s]*:([^/?#\s]+)@")

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
        elif url := _SECRETS_URL_PASSWORD.match(value):
            found[name] = unquote(url[1])
    return {name: value for name, value in found.items() if not _is_word(value)}


def _is_word(value: str) -> bool:
    """Tell whether no one's secret looks like this."""
    return len(value) < _SHORTEST or bool(re.fullmatch(_WORD, value)) or len(set(value)) == 1


def _ordinary(name: str, value: str) -> bool:
    """Tell whether a variable with a secret's name holds something else."""
    if re.match(_PATH, value):
        return True
    return not re.fullmatch(_CHOSEN, name) and (value.isdecimal() or bool(re.fullmatch(r"[a-z _.-]{1,15}", value)))


class Spelling(NamedTuple):
    """A way in which a value may be spelt."""

    stretch: bytes
    """What it must hold."""
    expression: bytes
    """A regular expression."""
    halves: tuple[bytes, ...] = ()
    """In wrapped base64 a line may end within that stretch, and the text holds one of these at least."""


def spellings(value: str) -> Iterator[Spelling]:
    """Yield the ways in which `value` may be spelt.

    Any of its characters may be escaped for a URL, a form or JSON, or the whole be base64, wrapped or not.
    """
    yield Spelling(_raw(max(_UNTOUCHED.findall(value), key=len, default="")), _raw(_expression(value)))
    data = _raw(value)
    # Three bytes are four characters, so there are three ways to fall on their boundaries. Only
    # the characters that hold nothing but bits of the value are looked for.
    for lead in range(3) if len(data) >= 6 else ():
        encoded = b64encode(b"\0" * lead + data + b"\0\0").decode()
        sure = encoded[-(-lead * 8 // 6) : (lead + len(data)) * 8 // 6]
        expression = _LINE_BREAK.join(_BASE64_SIGNS.get(char, char) for char in sure)
        # A line ends in one of two stretches at most, if both together are no longer than a line.
        half = min(len(sure), SHORTEST_LINE) // 2
        stretches = (sure, sure[:half], sure[half : 2 * half])
        whole, *halves = (_raw(max(re.split(r"[+/]", one), key=len)) for one in stretches)
        yield Spelling(whole, _raw(expression), tuple(halves))


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


_LINE_BREAK = "(?:{}?{}[ \\t]*)?".format(
    *(
        rf"(?:{sign}|{_BACKSLASHES}{letter}|(?i:%(?:25){{0,3}}{byte}))"
        for sign, letter, byte in ((r"\r", "r", "0d"), (r"\n", "n", "0a"))
    )
)
"""What stands between two lines of it, as it is or escaped for JSON or a URL."""
# The URL-safe alphabet writes these two otherwise.
_BASE64_SIGNS = {"+": _sign("+", "-"), "/": _sign("/", "_")}
