"""Credentials: what looks like a secret, whether anybody has named it or not. For what is about to be written."""

from __future__ import annotations

import re
from functools import cache
from itertools import pairwise

_RUNS = ("0123456789", "abcdefghijklmnopqrstuvwxyz")
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
