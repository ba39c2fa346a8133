"""`recall report` on folders of long-horizon runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Recall
from tests.helpers.horizon_runs import SMALL, write_run

pytest.importorskip("jinja2")


@pytest.mark.parametrize("named", ["run", "run/result.json", "run/questions.jsonl"])
def test_a_run_becomes_a_page_beside_it(tmp_path: Path, inside: Recall, named: str) -> None:
    write_run(tmp_path / "run", SMALL)
    done = inside(tmp_path, "report", named)
    text = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert (done.code, done.err) == (0, "")
    assert done.out == f"run/report.html: 5 questions, {len(text.encode()) / 1000:,.0f} kB\n"
    assert "<title>run: 4.50 of 6 points" in text
    assert str(tmp_path) not in text


def test_two_runs_become_one_page(tmp_path: Path, inside: Recall) -> None:
    write_run(tmp_path / "a", SMALL)
    write_run(tmp_path / "b", {10: SMALL[10]})
    done = inside(tmp_path, "report", "a", "b", "-o", "-")
    assert (done.code, done.err) == (0, "")
    assert "b against a" in done.out
    assert "on 3 answers to 3 questions" in done.out


def test_what_cannot_be_shown_is_one_sentence(tmp_path: Path, inside: Recall) -> None:
    write_run(tmp_path / "run", SMALL)
    hollow = write_run(tmp_path / "hollow", SMALL, questions=False)
    (hollow / "result.json").unlink()
    for arguments, told in (
        (("run", "run/result.json"), "run and run/result.json are both the run run; name two runs"),
        (("run", "latest"), "run is a long-horizon run, and the other one is not; name two of one kind"),
        (("run", "--date", "2026-03-01"), "--date has no effect on a long-horizon run; remove it"),
        (
            ("hollow",),
            "hollow: holds no answers, but only what they came to; `recall bench heatmap` shows that",
        ),
    ):
        assert inside(tmp_path, "report", *arguments) == (2, "", f"recall: {told}\n")
