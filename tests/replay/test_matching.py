"""Matching: what makes two requests the same, and what to say of one that is not."""

from __future__ import annotations

import gzip
import itertools
import json
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pytest_recall.replay.encodings import json_of
from pytest_recall.replay.equality import key_of, raw_key_of, seen_by
from pytest_recall.replay.exchange import Request
from pytest_recall.replay.matching import APIS, Api, Rules, VolatileText, normal_url
from pytest_recall.replay.redaction import FIXED_BOUNDARY, with_fixed_boundary
from tests.helpers.samples import costly

URL = "https://api.example.com/v1/chat/completions"
RULES = Rules()

texts = st.text(max_size=8)
scalars = st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False) | texts
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3))
bodies = st.dictionaries(texts, values, max_size=5)


def post(body: Any, url: str = URL, method: str = "POST", **dumps: Any) -> Request:
    """Return a request with this JSON body."""
    data = body if isinstance(body, bytes) else json.dumps(body, **dumps).encode("utf-8", "surrogatepass")
    return Request(method, url, (("content-type", "application/json"),), data)


def same(one: Request, other: Request, rules: Rules = RULES) -> bool:
    """Whether the two have one key."""
    return key_of(one, rules) == key_of(other, rules)


def shuffled(value: Any, order: Any) -> Any:
    """Return an equal JSON value whose keys are in another order."""
    if isinstance(value, dict):
        names = list(value)
        order.shuffle(names)
        return {name: shuffled(value[name], order) for name in names}
    return [shuffled(item, order) for item in value] if isinstance(value, list) else value


def with_floats(value: Any) -> Any:
    """Return an equal JSON value whose small whole numbers are floats."""
    if isinstance(value, dict):
        return {name: with_floats(item) for name, item in value.items()}
    if isinstance(value, list):
        return [with_floats(item) for item in value]
    return float(value) if type(value) is int and abs(value) < 2**53 else value


class TestTheSame:
    """What asks for the same has the same key."""

    @costly
    @given(bodies, st.randoms(use_true_random=False))
    def test_whatever_the_order_of_its_keys(self, body: dict[str, Any], order: Any) -> None:
        assert same(post(body), post(shuffled(body, order)))

    @given(bodies)
    def test_however_it_is_written(self, body: dict[str, Any]) -> None:
        for indent, ascii_only in itertools.product((None, 1, "\t"), (True, False)):
            assert same(post(body), post(body, indent=indent, ensure_ascii=ascii_only))
        # Whole numbers as floats, and other headers.
        assert same(post(body), post(with_floats(body)))
        request = post(body)
        assert same(request, request._replace(headers=(*request.headers, ("traceparent", "00-1"))))
        # What is the same to the byte is the same; both keys have 32 hex digits.
        assert raw_key_of(request, RULES) == raw_key_of(post(dict(body)), RULES)
        assert len(key_of(request, RULES)) == len(raw_key_of(request, RULES)) == 32

    @given(bodies, st.lists(texts, max_size=3))
    def test_whether_nothing_is_said_or_left_out(self, body: dict[str, Any], names: list[str]) -> None:
        asked = {**body, "model": "m", "messages": []}
        assert same(post(asked), post({**{name: None for name in names if name not in asked}, **asked}))

    @pytest.mark.parametrize(
        "url",
        [
            "https://API.example.com/v1/chat/completions",
            "https://api.example.com:443/v1/chat/completions",
            "https://api.example.com/v1/chat/completions#top",
            "HTTPS://api.example.com/v1/chat/completions",
        ],
    )
    def test_however_its_url_is_spelt(self, url: str) -> None:
        assert same(post({"a": 1}), post({"a": 1}, url))

    def test_however_it_is_compressed(self) -> None:
        plain = post({"model": "m", "messages": [], "seed": None})
        for name, time in (("content-encoding", 1), ("Content-Encoding", 2)):
            packed = gzip.compress(post({"model": "m", "messages": []}).body, mtime=time)
            assert same(plain, plain._replace(headers=(*plain.headers, (name, "gzip")), body=packed))

    def test_half_a_pair_of_surrogates_is_a_text_too(self) -> None:
        for request in (post({"a": "\ud800"}), post({}, f"{URL}?a=\ud800")):
            assert same(request, request)
            assert raw_key_of(request, RULES) == raw_key_of(request, RULES)
            assert not same(request, post({}))


