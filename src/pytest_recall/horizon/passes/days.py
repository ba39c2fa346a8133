"""Days: the pass that writes a persona's days, one after the other, each whole or not at all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pytest_recall.core.errors import RecallError, one_line
from pytest_recall.core.horizon.brief import Brief, History, briefs
from pytest_recall.core.horizon.consistency import story_findings
from pytest_recall.core.horizon.day import DayPlan, plan_day
from pytest_recall.core.horizon.entry import day_text, entry_of
from pytest_recall.core.horizon.layout import day_of, sessions_in
from pytest_recall.core.model import ModelError
from pytest_recall.horizon.corpus import PERSONA, Corpus
from pytest_recall.horizon.passes import day_prompt
from pytest_recall.horizon.passes.author import Author
from pytest_recall.metrics.tokencount import estimated_tokens
from pytest_recall.store.files import write_text


class Need(NamedTuple):
    """What a pass will ask for: days, those that are there, and of each call its tokens in, about, and at most out."""

    days: int
    kept: int
    sizes: tuple[tuple[int, int], ...]


class Written(NamedTuple):
    """What a pass came to: days that were written and that were there, and why it stopped, if it did."""

    written: tuple[int, ...]
    kept: tuple[int, ...]
    stopped: tuple[str, ...] = ()


@dataclass(frozen=True)
class Days:
    """The days `first` to `last` of a corpus that have something to tell. Those that are there are kept.

    With `overwrite` they are written again. `window` entries of its own past are told to a session.
    Raises RecallError for a story that cannot be told.
    """

    corpus: Corpus
    first: int
    last: int
    window: int = 3
    overwrite: bool = False

    def plans(self) -> list[DayPlan]:
        """Return what is to be told, day by day. Raises RecallError if it is nothing."""
        corpus = self.corpus
        # A session that nobody declared can be told: published stories have some.
        wrong = [one for one in story_findings(corpus.persona, corpus.story) if one.severity == "error"]
        files = {"persona": corpus.path / PERSONA, "arcs": corpus.arcs_path}
        if found := [f"{files[one.source]}: {one.message}" for one in wrong if one.rule != "undeclared"]:
            raise RecallError(*found)
        end = corpus.story.end
        # Behind the end of the story nothing is told, however far somebody asks for it.
        days = range(self.first, min(self.last, end) + 1)
        plans = [plan_day(corpus.story, corpus.persona, corpus.calendar, day) for day in days]
        if not (told := [plan for plan in plans if plan.sittings]):
            raise RecallError(
                f"{corpus.arcs_path}: no arc with a session runs from day {self.first} to {self.last}; "
                f"the story ends with day {end}"
            )
        return told

    def need(self, max_tokens: int) -> Need:
        """Return what the pass will ask for, if each reply is as long as it may be."""
        plans, history = self.plans(), History(self.window)
        sizes, kept = list[tuple[int, int]](), 0
        before = (sessions_in(self.corpus.text(day)) for day in self._there() if day < self.first)
        past = Counter(session for sessions in before for session in sessions)
        for plan in plans:
            if self._is_kept(plan.day):
                kept += 1
            else:
                for brief in briefs(self.corpus.persona, self.corpus.calendar, plan, history):
                    told = min(self.window, past[brief.session.id]) * max_tokens
                    given = estimated_tokens(day_prompt.prompts(self.corpus.persona, brief))
                    sizes.append((given + told, max_tokens))
            past.update(sitting.session for sitting in plan.sittings)
        return Need(len(plans) - kept, kept, tuple(sizes))

    def write(self, author: Author, step: Callable[[], None]) -> Written:
        """Write the days, and call `step` after each. A day of which a session is missing is not written."""
        corpus, plans = self.corpus, {plan.day: plan for plan in self.plans()}
        history = History(self.window)
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
                return Written(tuple(written), tuple(kept), (f"day {day}: is not written", *problems))
            write_text(corpus.day_path(day), day_text(found), durable=True)
            self._remember(history, day)
            written.append(day)
            step()
        return Written(tuple(written), tuple(kept))

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
                    f"day {brief.day}, {session}: the reply “{said}” has no heading `###`, and is no entry; take"
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

    def _remember(self, history: History, day: int) -> None:
        # As it stands on the disk, so that a pass that goes on knows what one that was not stopped would.
        history.take(self.corpus.calendar.date_of(day), self.corpus.text(day))
