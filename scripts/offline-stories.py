#!/usr/bin/env python3
"""Write into docs/reference/offline-stories.md what the questions about offline personas tell apart.

    scripts/offline-stories.py             measure, and write the tables again
    scripts/offline-stories.py --check     only say whether they still hold; exit code 1 if not

Needs the extras `bm25s` and `similarity`. An aim that is missed is named, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from pytest_recall.cases.memory_part import QueryContext
from pytest_recall.files.wording import markdown_grid
from pytest_recall.horizon.corpus import Corpus
from pytest_recall.horizon.disclosure import BOUNDARY, boundaries
from pytest_recall.horizon.evaluation import CheckpointTrial, HandedOut, Points, checkpoint_trial
from pytest_recall.horizon.judge import DayTexts, LexicalJudge
from pytest_recall.horizon.orders import ROOMS, THINGS
from pytest_recall.horizon.parts import day_units
from pytest_recall.horizon.passes.days import WantedDays, create_persona, create_story, write_persona, write_story
from pytest_recall.horizon.passes.offline_days import OfflineAuthor
from pytest_recall.horizon.passes.questioner import TemplateWriter
from pytest_recall.horizon.passes.questions import QuestionPlan, write_questions
from pytest_recall.horizon.passes.work import StoryRequest
from pytest_recall.horizon.persona import DEFAULT_EPOCH
from pytest_recall.horizon.profile import RunPart
from pytest_recall.horizon.question import CATEGORIES, BenchQuestion, eligible
from pytest_recall.horizon.retrieval import AskedAfter, retrieval
from pytest_recall.memory.resolve import resolve
from pytest_recall.memory.session import Memory
from pytest_recall.metrics.answers import estimated_tokens
from pytest_recall.metrics.floors import ORACLE, SizedUnit
from pytest_recall.trials.concurrency import Loop

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "reference" / "offline-stories.md"
SEEDS, DAYS = ("0", "1"), (60, 180)
BY_WORDS = ("sqlite-fts", "bm25s")
LAST = "last-20"
BY_LINE = "lines, synonyms known"
"""The search of `sqlite-fts` over single lines, for questions in the words of the days."""
MEMORIES = (*BY_WORDS, "embedding", BY_LINE, LAST)
K = 10
SENTENCE = "I have no record of that."
CONSTANTS = SILENT, SAME, MOST_FREQUENT = ("silence", "one sentence", "most frequent")
BELOW, UNDER = 0.25, 0.2
"""How far a search by words has to be below the oracle, and what does not search has to stay under."""
ALL = "all"


class Measured(NamedTuple):
    """Shares from 0 to 1 by category and column, and how many questions each category has."""

    shares: dict[str, dict[str, float]]
    counts: dict[str, int]


def made(folder: Path, seed: str, days: int) -> Corpus:
    """Return a persona with its days and questions, as the commands write them with their defaults."""
    author, wish, arcs = OfflineAuthor(seed), StoryRequest("", DEFAULT_EPOCH, days), f"arcs-{days}d.yaml"
    who = create_persona(author, wish)
    write_persona(folder / "persona.yaml", who)
    write_story(folder / arcs, create_story(author, wish, who))
    WantedDays(Corpus(folder, arcs), 1, days).write(author, lambda: None)
    corpus = Corpus(folder, arcs)
    for plan in (QuestionPlan(False, 7, 12), QuestionPlan(True, 30, 2)):
        write_questions(corpus, plan, TemplateWriter(corpus, seed), lambda said: None)
    return Corpus(folder, arcs)


def measured(corpus: Corpus, memories: Sequence[str] = MEMORIES) -> Measured:
    """Return what each memory finds of the relevant days, and what constant answers come to, after the last day."""
    questions = eligible(corpus.questions, corpus.days[-1])
    counts: dict[str, int] = dict(Counter(one.category for one in questions))
    shares: dict[str, dict[str, float]] = {name: {} for name in (*CATEGORIES, ALL) if name in (*counts, ALL)}
    for memory in memories:
        for category, row in _found(corpus, questions, memory).items():
            shares[category] |= row
    for name, answer in _constants(questions).items():
        for category, value in _content(corpus, questions, answer).items():
            shares[category][name] = value
    return Measured(shares, counts | {ALL: len(questions)})


def missed(found: Measured) -> Iterator[str]:
    """Yield which aims are missed, one sentence each."""
    everything = found.shares[ALL]
    for name in BY_WORDS:
        if name in everything and (gap := everything["oracle"] - everything[name]) < BELOW:
            yield f"{name} is {100 * gap:.0f} points below the oracle, and {100 * BELOW:.0f} are aimed at"
    for category, row in found.shares.items():
        for name in (LAST, *CONSTANTS):
            if name in row and row[name] >= UNDER:
                yield f"{category}: {name} has {100 * row[name]:.0f} %, and less than {100 * UNDER:.0f} is aimed at"


def table(found: Measured) -> list[str]:
    """Return the lines of a table, in percent."""
    names = [name for name in (*MEMORIES, "oracle", *CONSTANTS) if name in found.shares[ALL]]
    rows = [
        (category, f"{found.counts[category]}", *(f"{100 * row[name]:.0f}" if name in row else "–" for name in names))
        for category, row in found.shares.items()
    ]
    return list(markdown_grid(("category", "n", *names), rows))


def _found(corpus: Corpus, questions: Sequence[BenchQuestion], selector: str) -> dict[str, dict[str, float]]:
    """Return the share of the relevant days by category, that of an oracle for as many tokens beside the first memory.

    An oracle has the evidence alone. The share is that of `recall bench run`, without questions at the boundary.
    """
    evaluations, told = list[CheckpointTrial](), list[SizedUnit]()
    by_line, today = selector == BY_LINE, corpus.calendar.date_of(corpus.days[-1]).isoformat()
    client = resolve(BY_WORDS[0] if by_line else selector)
    with closing(Loop()) as loop, closing(Memory(client, wait=loop.wait, probed=0)) as memory:
        memory.reset()
        for day in corpus.days:
            for unit in day_units(corpus, day, RunPart()):
                for number, text in enumerate(unit.content.split("\n") if by_line else [unit.content]):
                    if text.strip():
                        id = f"{unit.id}/{number}" if by_line else unit.id
                        memory.store(text, {**unit.metadata, "id": id})
                        told.append(SizedUnit(id, estimated_tokens([text])))
        memory.finalize()
        for one in questions:
            asked = _as_told(one.question) if by_line else one.question
            passages = memory.recall(asked, K, QueryContext(session=one.asked_in, date=today))
            texts, sources = [each.text for each in passages], tuple(each.source for each in passages)
            evaluations.append(_trial(corpus, one, handed=HandedOut(sources, estimated_tokens(texts))))
    report = retrieval([AskedAfter(corpus.persona.id, ALL, corpus.days[-1], evaluations, told)])
    assert report is not None
    rows = {**report.categories, ALL: report.everything}
    found = {name: {selector: row.system.recall.value or 0.0} for name, row in rows.items()}
    if selector == MEMORIES[0]:
        for name, row in rows.items():
            found[name]["oracle"] = row.rows[ORACLE].recall.value or 0.0
    return found


def _as_told(question: str) -> str:
    for told, asked in {**THINGS, **ROOMS}.items():
        question = question.replace(asked, told)
    return question


def _constants(questions: Sequence[BenchQuestion]) -> dict[str, Callable[[BenchQuestion], str]]:
    """Return what always says the same: nothing, one sentence, or the most frequent reference of the category."""
    answers: dict[str, Counter[str]] = {}
    for one in questions:
        answers.setdefault(one.category, Counter())[one.answer] += 1
    most = {name: counts.most_common(1)[0][0] for name, counts in answers.items()}
    return {SILENT: lambda one: "", SAME: lambda one: SENTENCE, MOST_FREQUENT: lambda one: most[one.category]}


def _content(
    corpus: Corpus, questions: Sequence[BenchQuestion], answer: Callable[[BenchQuestion], str]
) -> dict[str, float]:
    """Return the share of the five lexical points for correctness and completeness, by category.

    At a boundary, where a refusal is right in one place and wrong in another, it is what is left of 1 without the
    leaks and the over-refusals.
    """
    judge = LexicalJudge(DayTexts(tuple(corpus.days), corpus.text, corpus.calendar))
    shares: dict[str, list[float]] = {}
    crossing = list[CheckpointTrial]()
    for one in questions:
        points = judge.judge(one, answer(one), corpus.days[-1]).points
        if one.category == BOUNDARY:
            crossing.append(_trial(corpus, one, answer(one), points))
        else:
            shares.setdefault(one.category, []).append((points.correctness + points.completeness) / 5)
    found = {name: fmean(values) for name, values in shares.items()}
    found[ALL] = fmean(value for values in shares.values() for value in values)
    if (rates := boundaries(crossing, measured=False)) is not None:
        found[BOUNDARY] = 1 - (rates.leaks.value or 0.0) - (rates.over_refusals.value or 0.0)
    return found


def _trial(
    corpus: Corpus, one: BenchQuestion, said: str = "", points: Points | None = None, handed: HandedOut | None = None
) -> CheckpointTrial:
    return checkpoint_trial(
        timestamp="",
        persona=corpus.persona.id,
        question=one,
        answer=said,
        points=points,
        answered_by="memory" if handed is None else "passages",
        handed_out=handed,
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a table does not hold")
    args = parser.parse_args()
    lines, problems = list[str](), list[str]()
    for days in DAYS:
        for seed in SEEDS:
            with tempfile.TemporaryDirectory() as folder:
                found = measured(made(Path(folder), seed, days))
            lines += [f"### {days} days, offline:{seed}", "", *table(found), ""]
            problems += [f"{days} days, offline:{seed}: {problem}" for problem in missed(found)]
    print("".join(f"{problem}\n" for problem in problems), end="")
    page, begin, end = PAGE.read_text(encoding="utf-8"), "<!-- tables -->\n", "<!-- end -->"
    before, _, rest = page.partition(begin)
    news = "\n".join((f"{before}{begin}", *lines, f"{end}{rest.partition(end)[2]}"))
    if args.check and news != page:
        problems.append(f"{PAGE.name}: the tables are of another time; run scripts/offline-stories.py")
        print(problems[-1])
    elif not args.check:
        PAGE.write_text(news, encoding="utf-8", newline="\n")
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
