"""Personas and stories from replies: asked for again with what is wrong, and taken whole or not at all."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import pytest

from pytest_recall.files.errors import RecallError
from pytest_recall.horizon.corpus import Corpus
from pytest_recall.horizon.passes.days import ATTEMPTS, create_persona, create_story, write_persona, write_story
from pytest_recall.horizon.passes.work import ModelAuthor, StoryRequest, Whole, Work
from pytest_recall.horizon.persona import Persona
from pytest_recall.models.model import ModelError, Reply
from tests.helpers.ferries import FERRIES, ferry_story
from tests.helpers.scripted import Scripted

WISH = StoryRequest("the office of a ferry company", date(2024, 1, 1), 60)
WHO = FERRIES
TOLD = ferry_story()
PERSONA = Persona.model_validate(WHO)


def author(*replies: str | Reply | ModelError) -> tuple[ModelAuthor, Scripted]:
    """Return an author whose model gives these replies, and the model."""
    model = Scripted(*replies)
    return ModelAuthor(Work(Whole(model), None), 4000, 0.7), model


def test_a_reply_that_can_be_taken_is_taken_at_once_in_a_fence_or_not() -> None:
    for text in (json.dumps(WHO), f"Here it is:\n```yaml\n{json.dumps(WHO)}\n```\nEnjoy!"):
        writer, model = author(text)
        assert create_persona(writer, WISH) == PERSONA
        assert len(model.asks) == 1
        assert (model.asks[0].max_tokens, model.asks[0].temperature) == (4000, 0.7)
        assert "the office of a ferry company" in model.asks[0].messages[0].content


def test_what_is_wrong_is_told_and_asked_for_again() -> None:
    writer, model = author(
        "I would rather not.",
        json.dumps({**WHO, "id": "a b", "cast": 7}),
        json.dumps({**WHO, "sessions": WHO["sessions"][:4]}),
        json.dumps(WHO),
    )
    assert create_persona(writer, WISH) == PERSONA
    told = [ask.messages[0].content for ask in model.asks]
    assert "reply:1: is not a mapping" in told[1]
    assert "cast: must be a list in brackets, not 7" in told[2]
    assert "id: 'a b' does not fit" in told[2]
    assert "none has `isolated: true`" in told[3]
    assert all("the office of a ferry company" in text for text in told)


def test_after_the_last_try_it_is_said_what_is_wrong() -> None:
    writer, model = author("no: [")
    with pytest.raises(RecallError) as raised:
        create_persona(writer, WISH)
    assert len(model.asks) == ATTEMPTS
    assert raised.value.messages[0].startswith(f"the persona cannot be taken after {ATTEMPTS} tries")
    assert raised.value.messages[1].startswith("the persona, last try: reply:2: did not find expected")


def test_a_story_that_lacks_something_is_asked_for_again() -> None:
    short = {**TOLD, "arcs": [{**one, "referencedSessions": []} for one in TOLD["arcs"]]}
    writer, model = author(json.dumps(short), json.dumps(TOLD))
    found = create_story(writer, WISH, PERSONA)
    assert found.epoch == WISH.epoch
    assert [one.id for one in found.arcs] == [one["id"] for one in TOLD["arcs"]]
    assert "0 have referencedSessions, and at least 3 are wanted" in model.asks[1].messages[0].content
    assert model.asks[0].max_tokens == 8000
    assert "day 1 is 2024-01-01, day 60 is 2024-02-29" in model.asks[0].messages[0].content


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (Reply(text="x", stop="length"), "the reply was cut at 4,000 tokens; raise --max-tokens"),
        (Reply(text="", stop="refused"), "the reply was refused"),
        (Reply(text=" \n"), "the reply is empty"),
        (ModelError("scripted: away"), "scripted: away"),
    ],
)
def test_a_reply_that_is_not_whole_is_no_reply_and_is_not_kept(tmp_path: Path, reply: Reply, words: str) -> None:
    model = Scripted(reply, json.dumps(WHO))
    work = Work(Whole(model), tmp_path / "replies.jsonl")
    with pytest.raises(ModelError, match=words):
        create_persona(ModelAuthor(work, 4000, 0.7), WISH)
    assert not (tmp_path / "replies.jsonl").exists()
    assert create_persona(ModelAuthor(work, 4000, 0.7), WISH) == PERSONA


def test_what_is_written_is_read_back_the_same(tmp_path: Path) -> None:
    writer, _ = author(json.dumps(TOLD))
    story = create_story(writer, WISH, PERSONA)
    write_persona(tmp_path / "persona.yaml", PERSONA)
    write_story(tmp_path / "arcs-60d.yaml", story)
    corpus = Corpus(tmp_path, "arcs-60d.yaml")
    assert (corpus.persona, corpus.story) == (PERSONA, story)
