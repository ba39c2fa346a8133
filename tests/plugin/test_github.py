"""What a run says to GitHub: annotations on the lines of cases, links to them, and the summary of the job."""

from __future__ import annotations

import pytest

from tests.helpers.project import ECHOING, case, failing, row

SET = ECHOING.with_cases(case("fine"), failing("broke")).with_state(fine=row(2), broke=row(3))


def test_a_build_gets_annotations_links_and_one_summary(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout = SET.at(pytester)
    summary = checkout.path / "summary.md"
    for name, value in {
        "GITHUB_ACTIONS": "true",
        "GITHUB_REPOSITORY": "a/b",
        "GITHUB_SHA": "c0ffee",
        "GITHUB_WORKSPACE": str(checkout.path.parent),
        "GITHUB_STEP_SUMMARY": str(summary),
    }.items():
        monkeypatch.setenv(name, value)
    result = checkout.run("eval", "-n", "1")
    folder = checkout.path.name
    verdict, line = [line for line in result.outlines if line.startswith("::")]
    assert verdict.startswith("::error title=1 of 2 cases regressed::")
    assert line.startswith(f"::error file={folder}/eval/cases.yaml,line=7,title=regression%3A broke::exact: expected")
    page = (checkout.artifacts.folder / "scorecard.md").read_text(encoding="utf-8")
    assert f"[eval/cases.yaml:7](https://github.com/a/b/blob/c0ffee/{folder}/eval/cases.yaml#L7)" in page
    assert summary.read_text(encoding="utf-8") == f"{page}\n"


def test_elsewhere_there_is_nothing_of_it(pytester: pytest.Pytester) -> None:
    result = SET.at(pytester).run("eval")
    assert not any(line.startswith("::") for line in result.outlines)


def test_a_summary_that_cannot_be_written_is_said_in_red(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout = ECHOING.with_cases(case("fine")).at(pytester)
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(checkout.path / "no" / "such" / "folder"))
    result = checkout.run("eval")
    result.stdout.fnmatch_lines(["summary of the step: not written (No such file or directory)"])
    assert result.ret == pytest.ExitCode.TESTS_FAILED