class TestAnother:
    """Every other change makes another request of it."""

    @costly
    @given(bodies, bodies)
    def test_a_change_of_the_body(self, one: dict[str, Any], other: dict[str, Any]) -> None:
        left, right = (RULES.stripped(URL, json_of(post(body).body)) for body in (one, other))
        assume(json.dumps(left, sort_keys=True) != json.dumps(right, sort_keys=True))
        assert not same(post(one), post(other))

    @costly
    @given(bodies, texts, st.text(max_size=3))
    def test_a_text_that_grows(self, body: dict[str, Any], name: str, more: str) -> None:
        assume(more)
        assert not same(post({**body, name: "x"}), post({**body, name: "x" + more}))

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ({"a": True}, {"a": 1}),
            ({"a": "1"}, {"a": 1}),
            ({"a": 1}, {"a": 1.5}),
            ({"a": [1, 2]}, {"a": [2, 1]}),
            ({"a": {"b": None}}, {"a": {}}),
            ({"a": [None]}, {"a": []}),
            ({"a": ""}, {}),
            ({"a": 2**53 + 1}, {"a": 2**53}),
            ({"model": "x"}, {"model": "y"}),
            ({"stream": True}, {"stream": False}),
        ],
    )
    def test_what_is_nearly_the_same(self, one: Any, other: Any) -> None:
        assert not same(post(one), post(other))

    @pytest.mark.parametrize(
        "url",
        [
            "http://api.example.com/v1/chat/completions",
            "https://api.example.com:8443/v1/chat/completions",
            "https://api.example.org/v1/chat/completions",
            "https://api.example.com/v1/Chat/completions",
            "https://api.example.com/v1/chat/completions?beta=1",
            "https://api.example.com/v1/chat/completions/",
        ],
    )
    def test_another_url(self, url: str) -> None:
        assert not same(post({"a": 1}), post({"a": 1}, url))

    def test_another_method(self) -> None:
        assert not same(post({}), post({}, method="PUT"))
        assert same(post({}), post({}, method="post"))

    @given(st.binary(max_size=20), st.binary(max_size=20))
    def test_bytes_that_are_no_json(self, one: bytes, other: bytes) -> None:
        assume(one != other and json_of(one) is None and json_of(other) is None)
        assert not same(post(one), post(other))

    def test_json_and_the_same_text_as_bytes(self) -> None:
        assert not same(post(b'{"a":1}'), post(b' {"a":1}'))


