"""Write-back: what a run leaves in eval/recall.yaml, row by row and byte by byte."""

from __future__ import annotations

import difflib
import re
from datetime import date

import pytest

from pytest_recall.trials.trial import Row
from tests.helpers.project import ECHOING, IN, WORKERS, case, failing, row, state_yaml
from tests.plugin.conftest import unnamed

DAY = date(2026, 3, 10)


def day(text: str) -> date:
    """Return the date in `text`."""
    return date.fromisoformat(text)


def test_a_new_case_lands_in_box_1_after_its_first_run(pytester: pytest.Pytester) -> None:
    checkout = ECHOING.with_cases(case("a"), failing("b")).at(pytester)
    result = checkout.run("eval", "--recall-pr=17", "--model=m-1")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert checkout.state() == {
        "a": Row(1, 1, DAY, day(IN[1]), "17"),
        "b": Row(1, 0, DAY, day(IN[1]), "17", None, "exact: expected “something else”, got “b”", "17"),
    }
    result.stdout.fnmatch_lines(["eval/recall.yaml: 2 rows changed"])


def test_what_moves_a_row(pytester: pytest.Pytester) -> None:
    """A pass on a due row moves it up, and nothing graduates; a fail always counts, whether it is due or not."""
    rows = {f"box{box}": row(box, 3) for box in range(1, 6)}
    rows |= {"young": row(1, 1, due=IN[1]), "early": row(3, 3, due=IN[7])}
    rows |= {"cleared": row(1, 0, failure_note="exact: no", failure_pr="16")}
    falls = {"fell": row(4, 6, due="2026-03-01"), "fell_early": row(4, 6, due=IN[7])}
    cases = [*map(case, rows), *(failing(name.replace("_", "-"), input="x") for name in falls)]
    project = ECHOING.with_cases(*cases).with_state(**rows, **falls)
    checkout = project.at(pytester)
    result = checkout.run("eval", "--recall-mode=all", "--recall-pr=17")
    result.assert_outcomes(passed=len(rows), failed=len(falls))
    note = "exact: expected “something else”, got “x”"
    fallen = Row(1, 0, DAY, day(IN[1]), "17", failure_note=note, failure_pr="17", lapses=1)
    up = {1: (2, 3), 2: (3, 7), 3: (4, 14), 4: (5, 30), 5: (5, 30)}
    assert checkout.state() == {
        **{f"box{box}": Row(then, 4, DAY, day(IN[days]), "17") for box, (then, days) in up.items()},
        "young": Row(2, 2, DAY, day(IN[3]), "17"),  # In box 1 it moves up before it is due,
        "early": Row(3, 3, DAY, day(IN[7]), "17"),  # and in another one it is seen today, and stays.
        "cleared": Row(2, 1, DAY, day(IN[3]), "17"),
        "fell": fallen,
        "fell-early": fallen,
    }


def test_three_passes_mean_box_3(pytester: pytest.Pytester) -> None:
    checkout = ECHOING.with_cases(case("a")).at(pytester)
    boxes = []
    today = DAY
    for _ in range(3):
        checkout.run("eval", day=today.isoformat())
        found = checkout.state()["a"]
        boxes.append((found.box, found.pass_streak, (found.next_due - today).days))
        today = found.next_due
    assert boxes == [(1, 1, 1), (2, 2, 3), (3, 3, 7)]


def test_a_run_with_nothing_due_is_ok_and_leaves_every_byte(pytester: pytest.Pytester) -> None:
    checkout = ECHOING.with_cases(case("a")).with_state(a=row(3, 3, due=IN[3])).at(pytester)
    before = checkout.state_text()
    result = checkout.run("eval")
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(
        ["recall: pr 2026-03-10, seed 2026-03-10: 0 of 1 case; not run: 1 not due until 2026-03-13"]
    )
    assert checkout.state_text() == before
    assert checkout.asked() == []


def test_nothing_due_is_ok_with_workers_too(pytester: pytest.Pytester) -> None:
    checkout = ECHOING.with_cases(case("a")).with_state(a=row(3, 3, due=IN[3])).at(pytester)
    before = checkout.state_text()
    assert checkout.run("eval", "-n1").ret == pytest.ExitCode.OK
    assert checkout.state_text() == before
    assert checkout.today()["chosen"] == 0


def test_a_case_file_without_a_case_is_no_run(pytester: pytest.Pytester) -> None:
    for text in ("", "# none yet\n", "[]\n"):
        checkout = ECHOING.with_files({"eval/cases.yaml": text}).at(pytester)
        assert checkout.run("eval").ret == pytest.ExitCode.NO_TESTS_COLLECTED
        assert checkout.state_text() is None


