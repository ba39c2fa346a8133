"""Mint placeholders for the tokens that an answer hands out, and give them the time at which they are served.

An answer hands out tokens by the names of its fields: those of OAuth 2 (RFC 6749 §5.1, RFC 8693, RFC 8628, OpenID
Connect), of the credentials of clouds, and of what vendors call alike. Its host says nothing. A token is named by what
was asked for, so that all recordings call it alike, and those of two clients differently; nothing of its value goes
into the name. One that is a JSON web token stays one, since clients read its claims: it keeps these, without ids and
hashes, and its signature is its name.
"""

from __future__ import annotations

import json
import math
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, Final
from urllib.parse import quote, unquote_plus

from pytest_recall.replay.encodings import decoded
from pytest_recall.replay.exchange import Exchange, Request, Response

_LONGEST = 24
MARK = "MINTED_"
"""What the name of each minted token begins with."""
NAME = rf"{MARK}[A-Z_]{{1,{_LONGEST}}}-[0-9a-f]{{8}}"
_JWT = re.compile(r"(eyJ[\w-]+)\.(eyJ[\w-]+)\.([\w-]*)", re.ASCII)
MINTED_JWT = re.compile(rf"eyJ[\w-]+\.(eyJ[\w-]+)\.({NAME})_{{0,3}}(?![\w.-])", re.ASCII)
"""A minted JSON web token: its claims and its name."""
PLACEHOLDER = re.compile(r"\[(?:[\w.-]+|JWT \{.*\})\]", re.DOTALL)
"""What stands in a recording for a secret."""
_QUOTED = re.compile(rf"(?:\[|%5[Bb])({NAME})(?:\]|%5[Dd])")

CLAIM_TIMES = ("exp", "iat", "nbf", "auth_time")
CLAIM_IDS = frozenset({"aio", "at_hash", "c_hash", "jti", "nonce", "rh", "s_hash", "sid", "uti"})
"""Claims that are another in each token, or are made of a secret."""

