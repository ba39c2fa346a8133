"""Prompts for a persona and its story, and for another try when what came cannot be taken."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date, timedelta

from pytest_recall.core.horizon.demands import demands_of
from pytest_recall.core.horizon.persona import Persona

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
