"""Suites without an eval case: the plugin is silent there, and leaves nothing behind."""

from __future__ import annotations

import re
import sys

import pytest

from tests.helpers.project import BARE, WORKERS

SUITE = BARE.with_files(
    {
        "test_unrelated.py": """\
import pytest


def test_passes():
    pass


@pytest.mark.parametrize("number", [1, 2])
def test_fails(number):
    assert number == 1


@pytest.mark.skip(reason="not now")
def test_skipped():
    pass
""",
        "data.yaml": "not: a case\n",
        "config/cases.yaml": "{{ a template }}\n",
        "rows.jsonl": "nor this\n",
    }
)


def said(result: pytest.RunResult) -> list[str]:
    """Return the lines of the output that should not differ."""
    lines = [line for line in [*result.outlines, *result.errlines] if not line.startswith("plugins: ")]
    return [re.sub(r"in [0-9.]+s", "in a while", line) for line in lines]


@pytest.mark.parametrize("args", [(), ("-v",), ("-q",), ("-k", "fails"), ("-m", "not slow"), ("--collect-only",)])
def test_the_output_is_the_same_without_the_plugin(pytester: pytest.Pytester, args: tuple[str, ...]) -> None:
    checkout = SUITE.at(pytester)
    ours = checkout.run("-p", "no:cacheprovider", *args, day=None)
    theirs = checkout.run("-p", "no:cacheprovider", "-p", "no:recall", *args, day=None)
    assert said(ours) == said(theirs)
    assert ours.ret == theirs.ret
    assert "recall" not in "\n".join(said(ours))


@WORKERS
@pytest.mark.usefixtures("every_plugin")
def test_nothing_is_left_behind(pytester: pytest.Pytester, workers: tuple[str, ...]) -> None:
    checkout = SUITE.at(pytester)
    before = {path.name for path in checkout.path.iterdir()}
    checkout.run("-p", "no:cacheprovider", *workers, day=None).assert_outcomes(passed=2, failed=1, skipped=1)
    assert {path.name for path in checkout.path.iterdir()} - before <= {"__pycache__"}


def test_a_project_with_a_schedule_is_silent_where_no_case_is_collected(pytester: pytest.Pytester) -> None:
    files = {"eval/rubric.yaml": "owner: us\n", "tests/test_unit.py": "def test_unit():\n    pass\n"}
    checkout = BARE.with_files(files).at(pytester)
    result = checkout.run("tests", day=None)
    result.assert_outcomes(passed=1)
    assert "recall" not in "\n".join(said(result)).replace("recall-", "")
    assert not checkout.artifacts.folder.exists()


@pytest.mark.parametrize("workers", [("-n1",)], ids=["n1"])
def test_it_is_as_silent_with_workers(pytester: pytest.Pytester, workers: tuple[str, ...]) -> None:
    files = {"eval/rubric.yaml": "owner: us\n", "tests/test_unit.py": "def test_unit():\n    pass\n"}
    checkout = BARE.with_files(files).at(pytester)
    result = checkout.run("tests", *workers, day=None)
    result.assert_outcomes(passed=1)
    assert "scorecard" not in result.stdout.str()
    assert not checkout.artifacts.folder.exists()


def test_a_broken_schedule_does_not_stop_a_suite_without_cases(pytester: pytest.Pytester) -> None:
    files = {"eval/recall.yaml": "<<<<<<< ours\n", "tests/test_unit.py": "def test_unit():\n    pass\n"}
    checkout = BARE.with_files(files).at(pytester)
    checkout.run("tests", day=None).assert_outcomes(passed=1)


def test_nothing_heavy_is_imported(pytester: pytest.Pytester) -> None:
    checkout = BARE.with_files({"test_unit.py": "def test_unit():\n    pass\n"}).at(pytester)
    script = (
        "import sys, pytest\n"
        "code = pytest.main(['-q', '-p', 'no:cacheprovider', '-p', 'no:xdist', '-p', 'no:rerunfailures',"
        " '-p', 'no:hypothesispytest'])\n"
        "ours = ('pytest_recall.plugin.names', 'pytest_recall.plugin.early')\n"
        "loaded = [name for name in sys.modules if name.startswith(('pydantic', 'yaml', 'filelock', *ours))]\n"
        "assert 'pytest_recall.plugin' in sys.modules\n"
        "assert not loaded, loaded\n"
        "sys.exit(code)\n"
    )
    assert checkout.pytester.run(sys.executable, "-c", script).ret == 0
