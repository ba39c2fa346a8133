"""Settings in `pytest.toml`, whose values have types."""

from __future__ import annotations

from pathlib import Path

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


WRONG = (
    ("recall_concurrency = true", "recall_concurrency: 'True' is not a number of cases; give 1 or more"),
    ("recall_concurrency = 0", "recall_concurrency: '0' is not a number of cases; give 1 or more"),
    ("recall_concurrency = [4]", "recall_concurrency: '[4]' is not a number of cases; give 1 or more"),
    ("recall_progress = nan", "recall_progress: 'nan' is not a number of seconds; give 60, or 0 for no lines"),
    ("recall_progress = false", "recall_progress: 'False' is not a number of seconds; give 60, or 0 for no lines"),
    ("recall_dir = 3", "{ini}: config option 'recall_dir' expects a string, got int: 3"),
    ("recall_short_options = 3", "{ini}: config option 'recall_short_options' expects a bool, got int: 3"),
    ('recall_files = "a"', "{ini}: config option 'recall_files' expects a list for type 'linelist', got str: 'a'"),
)


@TOML
def test_a_value_of_another_type_is_one_sentence(pytester: pytest.Pytester) -> None:
    for setting, sentence in WRONG:
        result = checkout(pytester, setting).run("eval")
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        said = sentence.format(ini=Path(pytester.path) / "pytest.toml")
        assert [line for line in result.errlines if line] == [f"ERROR: {said}"]
