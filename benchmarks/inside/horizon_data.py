"""Write a persona of made-up words: its days, of about 40 KB or 10,000 tokens each, and questions about them.

horizon_data.py FOLDER DAYS QUESTIONS
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from membench_data import Words

SESSIONS = ("principal", "board", "payroll")
TOPICS = 6
SIZE = 40_000
"""Characters of a day, about."""
PERSONA = {
    "id": "made-up",
    "name": "Made up",
    "role": "clerk",
    "domain": "words",
    "profile": "Made up.",
    "communication_style": "None.",
    "sessions": [{"id": name, "kind": "group"} for name in SESSIONS],
}


def days(count: int, words: Words) -> Iterator[tuple[str, str]]:
    """Yield the text of each day, and a sentence of it that has a number."""
    for day in range(1, count + 1):
        lines, told = [], ""
        for session in SESSIONS:
            lines.append(f"# session: {session}")
            for topic in range(TOPICS):
                body = " ".join(words.some(SIZE // len(SESSIONS) // TOPICS // 7))
                if session == SESSIONS[0] and topic == 0:
                    told = f"{' '.join(words.some(6))} cost {10_000 + day} dollars"
                    body = f"{body}. {told}."
                lines.append(f"### {' '.join(words.some(4))}\n\n{body}")
        yield "\n\n".join(lines) + "\n", told


def main(folder: Path, count: int, asked: int) -> None:
    memories, qa = folder / "made-up" / f"memories-{count}d", folder / "made-up" / f"qa-{count}d"
    memories.mkdir(parents=True)
    qa.mkdir()
    (folder / "made-up" / "persona.yaml").write_text(json.dumps(PERSONA))
    (folder / "made-up" / f"arcs-{count}d.yaml").write_text(json.dumps({"epoch": "2024-01-01", "arcs": []}))
    told = []
    for day, (text, sentence) in enumerate(days(count, Words(3)), start=1):
        (memories / f"day-{day:04}.md").write_text(text)
        told.append(sentence)
    questions: list[dict[str, Any]] = []
    for number in range(asked):
        day = number % count
        subject, _, rest = told[day].partition(" cost ")
        questions.append(
            {
                "id": f"q{number}",
                "question": f"What does {subject} cost?",
                "answer": rest,
                "category": "factual-recall",
                "difficulty": "easy",
                "relevant_days": [day + 1],
            }
        )
    (qa / "questions.yaml").write_text(json.dumps(questions))
    profile = {
        "persona": {"id": "made-up", "dir": "made-up", "arcs": f"arcs-{count}d.yaml"},
        "harness": {"adapter": "sqlite-fts:index.db"},
        "run": {"ranges": ["full"]},
    }
    (folder / "made-up.profile.yaml").write_text(json.dumps(profile))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