class TestVolatile:
    """Fields that the rubric names; in bodies of the providers a null as well."""

    @pytest.mark.parametrize("api", APIS, ids=lambda api: api.path)
    def test_a_null_says_nothing_and_what_names_the_caller_counts(self, api: Api) -> None:
        url = f"https://api.example.com/v1{api.path}"
        body = dict.fromkeys(api.holds, 1)
        for name in ("user", "safety_identifier", "prompt_cache_key", "metadata"):
            assert not same(post({**body, name: "x"}, url), post({**body, name: "y"}, url))
            assert not same(post({**body, name: "x"}, url), post(body, url))
        assert same(post({**body, "seed": None}, url), post(body, url))
        assert same(post({**body, "seed": None}, f"{url}/"), post(body, f"{url}/"))

    def test_a_path_that_ends_alike_is_another_api(self) -> None:
        url = "https://chat.example.com/api/chat/messages"
        alice, bob = ({"metadata": {"customer": name}} for name in ("alice", "bob"))
        assert not same(post(alice, url), post(bob, url))
        assert not same(post({"text": "x", "title": None}, url), post({"text": "x"}, url))

    def test_elsewhere_it_may_not(self) -> None:
        url = "https://api.example.com/v1/other"
        assert not same(post({"user": "x"}, url), post({"user": "y"}, url))
        assert not same(post({"a": {"user": "x"}}), post({"a": {"user": "y"}}))

    @pytest.mark.parametrize(
        ("path", "one", "other"),
        [
            ("id", {"id": 1}, {"id": 2}),
            ("id", {"id": 1}, {}),
            ("a.id", {"a": {"id": 1, "b": 1}}, {"a": {"id": 2, "b": 1}}),
            ("m.*.id", {"m": [{"id": 1}, {"id": 2}]}, {"m": [{"id": 3}, {}]}),
            ("*.id", [{"id": 1}], [{"id": 2}]),
            ("m.*", {"m": [1, 2]}, {"m": [3, 4]}),
        ],
    )
    def test_what_the_rubric_names_may_differ(self, path: str, one: Any, other: Any) -> None:
        assert same(post(one), post(other), Rules([path]))
        assert not same(post(one), post(other))

    @pytest.mark.parametrize(
        ("path", "one", "other"),
        [
            ("id", {"a": {"id": 1}}, {"a": {"id": 2}}),
            ("a.id", {"a": {"b": 1}}, {"a": {"b": 2}}),
            ("m.*.id", {"m": [{"id": 1}]}, {"m": [{"id": 1}, {"id": 2}]}),
            ("m.*.id", {"m": [{"id": 1, "a": 1}]}, {"m": [{"id": 1, "a": 2}]}),
            ("a.id", {"a": "x"}, {"a": "y"}),
        ],
    )
    def test_nothing_else_may(self, path: str, one: Any, other: Any) -> None:
        assert not same(post(one), post(other), Rules([path]))

    @pytest.mark.parametrize(
        ("one", "other"),
        [("?a=1&ts=5", "?a=1&ts=6"), ("?ts=5", ""), ("?a=1&t%73=5", "?a=1"), ("?ts&a=1", "?a=1")],
    )
    def test_a_parameter_that_the_rubric_names_may_differ(self, one: str, other: str) -> None:
        rules = Rules(query=["ts"])
        assert same(post({}, URL + one), post({}, URL + other), rules)
        assert not same(post({}, URL + one), post({}, URL + other))
        assert not same(post({}, URL + one), post({}, f"{URL}?a=2&ts=5"), rules)

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ({"m": [{"content": "Today is 2026-03-10."}]}, {"m": [{"content": "Today is 2026-03-11."}]}),
            (b"on 2026-03-10 \xff", b"on 2027-01-01 \xff"),
            ("?day=2026-03-10", "?day=2026-03-11"),
        ],
        ids=["json", "bytes", "url"],
    )
    def test_text_that_the_rubric_describes_may_differ(self, one: Any, other: Any) -> None:
        def asked(given: Any) -> Request:
            return post({}, URL + given) if isinstance(given, str) else post(given)

        rules = Rules(texts=[VolatileText(field, r"\d{4}-\d\d-\d\d") for field in ("body.m.*.content", "body", "url")])
        assert same(asked(one), asked(other), rules)
        assert not same(asked(one), asked(other))

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ({"m": ["on 2026-03-10"]}, {"m": ["at 2026-03-10"]}),
            ({"m": ["on 2026-03-10"], "day": "2026-03-10"}, {"m": ["on 2026-03-10"], "day": "2026-03-11"}),
            ({"m": [["on 2026-03-10"]]}, {"m": [["on 2026-03-11"]]}),
            ({"m": "on 2026-03-10"}, {"m": "on 2026-03-11"}),
        ],
        ids=["a word beside it", "another field", "deeper", "higher"],
    )
    def test_nothing_beside_it_may(self, one: Any, other: Any) -> None:
        assert not same(post(one), post(other), Rules(texts=[VolatileText("body.m.*", r"\d{4}-\d\d-\d\d")]))

    def test_patterns_whose_words_overlap_are_found_both(self) -> None:
        text = "Session {} at 2026-03-{} today".format
        patterns = (r"Session [0-9a-f]{4} at", r"at \d{4}-\d\d-\d\d today")
        rules = Rules(texts=[VolatileText("body.m", pattern) for pattern in patterns])
        assert same(post({"m": text("12ab", "10")}), post({"m": text("9f00", "11")}), rules)

    def test_the_words_of_one_pattern_do_not_become_those_of_another(self) -> None:
        rules = Rules(texts=[VolatileText("body.m", rf"{word} \d+ at") for word in ("Session", "Thread")])
        assert not same(post({"m": "Session 1 at noon"}), post({"m": "Thread 1 at noon"}), rules)

    def test_the_usual_rules_are_those_of_recordings_that_exist(self) -> None:
        """With another name each recording is read as one of other rules, whole, which takes longer."""
        assert Rules().digest == "7dd3790a"

    def test_rules_are_named_by_what_they_say(self) -> None:
        assert Rules(["a", "b"]).digest == Rules(["b", "a", "a"]).digest
        every = (Rules(), Rules(["a"]), Rules(query=["a"]), Rules(texts=[VolatileText("a", "b")]), Rules(headers=["a"]))
        assert len({rules.digest for rules in every}) == len(every)

    def test_rules_that_are_made_of_others_say_all_else_as_well(self) -> None:
        texts = [VolatileText("c", "d")]
        rules = Rules(["a"], headers=["accept", "range"], query=["b"], texts=texts)
        assert rules.among(["accept"]).digest == Rules(["a"], headers=["accept"], query=["b"], texts=texts).digest
        assert rules.without_texts().digest == Rules(["a"], headers=["accept", "range"], query=["b"]).digest

    @given(bodies, st.lists(st.sampled_from(["body.a", "body.b.*", "url", "body"]), max_size=2))
    def test_what_is_masked_later_is_what_is_left_out_at_once(self, body: dict[str, Any], fields: list[str]) -> None:
        rules = Rules(texts=[VolatileText(field, "[a-m]") for field in fields])
        request = post({"a": "echo", "b": ["fine", 1], **body}, f"{URL}?a=b")
        assert rules.masked(seen_by(rules.without_texts(), request)) == seen_by(rules, request)


