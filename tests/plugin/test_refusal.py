"""A run that is refused: what it leaves for the job that posts the page of the newest run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.project import ECHOING, Checkout, case

SET = ECHOING.with_cases(case("fine"))
OLDER = "# The page of another run\n"


@pytest.fixture
def checkout(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Checkout:
    """Return a project in a job of CI, with the page of another run."""
    monkeypatch.setenv("CI", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    made = SET.at(pytester)
    made.artifacts.write("scorecard.md", OLDER)
    return made


def page(checkout: Checkout) -> str:
    return (checkout.artifacts.folder / "scorecard.md").read_text(encoding="utf-8")


def spoilt(checkout: Checkout, name: str, text: str) -> None:
    path = checkout.path / name
    path.write_text((path.read_text(encoding="utf-8") if path.exists() else "") + text, encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "text", "options", "said"),
    [
        ("eval/rubric.yaml", "bloks: never\n", (), r"- eval/rubric.yaml:3: bloks: unknown field"),
        ("eval/rubric.yaml", "bloks: never\n", ("--replay",), r"- eval/rubric.yaml:3: bloks: unknown field"),
        ("eval/cases.yaml", "- id: x\n", (), r"- eval/cases.yaml:7: judges: is missing; add it"),
        ("eval/conftest.py", "\nimport no_such_module\n", (), r"- eval/conftest.py: ModuleNotFoundError: "),
        ("eval/cases.yaml", "", ("--record", "--replay"), r"- --record and --replay exclude each other"),
    ],
    ids=["rubric", "rubric in a replay", "case", "conftest", "options"],
)
def test_the_page_says_in_a_sentence_what_is_wrong(
    checkout: Checkout, tmp_path: Path, name: str, text: str, options: tuple[str, ...], said: str
) -> None:
    spoilt(checkout, name, text)
    result = checkout.run_apart("eval", *options)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert page(checkout).startswith("# Not evaluated: ")
    assert f"\n{said}" in page(checkout)
    assert (tmp_path / "summary.md").read_text(encoding="utf-8") == f"{page(checkout)}\n"


def test_a_file_that_cannot_be_collected_has_the_page_of_the_run(checkout: Checkout) -> None:
    spoilt(checkout, "eval/test_beside.py", "import no_such_module\n")
    assert checkout.run_apart("eval").ret == pytest.ExitCode.INTERRUPTED
    assert page(checkout).startswith("# No verdict")
    assert "Failed beside the cases: eval/test\\_beside.py" in page(checkout)
    assert "**What to do:** nothing" not in page(checkout)


@pytest.mark.parametrize("options", [("--collect-only",), ("--record=missing", "--recall-dry-run")], ids=" ".join)
def test_what_asks_no_case_anyway_leaves_no_page(checkout: Checkout, options: tuple[str, ...]) -> None:
    spoilt(checkout, "eval/rubric.yaml", "bloks: never\n")
    assert checkout.run_apart("eval", *options).ret == pytest.ExitCode.USAGE_ERROR
    assert page(checkout) == OLDER


def test_outside_of_ci_the_page_of_the_newest_run_stays(checkout: Checkout, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI")
    spoilt(checkout, "eval/rubric.yaml", "bloks: never\n")
    assert checkout.run_apart("eval").ret == pytest.ExitCode.USAGE_ERROR
    assert page(checkout) == OLDER
