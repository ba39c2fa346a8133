"""An author of days who asks no model: it writes down what its brief says."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from pytest_recall.horizon.day import Brief, Correction, entry_of
from pytest_recall.horizon.passes.work import Attempt, Done, Job, StoryRequest
from pytest_recall.horizon.persona import Persona
from pytest_recall.models.model import ModelError


class BriefAuthor:
    """Writes the same entry for the same brief, and goes on from what the last entry left open."""

    def persona(self, wish: StoryRequest, last: Attempt | None) -> str:
        raise NotImplementedError

    def story(self, wish: StoryRequest, persona: Persona, last: Attempt | None) -> str:
        raise NotImplementedError

    def entry(self, persona: Persona, brief: Brief) -> str:
        return entry_of("\n".join(_lines(brief)), brief.session.id)

    def each(self, jobs: Sequence[Job], do: Callable[[Job], Done]) -> list[Done | ModelError]:
        return [do(job) for job in jobs]


def _lines(brief: Brief) -> Iterator[str]:
    for strand in brief.strands:
        yield from _told(strand.arc.title, strand.directives, strand.correction)
    for touch in brief.touches:
        yield from _told(touch.title, touch.directives, touch.correction)
    yield "Outstanding:"
    for past in brief.history[-1:]:
        left = [line for line in past.text.splitlines() if line.startswith("- ") and "still open" not in line]
        yield from (f"- still open since {past.date}: {line.removeprefix('- ')}" for line in left)
    yield f"- {brief.session.id} on {brief.date}"


def _told(title: str, directives: Sequence[str], stand: Correction | None) -> Iterator[str]:
    yield f"### {title}"
    yield ""
    yield from (f"{event}." for event in directives)
    if stand is not None:
        yield from _belief(stand)


def _belief(stand: Correction) -> Iterator[str]:
    if stand.state == "correction_day":
        yield f"I was wrong. I held: {stand.arc.wrong_belief}. It is: {stand.arc.corrected_belief}."
    else:
        believed = stand.arc.wrong_belief if stand.state == "wrong_belief" else stand.arc.corrected_belief
        yield f"I went by what I have: {believed}."
