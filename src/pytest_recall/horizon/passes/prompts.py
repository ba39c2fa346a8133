"""Prompts for a persona, its story and the sessions of its days."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import date, timedelta

from pytest_recall.horizon.consistency import demands_of
from pytest_recall.horizon.day import Brief, Correction, Density, Phase, Strand, Touch, people_known, sessions_known
from pytest_recall.horizon.persona import Persona

RULES = """\
How you write:
- In the first person and the past tense: what was said, done, decided and produced today in this session.
- Each topic under a heading of its own, of the third level (`###`), which names in a few words whom it is about
  and what happened; not by the clock. Each topic once.
- Concrete: names, figures, amounts, deadlines, file names. What people asked for in so many words, quoted.
- A figure that was given before keeps its value unless something of today changes it; then say both.
- What an earlier entry says, and what everybody knows, is not written again: only what is new today.
- Under each topic that is open, a line `Outstanding:` with a short list.
- Dates are calendar dates, such as 2026-03-09. You live on this day: you know nothing of later ones, you never
  number the days, and you do not speak of a story, an arc, a benchmark or a corpus.
- Only what belongs to this session. Nothing from confidential conversations elsewhere.

Reply with the entry alone, in Markdown. It begins with its first `###` heading, without front matter, without a
code fence and without a heading for the session itself."""
_LENGTH: dict[Density, str] = {
    "quiet": "A quiet day: 60 to 150 words.",
    "normal": "An ordinary day: 150 to 300 words.",
    "busy": "A busy day: 250 to 450 words.",
    "dense": "A day on which much happens: 350 to 600 words.",
}
_PHASE: dict[Phase, str] = {
    "early": "it has only begun",
    "mid": "it is under way",
    "late": "it nears its end",
    "concluding": "it is being brought to its end",
}


def prompts(persona: Persona, brief: Brief) -> tuple[str, str]:
    """Return what the model is told once, and what it is asked for this session on this day."""
    return "\n\n".join(_system(persona, brief)), "\n\n".join(_user(brief))


def _system(persona: Persona, brief: Brief) -> Iterator[str]:
    at = f" at {persona.affiliation}" if persona.affiliation else ""
    yield (
        f"You are {persona.name}, {persona.role}{at}. Domain: {persona.domain}.\n"
        "At the end of each day you write down, for each conversation that you take part in, what you will need "
        "to remember of it."
    )
    yield f"Who you are:\n{persona.profile.strip()}"
    yield f"How you write and speak:\n{persona.communication_style.strip()}"
    if one := persona.principal:
        about = f"\n{one.profile.strip()}" if one.profile.strip() else ""
        yield f"You work for {one.name}, {one.role}.{about}"
    if people := people_known(persona, brief.session.id):
        yield "People and agents:\n" + "\n".join(f"- {one.name}: {one.role}".rstrip(": ") for one in people)
    if others := sessions_known(persona, brief.session.id):
        yield "Your other conversations, which are not written about here:\n" + "\n".join(
            f"- {one.id}: {', '.join(one.participants) or 'nobody named'}" for one in others
        )
    if persona.shared_knowledge:
        yield "Known in every conversation:\n" + "\n".join(f"- {one}" for one in persona.shared_knowledge)
    yield "\n".join(_focus(brief))
    yield RULES


def _focus(brief: Brief) -> Iterator[str]:
    session = brief.session
    kind = "a conversation of two" if session.kind == "1to1" else "a group"
    yield f"You write about the session `{session.id}`, {kind}."
    if session.participants:
        yield f"In it: {', '.join(session.participants)}."
    if session.isolated:
        yield "It is confidential: what is said in it stays in it, and here you may write it down."
    if session.sensitive_topics:
        yield "Its sensitive topics:\n" + "\n".join(f"- {one}" for one in session.sensitive_topics)


def _user(brief: Brief) -> Iterator[str]:
    length = _LENGTH[brief.density] if brief.strands else "A brief entry: 40 to 120 words."
    yield f"Today is {brief.weekday}, {brief.date}. {length}"
    if brief.strands:
        yield "What goes on in this session:\n\n" + "\n\n".join("\n".join(_strand(one)) for one in brief.strands)
    else:
        yield "Nothing of its own goes on in this session today: write in two or three sentences how the day went."
    if brief.touches:
        yield (
            "What goes on elsewhere and is touched on here, each in two or three sentences at most:\n\n"
            + "\n\n".join("\n".join(_touch(one)) for one in brief.touches)
        )
    if brief.history:
        yield "Your last entries about this session, to go on from:\n\n" + "\n\n".join(
            f"[{past.date}]\n{past.text}" for past in brief.history
        )
    else:
        yield "There is no earlier entry about this session: this is the first."
    # Last, and once more: a small model goes on with what it read last, and loses what stood before.
    happened = [event for strand in brief.strands for event in strand.directives]
    happened += [event for touch in brief.touches if not touch.confidential for event in touch.directives]
    must = " It says, with every figure:\n" + "\n".join(f"- {event}" for event in happened) if happened else ""
    yield f"Write the entry of {brief.date} about `{brief.session.id}`.{must}"


def _strand(one: Strand) -> Iterator[str]:
    yield f"{one.arc.title} ({one.arc.type}; {_PHASE[one.phase]})"
    if one.description.strip():
        yield one.description.strip()
    if one.arc.participants:
        yield f"With: {', '.join(one.arc.participants)}"
    yield from _must(one.directives)
    if one.correction is not None:
        yield _belief(one.correction)


def _touch(one: Touch) -> Iterator[str]:
    if one.confidential:
        yield f"{one.title} ({_PHASE[one.phase]})"
        yield "It is confidential: say that it came up, and nothing of what it is about, no figure and no name."
        return
    yield f"{one.title} ({_PHASE[one.phase]})"
    if one.about:
        yield one.about
    yield from _must(one.directives)
    if one.correction is not None:
        yield _belief(one.correction)


def _must(directives: tuple[str, ...]) -> Iterator[str]:
    for event in directives:
        yield f"This happened today and has to be in the entry: {event}"


def _belief(stand: Correction) -> str:
    arc = stand.arc
    if stand.state == "wrong_belief":
        return f"You hold this to be true, and have no reason to doubt it: {arc.wrong_belief}"
    if stand.state == "correction_day":
        return (
            f"Today you learn that you were wrong. Until now you held: {arc.wrong_belief}\n"
            f"What is right: {arc.corrected_belief}\n"
            "Write down both, how it came out, and what you changed."
        )
    return f"You know by now, and go by it: {arc.corrected_belief} (You once held: {arc.wrong_belief})"


PERSONA = """\
You invent personas for a benchmark of long-term memory. The persona is an AI agent who works for one person over
months and takes part in several conversations, some of them confidential.

