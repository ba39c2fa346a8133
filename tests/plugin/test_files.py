"""Which case files below pytest's arguments are run, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_recall.schedule.state_file import read_state
from tests.helpers.project import ECHO, RECORDING, Checkout, Project, case, cases_yaml, failing

MARKED = """\
import pytest


@pytest.mark.recall("of-a")
def test_it():
    pass
"""


def service(name: str, *cases: dict[str, object]) -> dict[str, str]:
    """Return the files of a service with an eval directory."""
    folder = f"{name}/eval"
    return {
        f"{folder}/rubric.yaml": "owner: us\n",
        f"{folder}/cases.yaml": cases_yaml(*cases),
        f"{folder}/conftest.py": RECORDING + ECHO,
    }


TWO = Project(
    {
        "pytest.ini": "[pytest]\n",
        **service("svc_a", case("one"), case("two")),
        **service("svc_b", case("one"), failing("other")),
        "svc_a/tests/test_a.py": MARKED,
    }
)


def boxes(checkout: Checkout, name: str) -> dict[str, int]:
    """Return the box of each case in the state of a service."""
    state = read_state(Path(checkout.path, name, "eval", "recall.yaml"), name)
    return {case_id: row.box for case_id, row in state.rows.items()}


@pytest.mark.parametrize("named", [(".",), ("svc_a", "svc_b"), ("svc_a/eval", "svc_b/eval", "-n2")])
def test_two_eval_directories_are_refused_with_a_command_for_each(
    pytester: pytest.Pytester, named: tuple[str, ...]
) -> None:
    checkout = TWO.at(pytester)
    result = checkout.run(*named)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert result.errlines == [
        "ERROR: svc_a/eval and svc_b/eval are two eval directories, and a run is of one; run"
        " `pytest -p recall svc_a/eval` and `pytest -p recall svc_b/eval`",
        "",
    ]
    assert not list(checkout.path.rglob("_artifacts"))


def test_the_command_for_one_that_has_another_within_it_leaves_that_out(pytester: pytest.Pytester) -> None:
    deep = {"svc/eval/deep/rubric.yaml": "owner: us\n", "svc/eval/deep/deep.cases.yaml": cases_yaml(case("one"))}
    checkout = Project({"pytest.ini": "[pytest]\n", **service("svc", case("one")), **deep}).at(pytester)
    result = checkout.run("svc")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert result.errlines[0].endswith(
        "run `pytest -p recall svc/eval --recall-dir=svc/eval` and `pytest -p recall svc/eval/deep`"
    )
    assert checkout.run("svc/eval", "--recall-dir=svc/eval").ret == 0
    assert boxes(checkout, "svc") == {"one": 1}
    assert checkout.run("svc/eval/deep").ret == 0
    assert set(read_state(checkout.path / "svc/eval/deep/recall.yaml", "deep").rows) == {"one"}


def test_one_service_goes_by_its_own_eval_directory(pytester: pytest.Pytester) -> None:
    checkout = TWO.at(pytester)
    assert checkout.run("svc_a").ret == 0
    assert boxes(checkout, "svc_a") == {"one": 1, "two": 1, "of-a": 1}
    assert not (checkout.path / "svc_b/eval/recall.yaml").exists()


@pytest.mark.parametrize("workers", [(), ("-n2",)], ids=["alone", "workers"])
def test_the_one_that_is_named_by_an_option_leaves_the_others_alone(
    pytester: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    checkout = TWO.at(pytester)
    result = checkout.run("--recall-dir=svc_a/eval", "--ignore=svc_a/tests", *workers)
    result.assert_outcomes(passed=2)
    assert boxes(checkout, "svc_a") == {"one": 1, "two": 1}


def test_each_file_that_is_passed_over_is_named_with_its_reason(pytester: pytest.Pytester) -> None:
    checkout = TWO.with_files({"notes/x.cases.yaml": "not: ours\n"}).at(pytester)
    result = checkout.run("--recall-dir=svc_a/eval", "--ignore=svc_a/tests")
    lines = [line.partition("; ")[0] for line in result.outlines if line.startswith("recall: not run")]
    assert lines == [
        "recall: not run, as --recall-dir names another eval directory: svc_b/eval/cases.yaml",
        "recall: not run, as no rubric.yaml is in a folder above: notes/x.cases.yaml",
    ]
