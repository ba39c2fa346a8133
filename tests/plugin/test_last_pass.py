"""What a case answered when it last passed: from journals on this machine, or from a cassette."""

from __future__ import annotations

import shutil

import pytest

from tests.helpers import kept
from tests.helpers.project import BARE, IN, Project, case, row
from tests.helpers.talking import asks
from tests.helpers.upstream import Upstream

AGENT = """\
from pathlib import Path


@pytest.fixture
def agent():
    return lambda question: Path("reply").read_text()
"""
SET = BARE.with_agent(AGENT).with_cases(case("hours", input="When?", expected="16:00", judges=["contains"]))
OPEN = "We are open from 10:00 to 16:00."


def with_reply(project: Project, text: str) -> Project:
    """Return the project whose agent answers with `text`."""
    return project.with_files({"reply": text})


def test_it_is_shown_beside_the_answer_now(pytester: pytest.Pytester) -> None:
    checkout, _ = kept.ran(pytester, with_reply(SET, OPEN), "eval")
    passed = checkout.artifacts.runs()[-1].name
    (checkout.path / "reply").write_text(OPEN.replace("16:00", "17:00"))
    result = checkout.run("eval", day=IN[1])
    told = f"at its last pass, in the run {passed}, and now: … open from 10:00 to [-16:00.-] {{+17:00.+}}"
    assert f"      {told}" in result.outlines
    (failed,) = checkout.scorecard()["failed"]
    assert failed["last_pass"] == {"answer": OPEN, "run": passed, "recording": "", "date": ""}
    assert failed["answer"] == OPEN.replace("16:00", "17:00")
    page = (checkout.artifacts.folder / "scorecard.md").read_text()
    assert "open from 10:00 to ~~16:00.~~ **17:00.**" in page
    again = checkout.recall("score", "latest").outlines
    assert f"      {told}" in again


def test_a_cassette_knows_it_where_no_earlier_run_is_left(pytester: pytest.Pytester, upstream: Upstream) -> None:
    pytest.importorskip("httpx2")
    checkout = asks(upstream, "httpx2_sync", "echo right").at(pytester)
    checkout.run("eval", "--record").assert_outcomes(passed=1)
    shutil.rmtree(checkout.artifacts.folder)
    path = checkout.path / "eval/cases.yaml"
    path.write_text(path.read_text().replace('"."', '"wrong"'))
    result = checkout.run("eval", "--recall-mode=all", day=IN[1])
    (failed,) = checkout.scorecard()["failed"]
    assert failed["last_pass"]["answer"] == failed["answer"] == "right"
    assert (failed["last_pass"]["recording"], failed["last_pass"]["date"][:2]) == ("checkout", "20")
    told = "*at its last pass, in the recording of this checkout, of 20*, and now: the same answer"
    result.stdout.fnmatch_lines([told])


def test_where_nobody_has_kept_it_nothing_is_said(pytester: pytest.Pytester) -> None:
    checkout = with_reply(SET, "closed").with_state(hours=row(3)).at(pytester)
    result = checkout.run("eval")
    assert not any("at its last pass" in line for line in result.outlines)
    assert checkout.scorecard()["failed"][0]["last_pass"] is None


def test_a_broken_journal_of_an_earlier_run_is_passed_over(pytester: pytest.Pytester) -> None:
    checkout, _ = kept.ran(pytester, with_reply(SET, OPEN), "eval")
    checkout.run("eval")
    journal = checkout.artifacts.runs()[-1] / "trials.jsonl"
    journal.write_bytes(
        b'{"kind":"trial","case_id":"hours","outcome":"passed"}\n\xff"hours""passed"\n[]"hours""passed"'
    )
    (checkout.path / "reply").write_text("closed")
    checkout.run("eval", day=IN[3])
    first = checkout.artifacts.runs()[0].name
    assert checkout.scorecard()["failed"][0]["last_pass"] == {"answer": OPEN, "run": first, "recording": "", "date": ""}