def test_only_the_lines_of_the_slice_change(pytester: pytest.Pytester) -> None:
    rows = {f"c{number:02}": row(3, 3, due="2026-03-01" if number % 10 == 0 else IN[7]) for number in range(60)}
    checkout = ECHOING.with_cases(*map(case, rows)).with_state(**rows).at(pytester)
    before = checkout.state_text() or ""
    checkout.run("eval")
    after = checkout.state_text() or ""
    changed = [line for line in difflib.ndiff(before.splitlines(), after.splitlines()) if line[0] in "+-"]
    added, changed = changed[:2], changed[2:]
    assert added[0] == "+ folded:", "beside the rows the name of the run alone"
    assert added[1].startswith('+   - "2026-03-10-pr-')
    assert len(changed) == 2 * 6
    assert all("    {box: " in line for line in changed)


def test_the_file_is_sorted_by_id_under_a_comment_and_a_version(pytester: pytest.Pytester) -> None:
    checkout = ECHOING.with_cases(case("b"), case("a"), case("10")).at(pytester)
    checkout.run("eval")
    lines = re.sub('"case=[0-9a-f]{6}"', "…", unnamed(checkout.state_text())).splitlines()
    assert lines[0].startswith("# ")
    assert [line for line in lines if not line.startswith("#")] == [
        "version: 1",
        "rows: 3",
        "cases:",
        '  "10":',
        "    {box: 1, pass_streak: 1, last_tested: 2026-03-10, next_due: 2026-03-11, passed_under: …}",
        "  a:",
        "    {box: 1, pass_streak: 1, last_tested: 2026-03-10, next_due: 2026-03-11, passed_under: …}",
        "  b:",
        "    {box: 1, pass_streak: 1, last_tested: 2026-03-10, next_due: 2026-03-11, passed_under: …}",
    ]


def test_unknown_keys_survive_and_rows_without_a_case_are_skipped_kept_and_listed(pytester: pytest.Pytester) -> None:
    text = state_yaml(a=row(2), gone=row(2), lost=row(1)).replace("}", ", flaky: 3, since: 2026-01-01}")
    checkout = ECHOING.with_cases(case("a")).with_files({"eval/recall.yaml": text}).at(pytester)
    result = checkout.run("eval")
    result.assert_outcomes(passed=1)
    assert "{box: 3, pass_streak: 2, " in (checkout.state_text() or "")
    assert ', flaky: 3, since: 2026-01-01, passed_under: "case=' in (checkout.state_text() or "")
    assert (checkout.state_text() or "").count(", flaky: 3, since: 2026-01-01}") == 2
    result.stdout.fnmatch_lines(["2 rows of the state without a case*: gone, lost"])
    assert checkout.boxes() == {"a": 3, "gone": 2, "lost": 1}
    assert checkout.scorecard()["orphans"] == ["gone", "lost"]


class TestModelSwap:
    """Another model under test than the one that the rows were tested with."""

    SET = ECHOING.with_cases(case("a"), case("b")).with_state(
        a=row(3, 3, due=IN[7], last_model="m-1"), b=row(4, 4, due=IN[14], last_model="m-2")
    )

    def test_it_is_only_reported(self, pytester: pytest.Pytester) -> None:
        checkout = self.SET.at(pytester)
        before = checkout.state_text()
        result = checkout.run("eval", "--model=m-2")
        assert result.ret == 0
        assert checkout.scorecard()["model_swapped"] == 1
        assert checkout.asked() == []
        assert checkout.state_text() == before

    def test_the_option_returns_those_rows_to_box_1_and_runs_them(self, pytester: pytest.Pytester) -> None:
        checkout = self.SET.at(pytester)
        result = checkout.run("eval", "--model=m-2", "--reset-on-model-swap")
        result.assert_outcomes(passed=1)
        assert checkout.slice() == {"a": "box 1"}
        assert checkout.state() == {
            "a": Row(2, 1, DAY, day(IN[3])),  # Its agent makes no call that would name a model.
            "b": row(4, 4, due=IN[14], last_model="m-2"),
        }
        # Asking again resets nothing that was retested.
        checkout.run("eval", "--model=m-2", "--reset-on-model-swap", day=IN[1])
        assert checkout.boxes() == {"a": 2, "b": 4}
        assert checkout.asked() == ["a"]

    def test_a_row_that_was_reset_stays_so_if_its_case_is_not_run(self, pytester: pytest.Pytester) -> None:
        checkout = self.SET.with_cases(failing("a"), case("b")).at(pytester)
        checkout.run("eval", "--model=m-9", "--reset-on-model-swap", "-x")
        assert checkout.asked() == ["a"]
        assert checkout.state()["b"] == row(1, 0, due="2026-03-10", last_model="m-2")


