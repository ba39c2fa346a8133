"""What becomes of the earlier run in a folder."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest

from pytest_recall.files.errors import RecallError
from pytest_recall.trials.earlier_run import RunDifference, earlier_run
from pytest_recall.trials.execution import assumed_trial
from pytest_recall.trials.journal import is_begun, set_aside
from pytest_recall.trials.question_run import QuestionRun
from pytest_recall.trials.record import Header
from pytest_recall.trials.trial import Outcome

HEADER = Header("r", "2026-03-01", "all", "", "2026-03-01T00:00:00+00:00", False, False, 1, (("q", "dataset"),))
OTHER, EDITED = RunDifference("`k` was 1 and is 2"), RunDifference("its code has changed", asks_again=True)
SERVICE = "what it is made of cannot be known, since it is a service"


class Fake(NamedTuple):
    """A memory of which it cannot be known what it is made of, if it is `elsewhere`."""

    elsewhere: str = ""
    observable: bool = False


def begun(
    folder: Path,
    *differences: RunDifference,
    asked: bool = True,
    fresh: bool = False,
    elsewhere: str = "",
    resumes: bool = False,
) -> list[str] | None:
    """Return what is told of a run that has `asked` something, or nothing, and is set aside; None if it is resumed."""
    told = list[str]()
    with QuestionRun(folder, HEADER) as run:
        journal = run.begin()
        if asked:
            journal.append(assumed_trial("q", Outcome.PASSED))
        run.end(0)
    found = earlier_run(
        QuestionRun(folder, HEADER, told.append),
        "m",
        lambda header: differences,
        Fake(elsewhere),
        None,
        fresh=fresh,
        set_aside=partial(set_aside, folder),
        resumes=resumes,
    )
    assert is_begun(folder) == (found is not None)
    assert found is None or not told
    return told if found is None else None


@pytest.mark.parametrize(
    ("differences", "fresh", "elsewhere", "why"),
    [
        ((), True, "", "--fresh"),
        ((EDITED,), False, "it is a service", "its code has changed"),
        ((), False, "it is a service", SERVICE),
    ],
)
def test_all_is_asked_again(
    tmp_path: Path, differences: tuple[RunDifference, ...], fresh: bool, elsewhere: str, why: str
) -> None:
    said = f"m: {why}; all questions are asked again; the earlier ones are in {tmp_path / 'earlier-1'}"
    assert begun(tmp_path, *differences, fresh=fresh, elsewhere=elsewhere) == [said]


def test_the_same_is_resumed(tmp_path: Path) -> None:
    assert begun(tmp_path) is None
    assert begun(tmp_path, elsewhere="it is a service", resumes=True) is None


def test_so_is_one_that_has_asked_nothing(tmp_path: Path) -> None:
    assert begun(tmp_path, asked=False) is None
    assert begun(tmp_path, asked=False, fresh=True, elsewhere="it is a service") is None


def test_another_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RecallError, match=r": holds another run: `k` was 1 and is 2; name another --out"):
        begun(tmp_path, EDITED, OTHER, fresh=True)


@pytest.mark.parametrize("difference", [OTHER, EDITED])
def test_one_that_has_asked_nothing_gives_way(tmp_path: Path, difference: RunDifference) -> None:
    assert begun(tmp_path, difference, asked=False) == []
