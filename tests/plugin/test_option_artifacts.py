"""`--recall-artifacts`: what a run leaves goes into another folder than the eval directory, which may be read-only."""

from __future__ import annotations

import pytest

from tests.helpers.project import ECHOING, case

SET = ECHOING.with_cases(case("a"), case("b"))


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["alone", "workers"])
def test_a_run_goes_on_where_its_eval_directory_cannot_be_written(
    pytester: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    checkout = SET.at(pytester)
    # No run can make its folder: a file is there.
    checkout.artifacts.folder.write_text("in the way", encoding="utf-8")
    assert "--recall-artifacts" in checkout.run("eval").stderr.str()
    result = checkout.run("eval", "--recall-artifacts", "left", *workers)
    result.assert_outcomes(passed=2)
    assert result.ret == 0
    left = pytester.path / "left"
    [run] = [path for path in left.iterdir() if path.is_dir()]
    assert (run / "trials.jsonl").is_file()
    assert (left / "scorecard.json").is_file()
    assert checkout.boxes() == {"a": 1, "b": 1}
    assert checkout.recall("score", str(run)).ret == 0


BROKEN = """
@pytest.fixture
def agent():
    def answer(question):
        pathlib.Path(__file__).with_name("recall.yaml").write_text("<<<<<<< ours\\n")
        return question

    return answer
"""


@pytest.mark.parametrize("folder", ["left", "../left"], ids=["inside", "beside the project"])
def test_a_state_that_cannot_be_written_is_applied_from_there(pytester: pytest.Pytester, folder: str) -> None:
    checkout = SET.with_agent(BROKEN).at(pytester)
    result = checkout.run("eval", "--recall-artifacts", folder)
    [said] = [line for line in result.outlines if "not written" in line]
    (checkout.path / "eval/recall.yaml").unlink()
    assert checkout.recall(*said.rpartition("`recall ")[2].rstrip("`").split()).ret == 0
    assert checkout.boxes() == {"a": 1, "b": 1}
