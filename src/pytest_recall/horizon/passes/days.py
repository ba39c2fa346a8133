"""Write a persona, its story and its days, each file whole or not at all."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from pydantic import BaseModel, ValidationError

from pytest_recall.files import strict_yaml
from pytest_recall.files.disk import write_text
from pytest_recall.files.errors import RecallError
from pytest_recall.files.strict_yaml import block
from pytest_recall.files.validation import explain
from pytest_recall.files.wording import one_line
from pytest_recall.horizon.consistency import persona_problems, story_findings, story_problems
from pytest_recall.horizon.corpus import PERSONA, Corpus
from pytest_recall.horizon.day import Brief, DayPlan, SessionHistory, briefs, day_text, entry_of, plan_day
from pytest_recall.horizon.passes import prompts
from pytest_recall.horizon.passes.work import Attempt, Author, StoryRequest
from pytest_recall.horizon.persona import Persona, Story, day_of, sessions_in
from pytest_recall.metrics.answers import estimated_tokens
from pytest_recall.models.model import ModelError


class PassNeed(NamedTuple):
    """What a pass will ask for: days, those that are there, and of each call its tokens in, about, and at most out."""

    days: int
    kept: int
    sizes: tuple[tuple[int, int], ...]


class WrittenDays(NamedTuple):
    """What a pass came to: days that were written and that were there, and why it stopped, if it did."""

    written: tuple[int, ...]
    kept: tuple[int, ...]
    stopped: tuple[str, ...] = ()


@dataclass(frozen=True)
class WantedDays:
    """The days of a corpus that have something to tell.

    Raises RecallError for a story that cannot be told.
    """

    corpus: Corpus
    first: int
    last: int
    window: int = 3
    """How many entries of its own past are told to a session."""
    overwrite: bool = False
    """Whether days that are there are written again, and not kept."""

    def plans(self) -> list[DayPlan]:
        """Return what is to be told, day by day. Raises RecallError if it is nothing."""
        corpus = self.corpus
        # A session that no one declared can be told: published stories have some.
        wrong = [one for one in story_findings(corpus.persona, corpus.story) if one.severity == "error"]
        files = {"persona": corpus.path / PERSONA, "arcs": corpus.arcs_path}
        if found := [f"{files[one.source]}: {one.message}" for one in wrong if one.rule != "undeclared"]:
            raise RecallError(*found)
        end = corpus.story.end
        # Behind the end of the story nothing is told, however far someone asks for it.
        days = range(self.first, min(self.last, end) + 1)
        plans = [plan_day(corpus.story, corpus.persona, corpus.calendar, day) for day in days]
        if not (told := [plan for plan in plans if plan.sittings]):
            raise RecallError(
                f"{corpus.arcs_path}: no arc with a session runs from day {self.first} to {self.last}; "
                f"the story ends with day {end}"
            )
        return told

    def need(self, max_tokens: int) -> PassNeed:
        """Return what the pass will ask for, if each reply is as long as it may be."""
        plans, history = self.plans(), SessionHistory(self.window)
        sizes, kept = list[tuple[int, int]](), 0
        before = (sessions_in(self.corpus.text(day)) for day in self._there() if day < self.first)
        past = Counter(session for sessions in before for session in sessions)
        for plan in plans:
            if self._is_kept(plan.day):
                kept += 1
            else:
                for brief in briefs(self.corpus.persona, self.corpus.calendar, plan, history):
                    told = min(self.window, past[brief.session.id]) * max_tokens
                    given = estimated_tokens(prompts.prompts(self.corpus.persona, brief))
                    sizes.append((given + told, max_tokens))
            past.update(sitting.session for sitting in plan.sittings)
        return PassNeed(len(plans) - kept, kept, tuple(sizes))

    def write(self, author: Author, step: Callable[[], None]) -> WrittenDays:
        """Write the days, and call `step` after each. A day of which a session is missing is not written."""
        corpus, plans = self.corpus, {plan.day: plan for plan in self.plans()}
        history = SessionHistory(self.window)
        there = self._there()
        for day in sorted(there):
            if day < self.first:
                self._remember(history, day)
        written, kept = list[int](), list[int]()
        for day in sorted({*plans, *(day for day in there if self.first <= day <= self.last)}):
            if day not in plans or self._is_kept(day):
                self._remember(history, day)
                if day in plans:
                    kept.append(day)
                    step()
                continue
            found, problems = self._entries(author, briefs(corpus.persona, corpus.calendar, plans[day], history))
            if problems:
                return WrittenDays(tuple(written), tuple(kept), (f"day {day}: is not written", *problems))
            write_text(corpus.day_path(day), day_text(found), durable=True)
            self._remember(history, day)
            written.append(day)
            step()
        return WrittenDays(tuple(written), tuple(kept))

    def _entries(self, author: Author, asked: Sequence[Brief]) -> tuple[dict[str, str], list[str]]:
        """Return the entry of each session, and which could not be had."""
        replies = author.each(asked, lambda brief: author.entry(self.corpus.persona, brief))
        found, problems = dict[str, str](), list[str]()
        for brief, reply in zip(asked, replies, strict=True):
            session = brief.session.id
            if isinstance(reply, ModelError):
                problems.append(f"day {brief.day}, {session}: {reply}")
            elif not (entry := entry_of(reply, session)):
                said = one_line(reply, 60)
                problems.append(
                    f"day {brief.day}, {session}: the reply “{said}” has no heading `###`, and is not an entry; take"
                    " another --temperature or --model"
                )
            else:
                found[session] = entry
        return found, problems

    def _there(self) -> set[int]:
        folder = self.corpus.memories
        return {day for one in folder.iterdir() if (day := day_of(one.name))} if folder.is_dir() else set()

    def _is_kept(self, day: int) -> bool:
        return not self.overwrite and self.corpus.day_path(day).is_file()

    def _remember(self, history: SessionHistory, day: int) -> None:
        # As it stands on the disk, so that a pass that goes on knows what one that was not stopped would.
        history.take(self.corpus.calendar.date_of(day), self.corpus.text(day))


ATTEMPTS = 4
"""How often a persona or a story is asked for, at the most."""
_FENCE = re.compile(r"```[A-Za-z]*\n(.*?)\n?```", re.DOTALL)
Made = TypeVar("Made", bound=BaseModel)


def create_persona(author: Author, wish: StoryRequest) -> Persona:
    """Return a persona that can be taken. Raises RecallError if none is among the attempts."""
    return _until("the persona", Persona, lambda last: author.persona(wish, last), persona_problems)


def create_story(author: Author, wish: StoryRequest, persona: Persona) -> Story:
    """Return a story for a persona, on the dates of the wish. Raises RecallError if none is among the attempts."""
    story = _until(
        "the story",
        Story,
        lambda last: author.story(wish, persona, last),
        lambda story: story_problems(persona, story, wish.days),
    )
    return story.model_copy(update={"epoch": wish.epoch})


def write_persona(path: Path, persona: Persona) -> None:
    """Write a persona's file, whole or not at all. Raises OSError."""
    write_text(path, block(_plain(persona)), durable=True)


