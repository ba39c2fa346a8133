"""A host of a project's own: what its hook says of the job decides a run, and a fault of it is one sentence."""

from __future__ import annotations

import pytest

from tests.helpers.project import ECHOING, WORKERS, Checkout, Project, case

CASES = ECHOING.with_cases(case("a"), case("b"))
HOST = """\
from pytest_recall.ext import Host, Job, hookimpl


@hookimpl
def pytest_recall_host(environ, repo):
    BODY
"""
NIGHT = "return Host(name='Mine', job=Job(is_scheduled=True, number=41)) if 'MINE' in environ else None"


def having(body: str) -> Project:
    """Return a project whose conftest.py has the hook."""
    return CASES.with_files({"conftest.py": HOST.replace("BODY", body)})


def facts(checkout: Checkout) -> tuple[str, str | None, str]:
    """Return what the journal of the last run says of its job."""
    header = checkout.journal().header
    return header.mode, header.pr, header.seed


@WORKERS
def test_what_it_says_of_the_job_decides_the_run(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, workers: tuple[str, ...]
) -> None:
    checkout = having(NIGHT).at(pytester)
    assert checkout.run("eval", *workers).ret == 0
    assert facts(checkout) == ("pr", None, "2026-03-10")
    monkeypatch.setenv("MINE", "1")
    assert checkout.run("eval", *workers).ret == 0
    assert facts(checkout) == ("nightly", "41", "41")


def test_it_is_asked_once_and_before_tests_change_the_environment(pytester: pytest.Pytester) -> None:
    count = "with open('calls.txt', 'a') as file:\n        file.write('x')"
    checkout = having(count).at(pytester)
    assert checkout.run("eval").ret == 0
    assert (checkout.path / "calls.txt").read_text(encoding="utf-8") == "x"


def test_it_comes_before_those_that_are_shipped(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINE", "1")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_REF", "refs/pull/7/merge")
    checkout = having(NIGHT).at(pytester)
    assert checkout.run("eval").ret == 0
    assert facts(checkout) == ("nightly", "41", "41")


@pytest.mark.parametrize(
    ("body", "fault"),
    [("return {}", "it returns dict, and no Host"), ("raise SystemExit(0)", "SystemExit: 0"), ("1 / 0", "by zero")],
)
def test_a_fault_ends_the_run_before_a_case_is_asked(pytester: pytest.Pytester, body: str, fault: str) -> None:
    checkout = having(body).at(pytester)
    result = checkout.run("eval")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    (line,) = (line for line in result.errlines if "pytest_recall_host" in line)
    assert "conftest" in line
    assert fault in line
    assert not checkout.asked()


@pytest.mark.parametrize(
    "job",
    ["summary='a.md'", "base_refs='main'", "base_refs=(1,)", "fault=5", "number=True", "number='12'", "number=-3"],
)
def test_a_field_of_another_type_is_named(pytester: pytest.Pytester, job: str) -> None:
    result = having(f"return Host(name='Mine', job=Job({job}))").at(pytester).run("eval")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert any(f"`{job.partition('=')[0]}` of its Job" in line for line in result.errlines), result.errlines


def test_a_host_without_a_job_is_refused(pytester: pytest.Pytester) -> None:
    assert having("return Host(name='Mine', job=None)").at(pytester).run("eval").ret == pytest.ExitCode.USAGE_ERROR
