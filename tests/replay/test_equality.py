"""Which requests are equal: by their keys, whose shortcut is the same relation, and by their other headers."""

from __future__ import annotations

import gzip
from base64 import b64encode
from collections.abc import Hashable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pytest_recall.replay.cassette_file import Cassette, write_cassette
from pytest_recall.replay.differences import DifferenceKind, RequestDifference
from pytest_recall.replay.equality import (
    equals,
    equals_of_made,
    header_differences,
    headers_to_match,
    is_read_alike,
    key_of,
    only_credentials,
    told_apart,
    written_key,
)
from pytest_recall.replay.exchange import MATCHED, Exchange, Headers, Request, Response
from pytest_recall.replay.matching import Rules
from pytest_recall.replay.redaction import Redactor, with_fixed_boundary
from tests.helpers.samples import unhurried
from tests.replay.test_other_headers import NONE, RULES, differences, recorded

SECRET = "correct-horse-battery"
HERE = Redactor({"MY_OWN": SECRET, "OTHER": "two  blanks-in-it"})


def basic(user: str) -> tuple[str, str]:
    """Return the header of a client that names itself."""
    return "authorization", "Basic " + b64encode(f"{user}:password".encode()).decode()


FORM, JSON, TEXT, PARTS = (
    ("content-type", kind)
    for kind in (
        *("application/x-www-form-urlencoded", "application/json", "text/plain"),
        "multipart/form-data; boundary=0123456789abcdef",
    )
)
ZIPPED = ("content-encoding", "gzip")
GRANT = b"grant_type=client_credentials"
PLAIN = b'{"model": "m", "messages": [{"role": "user", "content": "hi"}]}'
PACKED = gzip.compress(PLAIN, mtime=0)


def at(*headers: tuple[str, str], body: bytes = b"") -> Request:
    """Return a request to one address."""
    return Request("POST", "https://h.test/token", headers, body)


requests = st.builds(
    Request,
    st.sampled_from(["POST", "post", "PUT"]),
    st.sampled_from(
        ["https://h.test/token", "https://H.test/token", f"https://h.test/token?key={SECRET}", "https://h.test/?q=1"]
    ),
    st.lists(
        st.sampled_from(
            [
                *(FORM, JSON, PARTS, TEXT, ("Content-Type", "application/json")),
                *(ZIPPED, ("accept", "text/csv"), ("accept", "two  blanks-in-it")),
                *(("accept", "two blanks-in-it"), ("accept", "*/*"), ("x-tenant", "acme"), ("user-agent", "a")),
                *(basic("alice"), basic("bob"), ("authorization", "Bearer x"), ("Prefer", SECRET)),
            ]
        ),
        max_size=4,
    ).map(tuple),
    st.sampled_from(
        [
            *(
                b"",
                PLAIN,
                PLAIN.replace(b" ", b""),
                PLAIN.replace(b"hi", SECRET.encode()),
                gzip.compress(PLAIN, mtime=0),
            ),
            *(b"a=1&token=hello", b"a=1&token=[REDACTED]", b"grant_type=client_credentials", b'{"grant_type":"x"}'),
            *(b"grant_type=client_credentials&client_id=alice", b"grant_type=password&password=x&username=u"),
            *(b"--0123456789abcdef\r\n\r\nx\r\n--0123456789abcdef--\r\n", b"--b\r\n\r\nx\r\n--b--\r\n"),
            *(b"<A at 0x7f3a5c1e8d90>", b"[ADDRESS]", b"[MY_OWN]"),
        ]
    ),
)


def written(request: Request, seq: int = 0) -> Exchange:
    """Return a call as it is written down."""
    clean = with_fixed_boundary(HERE.request(request))
    return Exchange(key_of(clean, RULES), seq, "agent", clean, Response(200, chunks=(b"%d" % seq,)))


