"""Models whose replies are kept: no question is paid for twice, and no reply stands for another question."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_recall.judges.calibration_file import Replies
from pytest_recall.judges.judge_call import chosen, scored
from pytest_recall.models.model import Ask, Message, ModelError, Reply
from pytest_recall.models.reply_cache import Keeper, Rehearsed
from pytest_recall.replay.exchange import Tokens
from tests.helpers.scripted import Scripted

ASK = Ask(messages=(Message("user", "hi"),))
FULL = Reply(text="é", stop="length", model="m-1", tokens=Tokens(input=3), ignored=("seed",), attempts=2)


def keeper(model: Scripted, replies: Replies) -> tuple[Keeper, list[Reply]]:
    """Return a keeper over the model, as for one judgement, and what it has paid for."""
    paid: list[Reply] = []
    return Keeper(model, replies, {}, lambda _, reply: paid.append(reply)), paid


def test_the_same_question_in_another_judgement_is_not_asked_again(tmp_path: Path) -> None:
    model, replies = Scripted(FULL), Replies(tmp_path / "kept")
    assert keeper(model, replies)[0].ask(ASK) == FULL
    again, paid = keeper(model, Replies(tmp_path / "kept"))
    assert again.ask(ASK) == FULL
    assert (len(model.asks), paid) == (1, [])


def test_the_same_question_in_one_judgement_is_another_call(tmp_path: Path) -> None:
    model, replies = Scripted("one", "two"), Replies(tmp_path / "kept")
    asked, paid = keeper(model, replies)
    assert [asked.ask(ASK).text, asked.ask(ASK).text] == ["one", "two"]
    assert len(paid) == 2
    later = keeper(model, replies)[0]
    assert [later.ask(ASK).text, later.ask(ASK).text] == ["one", "two"]
    assert len(model.asks) == 2


def test_another_model_or_another_question_is_asked(tmp_path: Path) -> None:
    replies = Replies(tmp_path / "kept")
    one, other = Scripted("one", name="one"), Scripted("other", name="other")
    assert keeper(one, replies)[0].ask(ASK).text == "one"
    assert keeper(other, replies)[0].ask(ASK).text == "other"
    keeper(one, replies)[0].ask(Ask(messages=ASK.messages, seed=1))
    assert len(one.asks) == 2


def test_a_call_that_failed_is_not_kept_but_not_made_twice_either(tmp_path: Path) -> None:
    model, replies = Scripted(ModelError("429"), "fine"), Replies(tmp_path / "kept")
    failures: dict[str, ModelError] = {}
    paid: list[Reply] = []
    for _ in range(2):
        with pytest.raises(ModelError, match="429"):
            Keeper(model, replies, failures, lambda _, reply: paid.append(reply)).ask(ASK)
    assert len(model.asks) == 1
    assert Keeper(model, replies, {}, lambda _, reply: paid.append(reply)).ask(ASK).text == "fine"


def test_fresh_begins_without_what_there_is_and_the_newest_counts(tmp_path: Path) -> None:
    path = tmp_path / "kept"
    for text in ("old", "new"):
        keeper(Scripted(text), Replies(path, fresh=True))[0].ask(ASK)
    assert keeper(Scripted("none"), Replies(path))[0].ask(ASK).text == "new"


def test_what_is_damaged_is_asked_again(tmp_path: Path) -> None:
    path = tmp_path / "kept"
    keeper(Scripted(FULL), Replies(path))[0].ask(ASK)
    for old, new in (('"length"', '"odd"'), ('"text"', '"test"'), ('"key"', '"kay"')):
        (tmp_path / "other").write_text(path.read_text().replace(old, new))
        assert keeper(Scripted("again"), Replies(tmp_path / "other"))[0].ask(ASK).text == "again"


def test_a_rehearsal_replies_in_any_shape_that_a_judge_asks_for() -> None:
    from pytest_recall.judges.judge_call import score_schema
    from pytest_recall.judges.model_judges import SCHEMA

    known: dict[str, bool] = {}
    model = Rehearsed("m", None, known)
    ranges = {"tone": (1, 5), "fact": (0, 1)}
    said = model.ask(Ask(messages=ASK.messages, schema=score_schema(ranges))).text
    assert scored(said, ranges).scores == {"tone": 1, "fact": 0}
    said = model.ask(Ask(messages=ASK.messages, schema=SCHEMA)).text
    assert chosen(said, "better", ("first", "second", "tie"))[1] == "first"
    assert list(known.values()) == [False, False]