_TOKENS: Final = frozenset(
    {
        *("access_token", "refresh_token", "id_token", "device_code"),
        *("api_token", "app_access_token", "auth_token", "authentication_token", "bearer_token", "bot_token"),
        *("client_token", "csrf_token", "identity_token", "jwt", "access_jwt", "refresh_jwt", "security_token"),
        *("session_token", "tenant_access_token", "user_access_token", "xsrf_token"),
        *("access_key_id", "secret_access_key", "access_key_secret", "secret_key", "api_key", "client_secret"),
        *("sas_token", "shared_access_signature", "session_key", "session_secret", "secret_id"),
    }
)
"""Names of what is a token, as they are in one spelling."""
_MAY_BE: Final = frozenset({"secret", "token"})
"""Names of what is a token if it lasts for a time, or no person has written it."""
_LASTING: Final = "value"
"""The name of what is a token if it lasts for a time and no person has written it."""
_TIMES: Final = frozenset(
    {
        *("exp", "expiration", "expiration_timestamp", "expire", "expire_time", "expires", "expires_at", "expires_in"),
        *("expires_on", "expiry", "ext_expires_in", "id_token_expires_in", "issued_at", "last_updated"),
        *("lease_duration", "not_before", "refresh_expires_in", "refresh_in", "refresh_on"),
        *("refresh_token_expires_in", "token_expiry", "ttl"),
    }
)
"""Names of when tokens are made or end, or how long they last."""
_CARRIED: Final = "TOKEN"
"""What kind of token is one that is known by a request which carries it."""
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_UNWRITTEN = re.compile(r"(?=[^0-9]*[0-9])(?=[^A-Za-z]*[A-Za-z])[\w.~+/=:;,|&%-]{20,}", re.ASCII)
_DEPTH = 3
"""So deep within an answer credentials stand at most."""
_LARGEST = 256 * 1024
_LONGEST_NAME = 64
_FIELD = re.compile(r"((?:^|(?<=&))(access_token|refresh_token|id_token)=)([^&\s]+)", re.ASCII)
_FORM = re.compile(r"\w+=[\w%.~+*=&-]*\s*", re.ASCII)
"""An answer that is a form, as GitHub's with tokens are."""
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
    exchange: Exchange,
    key: Callable[[], str],
    known: Callable[[str], str] = str,
    carried: Collection[str] = frozenset(),
) -> tuple[Exchange, dict[str, str]]:
    """Return a call whose answer has placeholders for the tokens that it hands out, and these by their names.

    `key` returns the key of its request, and `known` a text without the secrets and tokens that are known already,
    which keep their names. What is a placeholder already stays. What a request has `carried` as its credential is a
    token whatever its field is called.
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

    changed = _rewritten(exchange, placeholder, lambda time: time, carried)
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
        _rewritten(exchange, token, lambda time: time)
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

    return _rewritten(exchange, token, lambda time: 0)


def _moved(exchange: Exchange, seconds: int) -> Exchange:
    def later(time: Any) -> Any:
        return _later(time, seconds)

    return _rewritten(exchange, lambda kind, value: _with_claims(value, later), later)


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


def _rewritten(exchange: Exchange, token: Token, time: Time, carried: Collection[str] = frozenset()) -> Exchange:
    """Return a call with what these make of the tokens and times of its answer; as it is if it hands out none."""
    response = exchange.response
    if response is None or response.status >= 300 or sum(map(len, response.chunks)) > _LARGEST:
        return exchange
    plain = decoded(response.headers, response.chunks)
    if plain is None:
        return exchange
    try:
        text = b"".join(plain).decode()
        body = _rewritten_text(text, token, time, carried)
    except (ValueError, RecursionError):
        return exchange
    return exchange if body == text else exchange._replace(response=_with_body(response, body))


def _with_body(response: Response, body: str) -> Response:
    headers = tuple(one for one in response.headers if one[0].lower() not in ("content-encoding", "content-length"))
    rest = (b"",) * (len(response.chunks) - 1)
    return response._replace(headers=headers, chunks=(body.encode(), *rest))


def _rewritten_text(text: str, token: Token, time: Time, carried: Collection[str]) -> str:
    if (whole := text.strip()) in carried:
        return text.replace(whole, token(_CARRIED, whole))
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
    if _FORM.fullmatch(text):
        return _FIELD.sub(lambda match: match[1] + quote(token(match[2].upper(), unquote_plus(match[3])), ""), text)
    if not text.lstrip().startswith("{"):
        return text
    value = json.loads(text)
    before = json.dumps(value)
    for one in _objects(value, _DEPTH):
        tokens = {name: words.upper() for name, inner in one.items() if _is_token(words := _words(name), inner, one)}
        tokens |= {name: _CARRIED for name, inner in one.items() if isinstance(inner, str) and inner in carried}
        for name, inner in one.items() if tokens else ():
            if name in tokens:
                one[name] = token(tokens[name][:_LONGEST], inner)
            elif _words(name) in _TIMES:
                one[name] = time(inner)
    after = json.dumps(value)
    return text if after == before else after


def _objects(value: Any, levels: int) -> Iterator[dict[str, Any]]:
    """Yield the objects in a JSON value, down to a level."""
    if isinstance(value, dict):
        yield value
        for inner in value.values() if levels else ():
            yield from _objects(inner, levels - 1)


def _is_token(name: str, value: Any, fields: Mapping[str, Any]) -> bool:
    """Whether a field is a token, by its name in one spelling and the `fields` it is one of."""
    if not isinstance(value, str) or not value:
        return False
    if name in _TOKENS:
        return True
    if name not in _MAY_BE and name != _LASTING:
        return False
    if is_minted(value):
        return True
    lasts, is_unwritten = any(_words(one) in _TIMES for one in fields), _UNWRITTEN.fullmatch(value) is not None
    return (lasts and is_unwritten) if name == _LASTING else (lasts or is_unwritten)


@lru_cache(maxsize=1024)
def _words(name: str) -> str:
    """Return a name in one spelling: `access_token` for `accessToken`, `AccessToken` and `access-token`."""
    return "_".join(_WORD.findall(name)).lower() if len(name) <= _LONGEST_NAME else ""
