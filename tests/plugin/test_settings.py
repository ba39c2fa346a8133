"""Settings in `pytest.toml`, whose values have types."""

from __future__ import annotations

import pytest

from tests.helpers.project import ECHOING, Checkout, case

TOML = pytest.mark.skipif(pytest.version_tuple < (9,), reason="pytest reads pytest.toml from 9.0 on")


def checkout(pytester: pytest.Pytester, *settings: str) -> Checkout:
    """Write a project with these settings in pytest.toml."""
    lines = ["[pytest]", 'filterwarnings = ["error"]', *settings]
    toml = ECHOING.without("pytest.ini").with_files({"pytest.toml": "".join(f"{line}\n" for line in lines)})
    return toml.with_cases(case("a"), case("b")).at(pytester)


@TOML
@pytest.mark.parametrize(
    ("concurrency", "progress", "workers"),
    [("3", "0", ()), ('"3"', '"300"', ("-n1",))],
)
def test_numbers_are_taken_as_numbers_and_as_text(
    pytester: pytest.Pytester, concurrency: str, progress: str, workers: tuple[str, ...]
) -> None:
    project = checkout(pytester, f"recall_concurrency = {concurrency}", f"recall_progress = {progress}")
    result = project.run("eval", *workers)
    result.assert_outcomes(passed=2)
    assert any("up to 3 cases at once" in line for line in result.outlines)


@TOML
def test_the_other_settings(pytester: pytest.Pytester) -> None:
    project = checkout(
        pytester,
        "recall = true",
        'recall_dir = "eval"',
        'recall_files = ["eval/more.yaml"]',
        "recall_datasets = []",
        "recall_short_options = false",
    )
    project.run("eval").assert_outcomes(passed=2)