@unhurried
@given(st.lists(requests, min_size=1, max_size=4), requests)
@example([at(FORM, body=GRANT)], at(FORM, basic("bob"), body=GRANT))
@example([at(TEXT, body=b"a=1&token=hello")], at(FORM, body=b"a=1&token=hello"))
@example([at(ZIPPED, body=PACKED)], at(body=PACKED))
@example([at(("accept", "two blanks-in-it"))], at(("accept", "two  blanks-in-it")))
def test_what_is_found_by_its_bytes_is_what_is_found_by_its_key(
    tmp_path_factory: pytest.TempPathFactory, made: list[Request], asked: Request
) -> None:
    path = tmp_path_factory.getbasetemp() / "equal.ndjson"
    calls = [written(request, seq) for seq, request in enumerate(made)]
    # What is imported may have lost its headers.
    calls += [one._replace(request=one.request._replace(headers=()), seq=one.seq + len(made)) for one in calls]
    for written_by in (RULES, Rules(["model"])):
        write_cassette(path, {}, calls, written_by)
        cassette = Cassette(path, "equal", RULES)
        for request in (asked, *made, *(one.request for one in cassette.exchanges())):
            expected = cassette.keys.get(written_key(request, RULES, HERE), ())
            assert list(cassette.places_of(request, HERE)) == list(expected)


@pytest.mark.parametrize(
    ("headers", "recorded", "alike"),
    [
        ((JSON, ("authorization", "Bearer x"), ("user-agent", "b")), (JSON,), True),
        (((JSON[0].title(), JSON[1]),), (JSON, ("accept", "*/*")), True),
        ((JSON, basic("bob")), (JSON,), False),
        ((JSON, ZIPPED), (JSON,), False),
        ((), (JSON,), False),
    ],
)
def test_what_a_client_sends_each_time_is_not_looked_into(headers: Headers, recorded: Headers, alike: bool) -> None:
    assert is_read_alike(headers, HERE.headers(headers), recorded) is alike


def of_tenant(tenant: str | None) -> Request:
    """Return a recorded request with the header of a tenant, which may be a secret."""
    return recorded(*([("X-Tenant", tenant)] if tenant else []), redactor=HERE)


def by_token(token: str) -> Request:
    """Return a recorded request with this as its credential."""
    return recorded(("Authorization", f"Bearer {token}"), redactor=HERE)


def made_by(*calls: tuple[str, str | None, bytes]) -> list[Exchange]:
    """Return recorded calls by their keys, tenants and answers."""
    return [
        Exchange(key, seq, "agent", of_tenant(tenant), Response(200, chunks=(answer,)))
        for seq, (key, tenant, answer) in enumerate(calls)
    ]


