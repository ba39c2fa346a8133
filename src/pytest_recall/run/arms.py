"""Arms: agents that are a model asked plainly, with all of a conversation, some of it, or a summary."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from pytest_recall.core import conversation as talk
from pytest_recall.core.call import Tokens
from pytest_recall.core.conversation import Conversation
from pytest_recall.core.errors import RecallError
from pytest_recall.core.model import Ask, Model, Reply
from pytest_recall.core.trial import Answer

ANSWER_TOKENS = 4096
"""How long an answer may be."""


class PlainModel:
    """A model as an agent: called with text, or a list of `{"role": ..., "content": ...}`, it returns an Answer.

    May be called from several threads. Raises RecallError where the model cannot be asked.
    """

    def __init__(self, model: Model) -> None:
        self._model = model

    @property
    def name(self) -> str:
        """The selector of the model."""
        return self._model.name

    def ask(self, ask: Ask) -> Reply:
        """Return the reply to an ask with settings of its own. Raises ModelError."""
        return self._model.ask(ask)

    def __call__(self, question: Any) -> Answer:
        """Return the answer to all of the question."""
        return self.answer(talk.conversation(question))

    def answer(self, asked: Conversation, before: Iterable[Reply] = ()) -> Answer:
        """Return the answer to a conversation; its usage counts the replies `before` it as well."""
        reply = self.ask(Ask(messages=asked.messages, system=asked.system, max_tokens=ANSWER_TOKENS))
        if reply.stop != "end" and not reply.text.strip():
            # Nobody can tell what it would have said, so that there is nothing to judge.
            raise RecallError(f"{self.name}: {_why(reply)}, without any text; ask for less, or another model")
        return Answer(text=reply.text, usage=_usage([*before, reply]))


def arm(name: str, model: PlainModel, window: int) -> Callable[[Any], Answer]:
    """Return the agent of a shipped baseline; `window` are the estimated tokens that its turns may have."""
    if name == "raw":
        return model

    def tail_window(question: Any) -> Answer:
        asked = talk.conversation(question)
        return model.answer(asked._replace(messages=talk.windowed(asked.messages, window)))

    def compaction(question: Any) -> Answer:
        asked = talk.conversation(question)
        earlier, tail = talk.split(asked.messages, window)
        if not earlier:
            return model.answer(asked)
        replies: list[Reply] = []
        for part in talk.parts(earlier, window):
            replies.append(_summarised(model, replies[-1].text if replies else "", part))
        messages = talk.compacted(earlier, replies[-1].text, tail)
        return model.answer(asked._replace(messages=messages), replies)

    def no_memory(question: Any) -> Answer:
        asked = talk.conversation(question)
        return model.answer(asked._replace(messages=talk.last_turn(asked.messages)))

    return {"tail-window": tail_window, "compaction": compaction, "no-memory": no_memory}[name]


def _summarised(model: PlainModel, summary: str, part: str) -> Reply:
    """Return the reply with the next summary. Raises RecallError where there is none: what is dropped is no summary."""
    reply = model.ask(talk.to_summarise(summary, part))
    if reply.stop == "refused" or not reply.text.strip():
        raise RecallError(f"{model.name}: {_why(reply)}, and gave no summary of the earlier turns; try another model")
    return reply


def _why(reply: Reply) -> str:
    ends = {"refused": "refused", "length": "came to its limit of tokens", "end": "replied with nothing"}
    return ends[reply.stop]


def _usage(replies: Iterable[Reply]) -> dict[str, float]:
    """Return the tokens of all replies together, by kind; a kind that one of them does not count is unknown."""
    columns = zip(*(reply.tokens or Tokens() for reply in replies), strict=True)
    sums = zip(Tokens._fields, columns, strict=True)
    return {f"{kind}_tokens": sum(counts) for kind, counts in sums if None not in counts}