class TestHeaders:
    """Headers that ask for something are a part of a request, all others are not."""

    @staticmethod
    def asked(*headers: tuple[str, str]) -> Request:
        """Return a request with these headers."""
        return post({"TableName": "t"})._replace(headers=headers)

    @pytest.mark.parametrize(
        ("name", "one", "other"),
        [
            ("X-Amz-Target", "DynamoDB_20120810.DescribeTable", "DynamoDB_20120810.DeleteTable"),
            ("Range", "bytes=0-9", "bytes=10-19"),
            ("Accept-Language", "de", "fr"),
            ("Accept", "text/csv", "application/json"),
            ("Prefer", "return=minimal", "return=representation"),
            ("OpenAI-Beta", "assistants=v2", "assistants=v1"),
            ("anthropic-beta", "one", "one,two"),
            ("anthropic-version", "2023-06-01", "2023-01-01"),
            ("If-None-Match", '"a"', '"b"'),
            ("X-HTTP-Method-Override", "PATCH", "DELETE"),
        ],
    )
    def test_another_value_is_another_request(self, name: str, one: str, other: str) -> None:
        assert not same(self.asked((name, one)), self.asked((name, other)))
        assert raw_key_of(self.asked((name, one)), RULES) != raw_key_of(self.asked((name, other)), RULES)
        assert not same(self.asked((name, one)), self.asked())

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ([("Range", "bytes=0-9")], [("range", " bytes=0-9 ")]),
            ([("anthropic-beta", "a, b")], [("anthropic-beta", "b"), ("anthropic-beta", "a")]),
            ([("Accept", "*/*")], []),
            ([("Accept", "application/json")], [("accept", "text/event-stream, application/json;q=0.9")]),
            ([("X-Stainless-Os", "Linux"), ("traceparent", "00-1")], [("User-Agent", "x")]),
        ],
    )
    def test_another_way_to_write_it_is_the_same(self, one: Any, other: Any) -> None:
        assert same(self.asked(*one), self.asked(*other))
        assert raw_key_of(self.asked(*one), RULES) == raw_key_of(self.asked(*other), RULES)

    def test_a_header_of_which_nothing_is_known_decides_nothing(self) -> None:
        rules = RULES.among(["accept", "anthropic-version"])
        assert same(self.asked(("Range", "a")), self.asked(), rules)
        assert not same(self.asked(("Accept", "text/csv")), self.asked(), rules)
        assert RULES.among([*RULES.headers, "more"]) is RULES


