"""Leave out of a request for a token what proves who asks, and keep who that is and what is asked for.

Such a request has a `grant_type` (RFC 6749), in a form, in JSON or in a query, or is an action of AWS STS that gives
credentials. Secrets, signatures and times are no part of its key; the grant, the client, the scope, the audience and
the user are. A JSON web token in it (RFC 7523) becomes its claims. What is opaque, and is no token that a recorded
answer has handed out, becomes `[REDACTED]`, and `proof_of` tells two of them apart while they are recorded.
"""

from __future__ import annotations

import json
import re
from base64 import b64decode
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, quote_plus, unquote_plus, urlsplit, urlunsplit

from pytest_recall.replay.encodings import NO_JSON, parsed
from pytest_recall.replay.exchange import Headers, Request
from pytest_recall.replay.tokens import PLACEHOLDER, by_name, claims_of

REDACTED = "[REDACTED]"
_PROOFS = frozenset(
    {
        *("clientsecret", "codeverifier", "nonce", "otp", "password", "tokencode"),
        *("xamzcredential", "xamzdate", "xamzsecuritytoken", "xamzsignature"),
    }
)
"""What proves who asks, or is another each time: by its name without case, `_` and `-`."""
_BEARERS = frozenset(
    {
        *("actortoken", "apikey", "assertion", "clientassertion", "code", "devicecode", "idtoken", "refreshtoken"),
        *("samlassertion", "subjecttoken", "token", "webidentitytoken"),
    }
)
"""What says on whose behalf is asked."""
_ACTIONS = frozenset(
    {
        *("AssumeRole", "AssumeRoleWithSAML", "AssumeRoleWithWebIdentity", "AssumeRoot"),
        *("GetFederationToken", "GetSessionToken"),
    }
)
_OF_ITS_CALLER = frozenset({"GetFederationToken", "GetSessionToken"})
"""Actions that name no role, so that they are for the owner of the key by which they are signed."""
_DEFAULT_SESSION = re.compile(r"botocore-session-\d+")
"""How botocore calls a session without a name: by the time."""
_SIGNED_BY = re.compile(r"\AAWS4-[\w-]+ Credential=([^/\s,]+)/")
_SAFE = '[]{}":,/@'


class _Pairs(NamedTuple):
    """The parameters of a request in a form, a query or JSON."""

    where: str
    names: Sequence[tuple[str, Any]]


def without_proof(request: Request, headers: Headers, is_credential: Callable[[str], bool]) -> Request | None:
    """Return a request for a token as it is recorded, or None for any other.

    Its known secrets are placeholders already; `headers` are all that it was sent with. `is_credential` says of the
    name of a parameter whether its value is never recorded.
    """
    pairs = _pairs_of(request)
    if pairs is None:
        return None
    changed = [(name, _recorded(name, value, is_credential(name))) for name, value in pairs.names]
    client = _client_in(headers)
    if client and not any(_plain(name) == "clientid" for name, _ in changed):
        changed.append(("client_id", client))
    if changed == list(pairs.names):
        return request
    if pairs.where == "json":
        return request._replace(body=json.dumps(dict(changed)).encode())
    text = "&".join(f"{quote_plus(name)}={quote_plus(value, safe=_SAFE)}" for name, value in changed)
    if pairs.where == "url":
        return request._replace(url=urlunsplit(urlsplit(request.url)._replace(query=text)))
    return request._replace(body=text.encode())


def proof_of(request: Request, recorded: Request) -> tuple[str, ...]:
    """Return what a request for a token has that says whose it is, and that is `[REDACTED]` in its recording."""
    pairs, kept = _pairs_of(request), _pairs_of(recorded)
    if pairs is None or kept is None:
        return ()
    hidden = {name for name, value in kept.names if value == REDACTED and _plain(name) in _BEARERS}
    proofs = tuple(f"{name} {value}" for name, value in pairs.names if name in hidden)
    signed = _SIGNED_BY.match(_header(request.headers, "authorization"))
    if signed and ("Action", True) in ((name, value in _OF_ITS_CALLER) for name, value in pairs.names):
        return (*proofs, f"the access key {signed[1]}")
    return proofs


def _pairs_of(request: Request) -> _Pairs | None:
    """Return the parameters of a request for a token; None for any other."""
    body = request.body
    if b'"grant_type"' in body or b'"grantType"' in body:
        value = parsed(body)
        if value is not NO_JSON and isinstance(value, dict):
            pairs = _Pairs("json", tuple(value.items()))
            return pairs if _asks_token(pairs) else None
        return None
    if (b"grant_type=" in body or b"Action=" in body) and is_form(request.headers):
        try:
            text = body.decode()
        except ValueError:
            return None
        pairs = _Pairs("form", parse_qsl(text, keep_blank_values=True))
        return pairs if _asks_token(pairs) else None
    if "Action=" in request.url or "grant_type=" in request.url:
        pairs = _Pairs("url", parse_qsl(urlsplit(request.url).query, keep_blank_values=True))
        return pairs if _asks_token(pairs) else None
    return None


def _asks_token(pairs: _Pairs) -> bool:
    given = {name: value for name, value in pairs.names if isinstance(value, str)}
    if "grant_type" in given or "grantType" in given:
        return True
    return given.get("Action") in _ACTIONS and given.get("Version") == "2011-06-15"


def _recorded(name: str, value: Any, is_credential: bool) -> Any:
    if not isinstance(value, str):
        return value
    plain, named = _plain(name), by_name(value)
    if plain in _PROOFS:
        return REDACTED
    if PLACEHOLDER.fullmatch(named):
        return named
    claims = claims_of(value)
    if claims is not None:
        return f"[JWT {json.dumps(claims, sort_keys=True, separators=(',', ':'), ensure_ascii=False)}]"
    if plain in _BEARERS or is_credential:
        return REDACTED
    if plain == "rolesessionname" and _DEFAULT_SESSION.fullmatch(value):
        return "botocore-session-[TIME]"
    return value


def _client_in(headers: Headers) -> str:
    """Return the client that is named in basic credentials (RFC 6749 §2.3.1); empty if none is."""
    scheme, _, rest = _header(headers, "authorization").partition(" ")
    if scheme.lower() != "basic":
        return ""
    try:
        return unquote_plus(b64decode(rest).decode().partition(":")[0])
    except ValueError:
        return ""


def is_form(headers: Headers) -> bool:
    """Tell whether a body is that of a form, in pairs as in a query."""
    return _header(headers, "content-type").lower().startswith("application/x-www-form-urlencoded")


def _header(headers: Headers, name: str) -> str:
    return next((value for key, value in headers if key.lower() == name), "")


def _plain(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")
