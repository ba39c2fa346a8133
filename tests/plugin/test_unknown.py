"""Unknown options: one sentence with the nearest name, or with what to install."""

from __future__ import annotations

import pytest

from tests.helpers.project import ECHOING, case

SET = ECHOING.with_cases(case("a"))


def test_workers_without_xdist(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_recall.plugin.options.find_spec", lambda name: None)
    result = SET.at(pytester).run("eval", "-p", "no:xdist", "-n2")
    result.stderr.fnmatch_lines(
        ["ERROR: -n: an option of pytest-xdist, which is not installed; run `pip install pytest-xdist`"]
    )


def test_any_other_option_is_for_pytest_to_refuse(pytester: pytest.Pytester) -> None:
    result = SET.at(pytester).run("eval", "--cov")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*unrecognized arguments: --cov"])
