"""The pass that writes days: each whole or not at all, and what is there is gone on from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from pytest_recall.files.errors import RecallError
from pytest_recall.horizon.corpus import Corpus
from pytest_recall.horizon.day import Brief
from pytest_recall.horizon.passes.days import WantedDays, WrittenDays
from pytest_recall.horizon.passes.work import Done, Job
from pytest_recall.horizon.persona import Persona, sessions_in
from pytest_recall.models.model import ModelError
from tests.helpers.authors import BriefAuthor
from tests.helpers.stories import STORY, arc, fill


class Fussy(BriefAuthor):
    """Writes by its brief, remembers what was asked, and fails or says nothing where it is told to."""

    def __init__(self, fails: str = "", silent: str = "") -> None:
        self.fails, self.silent = fails, silent
        self.asked: list[str] = []

    def entry(self, persona: Persona, brief: Brief) -> str:
        place = f"{brief.day} {brief.session.id}"
        self.asked.append(place)
        if place == self.fails:
            raise ModelError("scripted: it is broken; repair it")
        return f"# session: {brief.session.id}\n" if place == self.silent else super().entry(persona, brief)

    def each(self, jobs: Sequence[Job], do: Callable[[Job], Done]) -> list[Done | ModelError]:
        found: list[Done | ModelError] = []
        for job in jobs:
            try:
                found.append(do(job))
            except ModelError as error:
                found.append(error)
        return found


def days(folder: Path, first: int = 1, last: int = 12, **given: object) -> WantedDays:
    """Return the pass over the museum's days."""
    return WantedDays(Corpus(fill(folder), "arcs-12d.yaml"), first, last, **given)  # type: ignore[arg-type]


def nothing() -> None:
    """Take a step."""


def written(folder: Path) -> dict[str, str]:
    """Return the files of the days."""
    return {one.name: one.read_text(encoding="utf-8") for one in sorted((folder / "memories-12d").iterdir())}


def test_every_day_is_written_with_the_sessions_of_its_plan(tmp_path: Path) -> None:
    done = days(tmp_path).write(BriefAuthor(), nothing)
    assert done == WrittenDays(tuple(range(1, 13)), ())
    assert list(sessions_in(written(tmp_path)["day-0004.md"])) == ["principal", "team", "deal"]
    assert written(tmp_path)["day-0001.md"].startswith("---\ntype: daily\n---\n\n# session: principal\n\n### ")
    assert len(written(tmp_path)) == 12


def test_a_session_that_fails_leaves_its_day_unwritten_and_the_others_are_asked(tmp_path: Path) -> None:
    author = Fussy(fails="4 principal")
    done = days(tmp_path).write(author, nothing)
    assert done.written == (1, 2, 3)
    assert done.stopped == (
        "day 4: is not written",
        "day 4, principal: scripted: it is broken; repair it",
    )
    assert author.asked[-3:] == ["4 principal", "4 team", "4 deal"]
    assert list(written(tmp_path)) == ["day-0001.md", "day-0002.md", "day-0003.md"]


def test_a_reply_without_an_entry_leaves_its_day_unwritten(tmp_path: Path) -> None:
    done = days(tmp_path).write(Fussy(silent="2 team"), nothing)
    assert done.written == (1,)
    assert done.stopped[1] == (
        "day 2, team: the reply “# session: team” has no heading `###`, and is not an entry;"
        " take another --temperature or --model"
    )


@pytest.mark.parametrize("window", [0, 1, 3])
def test_a_pass_that_goes_on_writes_what_one_that_was_not_stopped_does(tmp_path: Path, window: int) -> None:
    days(tmp_path / "whole", window=window).write(BriefAuthor(), nothing)
    for stop in (3, 7, 12):
        days(tmp_path / "parts", last=stop, window=window).write(BriefAuthor(), nothing)
    assert written(tmp_path / "parts") == written(tmp_path / "whole")


def test_days_that_are_there_are_kept_and_are_the_past_of_later_ones(tmp_path: Path) -> None:
    days(tmp_path).write(BriefAuthor(), nothing)
    before = written(tmp_path)
    folder = tmp_path / "memories-12d"
    text = "---\ntype: daily\n---\n\n# session: principal\n\n- a note of my own\n\n# session: team\n\n- another one\n"
    (folder / "day-0003.md").write_text(text, encoding="utf-8")
    (folder / "day-0004.md").unlink()
    done = days(tmp_path).write(BriefAuthor(), nothing)
    assert done.written == (4,)
    assert len(done.kept) == 11
    after = written(tmp_path)
    assert after["day-0003.md"] == text
    assert "still open since 2026-01-07: a note of my own" in after["day-0004.md"]
    assert {name: told for name, told in after.items() if name > "day-0004.md"} == {
        name: told for name, told in before.items() if name > "day-0004.md"
    }


def test_overwriting_writes_the_days_of_the_range_again(tmp_path: Path) -> None:
    days(tmp_path).write(BriefAuthor(), nothing)
    before = written(tmp_path)
    for name in ("day-0005.md", "day-0009.md"):
        (tmp_path / "memories-12d" / name).write_text("# session: principal\n\nX\n", encoding="utf-8")
    done = days(tmp_path, first=4, last=6, overwrite=True).write(BriefAuthor(), nothing)
    assert (done.written, done.kept) == ((4, 5, 6), ())
    assert written(tmp_path)["day-0005.md"] == before["day-0005.md"]
    assert written(tmp_path)["day-0009.md"] == "# session: principal\n\nX\n"


def test_what_it_takes_is_counted_without_asking(tmp_path: Path) -> None:
    days(tmp_path, last=3).write(BriefAuthor(), nothing)
    author = Fussy()
    days(tmp_path / "whole").write(author, nothing)
    need = days(tmp_path).need(100)
    assert (need.days, need.kept) == (9, 3)
    assert len(need.sizes) == sum(int(place.split()[0]) > 3 for place in author.asked)
    assert {most for _, most in need.sizes} == {100}
    assert sum(map(sum, need.sizes)) > sum(map(sum, days(tmp_path, window=0).need(100).sizes))
    # The entries before the first day count as well.
    assert days(tmp_path, first=4).need(100).sizes == need.sizes


def test_a_draft_that_a_killed_pass_left_is_no_day(tmp_path: Path) -> None:
    one = days(tmp_path, last=2)
    (tmp_path / "memories-12d").mkdir()
    (tmp_path / "memories-12d" / ".day-0001.md.x.tmp").write_text("half", encoding="utf-8")
    assert one.write(BriefAuthor(), nothing).written == (1, 2)


def test_a_story_that_cannot_be_told_is_refused_before_anybody_is_asked(tmp_path: Path) -> None:
    fill(tmp_path, story={**STORY, "arcs": [arc("inventory", startDay=9, endDay=2)]})
    with pytest.raises(RecallError, match=r"arcs-12d\.yaml: inventory: endDay 2 is before startDay 9; swap them"):
        WantedDays(Corpus(tmp_path, "arcs-12d.yaml"), 1, 12).plans()
    with pytest.raises(RecallError, match="no arc with a session runs from day 13 to 20; the story ends with day 12"):
        days(tmp_path, 13, 20).plans()


def test_a_session_that_nobody_declared_can_be_told(tmp_path: Path) -> None:
    fill(tmp_path, story={**STORY, "arcs": [arc("inventory", primarySession="hall", endDay=2, directives=[])]})
    one = WantedDays(Corpus(tmp_path, "arcs-12d.yaml"), 1, 2)
    assert one.write(BriefAuthor(), nothing).written == (1, 2)
    assert "# session: hall" in written(tmp_path)["day-0001.md"]
