"""Find the cases that would send other requests than are recorded; nothing is sent, judged or written."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from pytest_recall.files.errors import MissError
from pytest_recall.files.wording import listed, plural
from pytest_recall.plugin.stash import CASSETTES, OUTCOME, TAPE
from pytest_recall.trials.execution import Result, ask
from pytest_recall.trials.trial import Outcome

if TYPE_CHECKING:
    from pytest_recall.runs.plan import Plan

SAME, CHANGED, NOT_RECORDED, UNKNOWN = "same", "changed", "not recorded", "unknown"
NAME = "changed.json"
_SHOWN = {SAME: ("unchanged", ".", "UNCHANGED"), CHANGED: ("changed", "c", "CHANGED")}
_SHOWN[NOT_RECORDED] = ("not recorded", "n", "NOT RECORDED")


def mark(item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport) -> None:
    """Say on the report what the case has asked; what is no mistake is no failure here."""
    manager = item.config.stash[CASSETTES]
    tape = item.stash.get(TAPE, None)
    state = SAME
    if tape is not None and tape.differs:
        state = NOT_RECORDED if tape.cassette is None else CHANGED
    elif call.excinfo is not None and str(call.excinfo.value) in manager.differing:
        state = CHANGED  # A fixture that it shares with others asks something else.
    elif not item.stash[OUTCOME].is_verdict:
        state = UNKNOWN
    setattr(report, "recall_dry", state)  # noqa: B010
    if state == UNKNOWN:
        return
    report.outcome, report.longrepr = "passed", None
    if call.when == "setup":
        # There is no one to ask, and pytest would go on.
        report.outcome = "skipped"
        report.longrepr = (str(item.path), (item.location[1] or 0) + 1, f"Skipped: dry run: {state}")


def status(report: pytest.TestReport) -> tuple[str, str, str] | None:
    """Return how a case is shown; None for what pytest shows as ever."""
    return _SHOWN.get(report.recall_dry)


class DryRun:
    """What the cases have asked, as their reports come in."""

    def __init__(self) -> None:
        self._found: dict[str, tuple[str, str]] = {}

    def asked(self, item: Any, agent: Any) -> Result:
        """Ask the agent as a run would, and no judge; that it has passed says nothing. Raises CaseError."""
        config, case = item.config, item.case
        with config.stash[CASSETTES].player.asking("agent"):
            answer = ask(case, agent, item.wait_for(item.asked_fixture), (pytest.exit.Exception, MissError))
        return Result(Outcome.PASSED, answer)

    def take(self, case_id: str, state: str, why: str) -> None:
        """Take in what a case has asked; `why` is what is unknown about it."""
        self._found[case_id] = (state, why)

    def write(self, plan: Plan) -> None:
        """Write the list that `--recall-near` reads. Raises OSError."""
        found = {
            "version": 1,
            "date": plan.context.date.isoformat(),
            "cases": len(self._found),
            "of": len(plan.picks),
            "changed": self._with(CHANGED),
            "not_recorded": self._with(NOT_RECORDED),
            "unknown": {case_id: why for case_id, (state, why) in sorted(self._found.items()) if state == UNKNOWN},
        }
        plan.place.artifacts.write(NAME, json.dumps(found, indent=2, ensure_ascii=False) + "\n")

    def lines(self, plan: Plan) -> Iterator[str]:
        """Yield what was found, for a terminal."""
        counts = Counter(state for state, _ in self._found.values())
        yield f"{plural(len(self._found), 'case')} asked on their cassettes; nothing was sent, judged or recorded"
        for state, told in (
            (CHANGED, "would ask something else than is recorded"),
            (NOT_RECORDED, "have no recording to compare with"),
            (UNKNOWN, "came to no end: not known"),
        ):
            if counts[state]:
                yield f"{told} ({counts[state]}): {listed(self._with(state))}"
        yield f"{plan.place.name(plan.place.artifacts.folder)}/{NAME}: written, for --recall-near file:PATH"

    def _with(self, wanted: str) -> list[str]:
        return sorted(case_id for case_id, (state, _) in self._found.items() if state == wanted)
