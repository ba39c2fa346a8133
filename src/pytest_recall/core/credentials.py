"""Credentials: what looks like a secret, whether anybody has named it or not. For what is about to be written.

The formats of vendors are in `core.formats`. Here is what has no mark of its own: a value beside the name `api_key`,
`password` and the like, the password within a URL, bearer and basic credentials, and private keys. What is written in
escapes of JSON or of URLs, or in base64, is looked for as it is meant (see `core.unwrapped`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from itertools import pairwise

from pytest_recall.core.formats import REACH, formats
from pytest_recall.core.unwrapped import decoded_texts, from_base64, unescaped

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
_HUGE = 4096
_SIGNS = "_-.:/~"  # Most marks have one of these, and most of a picture in base64 has none.
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
def _named() -> tuple[re.Pattern[str], ...]:
    """Return expressions for a value beside its name, in lower case: one does for `apiKey`, `API_KEY` and `api-key`."""
    names = {
        "key": (
            *("api.key", "apikey", "access.key", "accesskey", "account.key", "accountkey", "subscription.key"),
            *("secret.key", "secretkey", "signing.key", "encryption.key", "master.key"),
        ),
        "token": (
            *("access.token", "accesstoken", "api.token", "apitoken", "auth.token", "authtoken", "bot.token"),
            *("id.token", "refresh.token", "session.token"),
        ),
        "secret": ("secret",),
        "authorization": ("authorization",),
    }
    return tuple(
        re.compile(rf"{last}(?:{'|'.join(f'(?<={name})' for name in ways)}){_VALUE}", re.ASCII)
        for last, ways in names.items()
    )


def suspicious(text: str) -> list[str]:
    """Return what in `text` still looks like a credential, each once, masked: `an OpenAI key (sk-pr…, 51 characters)`.

    Placeholders and examples are let through, and so is what only looks random: digests, uuids,
    images. It is for what is about to be written, so text may be escaped as in JSON or in a URL.
    """
    found: dict[str, str] = {}
    seen: set[str] = set()

    def note(said: str, token: str, shown: int, secret: str) -> None:
        key = token.lower().rstrip("=")
        if key not in seen:
            seen.add(key)
            if _random(secret):
                found[key] = f"{said} ({token[:shown]}…, {len(token)} characters)"

    def chosen(said: str, password: str) -> None:
        if _is_password(password):
            found.setdefault(password, f"{said} ({len(password)} characters)")

    texts = [(unescaped(text), 0)]
    while texts:
        plain, level = texts.pop()
        for words in _long_words(plain):
            _search_formats(words, note)
            if level < _LEVELS:
                texts += ((unescaped(inner), level + 1) for inner in decoded_texts(words))
        _search(plain, note, chosen, found)
    return list(dict.fromkeys(found.values()))


def _long_words(text: str) -> list[str]:
    """Return what of `text` is long enough to be a token: of prose little is left, and pictures stand alone."""
    words = [word for word in text.split() if len(word) >= _SHORTEST_TOKEN]
    return ["\n".join([word for word in words if len(word) < _HUGE]), *(word for word in words if len(word) >= _HUGE)]


def _search_formats(words: str, note: Callable[[str, str, int, str], None]) -> None:
    """Look for the tokens of vendors in words."""
    absent = {sign for sign in _SIGNS if sign not in words}
    for said, mark, token, before in formats():
        if not absent.isdisjoint(mark) or mark not in words:
            continue
        for match in token.finditer(words):
            rest, at = match[0][len(mark) :], match.start()
            if before is None:
                note(said, match[0], 5, rest)
            elif led := before.search(words[max(0, at - REACH) : at]):
                note(said, led[0] + match[0], 5, max(rest, led[0], key=len))


def _search(
    text: str, note: Callable[[str, str, int, str], None], chosen: Callable[[str, str], None], found: dict[str, str]
) -> None:
    """Look for what has no mark of its own, in text without escapes."""
    if "earer" in text:
        for match in _BEARER.finditer(text):
            note("a bearer token", match[1], 2, match[1])
    if "asic" in text:
        for match in _BASIC.finditer(text):
            if user := _USER.fullmatch(from_base64(match[1].encode("ascii")).decode("utf-8", "replace")):
                chosen("a password in basic credentials", user[1])
    if "PRIVATE" in text and (header := _PRIVATE_KEY.search(text)):
        found[header[1].lower()] = "a private key"
    if "@" in text and "://" in text:
        for match in _URL_PASSWORD.finditer(text):
            chosen("a password in a URL", match[1])
    lower = text.lower()
    for pattern in _named():
        for match in pattern.finditer(lower):
            if re.search(r"[a-z0-9/+]{16}", match[1]) and len(re.findall(r"\d", match[1])) > 1:
                note("a credential beside its name", match[1], 2, match[1])
    if "pass" in lower or "pwd" in lower:
        for match in _PASSWORD.finditer(text):
            # In prose, as in `password: 12-character minimum`, there is more that is none.
            if match[1].endswith(("=", "'", '"')) or _PROSE_PASSWORD.search(match[2]):
                chosen("a password beside its name", match[2])


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
