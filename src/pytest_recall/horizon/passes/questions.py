"""Have questions written about a persona's days, window by window."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from pytest_recall.files.errors import RecallError, StoppedError
from pytest_recall.files.wording import plural, same_command
from pytest_recall.horizon.corpus import QUESTIONS, Corpus, Covered, QuestionFile, alone, kept_in
from pytest_recall.horizon.facts import public_words
from pytest_recall.horizon.lint import same_words
from pytest_recall.horizon.passes.work import PassProgress
from pytest_recall.horizon.persona import PRINCIPAL, SessionSpec, sessions_in
from pytest_recall.horizon.question import CATEGORIES, GROUP_CATEGORIES
from pytest_recall.horizon.questioning import (
    BOUNDARY,
    QuestionWindow,
    ShownDays,
    next_number,
    question_id,
    share,
    take,
    windows,
)
from pytest_recall.horizon.salvage import Salvaged, UnreadableReply
from pytest_recall.models.model import ModelError

ATTEMPTS = 2
"""How often a window is asked for before it is left out."""


class QuestionRequest(NamedTuple):
    """What is wanted of questions about the days of a window."""

    window: QuestionWindow
    texts: Mapping[int, str]
    pairs: int
    """How many questions are wanted."""
    counts: Mapping[str, int]
    """How many questions there are of each category."""
    asked: Sequence[str]
    """Which questions there are."""
    session: SessionSpec | None = None
    """With it, questions are about what may be told where."""
    control: int = 0
    """How many of these are to be answered in the session itself."""
    query_session: str = PRINCIPAL


class QuestionWriter(Protocol):
    """Who proposes questions."""

    @property
    def name(self) -> str:
        """How it is selected."""
        ...

    def propose(self, request: QuestionRequest, problem: str) -> Salvaged:
        """Return proposals; `problem` says what was wrong with the ones before. Raises Unreadable or ModelError."""
        ...


class QuestionPlan(NamedTuple):
    """Which questions are to be written."""

    boundary: bool
    """Whether they are about isolated sessions, and asked in `query_session`."""
    interval: int
    pairs: int
    start: int | None = None
    end: int | None = None
    query_session: str = PRINCIPAL


@dataclass
class PassOutcome:
    """What a pass came to: the rows that were added, why others were not, and windows that are left out."""

    added: list[dict[str, Any]] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    windows: int = 0


def requests(corpus: Corpus, plan: QuestionPlan, covered: Covered, file: QuestionFile) -> Iterator[QuestionRequest]:
    """Yield what is still to be asked for; without the counts and questions of `file`."""
    there = {str(row.raw.get("id")) for row in file.rows}
    if not plan.boundary:
        _refuse_unknown(plan, covered, file)
        for window in windows(
            corpus.days, plan.interval, start=plan.start, end=plan.end, covered=covered.days("", there)
        ):
            texts = {day: corpus.text(day) for day in window.days}
            yield QuestionRequest(window, texts, share(plan.pairs, window, plan.interval), {}, ())
        return
    isolated = [one for one in corpus.persona.sessions if one.isolated and one.id != plan.query_session]
    if not isolated:
        raise RecallError(
            f"{corpus.path}: has no isolated session to ask about; declare one, or leave out --mode boundary"
        )
    bodies = {day: sessions_in(text) for day, text in corpus.texts()}
    for session in isolated:
        first, last = corpus.story.bounds(corpus.persona, session.id)
        days = [day for day, said in bodies.items() if session.id in said and _within(day, first, last)]
        for window in windows(
            days, plan.interval, start=plan.start, end=plan.end, covered=covered.days(session.id, there)
        ):
            texts = {day: bodies[day][session.id] for day in window.days}
            control = max(1, plan.pairs // 2)
            yield QuestionRequest(window, texts, plan.pairs, {}, (), session, control, plan.query_session)


def write_questions(
    corpus: Corpus, plan: QuestionPlan, writer: QuestionWriter, tell: Callable[[str], None]
) -> PassOutcome:
    """Have the questions written that there are not, each window's into the file before the next one is asked for.

    `tell` takes sentences for the caller. Raises RecallError, also for a pass that is stopped.
    """
    folder = kept_in(corpus.path)
    path = corpus.qa / QUESTIONS
    with alone(corpus.path, corpus.qa):
        covered = Covered(folder / f"{corpus.qa.name}.jsonl")
        file = QuestionFile(path)
        file.refuse_broken()
        wanted = list(requests(corpus, plan, covered, file))
        outcome = PassOutcome(windows=len(wanted))
        progress = PassProgress("windows", len(wanted))
        try:
            for request in wanted:
                file = _one(corpus, request, writer, covered, file, outcome, tell)
                progress.step()
        except KeyboardInterrupt:
            raise StoppedError(f"{path}: stopped; {same_command()}") from None
    return outcome


def _one(
    corpus: Corpus,
    request: QuestionRequest,
    writer: QuestionWriter,
    covered: Covered,
    file: QuestionFile,
    outcome: PassOutcome,
    tell: Callable[[str], None],
) -> QuestionFile:
    persona, session = corpus.persona, request.session
    questions = file.questions
    counts = Counter(question.category for question in questions)
    request = request._replace(
        counts={name: counts[name] for name in CATEGORIES if session is None or name in GROUP_CATEGORIES},
        asked=[question.question for question in questions],
    )
    shown = ShownDays(
        texts=request.texts,
        asked={same_words(question.question) for question in questions},
        sessions=frozenset([PRINCIPAL, *(one.id for one in persona.sessions)]),
        isolated=session.id if session else "",
        query_session=request.query_session,
        others=tuple(one.id for one in persona.sessions if session and one.isolated and one.id != session.id),
        public=public_words(persona),
    )
    where = f"{session.id}, " if session else ""
    named = f"{where}days {request.window.days[0]} to {request.window.days[-1]}"
    rows, problem = list[dict[str, Any]](), ""
    for _ in range(ATTEMPTS):
        try:
            proposed = writer.propose(request, problem)
        except UnreadableReply as error:
            problem = f"the reply {error}"
            continue
        except ModelError as error:
            # What is wrong with the model is wrong with the next window as well.
            raise RecallError(f"{named}: {error}; {same_command(first='correct that')}") from None
        if not proposed.whole:
            tell(f"{named}: the reply breaks off after {plural(len(proposed.items), 'question')}, kept all the same")
        for taken in take(proposed.items, shown):
            if isinstance(taken, str):
                outcome.dropped.append(f"{named}: {taken}")
                tell(f"{named}: not taken: {taken}")
                problem = f"a question was not taken: {taken}"
            else:
                rows.append(taken)
        if rows:
            break
        problem = problem or "the reply has no question"
    if not rows:
        outcome.left_out.append(named)
        tell(f"{named}: left out, {problem}; {same_command('ask', again=True)}")
        return file
    first = next_number([*(str(row.raw.get("id")) for row in file.rows), *covered.ids])
    numbered = [{"id": question_id(persona.id, first + place), **row} for place, row in enumerate(rows)]
    covered.note(
        shown.isolated, request.window.checkpoint, request.window.days, [row["id"] for row in numbered], writer.name
    )
    outcome.added += numbered
    return file.append(numbered)


def _refuse_unknown(plan: QuestionPlan, covered: Covered, file: QuestionFile) -> None:
    """Refuse to write about days from the first on where a file from elsewhere may have questions about them."""
    if plan.start is not None or covered.days("", {question.id for question in file.questions}):
        return
    unknown = [question for question in file.questions if question.category != BOUNDARY]
    if unknown:
        raise RecallError(
            f"{file.path}: has {plural(len(unknown), 'question')}, and nothing says which days they cover; give"
            " --start, the last day of the first window to write about"
        )


def _within(day: int, first: int | None, last: int | None) -> bool:
    return (first is None or day >= first) and (last is None or day <= last)
