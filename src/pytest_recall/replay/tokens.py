"""Mint placeholders for the tokens that an answer hands out, and give them the time at which they are served.

An answer hands out tokens if it has the form of one that does: that of OAuth 2 (RFC 6749 §5.1, RFC 8693, OpenID
Connect), of a device that asks for a user (RFC 8628), of credentials of AWS, of Google's IAM, or of a GitHub App. Its
host says nothing. A token is named by what was asked for, so that all recordings call it alike, and those of two
clients differently; nothing of its value goes into the name. One that is a JSON web token stays one, since clients read
its claims: it keeps these, without ids and hashes, and its signature is its name.
"""

from __future__ import annotations

import json
import math
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from pytest_recall.replay.encodings import decoded
from pytest_recall.replay.exchange import Exchange, Request, Response

MARK = "MINTED_"
"""What the name of each minted token begins with."""
NAME = rf"{MARK}[A-Z_]{{1,24}}-[0-9a-f]{{8}}"
_JWT = re.compile(r"(eyJ[\w-]+)\.(eyJ[\w-]+)\.([\w-]*)", re.ASCII)
MINTED_JWT = re.compile(rf"eyJ[\w-]+\.(eyJ[\w-]+)\.({NAME})_{{0,3}}(?![\w.-])", re.ASCII)
"""A minted JSON web token: its claims and its name."""
PLACEHOLDER = re.compile(r"\[(?:[\w.-]+|JWT \{.*\})\]", re.DOTALL)
"""What stands in a recording for a secret."""
_QUOTED = re.compile(rf"(?:\[|%5[Bb])({NAME})(?:\]|%5[Dd])")

CLAIM_TIMES = ("exp", "iat", "nbf", "auth_time")
CLAIM_IDS = frozenset({"aio", "at_hash", "c_hash", "jti", "nonce", "rh", "s_hash", "sid", "uti"})
"""Claims that are another in each token, or are made of a secret."""


class _Form(NamedTuple):
    """The names that an object must have to hand out tokens, what each token in it is called, and its times."""

    needs: frozenset[str]
    tokens: Mapping[str, str]
    times: frozenset[str] = frozenset()
    lifetimes: frozenset[str] = frozenset()
    path: str = ""


_OAUTH = {"access_token": "ACCESS_TOKEN", "refresh_token": "REFRESH_TOKEN", "id_token": "ID_TOKEN"}
_OAUTH_TIMES = frozenset({"expires_at", "expires_on", "not_before", "refresh_on"})
_OAUTH_LIFETIMES = frozenset(
    {"expires_in", "ext_expires_in", "id_token_expires_in", "refresh_in", "refresh_token_expires_in"}
)
_AWS_TIMES = frozenset({"Expiration", "LastUpdated"})
_FORMS = (
    _Form(frozenset({"access_token", "token_type"}), _OAUTH, _OAUTH_TIMES, _OAUTH_LIFETIMES),
    _Form(frozenset({"id_token"}), _OAUTH, _OAUTH_TIMES, _OAUTH_LIFETIMES),
    _Form(frozenset({"device_code", "user_code"}), {"device_code": "DEVICE_CODE"}, frozenset(), _OAUTH_LIFETIMES),
    _Form(
        frozenset({"accessToken", "tokenType"}),
        {"accessToken": "ACCESS_TOKEN", "refreshToken": "REFRESH_TOKEN", "idToken": "ID_TOKEN"},
        lifetimes=frozenset({"expiresIn"}),
    ),
    _Form(frozenset({"accessToken", "expireTime"}), {"accessToken": "ACCESS_TOKEN"}, frozenset({"expireTime"})),
    _Form(
        frozenset({"AccessKeyId", "SecretAccessKey"}),
        {
            "AccessKeyId": "ACCESS_KEY_ID",
            "SecretAccessKey": "SECRET_ACCESS_KEY",
            "SessionToken": "SESSION_TOKEN",
            "Token": "SESSION_TOKEN",
        },
        _AWS_TIMES,
    ),
    _Form(
        frozenset({"AccessKeyId", "SecretKey", "SessionToken"}),
        {"AccessKeyId": "ACCESS_KEY_ID", "SecretKey": "SECRET_ACCESS_KEY", "SessionToken": "SESSION_TOKEN"},
        _AWS_TIMES,
    ),
    _Form(
        frozenset({"accessKeyId", "secretAccessKey", "sessionToken"}),
        {"accessKeyId": "ACCESS_KEY_ID", "secretAccessKey": "SECRET_ACCESS_KEY", "sessionToken": "SESSION_TOKEN"},
        frozenset({"expiration"}),
    ),
    _Form(
        frozenset({"token", "expires_at"}),
        {"token": "TOKEN"},
        frozenset({"expires_at"}),
        path=r"/app/installations/\d+/access_tokens",
    ),
)
_DEPTH = 3
"""So deep within an answer credentials stand at most."""
_LARGEST = 256 * 1024
_XML = re.compile(r"<(AccessKeyId|SecretAccessKey|SessionToken|Expiration)>([^<]*)</\1>")
_XML_TOKENS = {
    "AccessKeyId": "ACCESS_KEY_ID",
    "SecretAccessKey": "SECRET_ACCESS_KEY",
    "SessionToken": "SESSION_TOKEN",
}

