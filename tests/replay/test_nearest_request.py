"""What a miss is told about: the recorded request that is nearest, and what differs in it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, example, given

from pytest_recall.replay.differences import difference_line
from pytest_recall.replay.encodings import json_of
from pytest_recall.replay.exchange import Request
from pytest_recall.replay.nearest_request import nearest_request
from tests.helpers.samples import costly
from tests.replay.secret_kinds import made
from tests.replay.test_matching import RULES, URL, bodies, post, same


def nearest(asked: Request, *recorded: Request) -> tuple[int, list[str]]:
    """Return the place of the nearest request and what differs, in words."""
    place, found = nearest_request(asked, recorded, RULES)
    return place, list(map(difference_line, found))


class TestNearest:
    """What a miss is told about."""

    @staticmethod
    def told(asked: Any, *recorded: Any) -> tuple[int, list[str]]:
        """Return the place of the nearest request and the lines on it."""
        return nearest(post(asked), *(post(body) for body in recorded))

    def test_there_may_be_none(self) -> None:
        assert self.told({"a": 1}) == (-1, [])

    def test_it_is_the_one_with_the_fewest_changes(self) -> None:
        asked = {"model": "m", "messages": [{"role": "user", "content": "name a colour of the sea"}]}
        weather = {"model": "m", "messages": [{"role": "user", "content": "what is the weather"}]}
        rainbow = {"model": "m", "messages": [{"role": "user", "content": "name a colour of the rainbow"}]}
        assert self.told(asked, weather, rainbow) == (
            1,
            ["messages[0].content: “name a colour of the rainbow” → “name a colour of the sea”"],
        )

    def test_fewer_fields_that_differ_are_nearer_than_the_same_letters(self) -> None:
        asked = {"a": 1, "b": 2, "c": 3}
        assert self.told(asked, {"a": 3, "b": 1, "c": 2}, {**asked, "c": 4}) == (1, ["c: “4” → “3”"])

    def test_what_stands_in_the_place_of_a_secret_is_not_shown(self) -> None:
        assert self.told({"a": "hunter2-and-more"}, {"a": "[PASSWORD]"}) == (0, ["a: “[PASSWORD]” → another value"])

    @pytest.mark.parametrize(
        ("recorded", "asked", "told"),
        [
            ("one\n\nx", "one\nx", "“one\\n\\nx” → “one\\nx”"),
            ("FLAKY  one", "FLAKY one", "“FLAKY  one” → “FLAKY one”"),
            ("é x", "e\u0301 x", "“é x” → “e\\u0301 x”"),
            ("a" * 100 + " b", "a" * 100 + "\u00a0b", "“…aaaaaaaaaaaaaaaaaaaa b” → “…aaaaaaaaaaaaaaaaaaaa\\xa0b”"),
        ],
    )
    def test_what_looks_the_same_is_spelled_out(self, recorded: str, asked: str, told: str) -> None:
        assert self.told({"a": asked}, {"a": recorded}) == (0, [f"a: {told}"])

    def test_the_same_items_in_another_order_are_one_line(self) -> None:
        told = self.told({"tools": [{"enum": ["b", "a"]}]}, {"tools": [{"enum": ["a", "b"]}]})
        assert told == (0, ["tools[0].enum: the same items in another order; sort them, if they come from a set"])

    def test_of_two_that_are_as_near_it_is_the_first(self) -> None:
        assert self.told({"a": 1}, {"a": 2}, {"a": 2}) == (0, ["a: “2” → “1”"])

    def test_url_and_method_weigh_more_than_the_body(self) -> None:
        asked = post({"a": 1})
        for elsewhere in (post({"a": 1}, URL + "/x"), post({"a": 1}, method="PUT")):
            assert nearest(asked, elsewhere, post({"b": [2, 3]}))[0] == 1
        put, moved = post({"a": 1}, method="PUT"), post({"a": 1}, URL + "/x")
        assert nearest(asked, moved, put) == (1, ["method: “PUT” → “POST”"])

    def test_where_nothing_is_alike_it_is_the_only_one(self) -> None:
        other = post({"zzz": "~"}, "https://elsewhere.test/", method="PUT")
        place, lines = nearest(post({"a": 1}), other)
        assert place == 0
        assert len(lines) == 4

    def test_a_list_in_place_of_a_value_is_told(self) -> None:
        assert self.told({"a": [1]}, {"a": 2}) == (0, ["a: “2” → “[1]”"])

    def test_what_came_and_what_went_is_told(self) -> None:
        assert self.told({"a": 1, "n": [1, 2], "o": [1]}, {"b": 2, "n": [1], "o": [1, 2]}) == (
            0,
            ["a: not recorded → “1”", "n[1]: not recorded → “2”", "o[1]: “2” → not asked", "b: “2” → not asked"],
        )

    def test_another_url_is_told(self) -> None:
        place, lines = nearest(post({}), post({}, URL + "/x"))
        assert (place, lines) == (0, [f"url: “{URL}/x” → “{URL}”"])

    def test_another_url_is_told_where_the_body_has_a_field_of_that_name(self) -> None:
        place, lines = nearest(post({"url": 1}), post({"url": 1}, URL + "/x"))
        assert (place, lines) == (0, [f"url: “{URL}/x” → “{URL}”"])

    def test_another_header_is_told(self) -> None:
        one, other = (post({})._replace(headers=(("X-Amz-Target", f"T.{name}"),)) for name in ("Describe", "Delete"))
        assert nearest(other, one) == (0, ["header x-amz-target: “T.Describe” → “T.Delete”"])

    def test_bytes_are_compared_as_well(self) -> None:
        place, lines = nearest(post(b"one"), post(b"two"))
        assert place == 0
        assert lines == ["body: “b'two'” → “b'one'”"]

    def test_a_change_far_into_a_text_is_shown(self) -> None:
        [line] = self.told({"p": "word " * 5000 + "end"}, {"p": "word " * 5000 + "stop"})[1]
        assert "stop”" in line
        assert "end”" in line
        assert len(line) < 200

    @pytest.mark.parametrize(
        ("value", "shown"),
        [
            ("x" * 60, "x" * 60),
            ("x" * 61, "x" * 59 + "…"),
            ("one\n two", "one two"),
            ({"b": None}, '{"b":null}'),
        ],
    )
    def test_a_value_is_cut_to_a_line(self, value: Any, shown: str) -> None:
        assert self.told({"p": value}, {})[1] == [f"p: not recorded → “{shown}”"]

    @pytest.mark.parametrize(
        ("alike", "rest", "shown"),
        [
            (0, 80, "{0}" * 59 + "…"),
            (20, 60, "a" * 20 + "{0}" * 39 + "…"),
            (40, 40, "…" + "a" * 20 + "{0}" * 38 + "…"),
            (59, 1, "a" * 59 + "{0}"),
        ],
    )
    def test_a_long_text_is_shown_from_shortly_before_it_differs(self, alike: int, rest: int, shown: str) -> None:
        asked, recorded = ({"p": "a" * alike + letter * rest} for letter in "bc")
        assert self.told(asked, recorded)[1] == [f"p: “{shown.format('c')}” → “{shown.format('b')}”"]

    def test_a_text_that_goes_on_is_shown_from_shortly_before_the_end_of_the_other(self) -> None:
        assert self.told({"p": "a" * 80}, {"p": "a" * 70})[1] == [f"p: “…{'a' * 20}” → “…{'a' * 30}”"]

    @costly
    @given(bodies, bodies)
    @example({"a": True}, {"a": 1})
    @example({"a": [{"b": 0}]}, {"a": [{"b": False}]})
    def test_there_is_a_line_for_whatever_makes_another_request(self, one: Any, other: Any) -> None:
        assume(not same(post(one), post(other)))
        place, lines = self.told(one, json_of(post(other).body))
        assert place == 0
        assert lines


@pytest.mark.parametrize("place", range(0, 130, 3))
def test_no_part_of_a_token_is_told(place: int) -> None:
    token = "ghp_" + made(36)
    text = f"{'much is said ' * 10}"[:place]
    for recorded in (text, f"{text} token", "else"):
        _, lines = nearest(post({"a": f"{text} token {token} and more"}), post({"a": recorded}))
        assert lines
        assert all(token[4:10] not in line and token[-6:] not in line for line in lines)
