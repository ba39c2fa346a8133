"""A small history of changes, in which what happens is known."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from pytest_recall.schedule.change_history import ChangeHistory, parse_change

Line = dict[str, Any]


def small(cases: int = 80) -> list[Line]:
    """Four months in which a local and a wide change break a case each, and one change touches no request.

    Cases 0 to 9 are of the suite `few`, the others of `many`; case 9 always fails, and case 8 passes in half of its
    trials.
    """
    counts = {9: [0, 10], 8: [5, 5]}
    listed = [[n, f"{'few' if n < 10 else 'many'} - {n}", [f"r{n}"], counts.get(n, [10, 0])] for n in range(cases)]
    wide = [[n, [f"r{n}"], [f"w{n}"], [10, 0], [0, 10] if n == 70 else [10, 0]] for n in range(10, cases)]
    return [
        {"commit": "a0", "date": "2026-01-01", "source": True, "cases": listed},
        {
            "commit": "a1",
            "date": "2026-01-05",
            "changed": [
                [0, ["r0"], ["s0"], [10, 0], [0, 10]],
                [1, ["r1"], ["s1"], [10, 0], [8, 2]],
                [9, ["r9"], ["s9"], [0, 10], [0, 10]],
            ],
        },
        {"commit": "a2", "date": "2026-01-06", "source": False, "paths": ["README.md"]},
        {"commit": "a3", "date": "2026-01-20", "changed": [[0, ["s0"], ["r0"], [0, 10], [10, 0]]]},
        {"commit": "a4", "date": "2026-02-01", "tests_edited": True, "added": [[cases, "few - new", ["n"], [10, 0]]]},
        {"commit": "a5", "date": "2026-02-10", "changed": wide},
        {"commit": "a6", "date": "2026-02-12", "removed": [9]},
    ]


def uncounted() -> list[Line]:
    """A history without counts: four changes, two of which touch the cases of an agent."""
    return [
        {"commit": "b0", "date": "2026-01-01", "source": True, "cases": 10},
        {
            "commit": "b1",
            "date": "2026-01-03",
            "source": True,
            "changed": [[n, f"Agent/case-{n}", ["p", f"q{n}"], ["p", f"z{n}"], n == 0] for n in range(4)],
        },
        {"commit": "b2", "date": "2026-01-04", "source": False},
        {
            "commit": "b3",
            "date": "2026-01-10",
            "source": True,
            "cases": 12,
            "changed": [[5, "Other/case-5", ["a"], ["b"], False]],
        },
    ]


def history_of(lines: list[Line]) -> ChangeHistory:
    """Return lines as a history."""
    return ChangeHistory(tuple(map(parse_change, lines)), isinstance(lines[0].get("cases"), list))


def write(path: Path, lines: list[Line]) -> Path:
    """Write lines to a file, compressed if its name ends in `.gz`, and return its path."""
    text = "".join(json.dumps(line) + "\n" for line in lines).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return path
