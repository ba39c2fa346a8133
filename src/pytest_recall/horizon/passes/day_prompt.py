"""Prompts for a session of a day: who writes, what may be known there, and what happens."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_recall.core.horizon.brief import Brief, Strand, Touch, people_known, sessions_known
from pytest_recall.core.horizon.day import Correction, Density, Phase
from pytest_recall.core.horizon.persona import Persona

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
