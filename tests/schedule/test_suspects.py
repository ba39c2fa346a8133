"""Suspects: which changes have touched a case since its last pass on the main branch."""

from __future__ import annotations

import gzip
import json
import os
from datetime import date
from math import comb
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.schedule import suspects
from pytest_recall.schedule.boxes import fold, review
from pytest_recall.schedule.events import events_of, fold_events
from pytest_recall.schedule.renames import continued
from pytest_recall.schedule.suspects import (
    MOST,
    Touches,
    added,
    change_of,
    joined,
    last_commit,
    touches_of,
    with_touches,
)
from pytest_recall.trials.trial import Row, Trial
from tests.helpers.samples import ERROR, FAILED, PASSED, TODAY, days, failing, header, row, rows, trial, unhurried

COMMIT = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b"
BASE = "3b1f09c2aa41" + 28 * "0"
CLEAN: dict[str, Any] = {"commit": COMMIT, "base": BASE, "commits": 1, "uncommitted": ""}
"""The fields of a run of one commit since its base, with no other edits."""
some = st.sampled_from([str(number) for number in range(1, 7)] + [COMMIT[:12], "0123456789ab"])
lists = st.lists(some, max_size=MOST, unique=True).map(tuple)
few = st.lists(some, max_size=4, unique=True).map(tuple)


def folded(known: dict[str, Row], *trials: Trial, **more: object) -> dict[str, Row]:
    """Return all rows after a run, as a fold into the state file does it."""
    after = {**known, **fold(known, trials, TODAY)}
    after |= with_touches(after, touches_of(header(**more), {one.case_id: one for one in trials}))
    # A fold of events comes to the same.
    events = events_of(header(**more), trials, len(trials))
    assert {**known, **fold_events(known, {"e": events})} == after
    return after


@pytest.mark.parametrize("commits", [1, 2])
def test_the_last_commit_of_a_change_is_the_one_of_the_run(commits: int) -> None:
    assert last_commit(change_of(header(**{**CLEAN, "commits": commits}))) == COMMIT[:12]


# What a run adds


def test_a_pull_request_is_a_suspect_of_each_case_that_it_touches_also_of_one_that_passed() -> None:
    known = {"asked": row(2, 2), "not-asked": row(3, 3), "left-alone": row(4, 4)}
    after = folded(known, trial("asked", pr="12", row=known["asked"]), pr="12", affected=("asked", "not-asked", "new"))
    assert after["asked"].touched == after["not-asked"].touched == ("12",)
    assert after["not-asked"] == known["not-asked"]._replace(touched=("12",))
    assert after["left-alone"] == known["left-alone"]
    assert "new" not in after


def test_a_pass_on_the_main_branch_clears_what_its_run_knew_of() -> None:
    known = {"a": row(2, 2, touched=("12", "15"))}
    seen = known["a"]._replace(touched=("12",))
    assert folded(known, trial("a", row=known["a"]))["a"].touched == ()
    assert folded(known, trial("a", row=seen))["a"].touched == ("15",)
    assert folded(known, trial("a", row=None))["a"].touched == ("12", "15")


@pytest.mark.parametrize(
    "one",
    [
        trial("a", pr="16"),
        trial("a", FAILED),
        trial("a", ERROR),
        trial("a", source="replayed", counts_for_schedule=False),
        trial("a", reason="dataset"),
    ],
    ids=lambda one: f"{one.outcome}-{one.source}-{one.reason}",
)
def test_nothing_else_clears(one: Trial) -> None:
    known = {"a": row(2, 2, touched=("12",))}
    assert folded(known, one._replace(row=known["a"]), pr=one.pr)["a"].touched == ("12",)


def test_a_run_of_no_pull_request_adds_its_commits_unless_the_case_passed_in_it() -> None:
    known = {"passed": row(2, 2, touched=("12",)), "failed": row(3, 3, touched=("12",)), "left": row(4, 4)}
    trials = [trial(name, PASSED if name == "passed" else FAILED, row=known[name]) for name in ("passed", "failed")]
    after = folded(known, *trials, **CLEAN, affected=tuple(known))
    assert {name: one.touched for name, one in after.items()} == {
        "passed": (),
        "failed": ("12", COMMIT[:12]),
        "left": (COMMIT[:12],),
    }
    after = folded(known, **{**CLEAN, "commits": 3}, affected=("left",))
    assert after["left"].touched == (f"{BASE[:12]}..{COMMIT[:12]}",)


