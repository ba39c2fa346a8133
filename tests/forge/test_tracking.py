"""Tracking: an issue says what is known, and tells people what is news."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.files.errors import RecallError
from pytest_recall.forge.comment import Known, Move, Verdicts, decide, recollect, remembered

IDS = st.frozensets(st.sampled_from("abcd"))


def run(passed: str = "", failed: str = "", gone: str = "", *troubles: str) -> Verdicts:
    return Verdicts(frozenset(passed), frozenset(failed), frozenset(gone), troubles)


def known(failing: str, *, is_open: bool = True, declined: bool = False) -> Known:
    return Known(is_open, declined, frozenset(failing))


@pytest.mark.parametrize(
    ("issue", "verdicts", "move", "failing", "news"),
    [
        (None, run("ab"), Move.NOTHING, "", ""),
        (None, run("a", "cb"), Move.OPEN, "bc", "bc"),
        (known("b"), run("", "b"), Move.UPDATE, "b", ""),
        (known("b"), run("", "bc"), Move.UPDATE, "bc", "c"),
        (known("b"), run("b", "c"), Move.UPDATE, "c", "c"),
        (known("b"), run("b"), Move.CLOSE, "", ""),
        (known("bc"), run("b"), Move.UPDATE, "c", ""),
        (known("b"), run("a"), Move.UPDATE, "b", ""),
        (known("bc"), run("b", "", "c"), Move.CLOSE, "", ""),
        (known("", is_open=False), run("a"), Move.NOTHING, "", ""),
        (known("", is_open=False), run("", "b"), Move.REOPEN, "b", "b"),
        (known("b", is_open=False), run("", "b"), Move.NOTHING, "b", ""),
        (known("b", is_open=False), run("b"), Move.UPDATE, "", ""),
        # A run that shows less than it should is not all clear.
        (None, run("ab", "", "", "an outage"), Move.OPEN, "", ""),
        (known("b"), run("b", "", "", "an outage"), Move.UPDATE, "", ""),
        (known("", is_open=False), run("a", "", "", "an outage"), Move.REOPEN, "", ""),
        (known("b", is_open=False, declined=True), run("a", "", "", "an outage"), Move.NOTHING, "b", ""),
        (known("b", is_open=False, declined=True), run("", "bc"), Move.NOTHING, "b", ""),
    ],
)
def test_the_rule(issue: Known | None, verdicts: Verdicts, move: Move, failing: str, news: str) -> None:
    told = decide(issue, verdicts)
    assert (told.move, told.failing, told.news) == (move, frozenset(failing), tuple(news))


def test_where_names_are_not_kept_nothing_is_news_and_nothing_is_closed() -> None:
    assert decide(Known(True, False, None), run("ab", "c")).move is Move.UPDATE
    assert decide(Known(True, False, None), run("ab")).failing is None
    assert decide(Known(False, False, None), run("", "c")).move is Move.NOTHING


@given(IDS, IDS, IDS, st.booleans())
def test_a_second_look_at_the_same_run_changes_nothing(
    before: frozenset[str], passed: frozenset[str], failed: frozenset[str], is_open: bool
) -> None:
    verdicts = Verdicts(passed - failed, failed)
    told = decide(Known(is_open, False, before), verdicts)
    now_open = {Move.CLOSE: False, Move.REOPEN: True}.get(told.move, is_open)
    again = decide(Known(now_open, False, told.failing), verdicts)
    assert again.failing == told.failing
    assert again.news == ()
    assert again.move in (Move.NOTHING, Move.UPDATE)


@given(st.frozensets(st.text(min_size=1, max_size=30), max_size=10))
def test_what_is_remembered_comes_back_and_ends_nothing(ids: frozenset[str]) -> None:
    line = remembered(ids)
    assert line.count("-->") == 1
    assert "\n" not in line
    for end in ("\n", "\r\n"):
        assert recollect(f"<!-- recall:nightly -->{end}{line}{end}text", "issue 3") == ids


def test_too_many_names_are_not_kept() -> None:
    line = remembered(f"case-{number}" for number in range(5_000))
    assert line == "<!-- recall-failing: null -->"
    assert recollect(f"x\n{line}\n", "issue 3") is None


@pytest.mark.parametrize("line", ["", "text", "<!-- recall-failing: [1] -->", "<!-- recall-failing: [ -->"])
def test_a_line_that_was_edited_is_refused(line: str) -> None:
    with pytest.raises(RecallError, match=r"^issue 3: its second line, which is hidden, was edited; "):
        recollect(f"x\n{line}\n<!-- recall-failing: [] -->", "issue 3")