Token = Callable[[str, str], str]
"""Returns what stands for a token, by the kind of it and its value."""
Time = Callable[[Any], Any]
"""Returns what stands for a time."""


def minted(
    exchange: Exchange, key: Callable[[], str], known: Callable[[str], str] = str
) -> tuple[Exchange, dict[str, str]]:
    """Return a call whose answer has placeholders for the tokens that it hands out, and these by their names.

    `key` returns the key of its request, and `known` a text without the secrets and tokens that are known already,
    which keep their names. What is a placeholder already stays.
    """
    found: dict[str, str] = {}

    def placeholder(kind: str, value: str) -> str:
        if not value or is_minted(value) or PLACEHOLDER.fullmatch(value):
            return value
        before = known(value)
        if before != value and PLACEHOLDER.fullmatch(before) and not is_minted(before):
            return before
        name = before[1:-1] if is_minted(before) else f"{MARK}{kind}-{key()[:8]}"
        found[name] = value
        return _minted_jwt(value, name) or f"[{name}]"

    changed = _rewritten(exchange, placeholder, lambda time: time, lambda seconds: seconds)
    return changed, found


def renewed(exchange: Exchange, now: float) -> Exchange:
    """Return a recorded call whose answer hands out minted tokens as if it had been made `now`; others as they are."""
    response = exchange.response
    if response is None or MARK.encode() not in b"".join(response.chunks):
        return exchange
    try:
        made = datetime.fromisoformat(exchange.at).timestamp() + exchange.seconds
    except ValueError:
        return exchange
    # A second less, since the time of a call is recorded without fractions: no token is to be of the future.
    return _moved(exchange, math.floor(now - made) - 1)


def hands_out(exchange: Exchange) -> bool:
    """Whether the answer of a recorded call hands out minted tokens."""
    found: list[str] = []

    def token(kind: str, value: str) -> str:
        found.extend([value] if is_minted(value) else [])
        return value

    if exchange.response is not None and MARK.encode() in b"".join(exchange.response.chunks):
        _rewritten(exchange, token, lambda time: time, lambda seconds: seconds)
    return bool(found)


def have_one_answer(calls: Iterable[Exchange]) -> bool:
    """Return whether calls were all answered alike, whatever times and ids their heads have, or the tokens in them."""
    return len({_answer(without_times(one)) for one in calls}) < 2


def _answer(one: Exchange) -> tuple[object, ...]:
    response = one.response
    return (one.failure,) if response is None else (one.failure, response.status, response.body)


def without_times(exchange: Exchange) -> Exchange:
    """Return a call whose answer says nothing of when its tokens were made, and how long they last."""
    if exchange.response is None or MARK.encode() not in b"".join(exchange.response.chunks):
        return exchange

    def token(kind: str, value: str) -> str:
        return _with_claims(value, lambda time: 0)

    return _rewritten(exchange, token, lambda time: 0, lambda seconds: 0)


def _moved(exchange: Exchange, seconds: int) -> Exchange:
    def later(time: Any) -> Any:
        return _later(time, seconds)

    return _rewritten(exchange, lambda kind, value: _with_claims(value, later), later, lambda lifetime: lifetime)


def holds_minted(request: Request) -> bool:
    """Whether a request would be sent with what stands for a token."""
    texts = (request.url, *(value for _, value in request.headers), request.body.decode("utf-8", "replace"))
    return any(MARK in text and re.search(NAME, text) is not None for text in texts)


def is_minted(value: str) -> bool:
    """Whether a value stands for a token."""
    return MARK in value and (_QUOTED.fullmatch(value) or MINTED_JWT.fullmatch(value)) is not None


def by_name(text: str) -> str:
    """Return text with the plain placeholder of each minted token that stands in it."""
    return _QUOTED.sub(r"[\1]", MINTED_JWT.sub(r"[\2]", text)) if MARK in text else text


def names_in(text: str) -> list[str]:
    """Return the names of the minted tokens in text, in their order."""
    return _QUOTED.findall(by_name(text)) if MARK in text else []


def claims_read(text: str) -> str:
    """Return text with the claims of each minted JSON web token in its place, as they are to be searched."""
    if MARK not in text:
        return text
    return MINTED_JWT.sub(lambda match: json.dumps(_object_in(match[1]) or {}), text)


def claims_of(value: str) -> dict[str, Any] | None:
    """Return the claims of a JSON web token without its times and ids; None for what is none."""
    claims = _claims(value)
    if claims is None:
        return None
    return {name: claim for name, claim in claims.items() if name not in CLAIM_IDS and name not in CLAIM_TIMES}