class TestToldApart:
    """Calls with one key, which have several answers and are known to differ in a header."""

    @pytest.mark.parametrize(
        ("calls", "named", "groups"),
        [
            ([("k", "acme", b"1"), ("k", "zen", b"2")], ("x-tenant",), 2),
            ([("k", "acme", b"1"), ("k", "zen", b"1")], (), 1),
            ([("k", "acme", b"1"), ("k", "acme", b"2")], (), 1),
            ([("k", "acme", b"1"), ("other", "zen", b"2")], (), 2),
            ([("k", None, b"1"), ("k", "zen", b"2")], ("x-tenant",), 2),
            ([("k", SECRET, b"1"), ("k", "zen", b"2")], (), 1),
            ([("k", SECRET, b"1"), ("k", "zen", b"2"), ("k", "acme", b"2")], ("x-tenant",), 3),
        ],
    )
    def test_the_header_is_to_be_matched(
        self, calls: list[tuple[str, str | None, bytes]], named: tuple[str, ...], groups: int
    ) -> None:
        made = made_by(*calls)
        assert headers_to_match(made, RULES) == named
        assert len(set(equals(made, RULES))) == groups
        assert headers_to_match(made, Rules(ignored=["x-tenant"])) == ()

    @pytest.mark.parametrize(
        ("credentials", "groups"),
        [
            (("[MINTED_ACCESS_TOKEN-00000001]", "[MINTED_ACCESS_TOKEN-00000002]"), 2),
            (("[MINTED_ACCESS_TOKEN-00000001]", "[MINTED_ACCESS_TOKEN-00000001]"), 1),
            (("[MINTED_ACCESS_TOKEN-00000001]", "of-nobody-we-know"), 1),
            (("[MINTED_ACCESS_TOKEN-00000001]", SECRET), 1),
            (("this-one", "that-one"), 1),
            (("[MINTED_ACCESS_TOKEN-00000001]", "[MINTED_ACCESS_TOKEN-00000002]", "of-nobody-we-know"), 3),
        ],
    )
    def test_tokens_that_answers_hand_out_are_known_by_their_names(
        self, credentials: tuple[str, ...], groups: int
    ) -> None:
        made = [
            Exchange("k", seq, "agent", by_token(one), Response(200, chunks=(b"%d" % seq,)))
            for seq, one in enumerate(credentials)
        ]
        assert len(set(equals(made, RULES))) == groups
        assert headers_to_match(made, RULES) == ()

    def test_a_token_that_is_handed_out_anew_is_the_one_of_its_name(self) -> None:
        redactor = Redactor({})
        redactor.learn({"MINTED_ACCESS_TOKEN-00000001": "ya29.as-it-is-now"})
        made: dict[Hashable, Request] = {seq: by_token(f"[MINTED_ACCESS_TOKEN-0000000{seq}]") for seq in (2, 1)}
        answers = [Exchange("k", 0, "agent", made[seq], Response(200, chunks=(b"%d" % seq,))) for seq in (2, 1)]
        apart = told_apart(made, lambda: answers, RULES)
        for token, equal in {
            "ya29.as-it-is-now": [1],
            "[MINTED_ACCESS_TOKEN-00000002]": [2],
            "[MINTED_ACCESS_TOKEN-00000003]": [],
            "ya29.of-nobody": [],
        }.items():
            assert list(apart.equal_to(at(("authorization", f"Bearer {token}")), RULES, redactor)) == equal

    def test_nothing_is_known_where_a_recording_does_not_say(self) -> None:
        one, other = made_by(("k", "acme", b"1"), ("k", "zen", b"2"))
        assert headers_to_match([one, other._replace(request=other.request._replace(others=None))], RULES) == ()

    def test_one_that_was_made_live_has_all_its_headers(self) -> None:
        tenants = [Request("GET", "http://x/", (("x-tenant", name),)) for name in ("acme", "zen", "acme")]
        answers = (Response(200, chunks=(answer,)) for answer in (b"1", b"2", b"3"))
        made = [Exchange("", 0, "agent", *call) for call in zip(tenants, answers, strict=True)]
        first, second, third = equals_of_made(made, RULES, NONE)
        assert first == third != second


KEY = "x-api-key"
AUTH = "authorization"


def live(*calls: tuple[Headers, bytes]) -> list[Exchange]:
    """Return calls that were made, by their headers and answers."""
    return [
        Exchange("", seq, "agent", Request("GET", "http://x/", headers), Response(200, chunks=(answer,)))
        for seq, (headers, answer) in enumerate(calls)
    ]


class TestOnlyCredentials:
    """Calls that were made, and are equal but for a credential."""

    @pytest.mark.parametrize(
        ("one", "other", "named"),
        [
            (((KEY, "ana"),), ((KEY, "ben"),), (KEY,)),
            (((KEY, "ana"),), ((KEY, "ana"),), ()),
            (((KEY, "ana"),), (), ()),
            (((AUTH, "token ana"),), ((AUTH, "token ben"),), (AUTH,)),
            (((AUTH, "Basic YW5hOng="),), ((AUTH, "Basic YmVuOng="),), (AUTH,)),
            (((AUTH, "ana"),), ((AUTH, "ben"),), (AUTH,)),
            (((AUTH, "Bearer ana"), (KEY, "1")), ((AUTH, "Bearer ben"), (KEY, "2")), (AUTH, KEY)),
            (((KEY, "ana"), ("x-user", "ana")), ((KEY, "ben"), ("x-user", "ben")), ()),
            (((KEY, "ana"), ("accept", "a/b")), ((KEY, "ben"), ("accept", "b/a")), ()),
            # What signs or names one call is another one each time.
            (((AUTH, "AWS4-HMAC-SHA256 Signature=1"),), ((AUTH, "AWS4-HMAC-SHA256 Signature=2"),), ()),
            ((("idempotency-key", "1"),), (("idempotency-key", "2"),), ()),
            ((("cookie", "a=1"),), (("cookie", "a=2"),), ()),
        ],
    )
    def test_those_with_several_answers_are_named(self, one: Headers, other: Headers, named: tuple[str, ...]) -> None:
        assert only_credentials(live((one, b"1"), (other, b"2")), RULES, NONE) == named
        assert only_credentials(live((one, b"1"), (other, b"1")), RULES, NONE) == ()
        assert only_credentials(live((one, b"1"), (other, b"2")), Rules(ignored=named), NONE) == ()

    def test_a_token_that_was_handed_out_tells_them_apart(self) -> None:
        redactor = Redactor({})
        redactor.learn({f"MINTED_ACCESS_TOKEN-0000000{at}": f"ya29.of-client-{at}" for at in (1, 2)})
        calls = live(*(((((AUTH, f"Bearer ya29.of-client-{at}"),)), b"%d" % at) for at in (1, 2)))
        assert only_credentials(calls, RULES, redactor) == ()
        assert only_credentials(calls, RULES, NONE) == (AUTH,)


