"""`recall report`: the page of a run, or of two, and what is said where there is none."""

from __future__ import annotations

import re
import shutil
import webbrowser
from pathlib import Path
from typing import cast

import pytest

from tests.cli.conftest import Recall
from tests.cli.samples import DATE, files, run_evals
from tests.cli.test_score import artifacts, run_of
from tests.helpers.repository import git
from tests.results.report_page.test_frame import unpacked


def data_of(page: Path) -> dict[str, dict[str, object]]:
    """Return the cases in a page, by id."""
    packed = page.read_text(encoding="utf-8").partition('<script id="data"')[2].partition(">")[2].partition("<")[0]
    return {case["id"]: case for case in unpacked(packed)["cases"]}


@pytest.fixture(scope="module")
def _twice(_ran: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = Path(shutil.copytree(_ran, tmp_path_factory.mktemp("twice") / "ran"))
    git(folder, "init", "-q", "-b", "shorter-answers")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "Evals")
    run_evals(folder, "--recall-mode", "all", "--recall-date", "2026-03-11")
    return folder


@pytest.fixture
def twice(_twice: Path, tmp_path: Path) -> Path:
    """The project a day later: it is a git repository now, and all cases were run again."""
    return Path(shutil.copytree(_twice, tmp_path / "ran"))


def test_the_newest_run_goes_into_its_folder(ran: Path, inside: Recall) -> None:
    done = inside(ran, "report", "--date", DATE)
    run = run_of(ran)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"eval/_artifacts/{run.name}/report.html: 4 cases, ")
    html = (run / "report.html").read_text(encoding="utf-8")
    assert "1 regression" in html
    cases = data_of(run / "report.html")
    worse = cases["worse"]
    assert worse["kinds"] == ["regression"]
    assert worse["asked"] == "What is the late fee?"
    assert worse["reference"] == "one pound"
    assert worse["answer"] == "A loan lasts one week."
    (step,) = cast("list[dict[str, object]]", worse["steps"])
    assert "one pound" in str(step.pop("note"))
    assert step == {
        "run": run.name,
        "day": DATE,
        "outcome": "failed",
        "before": 3,
        "after": 1,
        "source": "live",
        "score": "0.00",
        "answer": "A loan lasts one week.",
    }
    facts = parsed_facts(html)
    assert facts["Project"] == ran.name
    assert (facts["Commit"], facts["Branch"]) == ("not recorded", "not recorded")
    assert facts["Took"].endswith(" s")
    assert cases["crash"]["error"] == "agent: TimeoutError: no answer"


def test_an_earlier_run_is_part_of_a_case_s_way(twice: Path, inside: Recall) -> None:
    assert inside(twice, "report").code == 0
    page = artifacts(twice) / artifacts_names(twice)[-1] / "report.html"
    steps = cast("list[dict[str, object]]", data_of(page)["right"]["steps"])
    names = ("run", "day", "outcome", "before", "after")
    assert [[step[name] for name in names] for step in steps] == [
        [artifacts_names(twice)[1], "2026-03-11", "passed", 3, 3],
        [artifacts_names(twice)[0], DATE, "passed", 2, 3],
    ]


def parsed_facts(html: str) -> dict[str, str]:
    """Return what the head of a page says of the run, by name."""
    return dict(re.findall(r"<dt>(\w+)</dt><dd><bdi>(.*?)</bdi></dd>", html))


def test_the_commit_and_the_branch_are_in_the_head(twice: Path, inside: Recall) -> None:
    assert inside(twice, "report", "-o", "page.html").code == 0
    facts = parsed_facts((twice / "page.html").read_text(encoding="utf-8"))
    head = git(twice, "rev-parse", "HEAD")
    assert (facts["Commit"], facts["Branch"]) == (f"{head[:12]} Evals", "shorter-answers")


def artifacts_names(folder: Path) -> list[str]:
    """Return the names of the runs of a project, oldest first."""
    return sorted(path.parent.name for path in artifacts(folder).glob("*/trials.jsonl"))


def test_two_runs_side_by_side(twice: Path, inside: Recall) -> None:
    done = inside(twice, "report", "previous", "latest", "-o", "both.html")
    assert done.code == 0, done
    assert done.out.startswith("both.html: 5 cases, ")
    assert data_of(twice / "both.html")["worse"]["flip"] == "same"
    assert "McNemar" in (twice / "both.html").read_text(encoding="utf-8")


def test_nothing_else_is_written(ran: Path, inside: Recall) -> None:
    before = files(ran)
    assert inside(ran, "report", "-o", "page.html").code == 0
    after = files(ran)
    del after[next(name for name in after if str(name).endswith("page.html"))]
    assert after == before


def test_to_standard_output(ran: Path, inside: Recall) -> None:
    done = inside(ran, "report", "-o", "-")
    assert done.out.startswith("<!doctype html>")
    assert done.out.rstrip().endswith("</html>")
    assert not (run_of(ran) / "report.html").exists()


def test_it_can_be_opened(ran: Path, inside: Recall, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    assert inside(ran, "report", "--open").code == 0
    assert opened == [(run_of(ran) / "report.html").as_uri()]


def test_what_lies_around_a_run_may_be_broken(ran: Path, inside: Recall) -> None:
    (ran / "eval" / "cases.yaml").write_text("- id: [", encoding="utf-8")
    (ran / "eval" / "recall.yaml").write_text("version: [", encoding="utf-8")
    done = inside(ran, "report", "-o", "page.html")
    assert done.code == 0, done
    html = (ran / "page.html").read_text(encoding="utf-8")
    assert "the case files could not be read" in html
    assert "The state could not be read" in html
    assert "asked" not in data_of(ran / "page.html")["worse"]
