"""A persona's folder as a whole: what is wrong in it, with the file and the line."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pytest_recall.horizon.check import ToldFinding, check
from pytest_recall.horizon.corpus import Corpus, story_name
from pytest_recall.horizon.passes.days import WantedDays
from tests.helpers.authors import BriefAuthor
from tests.helpers.stories import STORY, arc, fill

PUBLISHED = os.environ.get("RECALL_BENCH_180D")


@pytest.fixture
def museum(tmp_path: Path) -> Path:
    """The museum's folder, with all days."""
    fill(tmp_path)
    WantedDays(Corpus(tmp_path, "arcs-12d.yaml"), 1, 12).write(BriefAuthor(), lambda: None)
    return tmp_path


def found(folder: Path) -> list[ToldFinding]:
    """Return what is wrong in the museum's folder."""
    return check(Corpus(folder, "arcs-12d.yaml"))


def test_a_folder_as_it_is_written_is_right(museum: Path) -> None:
    assert found(museum) == []


def test_mistakes_in_both_files_come_together_with_their_lines(tmp_path: Path) -> None:
    fill(tmp_path)
    (tmp_path / "persona.yaml").write_text(
        "id: museum\nname: 7\nsessions:\n  - id: team\n    kind: crowd\n", encoding="utf-8"
    )
    (tmp_path / "arcs-12d.yaml").write_text("arcs:\n  - id: a\n    startDay: none\n", encoding="utf-8")
    told = found(tmp_path)
    assert {one.rule for one in told} == {"schema"}
    assert (str(tmp_path / "persona.yaml"), 2, "name: 7 is not text; write it in quotes") in [
        (one.file, one.line, one.message) for one in told
    ]
    assert [one.line for one in told if one.file.endswith("arcs-12d.yaml") and "startDay" in one.message] == [3]


def test_a_file_that_is_missing_is_an_error(tmp_path: Path) -> None:
    told = found(tmp_path)
    assert [(Path(one.file).name, one.severity) for one in told] == [
        ("persona.yaml", "error"),
        ("arcs-12d.yaml", "error"),
    ]
    assert told[0].message == "is not there; `recall bench create-persona` writes one"


def test_a_story_without_days_is_looked_at_all_the_same(tmp_path: Path) -> None:
    fill(tmp_path, story={**STORY, "arcs": [arc("inventory", startDay=9, endDay=2)], "maxConcurrent": 3})
    assert [(one.severity, one.rule) for one in found(tmp_path)] == [
        ("warning", "unknown-key"),
        ("error", "range"),
        ("warning", "unwritten"),
    ]
    lines = (tmp_path / "arcs-12d.yaml").read_text(encoding="utf-8").splitlines()
    assert '"maxConcurrent": 3' in lines[found(tmp_path)[0].line - 1]
    assert '"endDay": 2' in lines[found(tmp_path)[1].line - 1]


def test_findings_in_days_have_the_line_of_their_text(museum: Path) -> None:
    day = museum / "memories-12d" / "day-0003.md"
    text = day.read_text(encoding="utf-8").replace(
        "# session: team\n",
        "# session: team\n\nFriday, 2026-01-08: the price of the astrolabe. The museum opens at 9:30.\n",
    )
    day.write_text(text, encoding="utf-8")
    (museum / "memories-12d" / "day-0005.md").unlink()
    (museum / "memories-12d" / "day-0007.md").write_bytes(b"\xff")
    line = text.split("\n").index("# session: team") + 3
    assert [(Path(one.file).name, one.line, one.severity, one.rule) for one in found(museum)] == [
        ("memories-12d", 1, "error", "missing-day"),
        ("day-0003.md", line, "error", "weekday"),
        ("day-0003.md", line, "error", "leak"),
        ("day-0003.md", line, "error", "early-belief"),
        ("day-0007.md", 1, "error", "unreadable"),
    ]


def test_the_only_story_of_a_folder_is_the_one_that_is_meant(tmp_path: Path) -> None:
    assert story_name(tmp_path, None) == "arcs-1000d.yaml"
    fill(tmp_path)
    assert story_name(tmp_path, None) == "arcs-12d.yaml"
    assert story_name(tmp_path, "arcs-7d.yaml") == "arcs-7d.yaml"
    (tmp_path / "arcs-30d.yaml").touch()
    assert story_name(tmp_path, None) == "arcs-1000d.yaml"


@pytest.mark.skipif(PUBLISHED is None, reason="RECALL_BENCH_180D does not name the folder of the published corpus")
def test_the_published_corpus_is_consistent_by_its_own_dates_and_not_by_the_calendar() -> None:
    folder = Path(str(PUBLISHED)) / "persona"
    assert check(Corpus(folder, "arcs-180d.yaml")) == []
    (one,) = check(Corpus(folder, "arcs-180d.yaml", dates="calendar"))
    assert (Path(one.file).name, one.rule) == ("day-0068.md", "calendar")
