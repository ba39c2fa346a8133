"""Implement `recall memory run --floors`: let the reader answer from floors and ceiling."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_recall.cli.common import say

if TYPE_CHECKING:
    from pytest_recall.datasets.membench import Arguments, MembenchSummary
    from pytest_recall.datasets.reader_floors import ReaderFloor
    from pytest_recall.datasets.repeats import Ingest
    from pytest_recall.files.sections import Section
    from pytest_recall.memory.client import MemoryAdapter

AskFloor = Callable[["MemoryAdapter", "Arguments", Path, "ReaderFloor"], "Ingest"]
"""Asks all questions of one floor, in a folder of its own, and has the answers judged if those of the memory are."""


def add_floors(parser: argparse.ArgumentParser) -> None:
    """Add the option."""
    parser.add_argument(
        "--floors",
        action="store_true",
        help="also let the reader answer from nothing, random texts, the last ones and the evidence, in as many tokens"
        " as the memory returned: four times as many calls again",
    )


def check_floors(args: argparse.Namespace, clients: Sequence[MemoryAdapter]) -> None:
    """Refuse the option where it would have no effect. Raises RecallError."""
    from pytest_recall.files.errors import RecallError

    if not args.floors:
        return
    if args.reader is None:
        raise RecallError("--floors lets a reader answer from other texts; name one with --reader, or remove it")
    if args.repeat > 1:
        raise RecallError("--floors is about one ingest, and --repeat makes several; remove one of them")
    if all(one.baseline for one in clients):
        raise RecallError(f"--floors: {clients[0].name} looks for nothing itself; name another memory, or remove it")


def ask_floors(
    memory: Ingest, name: str, arguments: Callable[[MemoryAdapter], Arguments], ask: AskFloor, *, keeps_failed: bool
) -> dict[str, Ingest]:
    """Ask each floor, once all questions of the memory are answered, and return what came of it by its name.

    `name` is that of the memory, and `arguments` returns what decides the outcome of a run. What cannot be paid for
    is left to the same command.
    """
    from pytest_recall.datasets.reader_floors import FloorClient, reader_floors
    from pytest_recall.metrics.floors import floor_folder

    found: dict[str, Ingest] = {}
    answers = [trial.answer for trial in memory.found.trials if trial.answer is not None]
    is_asked = bool(answers) or not memory.unfinished
    if is_asked and not memory.found.unread and not any(one.by == "model" for one in answers):
        say(f"--floors: {name} answers by itself, so that there is no answer of the reader to compare; remove it")
        return found
    if memory.unfinished or (memory.found.unread and not keeps_failed):
        say("--floors: the same command asks them, once there is an answer to all questions")
        return found
    for one in reader_floors(name, memory.found.trials):
        folder = memory.folder / floor_folder(one.name)
        say(f"{one.title}: {folder}")
        client = FloorClient(one.title)
        asked = arguments(client)._replace(code=one.digest, packages=())
        found[one.name] = ask(client, asked, folder, one)
        if found[one.name].unfinished:
            break
    return found


def floors_section(memory: MembenchSummary, floors: dict[str, Ingest], *, wanted: bool) -> Section:
    """Return what the floors of a memory came to, or why nothing.

    `memory` is the summary of a memory that a reader answered from, and `wanted` whether its floors were asked for.
    """
    from pytest_recall.datasets.reader_floors_text import reader_floors_section
    from pytest_recall.files.sections import Section
    from pytest_recall.trials.cost import total

    beside = {name: one.found.summary for name, one in floors.items() if not one.unfinished}
    if beside and len(beside) == len(floors):
        return reader_floors_section(memory, beside, total({name: one.spend for name, one in floors.items()}))
    hint = "the same command measures them" if wanted else "--floors lets the reader answer from these as well"
    return Section("", lines=[f"floors of answers: not measured; {hint}"] if memory.everything.reading.answers else [])
