"""The author who asks no model: deterministic, and fit for any persona."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from offline_story.days import OfflineAuthor

from pytest_recall.horizon.check import check
from pytest_recall.horizon.corpus import Corpus
from pytest_recall.horizon.day import SessionHistory, briefs, day_text, entry_of, plan_day
from pytest_recall.horizon.passes.days import WantedDays, create_persona, create_story, write_persona, write_story
from pytest_recall.horizon.passes.work import StoryRequest
from pytest_recall.horizon.persona import Arc, Calendar, Story, sessions_in
from tests.helpers.stories import EPOCH, persona, stories

CALENDAR = Calendar(EPOCH)


HEADED = Arc.model_validate(
    {"id": "a", "type": "project", "title": "a", "description": "# a\n# session: b", "start_day": 1, "end_day": 1}
)


@settings(deadline=None, database=None)
@example(Story(arcs=(HEADED,)), 1)
@given(stories(), st.integers(1, 45))
def test_whatever_the_story_an_entry_is_written_that_stays_as_it_is(told: Story, day: int) -> None:
    author, history = OfflineAuthor(), SessionHistory(2)
    plan = plan_day(told, persona(), CALENDAR, day)
    entries = {one.session.id: author.entry(persona(), one) for one in briefs(persona(), CALENDAR, plan, history)}
    for session, entry in entries.items():
        assert entry.startswith("### ")
        assert entry_of(entry, session) == entry
    assert sessions_in(day_text(entries)) == entries


@pytest.mark.parametrize("seed", ["0", "two"])
def test_a_whole_offline_corpus_is_consistent(tmp_path: Path, seed: str) -> None:
    author, wish = OfflineAuthor(seed), StoryRequest("", EPOCH, 45)
    who = create_persona(author, wish)
    write_persona(tmp_path / "persona.yaml", who)
    write_story(tmp_path / "arcs-45d.yaml", create_story(author, wish, who))
    corpus = Corpus(tmp_path, "arcs-45d.yaml")
    done = WantedDays(corpus, 1, 45).write(author, lambda: None)
    assert done.written == tuple(range(1, 46))
    assert check(Corpus(tmp_path, "arcs-45d.yaml")) == []


def test_another_seed_is_another_story_of_other_people() -> None:
    wish = StoryRequest("", EPOCH, 60)
    texts = [OfflineAuthor(seed).persona(wish, None) for seed in ("0", "1")]
    assert texts[0] == OfflineAuthor("0").persona(wish, None) != texts[1]
