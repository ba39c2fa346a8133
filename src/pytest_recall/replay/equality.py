"""Say when two requests are equal: the one definition, by which calls are served, recorded, compared and merged.

Two requests are equal if they have one key and no header tells them apart.

**The key** is a digest of a request as it is written down, which is without secrets (`Redactor.request`), and of that
without what may differ (`Rules`). Nothing else is in it:

- the method, in upper case;
- the URL in one spelling, without volatile parameters and texts (`Rules.url`);
- the headers by which calls are matched (`Rules.headers`), in one spelling (`exchange.asking`);
- the body out of its encoding: JSON with its names in order, without volatile fields and with numbers for the ids of
  calls (`Rules.stripped`); other bytes with one text between the parts of an upload, without volatile texts.

**A header** that is not in the key tells calls apart where the recorded calls with one key have several answers, and
are known to differ in it. Their equals are those with the same value. Those headers never do that are ignored, describe
the client or name one run (`other_headers.counts`). Of a value that may be a secret nothing is recorded, so that it is
equal to no other; where a recording does not say which headers there were, none is compared. Credentials tell calls
apart if they are tokens that recorded answers hand out, by their names; of all others nothing is known.
Whether a change alters what is asked is another question, and any other value of a header is a difference there
(`header_differences`): its answer may be another one now, which no recording can tell.

Out of both are when it is asked, in which order, and in which connection.

A request that is a recorded one to the byte, and is read like that, is found without its key being made (`raw_key_of`,
`is_read_alike`): what was written down is written down as the same again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple

from pytest_recall.replay.addresses import without_addresses
from pytest_recall.replay.differences import DifferenceKind, RequestDifference
from pytest_recall.replay.encodings import NO_JSON, parsed, plain_body
from pytest_recall.replay.exchange import Exchange, Headers, Request, asking
from pytest_recall.replay.matching import Rules, SeenRequest, canonical
from pytest_recall.replay.other_headers import (
    CountedHeader,
    counted,
    is_compared,
    is_credential,
    lasting_credentials,
    may_be_told,
)
from pytest_recall.replay.redaction import Redactor, boundaries_of
from pytest_recall.replay.tokens import have_one_answer

_READ = frozenset({"content-encoding", "content-type"})
"""Headers by which a body is read, though they are in no key."""
_CREDENTIALS = "authorization"
_LENGTH = len(_CREDENTIALS)


def seen_by(rules: Rules, request: Request) -> SeenRequest:
    """Return a request that is written down as its key sees it."""
    body = without_addresses(plain_body(request))
    value = parsed(body)
    if value is not NO_JSON:
        value = rules.stripped(request.url, value)
    else:
        for split_by in boundaries_of(request, body):
            body = body.replace(split_by, b"boundary")
        value = rules.raw(body)
    return SeenRequest(request.method.upper(), rules.url(request.url), asking(request.headers, rules.headers), value)


def key_of_seen(seen: SeenRequest) -> str:
    """Return the key of what is seen of a request, 32 hex digits."""
    is_json = not isinstance(seen.body, bytes)
    body = canonical(seen.body).encode("utf-8", "surrogatepass") if is_json else seen.body
    text = f"{seen.method}\n{seen.url}\n{_lines(seen.headers)}{'json' if is_json else 'bytes'}\n"
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass") + body, digest_size=16).hexdigest()


def key_of(request: Request, rules: Rules) -> str:
    """Return the key of a request that is written down."""
    return key_of_seen(seen_by(rules, request))


def written_key(request: Request, rules: Rules, redactor: Redactor) -> str:
    """Return the key of a request that is made: that under which it would be written down."""
    return key_of(redactor.request(request), rules)


def raw_key_of(request: Request, rules: Rules, stored: Headers = ()) -> str:
    """Return a key over the bytes as they are, 32 hex digits, which is quick; over its headers as they are `stored`.

    A request with the raw key of a recorded one has its key as well where `is_read_alike`.
    """
    text = f"{request.method.upper()}\n{request.url}\n{_lines_of(stored or request.headers, rules.headers)}"
    # Processors have instructions for this one, and it is made for every call.
    return hashlib.sha256(text.encode("utf-8", "surrogatepass") + request.body).hexdigest()[:32]


def is_read_alike(headers: Headers, stored: Headers, recorded: Headers) -> bool:
    """Whether a body is made into a key alike with these `headers`, of which these are `stored`, and as it is recorded.

    Beside the bytes that counts how they are read. What a request for a token is written down with is also the client
    in its basic credentials, which are stored nowhere.
    """
    for name, value in headers:
        if len(name) == _LENGTH and name.lower() == _CREDENTIALS and value[:5].lower() == "basic":
            return False
    return stored == recorded or _reading(stored) == _reading(recorded)


def _reading(headers: Headers) -> list[tuple[str, str]]:
    named = ((name.lower(), value) for name, value in headers)
    return [(name, value) for name, value in named if name in _READ]


# A client sends the same headers with every call.
@lru_cache(maxsize=256)
def _lines_of(headers: Headers, names: frozenset[str]) -> str:
    return _lines(asking(headers, names))


def _lines(headers: Mapping[str, str]) -> str:
    return "".join([f"{name}:{value}\n" for name, value in headers.items()])


class EqualCalls(NamedTuple):
    """Recorded calls with one key: the headers that tell them apart, and their names by the values of these."""

    headers: tuple[str, ...]
    by_values: Mapping[tuple[str | None, ...], list[Any]]

    def equal_to(self, request: Request, rules: Rules, redactor: Redactor) -> Sequence[Any]:
        """Return the names of those that are equal to a request with their key, in their order."""
        if any(map(is_credential, self.headers)):
            request = _with_names(request, redactor)
        return self.by_values.get(_values(_digests(request, rules), self.headers), ())


def told_apart(
    recorded: Mapping[Hashable, Request], answers: Callable[[], Iterable[Exchange]], rules: Rules
) -> EqualCalls:
    """Return recorded requests with one key by what tells them apart; `answers` are read where headers differ."""
    digests = {name: _digests(request, rules) for name, request in recorded.items()}
    headers = _deciding(recorded.values(), digests.values())
    if headers and have_one_answer(answers()):
        headers = ()
    by_values: dict[tuple[str | None, ...], list[Any]] = {}
    for name, known in digests.items():
        by_values.setdefault(_values(known, headers), []).append(name)
    return EqualCalls(headers, by_values)


def _deciding(recorded: Iterable[Request], digests: Collection[Mapping[str, str]]) -> tuple[str, ...]:
    """Return the headers in which recorded requests are known to differ, sorted."""
    if any(one.others is None for one in recorded):
        return ()
    values = {name: {one.get(name) for one in digests} - {""} for name in {name for one in digests for name in one}}
    # That none of a credential is recorded does not say that there was none.
    return tuple(
        sorted(name for name, some in values.items() if len(some - {None} if is_credential(name) else some) > 1)
    )


def _with_names(request: Request, redactor: Redactor) -> Request:
    """Return a request with the names of the secrets in its headers: a token may have been handed out anew."""
    return request._replace(headers=tuple((name, redactor.text(value)) for name, value in request.headers))


def equals(calls: Sequence[Exchange], rules: Rules) -> list[Hashable]:
    """Return a value for each of some recorded calls, which those have in common that are equal."""
    found: list[Hashable] = [None] * len(calls)
    for key, places in _by_key(calls).items():
        for values, same in _of_one_key(calls, places, rules).by_values.items():
            for place in same:
                found[place] = (key, values)
    return found


def equals_of_made(calls: Sequence[Exchange], rules: Rules, redactor: Redactor) -> list[Hashable]:
    """Return what `equals` does of calls of which some were made live: these have no key yet, and all their headers."""
    return equals(
        [
            one
            if one.key
            else one._replace(
                key=written_key(one.request, rules, redactor),
                request=one.request._replace(others=one.request.others or ()),
            )
            for one in calls
        ],
        rules,
    )


def headers_to_match(calls: Sequence[Exchange], rules: Rules) -> tuple[str, ...]:
    """Return the headers that tell recorded calls with one key apart and could be matched, sorted."""
    groups = (_of_one_key(calls, places, rules) for places in _by_key(calls).values())
    return tuple(sorted({name for group in groups for name in group.headers if not is_credential(name)}))


def only_credentials(calls: Iterable[Exchange], rules: Rules, redactor: Redactor) -> tuple[str, ...]:
    """Return the headers with a credential in which equal calls that were made differ and have several answers, sorted.

    Of a credential nothing is recorded, so that nothing else will ever say which of the answers is whose.
    """
    # A token that was handed out has its name, by which it is told apart.
    made = [one._replace(key="", request=_with_names(one.request, redactor)) for one in calls]
    by_call = [lasting_credentials(one.request.headers) for one in made]
    names = _of_several_values(by_call) - rules.ignored
    if not names:
        return ()
    groups: dict[Hashable, list[int]] = {}
    for at, equal in enumerate(equals_of_made(made, rules, redactor)):
        groups.setdefault(equal, []).append(at)
    differing = (
        _of_several_values([by_call[at] for at in places])
        for places in groups.values()
        if not have_one_answer([made[at] for at in places])
    )
    return tuple(sorted(names.intersection(chain.from_iterable(differing))))


def _of_several_values(headers: Iterable[Mapping[str, str]]) -> set[str]:
    """Return the names of the headers that have more than one value in these."""
    values: dict[str, set[str]] = {}
    for one in headers:
        for name, value in one.items():
            values.setdefault(name, set()).add(value)
    return {name for name, some in values.items() if len(some) > 1}


def _by_key(calls: Sequence[Exchange]) -> Mapping[str, list[int]]:
    places: dict[str, list[int]] = {}
    for place, call in enumerate(calls):
        places.setdefault(call.key, []).append(place)
    return places


def _of_one_key(calls: Sequence[Exchange], places: Sequence[int], rules: Rules) -> EqualCalls:
    return told_apart({at: calls[at].request for at in places}, lambda: [calls[at] for at in places], rules)


def header_differences(
    recorded: Request, request: Request, rules: Rules, redactor: Redactor
) -> list[RequestDifference]:
    """Return the headers in which a request differs from a recorded one that has `others`.

    A header of which a value is not known, as it may be a secret, differs from none.
    """
    then, now = _digests(recorded, rules), {one.name: one for one in counted(request.headers, rules)}
    differences = []
    for name in sorted(then.keys() | now.keys()):
        before, after = then.get(name), now.get(name)
        if before == "" or (after is not None and before == after.digest) or (before is None and is_credential(name)):
            continue
        if after is not None and not _is_known(after, rules, redactor):
            continue
        kind = DifferenceKind.CHANGED if before and after else DifferenceKind.REMOVED
        differences.append(RequestDifference(DifferenceKind.ADDED if before is None else kind, f"header {name}"))
    return differences


def _is_known(header: CountedHeader, rules: Rules, redactor: Redactor) -> bool:
    if is_credential(header.name):
        return bool(header.digest)
    return may_be_told(header.name, header.value, rules, redactor)


def _digests(request: Request, rules: Rules) -> dict[str, str]:
    """Return the digests of the headers that count, of a request that is made or recorded; empty for an unknown one."""
    digests = {one.name: one.digest for one in counted(request.headers, rules)}
    return digests | {name: digest for name, digest in request.others or () if is_compared(name, rules)}


def _values(digests: Mapping[str, str], names: Iterable[str]) -> tuple[str | None, ...]:
    return tuple(digests.get(name) for name in names)