def write_story(path: Path, story: Story) -> None:
    """Write a story's file, whole or not at all. Raises OSError."""
    write_text(path, block(_plain(story)), durable=True)


def _until(
    what: str, model: type[Made], ask: Callable[[Attempt | None], str], problems_of: Callable[[Made], list[str]]
) -> Made:
    last: Attempt | None = None
    for number in range(1, ATTEMPTS + 1):
        reply = ask(last)
        made, problems = _read(reply, model)
        if made is not None:
            problems = problems_of(made)
            if not problems:
                return made
        last = Attempt(number, reply, problems)
    assert last is not None
    told = (
        f"{what} cannot be taken after {ATTEMPTS} tries; say more in --prompt, or take another --temperature or --model"
    )
    raise RecallError(told, *(f"{what}, last try: {problem}" for problem in last.problems))


def _read(reply: str, model: type[Made]) -> tuple[Made | None, list[str]]:
    """Return what a reply holds, or why it cannot be read. Lines are those of the reply's YAML."""
    text = reply.strip()
    if fenced := _FENCE.search(text):
        text = fenced[1]
    try:
        value = strict_yaml.load(text, "reply")
        if not isinstance(value, dict):
            return None, ["reply:1: is not a mapping; begin with a key at the margin"]
        return model.model_validate(value), []
    except RecallError as error:
        return None, list(error.messages)
    except ValidationError as error:
        lines = strict_yaml.lines(text, "reply")

        def line_of(path: tuple[str | int, ...]) -> int:
            return next((lines[path[:end]] for end in range(len(path), -1, -1) if path[:end] in lines), 1)

        return None, explain(error, model, "reply", line_of)


def _plain(made: BaseModel) -> dict[str, Any]:
    """Return plain values by the names of the files, without what is empty."""
    plain: dict[str, Any] = _pruned(made.model_dump(mode="json", by_alias=True))
    return plain


def _pruned(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _pruned(inner) for key, inner in value.items() if inner not in (None, "", [], False)}
    return [_pruned(inner) for inner in value] if isinstance(value, list) else value
