"""Cases that pytest or another plugin leaves out, though they were chosen."""

from __future__ import annotations

import pytest

from pytest_recall.trials.run_stop import RunStop
from tests.helpers.project import ECHOING, Project, case

MARKED = """
import pytest

@pytest.mark.recall("m", scenario="one", dimension="facts")
def test_marked():
    pass
"""
SPLITTING = """

@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    left = [item for item in items if item.name in ("b", "test_marked")]
    items[:] = [item for item in items if item not in left]
    config.hook.pytest_deselected(items=left)
"""
THREE = ECHOING.with_cases(case("a"), case("b"), case("c")).with_files({"eval/test_marked.py": MARKED})


def splitting(project: Project) -> Project:
    """Return the project with a conftest that takes a part of the tests, as pytest-split does."""
    return project.with_files({"eval/conftest.py": project.files["eval/conftest.py"] + SPLITTING})


@pytest.mark.parametrize("how", ["--deselect", "plugin"])
def test_the_run_says_that_they_were_deselected(pytester: pytest.Pytester, how: str) -> None:
    project = splitting(THREE) if how == "plugin" else THREE
    args = ("-n1",) if how == "plugin" else ("--deselect=eval/cases.yaml::b",)
    checkout = project.at(pytester)
    result = checkout.run("eval", "--recall-mode=all", *args)
    left = [line for line in result.outlines if line.startswith("partial: ")]
    assert len(left) == 1
    assert left[0].endswith("not run: deselected")
    excluded = () if how == "plugin" else ("b",)
    assert checkout.journal().stop == RunStop("deselected", deselected=1, excluded=excluded)
    assert "b" not in checkout.outcomes()


@pytest.mark.parametrize("workers", [(), ("-n1",)], ids=["alone", "workers"])
@pytest.mark.parametrize("how", ["--deselect", "plugin"])
def test_a_verdict_is_missing_on_what_the_user_has_not_left_out(
    pytester: pytest.Pytester, how: str, workers: tuple[str, ...]
) -> None:
    project = splitting(THREE) if how == "plugin" else THREE
    args = () if how == "plugin" else ("--deselect=eval/cases.yaml::b",)
    checkout = project.at(pytester)
    code = 1 if how == "plugin" else 0
    assert checkout.run("eval", "--recall-mode=all", *args, *workers).ret == code
    assert checkout.recall("score", "latest").ret == code


def test_beside_another_reason_both_are_said(pytester: pytest.Pytester) -> None:
    checkout = THREE.with_cases(case("a", input="crash"), case("b"), case("c")).at(pytester)
    result = checkout.run("eval", "--recall-mode=all", "-x", "--deselect=eval/cases.yaml::b")
    assert (
        "partial: 3 of 4 chosen cases not run: 1 deselected; the others: stopping after 1 failures" in result.outlines
    )


def test_what_is_not_chosen_is_not_said_to_be_deselected(pytester: pytest.Pytester) -> None:
    checkout = THREE.with_files({"eval/rubric.yaml": "owner: us\npr_cases: 2\n"}).at(pytester)
    result = checkout.run("eval")
    assert not any("partial" in line for line in result.outlines)