class TestDifferences:
    """What is said, and what is passed over."""

    def test_each_is_one(self) -> None:
        before = (("X-Variant", "a"), ("x-old", "1"), ("x-same", "1"))
        after = (("x-variant", "b"), ("x-new", "1"), ("x-same", "1"))
        assert differences(before, after) == [
            RequestDifference(DifferenceKind.ADDED, "header x-new"),
            RequestDifference(DifferenceKind.REMOVED, "header x-old"),
            RequestDifference(DifferenceKind.CHANGED, "header x-variant"),
        ]

    def test_of_credentials_only_tokens_that_are_known_differ(self) -> None:
        one, other, nobody = (
            (("authorization", f"Bearer {token}"),)
            for token in ("[MINTED_ACCESS_TOKEN-00000001]", "[MINTED_ACCESS_TOKEN-00000002]", "of-nobody-we-know")
        )
        assert differences(one, other) == [RequestDifference(DifferenceKind.CHANGED, "header authorization")]
        assert differences(one, ()) == [RequestDifference(DifferenceKind.REMOVED, "header authorization")]
        assert (
            differences(one, one)
            == differences(one, nobody)
            == differences(nobody, one)
            == differences((), nobody)
            == []
        )

    def test_of_a_content_type_its_parameters_do_not_count(self) -> None:
        form = "multipart/form-data; boundary="
        assert differences((("content-type", form + "a"),), (("Content-Type", form.upper() + "b"),)) == []
        text = (TEXT,)
        assert differences((("content-type", "application/json"),), text) == [
            RequestDifference(DifferenceKind.CHANGED, "header content-type")
        ]

    def test_what_the_rubric_ignores_is_not_compared_nor_is_what_it_did_ignore(self) -> None:
        before, after = (("x-lot", "1"),), (("x-lot", "2"),)
        ignoring = Rules(ignored=["x-lot"])
        assert differences(before, after, ignoring) == differences(before, (), ignoring) == []
        was = recorded(*before, rules=ignoring)
        assert was.others == (("x-lot", ""),)
        assert header_differences(was, Request("POST", "http://x/", after), RULES, NONE) == []
        assert header_differences(recorded(*before), Request("POST", "http://x/", after), ignoring, NONE) == []

    def test_a_header_that_is_stored_now_was_not_then_and_the_other_way_round(self) -> None:
        value = (("x-variant", "a"),)
        by_value = Request("POST", "http://x/", value, others=())
        by_digest = recorded(*value)
        for was in (by_value, by_digest):
            for rules in (RULES, Rules(headers=MATCHED | {"x-variant"})):
                assert header_differences(was, Request("POST", "http://x/", value), rules, NONE) == []
                other = Request("POST", "http://x/", (("x-variant", "b"),))
                assert header_differences(was, other, rules, NONE) == [
                    RequestDifference(DifferenceKind.CHANGED, "header x-variant")
                ]
