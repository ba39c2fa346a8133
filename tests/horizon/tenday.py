"""Ten days of an assistant in a bicycle workshop: small enough to know by heart, with all that questions are about."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from pytest_recall.horizon.corpus import Corpus

ARCS = "arcs-10d.yaml"
PERSONA = """\
id: workshop
name: Robin
role: AI assistant of a bicycle workshop
domain: Repairs, orders and the people around them
company: Hollow Lane Cycles
profile: Robin keeps the order book.
communication_style: Short and exact.
principal: {name: Ada Marsh, role: owner}
cast:
  - {name: Ben Okoro, role: mechanic}
  - {name: Cleo Ruiz, role: mechanic}
  - {name: Dov Lind, role: supplier}
sessions:
  - {id: principal, kind: 1to1, participants: [Ada Marsh]}
  - {id: workshop-floor, kind: group, participants: [Ada Marsh, Ben Okoro, Cleo Ruiz]}
  - {id: lease, kind: group, participants: [Ada Marsh, Dov Lind], isolated: true, sensitive_topics: [The rent]}
  - {id: health, kind: 1to1, participants: [Ada Marsh], isolated: true}
sharedKnowledge: [The workshop opens at nine]
"""
STORY = """\
epoch: 2026-03-02
sessions:
  - {id: lease, firstDay: 2, lastDay: 9}
arcs:
  - id: winter-sale
    type: project
    title: Winter sale
    description: The sale of last year's frames.
    startDay: 1
    endDay: 10
    primarySession: principal
    referencedSessions: [workshop-floor]
    directives:
      - {day: 2, event: Ada sets the sale discount at 15% for all frames}
      - {day: 6, event: Ben counts 34 frames left in the cellar}
  - id: opening-hours
    type: correction
    title: Saturday opening hour
    description: Robin has the hour wrong.
    startDay: 1
    endDay: 8
    primarySession: principal
    wrongDay: 1
    correctedDay: 5
    wrongBelief: The workshop opens at 8:30 on Saturday
    correctedBelief: The workshop opens at 10:00 on Saturday
  - id: lease-talks
    type: decision
    title: Lease of the yard
    description: The yard is for rent.
    startDay: 2
    endDay: 9
    primarySession: lease
"""
_DAYS: dict[int, dict[str, str]] = {
    1: {
        "principal": "### Saturday hours\n\nAda told me that the workshop opens at 8:30 on Saturday.\n\n"
        "### Order book\n\nI entered a repair for Cleo Ruiz, priced at $48 in all.",
        "workshop-floor": "### Stand repairs\n\nBen asked for two new stands, and Ada agreed to order both of them.",
    },
    2: {
        "principal": "### Sale discount\n\nAda sets the sale discount at 15% for all frames.",
        "lease": "### Yard rent\n\nDov Lind named a rent of $1,250 for the yard of Millgate House.",
    },
    3: {
        "principal": "### Spokes\n\nThe spokes from Dov came late, and I noted a refund of $37 for them.",
        "workshop-floor": "### Brake pads\n\nCleo decided to stock ceramic pads only from now on.\n\n"
        "- Ben measured a wear of 0.8x against the old pads.",
    },
    4: {
        "principal": "### Quiet day\n\nNothing came in, and I left the order book as it was.",
        "health": "### Appointment\n\nAda has an appointment with Dr. Falk at 14:45 on 2026-03-19.",
    },
    5: {
        "principal": "### Saturday hours put right\n\nAda corrected me: the workshop opens at 10:00 on Saturday.",
        "workshop-floor": "### Cellar\n\nBen and Cleo cleared the cellar, which took until 16:20 in the end.",
    },
    6: {
        "principal": "### Frames\n\nBen counts 34 frames left in the cellar, and Ada wants them sold by 2026-04-30.",
        "workshop-floor": "### Frames below\n\nBen counted with Cleo, and they put $2,900 on the whole lot.",
    },
    7: {"principal": "### Sunday\n\nThe workshop was closed, and no message came in at all."},
    8: {
        "principal": "### Press\n\nThe local paper asked for a picture, and Ada agreed to one on Thursday.",
        "lease": "### Counter-offer\n\nAda offered $1,100 for the yard, and Dov wants 12 days to think.",
    },
    9: {
        "workshop-floor": "### Tyres\n\nCleo found that 22% of the tyres are too old to be sold.",
        "lease": "### Yard signed\n\nAda and Dov agreed on $1,175 for the yard, from 2026-04-01 on.",
    },
    10: {"principal": "### Sale ends\n\nThe sale brought $4,310 by the evening, as I told Ada at 18:05 sharp."},
}


def day_text(day: int) -> str:
    """Return the text of a day's file."""
    return (
        "---\ntype: daily\n---\n\n"
        + "\n\n".join(f"# session: {id}\n\n{said}" for id, said in _DAYS[day].items())
        + "\n"
    )


def write(folder: Path) -> Path:
    """Write the persona, its story and its days into a folder, and return that."""
    (folder / "memories-10d").mkdir(parents=True)
    (folder / "persona.yaml").write_text(PERSONA)
    (folder / ARCS).write_text(STORY)
    for day in _DAYS:
        (folder / "memories-10d" / f"day-{day:04}.md").write_text(day_text(day))
    return folder


def corpus(folder: Path) -> Corpus:
    """Return the corpus in a new folder."""
    return Corpus(write(folder), ARCS)


def question(number: int = 1, **more: Any) -> dict[str, Any]:
    """Return a question that is in order, but for what is given."""
    plain = {
        "id": f"workshop-q{number:03}",
        "question": f"How high was the refund for the spokes on 2026-03-04, by entry {number}?",
        "answer": "It was $37.",
        "category": "factual-recall",
        "difficulty": "easy",
        "relevant_days": [3],
        "requires_synthesis": False,
    }
    return {name: value for name, value in {**plain, **more}.items() if value is not None}


def write_questions(folder: Path, *questions: dict[str, Any]) -> Path:
    """Write a file of questions, one on each line, and return its path."""
    path = folder / "qa-10d" / "questions.yaml"
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(f"- {json.dumps(one)}\n" for one in questions))
    return path


def published() -> Corpus:
    """Return the published corpus of 180 days, or skip the test where it is not."""
    folder = os.environ.get("RECALL_BENCH_180D")
    if not folder:
        pytest.skip("RECALL_BENCH_180D does not name the folder of the published 180 days")
    return Corpus(Path(folder) / "persona", "arcs-180d.yaml", dates="legacy-dst")
