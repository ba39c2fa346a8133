"""What pytest itself prints about the plugin: fixtures, options, marks and settings."""

from __future__ import annotations

import inspect
import re

import pytest

from pytest_recall.plugin import fixtures
from tests.helpers.project import BARE, ECHOING

JUDGES = ("exact", "contains", "regex", "json_schema", "numeric", "token_f1", "rubric", "memory", "pairwise")
OPTIONS = (
    "--scenarios",
    "--dimensions",
    "--recall-mode",
    "--recall-date",
    "--recall-seed",
    "--recall-pr",
    "--model",
    "--baselines",
    "--recall-base",
    "--recall-update",
    "--reset-on-model-swap",
    "--recall-dir",
    "--recall-artifacts",
    "--judge",
    "--appellate-judge",
    "--memory",
    "--recall-memory-reset",
    "--budget",
    "--recall-batch",
    "--recall-concurrency",
    "--recall-shard",
    "--recall-resume",
    "--record",
    "--replay",
    "--recall-replay-max-age",
    "--recall-trust-replays",
    "--recall-live",
    "--recall-dry-run",
    "--recall-dry-run-of",
    "--recall-dry-run-file",
)


def asked(pytester: pytest.Pytester, *options: str) -> pytest.RunResult:
    """Return what pytest prints with options that ask for something, which writes nothing."""
    checkout = BARE.at(pytester)
    result = checkout.run(*options)
    assert result.ret == 0
    assert not (checkout.path / "eval").exists()
    return result


@pytest.mark.parametrize("options", [(), ("-v",)], ids=["short", "long"])
def test_fixtures_prints_the_docstring_of_each(pytester: pytest.Pytester, options: tuple[str, ...]) -> None:
    lines = asked(pytester, "--fixtures", *options).outlines
    for name in (
        "agent",
        "recall_model",
        "recall_case",
        "recall_kind",
        "recall_alone",
        *(f"judge_{name}" for name in JUDGES),
    ):
        doc = inspect.getdoc(getattr(fixtures, name)) or ""
        told = (doc if options else doc.partition("\n\n")[0]).splitlines()
        assert told, name
        start = next(number for number, line in enumerate(lines) if line.split(" ")[0] == name)
        assert [line.strip() for line in lines[start + 1 : start + 1 + len(told)]] == told


def test_a_judge_of_ones_own_is_listed_too(pytester: pytest.Pytester) -> None:
    own = '\n\n@pytest.fixture\ndef judge_brief():\n    """Pass if it is short."""\n'
    project = ECHOING.with_files({"eval/conftest.py": ECHOING.files["eval/conftest.py"] + own})
    result = project.at(pytester).run("--fixtures", "eval")
    result.stdout.fnmatch_lines(["judge_brief -- eval/conftest.py:*", "    Pass if it is short."])


def test_help_explains_every_option_and_setting(pytester: pytest.Pytester) -> None:
    lines = asked(pytester, "--help").outlines
    start = lines.index("eval cases on a schedule (pytest-recall):")
    group = lines[start + 1 : lines.index("", start)]
    names = [re.findall(r"--[a-z-]+", line.partition("   ")[0]) for line in group if line.startswith("  --")]
    assert names == [[name] for name in OPTIONS]
    settings = [line.split(" ")[2] for line in lines if line.startswith("  recall")]
    assert settings == [
        "recall",
        "recall_concurrency",
        "recall_dir",
        "recall_files",
        "recall_datasets",
        "recall_progress",
        "recall_short_options",
    ]


def test_the_mark_is_listed(pytester: pytest.Pytester) -> None:
    result = asked(pytester, "--markers")
    result.stdout.fnmatch_lines(
        ["@pytest.mark.recall(case_id=<node id>, [*], scenario='', dimension=''): run this test as an *"]
    )


def test_asking_for_the_version_writes_nothing(pytester: pytest.Pytester) -> None:
    asked(pytester, "--version")
