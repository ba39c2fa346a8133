"""One search of what is recorded: what it names, and that no line is written in which it names anything."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from pytest_recall.files.errors import RecallError
from pytest_recall.replay.cassette_lines import call_lines
from pytest_recall.replay.exchange import Exchange, Request, Response
from pytest_recall.replay.matching import Rules
from pytest_recall.replay.recorded_parts import FoundSecret, cleaned, secrets_in
from pytest_recall.replay.redaction import Redactor
from pytest_recall.replay.run_recordings import without_secrets
from tests.replay.recordings import call, request, response, write
from tests.replay.secret_kinds import JSON, KINDS, OK, PLACES, URL, made

TOKEN = "ghp_" + made(36)
OTHER = "ghp_" + made(36, seed=8)
A_TOKEN = "what looks like a GitHub token"
EVERYWHERE: dict[str, Callable[[str], Exchange]] = {
    **PLACES,
    "reason": lambda secret: Exchange("", 0, "agent", Request("GET", URL, JSON), OK._replace(reason=secret)),
}


def lines_of(one: Exchange) -> list[bytes]:
    """Return the lines that a cassette would have of a call as it is."""
    return call_lines(one, set(), Rules())


def test_no_part_of_a_secret_is_named() -> None:
    found = [FoundSecret("the reason", A_TOKEN)]
    assert [one for line in lines_of(EVERYWHERE["reason"](TOKEN)) for one in secrets_in(line)] == found


@pytest.mark.parametrize("place", EVERYWHERE)
def test_what_is_written_is_what_may_be_published(place: str, tmp_path: Path) -> None:
    """Were there a call that is written and not published, its case would have no recording, and no one would know."""
    for number, secret in enumerate(KINDS.values()):
        one = EVERYWHERE[place](secret)
        with suppress(RecallError):
            write(tmp_path / f"{number}.ndjson", cleaned(one, Redactor({})))
    assert without_secrets(tmp_path)[1] == []


def test_a_part_that_says_the_same_in_another_form_is_not_named_again() -> None:
    [line] = lines_of(call(request=request("a")._replace(body=b"{}"), response=response(f"It is {TOKEN}.")))
    assert list(secrets_in(line)) == [FoundSecret("the response body", A_TOKEN)]


def test_another_secret_of_a_kind_is_named_where_it_stands() -> None:
    pieces = [json.dumps({"choices": [{"delta": {"content": piece}}]}) for piece in (OTHER[:20], OTHER[20:])]
    answer = OK._replace(chunks=tuple(f"data: {piece}\n\n".encode() for piece in pieces))
    asked = Request("POST", URL, JSON, json.dumps({"prompt": TOKEN}).encode())
    [line] = lines_of(Exchange("", 0, "agent", asked, answer))
    assert list(secrets_in(line)) == [
        FoundSecret("the request body", A_TOKEN),
        FoundSecret("the response body (events joined)", A_TOKEN),
    ]


@pytest.mark.parametrize("known", [False, True], ids=["by its looks", "by its value"])
def test_a_header_whose_name_holds_a_secret_is_not_named_by_it(known: bool) -> None:
    name = "x-the-sunday-of-whit" if known else TOKEN
    find = (lambda part: ["it"] * (name in part.text)) if known else None
    answer = Response(200, "OK", ((name, name),), (b"{}",))
    [line] = lines_of(Exchange("", 0, "agent", Request("GET", URL), answer))
    found = secrets_in(line) if find is None else secrets_in(line, find)
    assert [one.part for one in found] == ["a header"]


def test_a_line_that_is_none_of_a_cassette_is_searched_as_a_whole() -> None:
    assert list(secrets_in(f'{{"note": "{TOKEN}"'.encode())) == [FoundSecret("the line", A_TOKEN)]
