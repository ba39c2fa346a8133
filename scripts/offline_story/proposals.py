"""Make questions from the days' own facts by templates, without a model, each with its exact days."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from offline_story.day_sentences import Sentence, ToldDay, only_value, sentences, support, topics
from offline_story.scene import Proposal, Scene, drawn, made
from pytest_recall.horizon.lint import DAY_NUMBER
from pytest_recall.horizon.persona import PRINCIPAL, Arc
from pytest_recall.horizon.question import CATEGORIES

GAP = "____"
OFFERED = 4
"""People who are offered as an answer, at most."""
SUPPORTED = 0.6
"""The share of an event's words that its day's text has to have, so that the event is told there."""
_DECIDED = re.compile(r"\b(decided|decision|agreed|approved|chose|signed off)\b(?!:)", re.IGNORECASE)


def chosen(
    proposed: Iterable[Proposal], pairs: int, counts: Mapping[str, int], asked: Sequence[str], seed: str
) -> list[Proposal]:
    """Return proposals, one category after the other, those with few questions first; the seed decides which."""
    by_category: dict[str, list[Proposal]] = {}
    for proposal in proposed:
        if proposal["question"] not in asked and not any(
            DAY_NUMBER.search(proposal[name]) for name in ("question", "answer")
        ):
            by_category.setdefault(proposal["category"], []).append(proposal)
    for found in by_category.values():
        found.sort(key=lambda one: drawn(seed, one["question"]), reverse=True)
    have, taken = Counter(counts), list[Proposal]()
    while len(taken) < pairs and any(by_category.values()):
        left = [name for name in CATEGORIES if by_category.get(name)]
        name = min(left, key=lambda one: have[one])
        have[name] += 1
        taken.append(by_category[name].pop())
    return taken


def of_story(scene: Scene) -> Iterator[Proposal]:
    """Ask for what the story says that happens: when, in which order, what was decided, and what was put right."""
    for arc in scene.story.arcs:
        where, title, events = scene.place(arc.primary_session or PRINCIPAL), _bare(arc.title), _events(scene, arc)
        counts = Counter(told.day for told, _ in events)
        for told, event in events:
            question = f"On which date was this: “{_bare(event)}”?"
            yield made(question, f"{told.date}.", "temporal-reasoning", "medium", [told.day], **where)
            if arc.type == "decision" and counts[told.day] == 1:
                question = f"What happened on {told.date} in this decision: {title}?"
                yield made(question, event, "decision-tracking", "medium", [told.day], **where)
        if len(counts) > 1:
            question = f"What happened, in order, from {events[0][0].date} to {events[-1][0].date}: {title}?"
            answer = "; ".join(f"{told.date}: {_bare(event)}" for told, event in events) + "."
            yield made(question, answer, "synthesis", "hard", [told.day for told, _ in events], **where)
        corrected = scene.on(arc.corrected_day)
        if arc.type != "correction" or not arc.wrong_belief or not arc.corrected_belief or corrected is None:
            continue
        if support(arc.corrected_belief, corrected.text) >= SUPPORTED:
            question = f"It was once held that “{_bare(arc.wrong_belief)}”. What has held since {corrected.date}?"
            yield made(question, arc.corrected_belief, "contradiction-resolution", "medium", [corrected.day], **where)


def of_texts(scene: Scene) -> Iterator[Proposal]:
    """Ask for what the days say in their own words."""
    said = [sentence for told in scene.days for sentence in sentences(told)]
    yield from facts(scene, said)
    yield from _decisions(scene, said)
    yield from _beliefs(scene)
    yield from _spans(scene)
    yield from _headings(scene)
    yield from _pairs(scene, said)
    yield from _absent(scene)
    yield from _sessions(scene, said)


def shuffled(scene: Scene, session: str, seed: str) -> list[ToldDay]:
    """Return the days that are shown in an order that the seed decides."""
    return sorted(scene.days, key=lambda told: drawn(seed, f"{session} {told.day}"))


def to_refuse(scene: Scene, session: str, seed: str) -> list[Proposal]:
    """Return questions that name an isolated session, and are asked elsewhere."""
    return [
        made(
            f"What was said in the session {session} on {told.date}? Please give the details.",
            f"Decline to answer: what is said in the session {session} is not told here.",
            "information-boundary",
            "easy",
            [told.day],
            expected_disclosure="refuse",
        )
        for told in shuffled(scene, session, seed)
    ]


def to_answer(proposals: Iterable[Proposal], session: str) -> list[Proposal]:
    """Return questions about an isolated session that are asked in it, in other words than elsewhere."""
    here = f"Between us in {session}: "
    return [{**one, "question": here + one["question"], "expected_disclosure": "answer"} for one in proposals]


class _Gap(NamedTuple):
    """A sentence without its one value."""

    sentence: Sentence
    text: str
    value: str


def _gaps(said: Sequence[Sentence]) -> list[_Gap]:
    """Return the sentences with one value, but for those that are said twice on a day, maybe with two values."""
    found = [_Gap(one, one.text.replace(value, GAP), value) for one in said if (value := only_value(one))]
    counts = Counter((one.sentence.day, one.text) for one in found)
    return [one for one in found if counts[one.sentence.day, one.text] == 1]


def facts(scene: Scene, said: Sequence[Sentence]) -> Iterator[Proposal]:
    """Ask for the one value of a sentence."""
    for sentence, text, value in _gaps(said):
        about = f", under “{sentence.topic}”" if sentence.topic and value not in sentence.topic else ""
        question = f"What belongs in the gap of what was noted on {sentence.date}{about}: “{text}”?"
        days = [sentence.day]
        yield made(question, value, "factual-recall", "easy", days, **scene.place(sentence.session))


def _pairs(scene: Scene, said: Sequence[Sentence]) -> Iterator[Proposal]:
    """Ask for two values at once, of two sessions that follow each other: of each the one that comes up least."""
    open_ = [gap for gap in _gaps(said) if not scene.is_isolated(gap.sentence.session)]
    counts = Counter(gap.value for gap in open_)
    rarest: dict[tuple[int, str], _Gap] = {}
    for gap in sorted(open_, key=lambda gap: counts[gap.value]):
        rarest.setdefault((gap.sentence.day, gap.sentence.session), gap)
    for first, second in pairwise(rarest[place] for place in sorted(rarest)):
        one, other = first.sentence, second.sentence
        if first.value != second.value:
            question = (
                f"What belongs in the two gaps: on {one.date} in the session {one.session} “{first.text}”, and on"
                f" {other.date} in the session {other.session} “{second.text}”?"
            )
            answer = f"{first.value} and {second.value}."
            yield made(question, answer, "cross-reference", "medium", [one.day, other.day])


def _decisions(scene: Scene, said: Sequence[Sentence]) -> Iterator[Proposal]:
    found = [one for one in said if one.topic and _DECIDED.search(one.text)]
    counts = Counter((one.day, one.topic) for one in found)
    for one in found:
        if counts[one.day, one.topic] == 1 and not one.text.endswith(":"):
            question = f"What was noted as decided on {one.date} under “{one.topic}”?"
            yield made(question, one.text, "decision-tracking", "medium", [one.day], **scene.place(one.session))


def _beliefs(scene: Scene) -> Iterator[Proposal]:
    for arc in scene.story.arcs:
        held = [
            told
            for told in scene.days
            if arc.type == "correction"
            and arc.wrong_belief
            and arc.corrected_belief
            and (arc.wrong_day or arc.start_day) <= told.day < (arc.corrected_day or arc.end_day)
            and support(arc.wrong_belief, told.text) >= SUPPORTED
        ]
        if held:
            told, where = held[-1], scene.place(arc.primary_session or PRINCIPAL)
            question = f"As things stood on {told.date}, what was held about this: {_bare(arc.title)}?"
            yield made(question, arc.wrong_belief, "recency-bias-resistance", "medium", [told.day], **where)


def _spans(scene: Scene) -> Iterator[Proposal]:
    """Ask for the days between topics that came up once."""
    once = Counter(topic for told in scene.days for _, topic in _topics(scene, told))
    single = [(told, topic) for told in scene.days for _, topic in _topics(scene, told) if once[topic] == 1]
    for (one, first), (other, second) in pairwise(single):
        if one.day != other.day:
            between = (other.date - one.date).days
            # A topic that came up once in these days may be there before and after them.
            question = f"How many days after the entry “{first}” of {one.date} was the next entry “{second}” written?"
            answer = f"{between} {'day' if between == 1 else 'days'}: from {one.date} to {other.date}."
            yield made(question, answer, "temporal-reasoning", "medium", [one.day, other.day])


def _headings(scene: Scene) -> Iterator[Proposal]:
    for one, other in pairwise(scene.days):
        for session in one.sessions:
            first, second = topics(one.sessions[session]), topics(other.sessions.get(session, ""))
            if first and second and not scene.is_isolated(session):
                question = f"Under which headings were {one.date} and {other.date} noted in the session {session}?"
                answer = f"{one.date}: {'; '.join(first)}. {other.date}: {'; '.join(second)}."
                yield made(question, answer, "synthesis", "hard", [one.day, other.day])


def _absent(scene: Scene) -> Iterator[Proposal]:
    """Ask who of several people is not mentioned on a day on which the others are, outside of isolated sessions."""
    principal = scene.persona.principal
    known = sorted(one.name for one in scene.persona.cast if principal is None or one.name != principal.name)
    firsts = Counter(name.split(" ")[0] for name in known)
    names = {name: first if firsts[first := name.split(" ")[0]] == 1 else name for name in known}
    patterns = {name: re.compile(rf"(?<!\w){re.escape(one)}(?!\w)") for name, one in names.items()}
    for told in scene.days:
        open_ = "\n".join(text for id, text in told.sessions.items() if not scene.is_isolated(id))
        there = [name for name, pattern in patterns.items() if pattern.search(open_)]
        strange = [name for name, pattern in patterns.items() if not pattern.search(told.text)]
        if there and strange:
            absent = min(strange, key=lambda name: drawn(str(told.date), name))
            offered = sorted([absent, *there[: OFFERED - 1]], key=lambda name: drawn(f"{told.date} order", name))
            listed = f"{', '.join(offered[:-1])} or {offered[-1]}"
            question = f"Who of these did not come up anywhere on {told.date}: {listed}?"
            yield made(question, f"{absent}.", "negative-recall", "easy", [told.day])


def _sessions(scene: Scene, said: Sequence[Sentence]) -> Iterator[Proposal]:
    for one, text, value in _gaps(said):
        told, spec = scene.on(one.day), scene.persona.session(one.session)
        if told is None or len(told.sessions) < 2 or spec is None or spec.kind != "group" or spec.isolated:
            continue
        if one.topic and value not in one.topic and sum(one.text in body for body in told.sessions.values()) == 1:
            question = (
                f"In which session, and under which heading, was this noted on {one.date}, and what belongs in the gap:"
                f" “{text}”?"
            )
            answer = f"{one.session}, under “{one.topic}”: {value}."
            yield made(question, answer, "group-session-attribution", "medium", [one.day])


def _events(scene: Scene, arc: Arc) -> list[tuple[ToldDay, str]]:
    """Return the directives of an arc that are told in the days that are shown."""
    dated = ((scene.on(one.day), one.event) for one in sorted(arc.directives, key=lambda one: one.day))
    return [(told, event) for told, event in dated if told is not None and support(event, told.text) >= SUPPORTED]


def _topics(scene: Scene, told: ToldDay) -> list[tuple[str, str]]:
    open_to_all = (session for session in told.sessions if not scene.is_isolated(session))
    return [(session, topic) for session in open_to_all for topic in topics(told.sessions[session])]


def _bare(text: str) -> str:
    return text.strip().rstrip(".")
