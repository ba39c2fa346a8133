"""`recall ci waive`: who may say that verdicts are not needed, and what is left of that in the run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_recall.trials.journal import read_journal, write_journal
from pytest_recall.trials.trial import Outcome
from tests.cli.conftest import Recall
from tests.helpers.github import GitHub

REVIEWERS = ("ci", "waive", "--environment", "waivers")


def run_of(folder: Path) -> Path:
    """Return the folder of the only run."""
    (journal,) = (folder / "eval/_artifacts").glob("*/trials.jsonl")
    return journal.parent


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Iterator[GitHub]:
    """GitHub, in a job of run 12."""
    served = GitHub()
    for name, value in served.env(GITHUB_RUN_ID="12").items():
        monkeypatch.setenv(name, value)
    yield served
    served.close()


@pytest.fixture
def lacking(ran: Path) -> Path:
    """A project whose newest run is of a pull request, and has no verdict on a case that this affects."""
    folder = run_of(ran)
    record = read_journal(folder)
    trials = tuple(one for one in record.trials if one.outcome is Outcome.PASSED)
    header = record.header._replace(
        pr="7", knows_change=True, picks=tuple((one.case_id, "affected") for one in trials),
        unaffordable=("worse",),
    )  # fmt: skip
    trials = tuple(one._replace(reason="affected") for one in trials)
    write_journal(folder, record._replace(header=header, trials=trials, exit_code=0))
    return ran


def test_the_waiver_of_a_reviewer_is_in_the_run_and_its_scorecard(lacking: Path, host: GitHub, inside: Recall) -> None:
    assert inside(lacking, "score").code == 1
    host.approve("12", "waivers", "ann", "an outage")
    run = run_of(lacking)
    before = (run / "trials.jsonl").read_bytes()
    assert inside(lacking, *REVIEWERS, "--dry-run").code == 0
    assert (run / "trials.jsonl").read_bytes() == before

    assert inside(lacking, *REVIEWERS) == (0, f"{run.name}: ann has waived 1 case (worse)\n", "")
    waiver = read_journal(run).waiver
    assert waiver is not None
    assert (waiver.by, waiver.reason, waiver.cases) == ("ann", "an outage", ("worse",))
    assert "ann" in (lacking / "eval/_artifacts/scorecard.md").read_text(encoding="utf-8")
    assert inside(lacking, "score").code == 0
    assert inside(lacking, *REVIEWERS).code == 2, "there is nothing left to waive"


def test_nobody_waives_alone(lacking: Path, host: GitHub, inside: Recall) -> None:
    host.approve("12", "deploy", "ann")
    done = inside(lacking, *REVIEWERS)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("recall: --environment: nobody has approved this run for `waivers`;")
    run = run_of(lacking)
    assert read_journal(run).waiver is None


def test_what_regressed_is_not_waived(ran: Path, host: GitHub, inside: Recall) -> None:
    host.approve("12", "waivers", "ann")
    done = inside(ran, *REVIEWERS)
    assert (done.code, done.out) == (2, "")
    assert "nothing to waive: regressed: worse" in done.err


def test_outside_of_a_job_nobody_can_have_approved(
    lacking: Path, host: GitHub, inside: Recall, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GITHUB_RUN_ID")
    assert inside(lacking, *REVIEWERS).code == 2


def test_a_step_has_the_output_where_only_verdicts_are_missing(
    lacking: Path, inside: Recall, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outputs = tmp_path / "outputs"
    monkeypatch.setenv("GITHUB_OUTPUT", str(outputs))
    assert inside(lacking, "score").code == 1
    assert outputs.read_text(encoding="utf-8") == "waivable=true\n"
