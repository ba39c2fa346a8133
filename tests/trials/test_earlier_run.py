"""What becomes of the earlier run in a folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_recall.files.errors import RecallError
from pytest_recall.trials.earlier_run import RunDifference, earlier_run
from pytest_recall.trials.execution import assumed_trial
from pytest_recall.trials.record import Header, Record
from pytest_recall.trials.trial import Outcome

HEADER = Header("r", "2026-03-01", "all", "", "2026-03-01T00:00:00+00:00", False, False, 1, (("q", "dataset"),))
BEGUN = Record(HEADER)
ASKED = BEGUN._replace(trials=(assumed_trial("q", Outcome.PASSED),))
OTHER, EDITED = RunDifference("`k` was 1 and is 2"), RunDifference("its code has changed", asks_again=True)


def begun(
    record: Record, *differences: RunDifference, fresh: bool = False, reason: str = ""
) -> tuple[bool, list[Path], list[str]]:
    """Return whether the run is resumed, where it is otherwise, and what is told."""
    moved, told = list[Path](), list[str]()

    def set_aside() -> Path:
        moved.append(Path("run/earlier-1"))
        return moved[-1]

    found = earlier_run(
        Path("run"),
        record,
        differences,
        fresh=fresh,
        rerun_reason=lambda: reason,
        set_aside=set_aside,
        tell=told.append,
        memory="m",
    )
    assert found in (None, record)
    return found is not None, moved, told


@pytest.mark.parametrize(
    ("differences", "fresh", "reason", "why"),
    [
        ((), True, "", "--fresh"),
        ((EDITED,), False, "b.txt has changed", "its code has changed"),
        ((), False, "b.txt has changed", "b.txt has changed"),
    ],
)
def test_all_is_asked_again(differences: tuple[RunDifference, ...], fresh: bool, reason: str, why: str) -> None:
    said = f"m: {why}; all questions are asked again; the earlier ones are in run/earlier-1"
    assert begun(ASKED, *differences, fresh=fresh, reason=reason) == (False, [Path("run/earlier-1")], [said])


def test_the_same_is_resumed() -> None:
    assert begun(ASKED) == begun(BEGUN) == begun(BEGUN, fresh=True, reason="x") == (True, [], [])


def test_another_run_is_refused() -> None:
    with pytest.raises(RecallError, match=r"^run: holds another run: `k` was 1 and is 2; name another --out"):
        begun(ASKED, EDITED, OTHER, fresh=True)


@pytest.mark.parametrize("difference", [OTHER, EDITED])
def test_one_that_has_asked_nothing_gives_way(difference: RunDifference) -> None:
    assert begun(BEGUN, difference) == (False, [Path("run/earlier-1")], [])
