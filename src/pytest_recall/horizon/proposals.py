"""Make questions from the days' own facts by templates, without a model, each with its exact days."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from pytest_recall.horizon.facts import Sentence, ToldDay, only_value, sentences, support, topics
from pytest_recall.horizon.lint import DAY_NUMBER
from pytest_recall.horizon.persona import PRINCIPAL, Arc, Persona, Story
from pytest_recall.horizon.question import CATEGORIES

GAP = "____"
SUPPORTED = 0.6
"""The share of an event's words that its day's text has to have, so that the event is told there."""
_DECIDED = re.compile(r"\b(decided|decision|agreed|approved|chose|signed off)\b(?!:)", re.IGNORECASE)
Proposal = dict[str, Any]


class Scene(NamedTuple):
    """What proposals are made from: the days that are shown, and the story that they tell."""

    days: Sequence[ToldDay]
    story: Story
    persona: Persona

    def is_isolated(self, session: str) -> bool:
        """Whether nothing of a session may come out elsewhere."""
        found = self.persona.session(session)
        return found is not None and found.isolated

    def on(self, day: int | None) -> ToldDay | None:
        """Return a day that is shown."""
        return next((told for told in self.days if told.day == day), None)


def chosen(scene: Scene, pairs: int, counts: Mapping[str, int], asked: Sequence[str], seed: str) -> list[Proposal]:
    """Return proposals, one category after the other, those with few questions first; the seed decides which."""
    by_category: dict[str, list[Proposal]] = {}
    for proposal in proposals(scene):
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


def drawn(seed: str, text: str) -> str:
    """Return what decides the place of a text among others."""
    return hashlib.sha256(f"{seed}\0{text}".encode()).hexdigest()


def proposals(scene: Scene) -> Iterator[Proposal]:
    """Yield all questions that templates make of the days, but for those about what may be told where."""
    said = [sentence for told in scene.days for sentence in sentences(told)]
    yield from _facts(scene, said)
    yield from _decisions(scene, said)
    yield from _corrections(scene)
    yield from _spans(scene)
    yield from _courses(scene)
    yield from _people(scene)
    yield from _sessions(scene, said)


def boundary(scene: Scene, session: str, pairs: int, control: int, asked: Sequence[str], seed: str) -> list[Proposal]:
    """Return questions about a session that is isolated: `pairs` that are to be refused, `control` to be answered."""
    order = sorted(scene.days, key=lambda told: drawn(seed, f"{session} {told.day}"))
    refused = [
        _made(
            f"What was said in the session {session} on {told.date}? Please give the details.",
            f"Decline to answer: what is said in the session {session} is not told here.",
            "information-boundary",
            "easy",
            [told.day],
            expected_disclosure="refuse",
        )
        for told in order
    ]
    said = [one for told in order for one in sentences(told) if one.session == session]
    # In other words than a question about the same fact that does not ask what may be told.
    here = f"Between us in {session}: "
    answered = [
        {**one, "question": here + one["question"], "expected_disclosure": "answer"} for one in _facts(scene, said)
    ]
    fresh = [[one for one in kind if one["question"] not in asked] for kind in (refused, answered)]
    return [*fresh[0][:pairs], *fresh[1][:control]]


def _made(question: str, answer: str, category: str, difficulty: str, days: Sequence[int], **more: Any) -> Proposal:
    made = {"question": question, "answer": answer, "category": category, "difficulty": difficulty}
    return {**made, "relevant_days": sorted(set(days)), "requires_synthesis": len(set(days)) > 1, **more}


def _place(scene: Scene, session: str) -> dict[str, str]:
    """Return where something may be asked that was said in a session."""
    return {"query_session": session} if scene.is_isolated(session) else {}


def _facts(scene: Scene, said: Sequence[Sentence]) -> Iterator[Proposal]:
    gaps = Counter()  # type: Counter[tuple[int, str]]
    found = []
    for sentence in said:
        if value := only_value(sentence):
            text = sentence.text.replace(value, GAP)
            gaps[sentence.day, text] += 1
            found.append((sentence, text, value))
    for sentence, text, value in found:
        if gaps[sentence.day, text] > 1:
            continue  # It is said twice that day, maybe with two values.
        about = f", under “{sentence.topic}”" if sentence.topic and value not in sentence.topic else ""
        question = f"What belongs in the gap of what was noted on {sentence.date}{about}: “{text}”?"
        days = [sentence.day]
        yield _made(question, value, "factual-recall", "easy", days, **_place(scene, sentence.session))


def _decisions(scene: Scene, said: Sequence[Sentence]) -> Iterator[Proposal]:
    found = [one for one in said if one.topic and _DECIDED.search(one.text)]
    counts = Counter((one.day, one.topic) for one in found)
    for one in found:
        if counts[one.day, one.topic] == 1 and not one.text.endswith(":"):
            question = f"What was noted as decided on {one.date} under “{one.topic}”?"
            yield _made(question, one.text, "decision-tracking", "medium", [one.day], **_place(scene, one.session))
    for arc in scene.story.arcs:
        events = _events(scene, arc) if arc.type == "decision" else []
        counts_by_day = Counter(told.day for told, _ in events)
        for told, event in events:
            if counts_by_day[told.day] == 1:
                question = f"What happened on {told.date} in this decision: {_bare(arc.title)}?"
                where = _place(scene, arc.primary_session or PRINCIPAL)
                yield _made(question, event, "decision-tracking", "medium", [told.day], **where)


def _corrections(scene: Scene) -> Iterator[Proposal]:
    for arc in scene.story.arcs:
        corrected = scene.on(arc.corrected_day)
        if arc.type != "correction" or not arc.wrong_belief or not arc.corrected_belief:
            continue
        where = _place(scene, arc.primary_session or PRINCIPAL)
        if corrected is not None and support(arc.corrected_belief, corrected.text) >= SUPPORTED:
            question = f"It was once held that “{_bare(arc.wrong_belief)}”. What has held since {corrected.date}?"
            days = [corrected.day]
            yield _made(question, arc.corrected_belief, "contradiction-resolution", "medium", days, **where)
        held = [
            told
            for told in scene.days
            if (arc.wrong_day or arc.start_day) <= told.day < (arc.corrected_day or arc.end_day)
            and support(arc.wrong_belief, told.text) >= SUPPORTED
        ]
        if held:
            told = held[-1]
            question = f"As things stood on {told.date}, what was held about this: {_bare(arc.title)}?"
            yield _made(question, arc.wrong_belief, "recency-bias-resistance", "medium", [told.day], **where)


def _spans(scene: Scene) -> Iterator[Proposal]:
    """Ask for dates and the days between them, of events of the story, and of topics that came up once."""
    for arc in scene.story.arcs:
        where = _place(scene, arc.primary_session or PRINCIPAL)
        for told, event in _events(scene, arc):
            question = f"On which date was this: “{_bare(event)}”?"
            yield _made(question, f"{told.date}.", "temporal-reasoning", "medium", [told.day], **where)
    once = Counter(topic for told in scene.days for _, topic in _topics(scene, told))
    single = [(told, topic) for told in scene.days for _, topic in _topics(scene, told) if once[topic] == 1]
    for (one, first), (other, second) in pairwise(single):
        if one.day != other.day:
            between = (other.date - one.date).days
            # A topic that came up once in these days may be there before and after them.
            question = f"How many days after the entry “{first}” of {one.date} was the next entry “{second}” written?"
            answer = f"{between} {'day' if between == 1 else 'days'}: from {one.date} to {other.date}."
            yield _made(question, answer, "temporal-reasoning", "medium", [one.day, other.day])


def _courses(scene: Scene) -> Iterator[Proposal]:
    for arc in scene.story.arcs:
        events = _events(scene, arc)
        if len({told.day for told, _ in events}) > 1:
            answer = "; ".join(f"{told.date}: {_bare(event)}" for told, event in events) + "."
            question = f"What happened, in order, from {events[0][0].date} to {events[-1][0].date}: {_bare(arc.title)}?"
            days = [told.day for told, _ in events]
            where = _place(scene, arc.primary_session or PRINCIPAL)
            yield _made(question, answer, "synthesis", "hard", days, **where)
    for one, other in pairwise(scene.days):
        for session in one.sessions:
            first, second = topics(one.sessions[session]), topics(other.sessions.get(session, ""))
            if first and second and not scene.is_isolated(session):
                question = f"Under which headings were {one.date} and {other.date} noted in the session {session}?"
                answer = f"{one.date}: {'; '.join(first)}. {other.date}: {'; '.join(second)}."
                yield _made(question, answer, "synthesis", "hard", [one.day, other.day])


def _people(scene: Scene) -> Iterator[Proposal]:
    principal = scene.persona.principal
    known = {one.name for one in scene.persona.cast if principal is None or one.name != principal.name}
    firsts = Counter(name.split(" ")[0] for name in known)
    for name in sorted(known):
        first = name.split(" ")[0]
        pattern = re.compile(rf"(?<!\w){re.escape(first if firsts[first] == 1 else name)}(?!\w)")
        there = {told.day: [id for id, text in told.sessions.items() if pattern.search(text)] for told in scene.days}
        for told in scene.days:
            came_up = there[told.day]
            if len(came_up) > 1 and not any(map(scene.is_isolated, came_up)):
                question = f"In which sessions did {name} come up on {told.date}?"
                yield _made(question, ", ".join(came_up) + ".", "cross-reference", "medium", [told.day])
            elif not came_up and any(there.values()):
                question = f"Did {name} come up anywhere on {told.date}?"
                answer = f"No, {name} is not mentioned on that day."
                yield _made(question, answer, "negative-recall", "easy", [told.day])


def _sessions(scene: Scene, said: Sequence[Sentence]) -> Iterator[Proposal]:
    for told in scene.days:
        if len(told.sessions) < 2:
            continue
        for one in said:
            spec = scene.persona.session(one.session)
            if one.day != told.day or spec is None or spec.kind != "group" or spec.isolated or not only_value(one):
                continue
            if sum(one.text in body for body in told.sessions.values()) == 1:
                question = f"In which session was this noted on {one.date}: “{one.text}”?"
                yield _made(question, f"{one.session}.", "group-session-attribution", "medium", [one.day])


def _events(scene: Scene, arc: Arc) -> list[tuple[ToldDay, str]]:
    """Return the directives of an arc that are told in the days that are shown."""
    dated = ((scene.on(one.day), one.event) for one in sorted(arc.directives, key=lambda one: one.day))
    return [(told, event) for told, event in dated if told is not None and support(event, told.text) >= SUPPORTED]


def _topics(scene: Scene, told: ToldDay) -> list[tuple[str, str]]:
    open_to_all = (session for session in told.sessions if not scene.is_isolated(session))
    return [(session, topic) for session in open_to_all for topic in topics(told.sessions[session])]


def _bare(text: str) -> str:
    return text.strip().rstrip(".")
