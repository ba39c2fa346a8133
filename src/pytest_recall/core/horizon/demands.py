"""Demands: what a new persona and its story must have, so that there is something to remember in them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from pytest_recall.core.horizon.consistency import story_findings
from pytest_recall.core.horizon.persona import PRINCIPAL, Persona
from pytest_recall.core.horizon.story import Story

LONG = 300
"""Days from which a story is a long one."""
SHORTEST = 30
"""Days below which no story has room for what is demanded."""
SHARE = (0.5, 0.8)
"""The share of arcs that unfold with the principal; 65 % are aimed at."""


class Demands(NamedTuple):
    """The least that a story has: arcs, of each type, with directives, echoing elsewhere; days of quiet in a row."""

    arcs: int
    types: Mapping[str, int]
    directed: int
    echoing: int
    quiet: int


_TYPES = ("project", "incident", "decision", "learning", "relationship", "correction")


def demands_of(days: int) -> Demands:
    """Return what a story of so many days must have."""
    if days >= LONG:
        return Demands(18, dict(zip(_TYPES, (5, 2, 3, 2, 2, 4), strict=True)), 5, 5, 10)
    return Demands(8, dict(zip(_TYPES, (2, 1, 1, 1, 1, 2), strict=True)), 5, 3, max(2, min(10, days // 20)))


def persona_problems(persona: Persona) -> list[str]:
    """Return what a new persona lacks, one sentence for each."""
    found = [one.message for one in story_findings(persona, Story()) if one.source == "persona"]
    if persona.principal is None:
        found.append("principal: is missing; say for whom the agent works")
    declared = persona.session(PRINCIPAL)
    if declared is None or declared.kind != "1to1":
        found.append(f"sessions: there is none with the id {PRINCIPAL!r} and the kind '1to1'; add it as the first")
    elif persona.principal is not None and persona.principal.name not in declared.participants:
        found.append(f"sessions: {persona.principal.name!r} is no participant of {PRINCIPAL!r}; add the name")
    if len(persona.sessions) < 3:
        found.append("sessions: are fewer than 3; add some")
    isolated = [one for one in persona.sessions if one.isolated and one.id != PRINCIPAL]
    if not isolated:
        found.append("sessions: none has `isolated: true`, beside the principal's; make one so")
    found += [
        f"sessions: {one.id!r} is isolated without sensitive_topics; add some"
        for one in isolated
        if not one.sensitive_topics
    ]
    for name, there, least in (
        ("cast", len(persona.cast), 4),
        ("projects", len(persona.projects), 2),
        ("sharedKnowledge", len(persona.shared_knowledge), 2),
    ):
        if there < least:
            found.append(f"{name}: has {there}, and at least {least} are wanted; add some")
    return found


def story_problems(persona: Persona, story: Story, days: int) -> list[str]:
    """Return what is wrong in a new story, or lacks in it, one sentence for each."""
    found = [one.message for one in story_findings(persona, story) if one.source == "arcs"]
    return [*found, *_limits(story, days), *_lacks(persona, story, days)]


def _limits(story: Story, days: int) -> Iterator[str]:
    for arc in story.arcs:
        if arc.end_day > days:
            yield f"{arc.id}: endDay {arc.end_day} is after the last day, {days}; end it by then"
        if arc.type == "correction" and arc.wrong_belief.strip() == arc.corrected_belief.strip() != "":
            yield f"{arc.id}: wrongBelief and correctedBelief are the same; change one of them"


def _lacks(persona: Persona, story: Story, days: int) -> Iterator[str]:
    least, arcs = demands_of(days), story.arcs
    if len(arcs) < least.arcs:
        yield f"arcs: are {len(arcs)}, and at least {least.arcs} are wanted; add some"
    types = Counter(str(arc.type) for arc in arcs)
    for kind, count in least.types.items():
        if types[kind] < count:
            yield f"arcs: {types[kind]} are of type {kind!r}, and at least {count} are wanted; add some"
    share = sum(arc.primary_session == PRINCIPAL for arc in arcs) / max(1, len(arcs))
    if not SHARE[0] <= share <= SHARE[1]:
        yield f"arcs: {share:.0%} have the primarySession {PRINCIPAL!r}, and about 65 % are wanted; move some"
    for one in persona.sessions:
        if one.isolated and not any(arc.primary_session == one.id for arc in arcs):
            yield f"arcs: none has the primarySession {one.id!r}, which is isolated; give it one"
    for what, there, count in (
        ("directives", sum(bool(arc.directives) for arc in arcs), least.directed),
        ("referencedSessions", sum(bool(arc.referenced_sessions) for arc in arcs), least.echoing),
    ):
        if there < count:
            yield f"arcs: {there} have {what}, and at least {count} are wanted; add some"
    longest = run = 0
    for day in range(1, days + 1):
        run = run + 1 if len(story.active(day)) <= 1 else 0
        longest = max(longest, run)
    if longest < least.quiet:
        yield f"arcs: more than one runs on all but {longest} days in a row; leave {least.quiet} such days in a row"
