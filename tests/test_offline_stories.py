"""What offline personas tell apart: a search by words from an oracle, and both from what does not search."""

from __future__ import annotations

from pathlib import Path

from tests.helpers.scripts import loaded

ROOT = Path(__file__).parents[1]


STORIES = loaded(ROOT / "scripts" / "offline-stories.py")


def test_the_aims_hold_for_sixty_days(tmp_path: Path) -> None:
    corpus = STORIES.made(tmp_path, "0", 60)
    found = STORIES.measured(corpus, ("sqlite-fts", STORIES.BY_LINE, "last-20"))
    assert list(STORIES.missed(found)) == []
    everything = found.shares["all"]
    # It can be found: by single lines, if the words are known.
    assert everything[STORIES.BY_LINE] > 0.85 > everything["sqlite-fts"] + 0.25
    assert everything["oracle"] == 1.0
    # Also of a session that is closed before the last day, and of numbers that are changed.
    closed = corpus.story.bounds(corpus.persona, "board-chair")[1]
    assert closed is not None
    assert closed < 60
    assert any("board-chair" in one.forbidden_sessions for one in corpus.questions)
    assert any(one.irrelevant_after for one in corpus.questions)
    assert {one.difficulty for one in corpus.questions} == {"easy", "medium", "hard"}
    page = (ROOT / "docs" / "reference" / "offline-stories.md").read_text(encoding="utf-8")
    cells = [f"{100 * everything[name]:.0f}" for name in ("sqlite-fts", STORIES.BY_LINE, "last-20", "oracle")]
    (row,) = [one for one in page.partition("### 60 days, offline:1")[0].splitlines() if one.startswith("| all")]
    written = [cell.strip() for cell in row.split("|")]
    assert [written[column] for column in (3, 6, 7, 8)] == cells


def test_an_aim_that_is_missed_is_named() -> None:
    shares = {"synthesis": {"last-20": 0.25}, "all": {"sqlite-fts": 0.8, "bm25s": 0.4, "oracle": 1.0, "silence": 0.2}}
    assert list(STORIES.missed(STORIES.Measured(shares, {}))) == [
        "sqlite-fts is 20 points below the oracle, and 25 are aimed at",
        "synthesis: last-20 has 25 %, and less than 20 is aimed at",
        "all: silence has 20 %, and less than 20 is aimed at",
    ]
