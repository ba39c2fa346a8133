"""How mistakes are said."""

from __future__ import annotations

import pytest

from pytest_recall.files.errors import (
    CaseError,
    RecallError,
    message_of,
    nearest,
    remedy_of,
    sentence_of,
    single_errors,
)


def test_several_mistakes_are_said_at_once() -> None:
    error = RecallError("one is wrong; do this", "two is wrong; do that")
    assert error.messages == ("one is wrong; do this", "two is wrong; do that")
    assert str(error) == "one is wrong; do this\ntwo is wrong; do that"


def test_a_group_says_what_is_in_it() -> None:
    first, second = ValueError("one\ntwo"), KeyError()
    group = ExceptionGroup("tasks", [first, ExceptionGroup("more", [second, ValueError("one\ntwo")])])
    assert list(single_errors(group))[:2] == [first, second]
    assert message_of(group) == "ValueError: one two; KeyError: no message"
    assert message_of(first) == "ValueError: one two"
    assert message_of(first, named=False) == "one\ntwo"


@pytest.mark.parametrize(
    ("error", "said", "remedy"),
    [
        (OSError(28, "No space left on device", "a/b"), "a/b: No space left on device", "make room"),
        (
            OSError(13, "Permission denied"),
            "a file: Permission denied",
            "give this user the right to read and write there",
        ),
        (OSError(20, "Not a directory", "a"), "a: Not a directory", "a file is where a folder has to be; move it away"),
        (OSError(5, "Input/output error", "a"), "a: Input/output error", "correct that"),
        (OSError("no number"), "no number", "correct that"),
        (RecallError("a: is wrong; correct it"), "a: is wrong; correct it", None),
    ],
)
def test_what_the_system_refuses(error: Exception, said: str, remedy: str | None) -> None:
    assert sentence_of(error) == said
    assert remedy is None or (isinstance(error, OSError) and remedy_of(error) == remedy)


def test_a_case_error_names_its_stage() -> None:
    error = CaseError("judge regex", "boom")
    assert (error.stage, str(error), error.messages) == ("judge regex", "judge regex: boom", ("judge regex: boom",))
    assert isinstance(error, RecallError)


@pytest.mark.parametrize(
    ("name", "known", "said"),
    [
        ("scenaro", ["scenario", "dimension"], "; did you mean `scenario`?"),
        ("fee", ["fees", "feed", "tools"], "; did you mean `fees` or `feed`?"),
        ("scen", ["scenario", "dimension"], "; did you mean `scenario`?"),
        ("xyz", ["b", "a", "b"], "; known: a, b"),
        ("xyz", [], "; there are none"),
    ],
)
def test_nearest(name: str, known: list[str], said: str) -> None:
    assert nearest(name, known) == said


def test_nearest_does_not_depend_on_the_order() -> None:
    assert nearest("fee", ["feed", "fees"]) == nearest("fee", ["fees", "feed"])


def test_nearest_shows_twelve_at_most() -> None:
    names = [f"name{number:02}" for number in range(13)]
    assert nearest("xyz", names[:12]) == "; known: " + ", ".join(names[:12])
    assert nearest("xyz", names) == "; known: " + ", ".join(names[:12]) + ", …"
