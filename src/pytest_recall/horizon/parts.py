"""Resolve the corpus, checkpoints, models and memory of a run from its settings."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

from pytest_recall.cases.memory_part import Unit
from pytest_recall.files.errors import RecallError
from pytest_recall.files.wording import listed, plural
from pytest_recall.horizon.corpus import QUESTIONS, Corpus
from pytest_recall.horizon.day import units_of
from pytest_recall.horizon.disclosure import BOUNDARY
from pytest_recall.horizon.judge import PROMPTS, DayTexts, LexicalJudge, PanelJudge, RunJudge
from pytest_recall.horizon.profile import Feed, RunPart
from pytest_recall.horizon.profile_file import BenchSettings
from pytest_recall.horizon.question import GROUP_CATEGORIES, BenchQuestion, Checkpoint, checkpoints, shorter
from pytest_recall.horizon.result import LEXICAL, MEMORY_CODE, MEMORY_SETTINGS, MODEL_CODE, Configuration
from pytest_recall.judges import memory_judge
from pytest_recall.judges.panel import Panel
from pytest_recall.memory.client import MemoryAdapter
from pytest_recall.memory.resolve import resolve as memory_of
from pytest_recall.memory.selector import MemoryKinds
from pytest_recall.models.fingerprint import fingerprint
from pytest_recall.models.model import Model
from pytest_recall.models.model_notes import NAME as MODEL_NOTES
from pytest_recall.models.model_notes import ModelNotes, made_of
from pytest_recall.replay.exchange import CallKind
from pytest_recall.trials.model_calls import Counted, RunModels

if TYPE_CHECKING:
    from pathlib import Path

KEPT_DAYS = 64
"""Days whose texts are kept for the judge."""
Part = TypeVar("Part")


@dataclass(frozen=True, kw_only=True)
class Parts:
    """All that a run needs."""

    settings: BenchSettings
    corpus: Corpus
    questions: tuple[BenchQuestion, ...]
    days: tuple[int, ...]
    """Those of which the memory is told."""
    checkpoints: Sequence[Checkpoint]
    client: MemoryAdapter
    judge: RunJudge
    answerer: Counted | None
    configuration: Configuration
    calls: RunModels
    models: Mapping[str, Counted] = field(default_factory=dict)
    """Those that are asked, by their roles."""

    def close(self) -> None:
        """Let go of what the models hold."""
        for model in self.models.values():
            model.close()

    def notes(self, folder: Path, *, resumes: bool) -> ModelNotes:
        """Return what is noted in the folder of a run on its models."""
        return ModelNotes(
            folder / MODEL_NOTES,
            (("answer model" if role == "answer" else role, one) for role, one in self.models.items()),
            lambda: self.calls.memory.places,
            replayed=self.calls.mode == "replay",
            resumes=resumes,
        )


def parts_of(
    settings: BenchSettings, kinds: MemoryKinds, calls: RunModels, say: Callable[[str], None], *, ready: bool = True
) -> Parts:
    """Return the parts, with a memory of one of these kinds, and models that are asked by `calls`.

    Raises RecallError with all that is missing, each in a sentence. Keys, packages and programs are
    not looked for if nothing has to be `ready`.
    """
    problems: list[str] = []

    def tried(find: Callable[[], Part]) -> Part | None:
        try:
            return find()
        except RecallError as error:
            problems.extend(error.messages)
            return None

    def model(selector: str, what: str, kind: CallKind) -> Counted | None:
        try:
            return calls.model(selector, kind, settings.root, say, ready=ready)
        except RecallError as error:
            problems.extend(f"{what}: {message}" for message in error.messages)
            return None

    corpus = settings.corpus
    persona = tried(lambda: corpus.persona)
    if persona is not None and persona.id != settings.persona.id:
        problems.append(f"{corpus.path}: is the persona {persona.id!r}, not {settings.persona.id!r}; name it so")
    story, days, questions = tried(lambda: corpus.story), tried(lambda: corpus.days), tried(lambda: corpus.questions)
    fed = None if days is None else tried(lambda: corpus.fed_days(settings.run.feed))
    client = tried(lambda: memory_of(settings.memory, kinds, root=settings.root, config=settings.config))
    if client is not None and ready:
        try:
            kinds.call(kinds.kind_of(kinds.parse(client.name)), client.ready)
        except RecallError as error:
            problems.extend(f"memory {client.name}: {message}" for message in error.messages)
    primary = None if settings.judge in (None, LEXICAL) else model(settings.judge or "", "judge", "judge")
    appellate = None if settings.appellate is None else model(settings.appellate, "appellate judge", "judge")
    answerer = None if settings.answer is None else model(settings.answer, "answer", "worker")
    if (
        problems
        or persona is None
        or story is None
        or days is None
        or questions is None
        or client is None
        or fed is None
    ):
        raise RecallError(*problems)
    models = {"judge": primary, "appellate judge": appellate, "answer": answerer}
    asked = {role: one for role, one in models.items() if one is not None}
    calls.check_prices({**asked, **({} if client.model is None else {"memory": client.model})}, say)
    run = settings.run
    unsaid = run.groups_enabled and run.feed == "conversations"
    if unsaid:
        groups = sum(one.category in GROUP_CATEGORIES for one in questions)
        if groups:
            told = f"{plural(groups, 'question')} {'is' if groups == 1 else 'are'} not asked"
            say(f"conversations do not say in which session something was said, so that {told}")
    withheld = run.groups_enabled and not unsaid and _is_not_told(client, ready=ready)
    if withheld:
        boundary = sum(one.category == BOUNDARY for one in questions)
        if boundary:
            how = client.context_hint and f"; {client.context_hint}"
            told = f"{plural(boundary, 'question')} about what may be told where {'is' if boundary == 1 else 'are'}"
            say(f"{client.name} is not told in which session a question is asked, so that {told} not asked{how}")
    found = checkpoints_of(settings, withheld=withheld)
    if run.feed == "tool-calls" and (other := corpus.calls_dated_otherwise()):
        say(
            f"{corpus.tools}: the files of {plural(len(other), 'day')}, first of day {other[0]:,}, have another date"
            " than the day; the memory is told the day's, which `--dates` sets"
        )
    for sentence in (*_doubtful(corpus, found), *_unfed(days, fed, run.feed)):
        say(sentence)
    text = lru_cache(maxsize=KEPT_DAYS)(corpus.text)
    shown = DayTexts(days, text, corpus.calendar)
    judge: RunJudge
    if primary is None:
        judge, version = LexicalJudge(shown), memory_judge.VERSION
    else:
        panel = Panel(judges=(primary,), appellate=appellate)
        judge, version = PanelJudge(panel, shown, run.judge_memory_window), PROMPTS
    return Parts(
        settings=settings,
        corpus=corpus,
        questions=questions,
        days=fed,
        checkpoints=found,
        client=client,
        judge=judge,
        answerer=answerer,
        models=asked,
        calls=calls,
        configuration=Configuration(
            memory=client.name,
            persona=persona.id,
            arcs=settings.persona.arcs,
            dates=corpus.calendar.dates,
            run=run,
            judge=LEXICAL if primary is None else primary.name,
            judge_version=version,
            appellate=settings.appellate,
            answer=settings.answer,
            hashes=_hashes(corpus, run.feed)
            | _hashes_of(client, settings.config, ready=ready)
            | _hashes_of_models(asked, replayed=calls.mode == "replay"),
            labels=settings.labels,
            replayed=calls.mode == "replay",
        ),
    )


def _is_not_told(client: MemoryAdapter, *, ready: bool) -> bool:
    """Whether the memory does not get the session of a question; it is asked where it is `ready`."""
    if ready:
        client.learn()
    return not client.takes_context


def checkpoints_of(settings: BenchSettings, *, withheld: bool = False) -> list[Checkpoint]:
    """Return the checkpoints of a run, without questions about boundaries if these are `withheld`.

    Where what is told names no session, there are none about sessions: a memory can neither know nor keep them apart.
    Raises RecallError where none has a question.
    """
    run, questions = settings.run, settings.corpus.questions
    no_sessions = not run.groups_enabled or run.feed == "conversations"
    left_out = GROUP_CATEGORIES if no_sessions else (BOUNDARY,) if withheld else ()
    found = checkpoints(
        questions,
        run.ranges,
        settings.corpus.days[-1],
        sample=run.sample,
        seed=run.seed,
        left_out=left_out,
        sampler=run.sampler,
    )
    if not any(one.asked for one in found):
        first = min(max(one.relevant_days) for one in questions)
        raise RecallError(f"ranges: no question can be asked after so few days; the first one can after day {first}")
    return found


def _doubtful(corpus: Corpus, found: Sequence[Checkpoint]) -> Iterator[str]:
    """Yield in sentences what of a run can hardly be meant, and is done all the same."""
    last = corpus.days[-1]
    ends = [one.range.label for one in found if one.days == last]
    if len(ends) > 1:
        option, written = shorter([one.range for one in found], last)
        again = sum(len(one.asked) for one in found if one.days == last and one.range.label != ends[0])
        yield (
            f"ranges: {listed(ends)} all end on day {last:,}, the last that there is, and ask {again:,} questions"
            f" again; give {option}, or write `{written}` into the profile"
        )
    asked = {day for one in found for question in one.asked for day in question.relevant_days}
    if absent := sorted(asked - {*corpus.days}):
        told = listed([f"{day:,}" for day in absent])
        yield f"{corpus.memories}: has no day {told}, and questions are about it; `recall bench lint` names them"


def _unfed(days: Sequence[int], fed: Sequence[int], feed: Feed) -> Iterator[str]:
    """Yield in a sentence of which days the memory is told nothing, though there are such days."""
    if absent := sorted({*days} - {*fed}):
        told = listed([f"{day:,}" for day in absent[:5]]) + (" …" if len(absent) > 5 else "")
        yield f"of {len(absent):,} of {len(days):,} days there are no {feed}, and nothing is told of them: {told}"


def day_units(corpus: Corpus, day: int, run: RunPart) -> list[Unit]:
    """Return what a memory is told of a day."""
    return units_of(
        day,
        corpus.pieces(day, run.feed, run.unit),
        numbered=run.feed != "days" or run.unit == "topic",
        on=corpus.calendar.date_of(day),
        persona=corpus.persona.id,
        arcs=[arc.id for arc in corpus.story.active(day)],
        isolated={one.id for one in corpus.persona.sessions if one.isolated},
    )


def _hashes_of(client: MemoryAdapter, config: Mapping[str, Any], *, ready: bool) -> dict[str, str]:
    """Return the SHA-256 of the memory's code, with the packages that it imports, and of what it is made with.

    What it is made with may be secret. Before the memory is `ready` its code is not known: it may not be imported.
    """
    found = {}
    if config:
        told = json.dumps(config, sort_keys=True, default=str)
        found[MEMORY_SETTINGS] = hashlib.sha256(told.encode()).hexdigest()
    if ready and (code := fingerprint(client.code()).digest):
        found[MEMORY_CODE] = code
    return found


def _hashes_of_models(models: Mapping[str, Model], *, replayed: bool) -> dict[str, str]:
    """Return the SHA-256 of the code of each model that is the user's, with the packages that it imports."""
    found = {MODEL_CODE[role]: made_of(model, replayed=replayed).digest for role, model in models.items()}
    return {name: code for name, code in found.items() if code}


def _hashes(corpus: Corpus, feed: Feed) -> dict[str, str]:
    """Return the SHA-256 of what a run is over: the story, the questions, all days, and what the memory is told.

    Days after the last checkpoint count too, so that parts of one run say the same, up to whichever day they go.
    """
    found = {
        "story": hashlib.sha256(corpus.arcs_path.read_bytes()).hexdigest(),
        "questions": hashlib.sha256((corpus.qa / QUESTIONS).read_bytes()).hexdigest(),
        "days": _hash_of_days(corpus, corpus.days, "days"),
    }
    if feed != "days":
        found[feed.replace("-", " ")] = _hash_of_days(corpus, corpus.fed_days(feed), feed)
    return found


def _hash_of_days(corpus: Corpus, days: Sequence[int], feed: Feed) -> str:
    every = hashlib.sha256()
    for day in days:
        data = corpus.fed_path(day, feed).read_bytes()
        every.update(f"{day} {len(data)}\n".encode())
        every.update(data)
    return every.hexdigest()