class TestMultipart:
    """An upload is split by a text that is new each time."""

    @staticmethod
    def upload(boundary: str, content: str = "x", quoted: bool = False) -> Request:
        """Return an upload of one field."""
        told = f'"{boundary}"' if quoted else boundary
        body = f"--{boundary}\r\ncontent-disposition: form-data; name=f\r\n\r\n{content}\r\n--{boundary}--\r\n"
        return Request("POST", URL, (("Content-Type", f"multipart/form-data; boundary={told}"),), body.encode())

    @given(st.from_regex(r"[A-Za-z0-9]{8,40}", fullmatch=True), st.booleans())
    def test_the_boundary_does_not_count(self, boundary: str, quoted: bool) -> None:
        assert same(self.upload("4e1c2d3f"), self.upload(boundary, quoted=quoted))

    @given(st.from_regex(r"[a-f0-9]{16,40}", fullmatch=True), st.booleans())
    def test_a_random_one_is_not_written_down(self, boundary: str, quoted: bool) -> None:
        asked = self.upload(boundary, quoted=quoted)
        written = with_fixed_boundary(asked)
        assert written == self.upload(FIXED_BOUNDARY, quoted=quoted)
        assert same(asked, written)
        assert with_fixed_boundary(written) == written

    def test_another_header_stays_as_it_is(self) -> None:
        asked = self.upload("4e1c2d3f99887766")
        more = (*asked.headers, ("x-part", "4e1c2d3f99887766"))
        assert with_fixed_boundary(asked._replace(headers=more)).headers[1:] == more[1:]

    @pytest.mark.parametrize("boundary", ["a", "form", "x" * 15])
    def test_one_that_somebody_chose_is(self, boundary: str) -> None:
        assert with_fixed_boundary(self.upload(boundary)) == self.upload(boundary)

    def test_the_content_does(self) -> None:
        assert not same(self.upload("4e1c2d3f"), self.upload("99887766", content="y"))

    @pytest.mark.parametrize(("second", "content", "equal"), [("77", "x", True), ("7", "x", True), ("77", "y", False)])
    def test_nor_does_the_boundary_of_a_part_that_has_parts(self, second: str, content: str, equal: bool) -> None:
        def nested(inner: str, text: str) -> Request:
            part = f"Content-Type: multipart/mixed; boundary={inner}\r\n\r\n--{inner}\r\n\r\n{text}\r\n--{inner}--"
            body = f"--outer\r\n{part}\r\n--outer--\r\n"
            return Request("POST", URL, (("Content-Type", "multipart/mixed; boundary=outer"),), body.encode())

        assert same(nested("4e1c", "x"), nested(second, content)) is equal


class TestUrls:
    """How a URL is written where it is compared."""

    @pytest.mark.parametrize(
        ("url", "normal"),
        [
            ("HTTP://Example.COM", "http://example.com/"),
            ("http://example.com:80/a", "http://example.com/a"),
            ("https://example.com:80/a", "https://example.com:80/a"),
            ("http://[::1]:8000/a?b=c#d", "http://[::1]:8000/a?b=c"),
            ("http://example.com:bad/a", "http://example.com/a"),
        ],
    )
    def test_it_is_normal(self, url: str, normal: str) -> None:
        assert normal_url(url) == normal

    @given(st.text(max_size=30))
    def test_doing_it_twice_changes_nothing(self, rest: str) -> None:
        try:
            once = normal_url(f"http://example.com/{rest}")
        except ValueError:
            return
        assert normal_url(once) == once