Reply with one YAML document, without a code fence and without comments, with these keys:
id: letters, digits and hyphens
name: the agent's name
role: what it does
domain: the field, in a line
company: for whom it works
team_size: a whole number
profile: who the agent is and what it does all day, 100 to 200 words, as a block of text
communication_style: how it writes its notes, 50 to 120 words, as a block of text
principal: name, role and profile of the person that it works for
cast: 8 to 14 others, each with name, role and kind (human or agent; an agent's name begins with @)
projects: 3 to 5, each with id, name and description
sessions: 4 to 7 conversations, each with id, kind (1to1 or group) and participants, who are in the cast or are the
  principal. The first has the id principal, is 1to1, and has the principal in it. One to three others have
  `isolated: true` and 2 to 5 sensitive_topics, each of 3 to 8 words; nobody outside may learn of them.
sharedKnowledge: 4 to 8 facts that are no secret in any of the conversations

Everything is specific: names, figures, products, places. No placeholders. Put text with a colon in quotes."""
STORY = """\
You write stories for a benchmark of long-term memory: the arcs that run through the days of an AI agent.

Reply with one YAML document, without a code fence and without comments, with the keys `sessions` and `arcs`.
sessions: only those that are not open all the time, each with id, firstDay and lastDay; may be an empty list
arcs: a list, each with
  id: letters, digits and hyphens
  type: project, incident, decision, learning, relationship or correction
  title: a few words that give no outcome away
  description: 40 to 90 words; what it is about and how it goes, with names and figures that change on the way
  startDay, endDay: whole numbers
  primarySession: the session in which it unfolds
  referencedSessions: sessions in which it is mentioned at times, without its own; may be empty
  participants: names from the cast
  directives: some have them; a list of day and event: what happens on that day, with names and figures
  and if its type is correction: wrongDay, wrongBelief, correctedDay, correctedBelief. The agent holds the wrong
  belief from wrongDay on and learns better on correctedDay. Both are whole sentences with a figure, date or name.

Days are numbers in the fields, and nowhere in a text: there you write calendar dates. Nothing in a title,
description or event may sound as if it were part of a story. Put text with a colon in quotes."""


def persona(prompt: str, epoch: date, days: int) -> str:
    """Return what is asked for a persona."""
    return f"The persona: {prompt.strip()}\n\nIts days are those from {epoch} to {_last(epoch, days)}."


def story(prompt: str, epoch: date, days: int, persona: Persona) -> str:
    """Return what is asked for a story."""
    plain = persona.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    least = demands_of(days)
    wanted = ", ".join(f"{count} of type {kind}" for kind, count in least.types.items())
    return (
        f"The persona: {prompt.strip()}\n\n{json.dumps(plain, ensure_ascii=False, indent=1)}\n\n"
        f"The story has the days 1 to {days}; day 1 is {epoch}, day {days} is {_last(epoch, days)}.\n"
        f"At least {least.arcs} arcs, among them at least: {wanted}.\n"
        "About 65 % of the arcs have the primarySession principal, the others are spread over the other sessions; "
        "each isolated session has one at least.\n"
        f"At least {least.directed} arcs have directives, and at least {least.echoing} have referencedSessions.\n"
        "Arcs overlap, and about four to six run at once. "
        f"But for at least {least.quiet} days in a row, no more than one does.\n"
        "Incidents are short; projects and learning are long."
    )


def again(asked: str, number: int, reply: str, problems: Sequence[str]) -> str:
    """Return the question after a reply that cannot be taken, for the try after `number`."""
    wrong = "\n".join(f"- {one}" for one in problems)
    return (
        f"{asked}\n\nYour reply to this was (try {number}):\n\n{reply.strip()}\n\n"
        f"It cannot be taken:\n{wrong}\n\nReply with the whole document again, with this put right."
    )


def _last(epoch: date, days: int) -> date:
    return epoch + timedelta(days=days - 1)