def _claims(value: str) -> dict[str, Any] | None:
    match = _JWT.fullmatch(value)
    if match is None or "alg" not in (_object_in(match[1]) or {}):
        return None
    return _object_in(match[2])


_OF_HEADER: tuple[str, ...] = ("typ", "alg", "kid")


def _minted_jwt(value: str, name: str) -> str:
    """Return a JSON web token with the claims of `value`, signed by its `name`; empty if `value` is none."""
    claims = _claims(value)
    if claims is None:
        return ""
    header = _object_in(value.partition(".")[0]) or {}
    kept = {name: header[name] for name in _OF_HEADER if name in header}
    plain = {claim: f"[{claim.upper()}]" if claim in CLAIM_IDS else said for claim, said in claims.items()}
    # Clients decode a signature before they pass it over, and no base64 has one character in its last group.
    signature = f"{name}_" if len(name) % 4 == 1 else name
    return f"{_encoded(kept)}.{_encoded(plain)}.{signature}"


def _with_claims(value: str, time: Time) -> str:
    """Return a minted JSON web token with what `time` makes of its times; any other value as it is."""
    if MINTED_JWT.fullmatch(value) is None:
        return value
    header, _, signature = value.split(".")
    claims = _claims(value) or {}
    return f"{header}.{_encoded({n: time(v) if n in CLAIM_TIMES else v for n, v in claims.items()})}.{signature}"


def _object_in(part: str) -> dict[str, Any] | None:
    """Return the JSON object in a part of a JSON web token; None for what is none."""
    try:
        found = json.loads(urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _encoded(value: Mapping[str, Any]) -> str:
    return urlsafe_b64encode(json.dumps(value, separators=(",", ":")).encode()).decode().rstrip("=")


def _later(time: Any, seconds: int) -> Any:
    """Return a time that is so many seconds later, written as it was; what is no time stays."""
    if isinstance(time, bool):
        return time
    if isinstance(time, int | float):
        if not 1e8 < time < 1e14:
            return time
        return time + seconds * (1000 if time > 1e11 else 1)
    if not isinstance(time, str):
        return time
    if time.isdecimal():
        return str(_later(int(time), seconds))
    try:
        moved = datetime.fromisoformat(time) + timedelta(seconds=seconds)
    except (ValueError, OverflowError):
        return time
    written = moved.isoformat(timespec="milliseconds" if "." in time else "seconds")
    return written.removesuffix("+00:00") + "Z" if time.endswith("Z") else written


def _rewritten(exchange: Exchange, token: Token, time: Time, lifetime: Time) -> Exchange:
    """Return a call with what these make of the tokens and times of its answer; as it is if it hands out none."""
    response = exchange.response
    if response is None or response.status >= 300 or sum(map(len, response.chunks)) > _LARGEST:
        return exchange
    plain = decoded(response.headers, response.chunks)
    if plain is None:
        return exchange
    try:
        text = b"".join(plain).decode()
        body = _rewritten_text(text, urlsplit(exchange.request.url).path, token, time, lifetime)
    except (ValueError, RecursionError):
        return exchange
    return exchange if body == text else exchange._replace(response=_with_body(response, body))


def _with_body(response: Response, body: str) -> Response:
    headers = tuple(one for one in response.headers if one[0].lower() not in ("content-encoding", "content-length"))
    rest = (b"",) * (len(response.chunks) - 1)
    return response._replace(headers=headers, chunks=(body.encode(), *rest))


def _rewritten_text(text: str, path: str, token: Token, time: Time, lifetime: Time) -> str:
    if text.startswith("<") and "<Credentials>" in text:
        return _XML.sub(
            lambda match: (
                f"<{match[1]}>{token(_XML_TOKENS[match[1]], match[2]) if match[1] in _XML_TOKENS else time(match[2])}"
                f"</{match[1]}>"
            ),
            text,
        )
    if _claims(text.strip()) is not None:
        return token("ID_TOKEN", text.strip())
    if not text.lstrip().startswith("{"):
        return text
    value = json.loads(text)
    objects = [(one, form) for one in _objects(value, _DEPTH) if (form := _form_of(one, path)) is not None]
    before = json.dumps(value)
    for one, form in objects:
        for name, inner in one.items():
            if name in form.tokens and isinstance(inner, str):
                one[name] = token(form.tokens[name], inner)
            elif name in form.times:
                one[name] = time(inner)
            elif name in form.lifetimes:
                one[name] = lifetime(inner)
    after = json.dumps(value)
    return text if after == before else after


def _objects(value: Any, levels: int) -> Iterator[dict[str, Any]]:
    """Yield the objects in a JSON value, down to a level."""
    if isinstance(value, dict):
        yield value
        for inner in value.values() if levels else ():
            yield from _objects(inner, levels - 1)


def _form_of(value: Mapping[str, Any], path: str) -> _Form | None:
    for form in _FORMS:
        if all(isinstance(value.get(name), str) for name in form.needs) and (
            re.search(rf"{form.path}/?\Z", path) or any(is_minted(value[name]) for name in form.needs)
        ):
            return form
    return None