@WORKERS
def test_runs_with_and_without_workers_agree_on_state_and_scorecard(
    pytester: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    cases = [case("a", scenario="x"), failing("b"), case("c"), failing("d", dimension="tone"), case("e"), case("f")]
    rows = {"a": row(2), "b": row(3, 3), "c": row(1, 0), "gone": row(1)}
    checkout = ECHOING.with_cases(*cases).with_state(**rows).at(pytester)
    checkout.run("eval", *workers)
    card = checkout.scorecard()
    del card["run"], card["state"]
    assert card.pop("cost")["total"]["calls"] == 0
    assert card.pop("sources") == {"live": 6}
    assert card.pop("last_verdicts") == {"cases": 6, "known": 6, "passed": 4}
    assert (card.pop("new_failures"), card.pop("known_failures")) == (["d"], [])
    assert card.pop("freshness") == {
        "oldest": "2026-03-10",
        "oldest_case": "a",
        "age_days": 0,
        "overdue": 0,
        "partial": False,
        "unanswered": [],
    }
    assert checkout.boxes() == {"a": 3, "b": 1, "c": 2, "d": 1, "e": 1, "f": 1, "gone": 1}
    assert [failed["id"] for failed in card.pop("failed")] == ["b", "d"]
    assert card == {
        "version": 1,
        "checkout_changed": False,
        "extensions": None,
        "measures": None,
        "mode": "pr",
        "date": "2026-03-10",
        "seed": "2026-03-10",
        "pr": None,
        "model": None,
        "owner": "us",
        "writes_state": True,
        "exit_code": 1,
        "complete": True,
        "total": 6,
        "chosen": 6,
        "not_chosen": {"not_due": 0, "over_cap": 0, "unseen": 0, "without_base": 0},
        "base": None,
        "not_compared": None,
        "held_settings": [],
        "altered": [],
        "unrecorded": [],
        "knows_change": False,
        "replayed": None,
        "affected": [],
        "not_evaluated": [],
        "waiver": None,
        "observed": None,
        "stop": None,
        "shard": None,
        "merged": [],
        "lost": [],
        "gates": [],
        "gates_loosened": [],
        "next_due": None,
        "counts": {"passed": 4, "failed": 2},
        "regressions": ["b"],
        "unseen_share_95": 0.0,
        "by_reason": {
            "box 1": {"passed": 1},
            "due": {"passed": 1, "failed": 1},
            "new": {"passed": 2, "failed": 1},
        },
        "by_scenario": {"one": {"passed": 3, "failed": 2}, "x": {"passed": 1}},
        "by_dimension": {"facts": {"passed": 4, "failed": 1}, "tone": {"failed": 1}},
        "no_verdict": [],
        "not_run": [],
        "orphans": ["gone"],
        "moved": [],
        "model_swapped": 0,
        "several_trials": [],
        "flake": {},
        "by_tries": [],
        "baselines": None,
        "datasets": None,
        "quarantined": [],
        "judged_by_models": None,
        "judged_rates": [],
        "programs_ran": {},
        "let_through": {"calls": {}, "places": [], "programs": []},
        "unproven": [],
        "regraded": None,
    }


LATE = """
import sys


@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session):
    session.config.loaded = set(sys.modules)


def pytest_unconfigure(config):
    late = sorted(name for name in set(sys.modules) - config.loaded if name.startswith("pytest_recall."))
    print("late:", *late)
"""


def test_what_writes_the_state_is_imported_before_a_case_runs(pytester: pytest.Pytester) -> None:
    made = ECHOING.with_cases(case("a"), failing("b"))
    checkout = made.with_files({"conftest.py": f"import pytest\n{LATE}"}).at(pytester)
    result = checkout.run_apart("eval", "-s")
    (line,) = [line for line in result.outlines if line.startswith("late:")]
    assert set(line.split()[1:]) <= {"pytest_recall.results.last_pass"}  # It is for the page alone.


def test_the_state_is_written_whatever_a_report_meets(pytester: pytest.Pytester) -> None:
    broken = {
        ("pytest_recall.runs.finish", "scorecard"): "the scorecard",
        ("pytest_recall.plugin.ending.Ending", "_tell_how_to_go_on"): "the notes of the run",
        ("pytest_recall.plugin.ending.Ending", "_look_for_moved"): "cases that were renamed",
    }
    breaks = (
        "import pkgutil\n\n\ndef pytest_collection_finish():\n    def fails(*args):\n"
        f"        raise SystemError('no frames')\n\n    for where, name in {[*broken]!r}:\n"
        "        setattr(pkgutil.resolve_name(where), name, fails)\n"
    )
    checkout = ECHOING.with_cases(case("a")).with_files({"conftest.py": breaks}).at(pytester)
    result = checkout.run_apart("eval")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert checkout.boxes() == {"a": 1}
    for told in broken.values():
        result.stdout.fnmatch_lines([f"*{told}: not complete (SystemError: no frames)*"])