UNKNOWN = pytest.mark.parametrize(
    "more",
    [{"commit": ""}, {"base": ""}, {"base": COMMIT, "commits": 0}, {"uncommitted": None}, {"uncommitted": "ab12"}],
    ids=["no repository", "no base", "the base itself", "edits not known", "edits"],
)


@UNKNOWN
def test_what_is_of_no_known_change_adds_none(more: dict[str, object]) -> None:
    known = {"a": row(2, 2)}
    about = {**CLEAN, **more} if more != {"commit": ""} else {}
    assert folded(known, **about, affected=("a",)) == known


def test_a_run_that_is_folded_twice_adds_its_change_once() -> None:
    one = header(pr="12", affected=("a",))
    assert touches_of(one, {}) == Touches("12", ("a",))
    assert not touches_of(one, {}, first=False)
    assert added(("12", "15"), "12") == ("15", "12")


def test_a_row_keeps_the_newest() -> None:
    touched: tuple[str, ...] = ()
    for number in range(20):
        touched = added(touched, str(number))
    assert touched == tuple(str(number) for number in range(12, 20))


@unhurried
@given(rows(), st.sampled_from([PASSED, FAILED, ERROR]), st.none() | some)
def test_a_review_leaves_the_suspects_alone(known: Row, outcome: object, pr: str | None) -> None:
    after = review(known, trial("a", outcome, pr=pr), known.last_tested + days(1))  # type: ignore[arg-type]
    assert after is not None
    assert (after.touched, after.accepted) == (known.touched, known.accepted)


@unhurried
@given(rows(), few, few)
def test_touches_move_no_box(known: Row, affected: tuple[str, ...], cleared: tuple[str, ...]) -> None:
    touches = Touches("12", ("a",) if affected else (), {"a": cleared})
    after = {"a": known, **with_touches({"a": known}, touches)}["a"]
    assert after._replace(touched=known.touched) == known
    assert set(after.touched) == (set(known.touched) - set(cleared)) | ({"12"} if affected else set())


# A fall


def test_the_suspects_of_a_fall_are_those_of_its_row_and_the_change_of_the_run() -> None:
    fell = trial("a", FAILED, row=row(3, 3, touched=("12", "15")))
    both = ("12", "15")
    assert suspects.suspects(fell, header(in_history=both)) == both
    assert suspects.suspects(fell, header(in_history=both, pr="16", affected=("a",))) == ("12", "15", "16")
    assert suspects.suspects(fell, header(in_history=both, pr="16", affected=("b",))) == both
    assert suspects.suspects(trial("a", FAILED), header(**CLEAN, affected=("a",))) == (COMMIT[:12],)
    assert suspects.suspects(trial("a", FAILED), header(**CLEAN)) == ()


def test_what_is_not_in_the_history_is_no_suspect_and_leaves_open_whether_there_is_one() -> None:
    fell = trial("a", FAILED, row=row(3, 3, touched=("12", "15")))
    assert suspects.suspects(fell, header()) is None
    assert suspects.suspects(fell, header(in_history=("15",))) == ("15",)
    assert suspects.suspects(fell, header(pr="16", affected=("a",))) == ("16",)


def test_edits_that_are_not_committed_are_the_suspect_and_no_commit_is() -> None:
    edited = {**CLEAN, "uncommitted": "ab12", "affected": ("a",)}
    found = suspects.suspects(trial("a", FAILED), header(**edited))
    assert found == (suspects.UNCOMMITTED,)
    assert suspects.named(found) == "your uncommitted changes"
    fell = trial("a", FAILED, row=row(3, 3, touched=("12",)))
    found = suspects.suspects(fell, header(**edited, in_history=("12",)))
    assert suspects.named(found or ()) == "#12, your uncommitted changes"


@UNKNOWN
def test_where_the_change_of_the_run_is_not_known_none_is_named(more: dict[str, object]) -> None:
    if more.get("uncommitted"):
        return
    about = {**CLEAN, **more} if more != {"commit": ""} else {}
    assert suspects.suspects(trial("a", FAILED), header(**about, affected=("a",))) is None


def test_pull_requests_and_commits_are_told_apart() -> None:
    assert suspects.named(("12", "123456789012", "9f86d081884c", "spike")) == "#12, 123456789012, 9f86d081884c, spike"


# Suspects of a case that was two: under its old id, and under its new one


@given(lists, lists)
def test_the_newest_suspects_are_those_of_the_new_id(earlier: tuple[str, ...], later: tuple[str, ...]) -> None:
    found = joined(earlier, later)
    assert len(set(found)) == len(found) <= MOST
    fresh = [one for one in later if one not in earlier]
    assert list(found[len(found) - len(fresh) :]) == fresh


