"""Write days without a model.

An entry is made from the brief alone, so that it fits any persona: figures that go on from day to day, what has to
happen, what is believed, and what the last entry left open.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from typing import NamedTuple

from offline_story.company import offline_persona, offline_story
from offline_story.dice import Dice
from offline_story.order_lines import order_lines
from pytest_recall.files.strict_yaml import block
from pytest_recall.horizon.day import Brief, Correction, PastEntry, Phase, Strand, Touch, entry_of, people_known
from pytest_recall.horizon.passes.work import Attempt, Done, Job, StoryRequest
from pytest_recall.horizon.persona import PRINCIPAL, Arc, ArcType, Persona
from pytest_recall.models.model import ModelError


class Measure(NamedTuple):
    """A figure that an arc carries along: where it begins, and by how much it goes up or down at a time."""

    name: str
    first: tuple[int, int]
    step: tuple[int, int]
    unit: str = ""


MEASURES: dict[ArcType, tuple[Measure, ...]] = {
    "project": (
        Measure("what is committed so far", (12, 30), (1, 6), ",000 dollars"),
        Measure("the list of open tasks", (30, 60), (-4, 2), " tasks"),
        Measure("hours booked on it", (20, 45), (2, 9), " hours"),
    ),
    "incident": (
        Measure("the hours that it has cost", (8, 20), (3, 9), " hours"),
        Measure("calls from outside about it", (5, 15), (1, 7), " calls"),
    ),
    "decision": (
        Measure("people who were heard on it", (2, 4), (1, 2), " people"),
        Measure("pages of the paper for it", (3, 6), (1, 3), " pages"),
    ),
    "learning": (
        Measure("cases that I have collected", (6, 12), (2, 6), " cases"),
        Measure("cases that fit no rule", (2, 5), (0, 2), " cases"),
    ),
    "relationship": (
        Measure("points that we have agreed", (2, 5), (0, 2), " points"),
        Measure("letters and calls so far", (4, 9), (1, 4), " exchanges"),
    ),
    "correction": (
        Measure("papers that rely on this", (3, 7), (1, 3), " papers"),
        Measure("times that somebody asked me for it", (2, 5), (1, 3), " times"),
    ),
}
TALKS: dict[ArcType, tuple[str, ...]] = {
    "project": (
        "{who} went through the next steps with me, and put the one with the longest lead time first.",
        "I laid the plan beside the calendar with {who}; two dates collided, and we moved the later one to {later}.",
        "{who} asked for the state of things in five lines. I wrote them, and left out what was only hoped for.",
        "{who} wanted to know what happens if a week is lost. I worked it out: it costs the reserve, and no more.",
    ),
    "incident": (
        "{who} called twice; the second time there was a cause, and the first time there was only noise.",
        "I kept the list of who was told what, by the minute. {who} read it and corrected one name.",
        "{who} asked that nobody promises a time before {later}. I put that on top of the note to everybody.",
    ),
    "decision": (
        "{who} put the strongest reason against it on the table first, and I wrote it down word for word.",
        "I set the choices side by side for {who}: price, delay, and what cannot be undone afterwards.",
        "{who} did not want to be hurried: “Show me the numbers by {later}, and then I will say it once.”",
    ),
    "learning": (
        "I compared what was expected with what happened, and {who} named the reason for the largest difference.",
        "{who} told me of a case from last year that breaks the rule; I added it, with its date.",
        "The pattern held again today. {who} is not convinced yet, and asked for the next weeks until {later}.",
    ),
    "relationship": (
        "{who} was brief and friendly, and said what matters at once: fewer words, and the figure first.",
        "I answered {who} within the hour, which was noticed: “That is how I like it.”",
        "{who} moved our talk to {later}; I changed nothing else, and confirmed it in a line.",
    ),
    "correction": (
        "{who} asked me for it in passing, and I gave the answer from my notes.",
        "I used it in a paper for {who}, with the place where I have it from.",
        "It came up with {who} when we looked at the week of {later}.",
    ),
}
OPEN: dict[ArcType, tuple[str, ...]] = {
    "project": ("get the next date in writing from {who} by {later}", "clear the oldest task with {who} by {later}"),
    "incident": ("tell everybody who was promised an answer by {later}", "file the report with {who} by {later}"),
    "decision": ("hear {who} once more by {later}", "finish the paper and give it to {who} by {later}"),
    "learning": ("add the cases up to {later}", "show {who} the exceptions by {later}"),
    "relationship": ("answer {who} by {later}", "prepare the talk with {who} on {later}"),
    "correction": ("look where else this is written, by {later}", "mention it to {who} by {later}"),
}
QUIET = (
    "Nothing moved here today. I read the notes again and left them as they are.",
    "A quiet day on this: no call, no letter, and no change.",
    "I only looked in: everything is as it was.",
)


_STATE: dict[Phase, str] = {
    "early": "first steps",
    "mid": "under way",
    "late": "nearly there",
    "concluding": "the last of it",
}
_AT_LENGTH = 3
"""Arcs of a session that are told at length on a day, about."""
_LEFT = re.compile(r"^- (.+)$", re.MULTILINE)


def offline_entry(dice: Dice, persona: Persona, brief: Brief) -> str:
    """Return the entry of a session."""
    lines = order_lines(dice, persona, brief.session, brief.day)
    told = "\n\n".join(
        [
            *("\n".join(_strand(dice, persona, brief, one)) for one in brief.strands),
            *(["\n".join(_routine(dice, persona, brief))] if brief.session.id == PRINCIPAL else []),
            *(["\n".join(["### Wanted and delivered", "", *lines])] if lines else []),
            *("\n".join(_touch(brief, one)) for one in brief.touches),
            "\n".join(_end(dice, brief)),
        ]
    )
    # A story is free text: a line of it that begins with `#` must not begin another session.
    return entry_of(told, brief.session.id)


def _strand(dice: Dice, persona: Persona, brief: Brief, one: Strand) -> Iterator[str]:
    arc = one.arc
    yield f"### {arc.title} — {_STATE[one.phase]}"
    yield ""
    who = _whom(dice, persona, brief, arc)
    later = brief.date + timedelta(days=dice.number(2, 9, "later", arc.id, brief.date))
    if brief.day == arc.start_day and one.description:
        yield one.description.strip()
        yield ""
    yield from (f"{event}." if not event.endswith(".") else event for event in one.directives)
    if one.correction is not None:
        yield from _belief(one.correction, brief, who)
    first, second = dice.several(MEASURES[arc.type], 2, "measures", arc.id)
    yield _figure(dice, arc, brief, first)
    # Many at once are told in turns.
    rests = len(brief.strands) > _AT_LENGTH and dice.number(1, len(brief.strands), "turn", arc.id, brief.date)
    if not one.directives and (brief.density == "quiet" or rests > _AT_LENGTH):
        yield dice.pick(QUIET, "quiet", arc.id, brief.date)
        return
    yield dice.pick(TALKS[arc.type], "talk", arc.id, brief.date).format(who=who, later=later)
    if brief.day == arc.start_day or _moves(dice, arc, brief, second):
        yield _figure(dice, arc, brief, second)


def _routine(dice: Dice, persona: Persona, brief: Brief) -> Iterator[str]:
    """Yield what every day has: letters and a call, with a person who may be known here."""
    letters = dice.number(12, 48, "letters", brief.date)
    forwarded, drafted = dice.number(2, 9, "forwarded", brief.date), dice.number(1, 6, "drafted", brief.date)
    yield "### Inbox and calendar"
    yield ""
    yield f"{letters} letters came in. I put {forwarded} of them on the pile for today and drafted {drafted} answers."
    if people := [one.name for one in people_known(persona, brief.session.id) if one.kind != "agent"]:
        who, clock = dice.pick(people, "call", brief.date), dice.number(8, 16, "clock", brief.date)
        minutes = dice.number(1, 9, "minutes", brief.date) * 5
        past = dice.pick(("00", "15", "40"), "past", brief.date)
        yield f"The call with {who} was at {clock}:{past} and took {minutes} minutes."
    free = brief.date + timedelta(days=dice.number(1, 6, "free", brief.date))
    yield f"I kept the afternoon of {free} free, and moved what was in it."


def _whom(dice: Dice, persona: Persona, brief: Brief, arc: Arc) -> str:
    here = [name for name in (*arc.participants, *brief.session.participants) if name != persona.name]
    return dice.pick(here, "who", arc.id, brief.date) if here else "the others"


def _every(dice: Dice, arc: Arc, measure: Measure) -> int:
    return dice.number(2, 5, "every", arc.id, measure.name)


def _moves(dice: Dice, arc: Arc, brief: Brief, measure: Measure) -> bool:
    """Whether a figure may change on this day: every few days, and not on the first."""
    since = brief.day - arc.start_day
    return since > 0 and since % _every(dice, arc, measure) == 0


def _figure(dice: Dice, arc: Arc, brief: Brief, measure: Measure) -> str:
    """Return where a figure stands, and since when."""
    since, every = brief.day - arc.start_day, _every(dice, arc, measure)
    value = before = dice.number(*measure.first, "first", arc.id, measure.name)
    for time in range(since // every):
        before, value = value, max(0, value + dice.number(*measure.step, "step", arc.id, measure.name, time))
    name = f"{measure.name[0].upper()}{measure.name[1:]}"
    if _moves(dice, arc, brief, measure) and value != before:
        return f"{name}: {'up' if value > before else 'down'} from {before}, now {value}{measure.unit}."
    if since == 0:
        return f"{name}: {value}{measure.unit} at first."
    return f"{name}: {value}{measure.unit}, as on {brief.date - timedelta(days=since % every or every)}."


def _belief(stand: Correction, brief: Brief, who: str) -> Iterator[str]:
    arc = stand.arc
    if stand.state == "wrong_belief":
        if brief.day in (arc.start_day, arc.wrong_day):
            yield f"{who} told me, and I wrote it down: {arc.wrong_belief}."
        else:
            yield f"I went by what I have: {arc.wrong_belief}."
    elif stand.state == "correction_day":
        yield f"I was wrong about this. I held: {arc.wrong_belief}."
        yield f"{who} put it right today: {arc.corrected_belief}."
        yield "I changed my notes, and told everybody to whom I had given the old answer."
    else:
        yield f"I went by what is right since it was corrected: {arc.corrected_belief}."


def _touch(brief: Brief, one: Touch) -> Iterator[str]:
    yield f"### {one.title} — mentioned"
    yield ""
    if one.confidential:
        yield "It came up, and goes on where it belongs. I wrote nothing of it down here."
        return
    yield f"It came up, and is dealt with elsewhere ({_STATE[one.phase]})."
    yield from (f"{event}." if not event.endswith(".") else event for event in one.directives)
    if one.correction is not None:
        yield from _belief(one.correction, brief, "They")


def _end(dice: Dice, brief: Brief) -> Iterator[str]:
    """Yield what is left open; what the last entry left open comes first."""
    yield "Outstanding:"
    if brief.history:
        yield from _carried(brief.history[-1])
    for one in brief.strands[:2]:
        later = brief.date + timedelta(days=dice.number(2, 9, "open", one.arc.id, brief.date))
        people = one.arc.participants or brief.session.participants or ("the others",)
        who = dice.pick(people, "open", one.arc.id, brief.date)
        left = dice.pick(OPEN[one.arc.type], "what", one.arc.id, brief.date).format(who=who, later=later)
        yield f"- {one.arc.title}: {left}"
    if not brief.strands:
        yield "- nothing of our own here"


def _carried(past: PastEntry) -> Iterator[str]:
    left = [text for text in _LEFT.findall(past.text) if not text.startswith(("still open", "nothing"))]
    if left:
        yield f"- still open since {past.date}: {left[0]}"


class OfflineAuthor:
    """Writes from templates. The same seed writes the same, and a day's text follows from its brief."""

    def __init__(self, seed: str = "0") -> None:
        self._dice = Dice(seed)

    def persona(self, wish: StoryRequest, last: Attempt | None) -> str:
        """Return the persona of the ferry office."""
        return block(offline_persona(self._dice))

    def story(self, wish: StoryRequest, persona: Persona, last: Attempt | None) -> str:
        """Return the story of the ferry office, spread over the days that are wanted."""
        return block(offline_story(self._dice, wish.days, wish.epoch))

    def entry(self, persona: Persona, brief: Brief) -> str:
        """Return the entry of a session; it fits any persona."""
        return offline_entry(self._dice, persona, brief)

    def each(self, jobs: Sequence[Job], do: Callable[[Job], Done]) -> list[Done | ModelError]:
        """Return what `do` makes of each job, one after the other."""
        return [do(job) for job in jobs]
