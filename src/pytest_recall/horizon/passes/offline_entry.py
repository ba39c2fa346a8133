"""Offline entry: what is written about a session on a day where no model is asked.

It is made from the brief alone, so that it fits any persona: figures that go on from day to day, what has to
happen, what is believed, and what the last entry left open.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta

from pytest_recall.core.horizon.brief import Brief, Past, Strand, Touch, people_known
from pytest_recall.core.horizon.day import Correction, Phase
from pytest_recall.core.horizon.entry import entry_of
from pytest_recall.core.horizon.persona import PRINCIPAL, Persona
from pytest_recall.core.horizon.story import Arc
from pytest_recall.horizon.passes.dice import Dice
from pytest_recall.horizon.passes.offline_phrases import MEASURES, OPEN, QUIET, TALKS, Measure

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
    told = "\n\n".join(
        [
            *("\n".join(_strand(dice, persona, brief, one)) for one in brief.strands),
            *(["\n".join(_routine(dice, persona, brief))] if brief.session.id == PRINCIPAL else []),
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
    """Yield what every day has: letters and a call, with somebody who may be known here."""
    letters = dice.number(12, 48, "letters", brief.date)
    forwarded, drafted = dice.number(2, 9, "forwarded", brief.date), dice.number(1, 6, "drafted", brief.date)
    yield "### Inbox and calendar"
    yield ""
    yield f"{letters} letters came in. I put {forwarded} of them on the pile for today and drafted {drafted} answers."
    if people := [one.name for one in people_known(persona, brief.session.id) if not one.is_agent]:
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


def _carried(past: Past) -> Iterator[str]:
    left = [text for text in _LEFT.findall(past.text) if not text.startswith(("still open", "nothing"))]
    if left:
        yield f"- still open since {past.date}: {left[0]}"