@given(lists)
def test_suspects_joined_with_themselves_or_with_none_stay(one: tuple[str, ...]) -> None:
    assert joined(one, one) == joined(one, ()) == joined((), one) == one


@given(few, few)
def test_nothing_is_lost(one: tuple[str, ...], other: tuple[str, ...]) -> None:
    assert set(joined(one, other)) == {*one, *other}


@given(few, few)
def test_the_order_of_suspects_is_kept(earlier: tuple[str, ...], later: tuple[str, ...]) -> None:
    found = joined(earlier, later)
    assert found[: len(earlier)] == earlier
    assert found[len(earlier) :] == tuple(one for one in later if one not in earlier)


def test_a_pull_request_that_is_merged_after_a_pass_on_main_stays_a_suspect() -> None:
    base = row(3, 3, touched=("10",))
    # That of the pull request is merged late: it is older, and is folded first.
    events = {
        "1": events_of(header(run="1", pr="12", affected=("a",)), (), 0),
        "2": events_of(header(run="2"), [trial("a", row=base)], 1),
    }
    assert fold_events({"a": base}, events)["a"].touched == ("12",)
    # So if main has folded its own run before.
    main = {"a": base} | fold_events({"a": base}, {"2": events["2"]})
    assert fold_events(main, {"1": events["1"]})["a"].touched == ("12",)


def test_a_renamed_case_takes_its_suspects_along() -> None:
    old, new = row(3, 3, touched=("10", "12")), failing(tested=TODAY, touched=("12", "15"))
    assert continued(old, new).touched == ("10", "12", "15")
    assert continued(old, None).touched == ("10", "12")


# On the history of a real project: how many changes are left as suspects of a case that broke


FOLDER = os.environ.get("RECALL_EVAL_HISTORY")
DAYS = 7


def fisher(before: tuple[int, int], after: tuple[int, int]) -> float:
    """Return how likely so few passes are after the change, of as many passes in all (Fisher's exact test, one-sided).

    Each is a count of passes and one of fails.
    """
    trials, others, passes = sum(before), sum(after), before[0] + after[0]
    ways = [comb(others, one) * comb(trials, passes - one) for one in range(after[0] + 1) if passes - one <= trials]
    return sum(ways) / comb(trials + others, passes)


@pytest.mark.parametrize(
    ("before", "after", "broke"),
    [((10, 0), (3, 7), True), ((10, 0), (4, 6), False), ((9, 1), (2, 8), True), ((9, 1), (3, 7), False)],
)
def test_what_a_broken_case_is(before: tuple[int, int], after: tuple[int, int], broke: bool) -> None:
    assert (fisher(before, after) < 0.005) is broke


@pytest.mark.skipif(not FOLDER, reason="RECALL_EVAL_HISTORY does not name the folder of the histories")
def test_most_broken_cases_have_one_suspect() -> None:
    """A pass on the main branch at least every seven days clears what is older, as the longest intervals are not."""
    rows: dict[str, Row] = {}
    days: dict[str, date] = {}
    found: list[tuple[str, ...]] = []
    others: list[int] = []
    with gzip.open(Path(FOLDER or "") / "copilot-chat.jsonl.gz", "rt", encoding="utf-8") as file:
        for plain in map(json.loads, file):
            change, today = plain["commit"], date.fromisoformat(plain["date"])
            if plain["source"]:
                days[change] = today
            changed = {str(case): rest for case, *rest in plain.get("changed", ())}
            affected = [case for case, (was, now, *_) in changed.items() if was != now and plain["source"]]
            rows |= {case: row() for case in changed if case not in rows}
            old = tuple(one for one, day in days.items() if (today - day).days >= DAYS)
            rows |= with_touches(rows, Touches(change, tuple(affected), dict.fromkeys(changed, old)))
            for case, (_, _, before, after) in changed.items():
                sound = before is not None and after is not None and before[0] >= 9 and sum(before) == 10
                if sound and fisher(before, after) < 0.005:
                    found.append(rows[case].touched)
                    others.append(len(days) - len(old))
                    assert change in rows[case].touched
    counts = [len(touched) for touched in found]
    print(f"{len(found)} broken cases: {median(counts):g} suspects in the median, {median(others):g} changes in {DAYS}")
    print(f"days; exactly one suspect: {counts.count(1) / len(counts):.0%}")
    assert len(found) >= 30
    assert median(counts) == 1
    assert counts.count(1) / len(counts) >= 0.75
    assert 0 not in counts
