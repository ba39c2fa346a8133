"""Time loading a state file and saving it with 25 changed rows; prints seconds as JSON.

state_probe.py FILE ROUNDS PARSER, where PARSER is `yaml` or `no`
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from datetime import date
from pathlib import Path
from time import perf_counter

import yaml

from pytest_recall.schedule.state_file import State, read_state, write_state

CHANGED = 25


def changed(state: State) -> str:
    """Return the text with rows of all parts of the file moved one box on."""
    ids = list(state.rows)[:: max(1, len(state.rows) // CHANGED)][:CHANGED]
    tested, due = date(2026, 3, 2), date(2026, 3, 16)
    news = {i: state.rows[i]._replace(box=4, pass_streak=4, last_tested=tested, next_due=due) for i in ids}
    return state.updated(news)


def main(path: Path, rounds: int, with_yaml: bool) -> None:
    original = path.read_text(encoding="utf-8")
    text = ""

    def load_and_save() -> None:
        nonlocal text
        text = changed(read_state(path, path.name))
        write_state(path, text)

    def parse() -> None:
        yaml.load(original, yaml.CSafeLoader)

    def sync() -> None:
        # What the disk takes for the same bytes, anyone who writes them.
        draft = path.with_suffix(".draft")
        with draft.open("w", encoding="utf-8") as file:
            file.write(original)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)

    seconds: dict[str, list[float]] = {"recall": [], "disk": [], "yaml": []}
    for number in range(rounds + 1):
        sides: list[tuple[str, Callable[[], None]]] = [("disk", sync), ("recall", load_and_save)]
        if with_yaml and number < 4:
            sides.append(("yaml", parse))
        for name, action in sides:
            begin = perf_counter()
            action()
            if number:
                seconds[name].append(perf_counter() - begin)
    old, new = original.splitlines(), text.splitlines()
    lines = sum(a != b for a, b in zip(old, new, strict=True))
    if lines != CHANGED:
        raise SystemExit(f"{lines} lines changed, not {CHANGED}")
    print(json.dumps(seconds))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "yaml")
