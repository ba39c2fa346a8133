"""Personas and stories of long-horizon benchmarks: a small one by hand, and any that there could be."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from pytest_recall.horizon.persona import Arc, Persona, Story

EPOCH = date(2026, 1, 5)
"""A Monday."""
SESSIONS = ("principal", "team", "deal")
PERSONA: dict[str, Any] = {
    "id": "museum",
    "name": "Finch",
    "role": "AI assistant to the head of a museum",
    "domain": "A small museum of clocks",
    "company": "Clock Museum",
    "profile": "Finch keeps the calendar and the lists.",
    "communication_style": "Short sentences, with figures.",
    "principal": {"name": "Ada Brook", "role": "Head of the museum"},
    "cast": [
        {"name": "Ben Carver", "role": "Curator", "kind": "human"},
        {"name": "Cleo Dane", "role": "Lender", "kind": "human"},
    ],
    "sessions": [
        {"id": "principal", "kind": "1to1", "participants": ["Ada Brook"]},
        {"id": "team", "kind": "group", "participants": ["Ada Brook", "Ben Carver"]},
        {
            "id": "deal",
            "kind": "group",
            "participants": ["Ada Brook", "Cleo Dane"],
            "isolated": True,
            "sensitive_topics": ["the price of the astrolabe"],
        },
    ],
    "sharedKnowledge": ["The museum is closed on Mondays"],
}
ARCS: list[dict[str, Any]] = [
    {
        "id": "inventory",
        "type": "project",
        "title": "Inventory",
        "description": "Ben Carver counts the clocks. It takes long.",
        "startDay": 1,
        "endDay": 12,
        "primarySession": "principal",
        "referencedSessions": ["team"],
        "participants": ["Ben Carver"],
        "directives": [{"day": 3, "event": "Ben Carver counted 212 clocks"}],
    },
    {
        "id": "opening",
        "type": "correction",
        "title": "Opening hours",
        "description": "The sign at the door says 9:30, and it is right.",
        "startDay": 2,
        "endDay": 10,
        "primarySession": "team",
        "referencedSessions": ["principal"],
        "wrongDay": 2,
        "correctedDay": 6,
        "wrongBelief": "The museum opens at 10:00",
        "correctedBelief": "The museum opens at 9:30",
    },
    {
        "id": "heron",
        "type": "project",
        "title": "Project Heron",
        "description": "Cleo Dane sells an astrolabe for $90,000.",
        "startDay": 4,
        "endDay": 9,
        "primarySession": "deal",
        "referencedSessions": ["principal"],
        "directives": [{"day": 5, "event": "Cleo Dane asked for $95,000"}],
    },
]
STORY: dict[str, Any] = {"epoch": EPOCH.isoformat(), "arcs": ARCS}


def persona(**given: Any) -> Persona:
    """Return the persona of the museum, with these fields instead of its own."""
    return Persona.model_validate({**PERSONA, **given})


def story(*arcs: dict[str, Any], **given: Any) -> Story:
    """Return a story of these arcs, by default those of the museum."""
    return Story.model_validate({**STORY, "arcs": list(arcs) or ARCS, **given})


def arc(id: str, **given: Any) -> dict[str, Any]:
    """Return an arc of the museum's story by its id, or a new one, with these fields instead of its own."""
    known = next((one for one in ARCS if one["id"] == id), {"id": id, "type": "project", "title": id})
    return {"description": "Something goes on.", "startDay": 1, "endDay": 5, **known, **given}


def fill(folder: Path, persona: dict[str, Any] | None = None, story: dict[str, Any] | None = None) -> Path:
    """Write the museum's files into a folder, and return it. JSON is YAML."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "persona.yaml").write_text(json.dumps(persona or PERSONA, indent=1), encoding="utf-8")
    (folder / "arcs-12d.yaml").write_text(json.dumps(story or STORY, indent=1), encoding="utf-8")
    return folder


_WORDS = st.text("ab {}#%", min_size=1, max_size=12).map(lambda text: text.strip() or "a")
_DAYS = st.integers(1, 40)
# Made once: what is made within a draw is looked through and checked in each of them.
_BOUNDS = st.none() | _DAYS
_KINDS = st.sampled_from(["project", "incident", "decision", "learning", "relationship", "correction"])
_ROOMS = st.sampled_from([*SESSIONS, "unknown"])
_MAYBE_ROOMS, _SEVERAL_ROOMS = st.none() | _ROOMS, st.lists(_ROOMS, max_size=3, unique=True)
_SEVERAL_DAYS, _SEVERAL_SESSIONS = st.lists(_DAYS, max_size=3), st.sets(st.sampled_from(SESSIONS))


@st.composite
def arcs(draw: st.DrawFn, id: str) -> Arc:
    """Draw any arc that a file can hold, also one that ends before it begins."""
    first, last = draw(_DAYS), draw(_DAYS)
    kind = draw(_KINDS)
    given: dict[str, Any] = {"id": id, "type": kind, "title": draw(_WORDS), "description": draw(_WORDS)}
    given |= {"startDay": first, "endDay": last, "primarySession": draw(_MAYBE_ROOMS)}
    given["referencedSessions"] = draw(_SEVERAL_ROOMS)
    given["directives"] = [{"day": day, "event": draw(_WORDS)} for day in draw(_SEVERAL_DAYS)]
    if kind == "correction" and draw(st.booleans()):
        given |= {"wrongDay": draw(_DAYS), "correctedDay": draw(_DAYS)}
        given |= {"wrongBelief": draw(_WORDS), "correctedBelief": draw(_WORDS)}
    return Arc.model_validate(given)


@st.composite
def stories(draw: st.DrawFn) -> Story:
    """Draw any story over the museum's sessions."""
    count = draw(st.integers(0, 6))
    lives = [{"id": id, "firstDay": draw(_BOUNDS), "lastDay": draw(_BOUNDS)} for id in draw(_SEVERAL_SESSIONS)]
    return Story.model_validate({"sessions": lives, "arcs": [draw(arcs(f"arc-{place}")) for place in range(count)]})
