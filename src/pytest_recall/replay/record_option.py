"""What `--record` and `--replay` ask for, of pytest and of every command that asks models."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pytest_recall.files.errors import RecallError

if TYPE_CHECKING:
    from pytest_recall.replay.tape import CassetteMode

MISSING = "missing"
"""The value of `--record` that replays what is recorded and records the rest; `missing:DIR` does so below DIR."""


class RecordOption(NamedTuple):
    """What becomes of the calls of models, and where the cassettes are."""

    mode: CassetteMode
    folder: str = ""
    """As it was given; empty for the usual one."""


def record_option(record: str | None, replay: str | None) -> RecordOption:
    """Return what the values of `--record` and `--replay` ask for; None is an option that was not given."""
    if replay is not None:
        return RecordOption("replay", replay)
    if record is None:
        return RecordOption("off")
    if record == MISSING or record.startswith(f"{MISSING}:"):
        return RecordOption("missing", record[len(f"{MISSING}:") :])
    return RecordOption("record", record)


def check_record_option(record: str | None, folder: Path) -> None:
    """Refuse a misspelt `missing`; paths are below `folder`. Raises RecallError."""
    if record is None or record_option(record, None).mode == "missing":
        return
    word, colon, rest = record.partition(":")
    if word.lower() == MISSING:
        raise RecallError(f"--record={record}: did you mean --record={MISSING}{record[len(MISSING) :]}?")
    if not (folder / record).is_dir() and get_close_matches(word, [MISSING], cutoff=0.8):
        meant = f"--record={MISSING}{colon}{rest}"
        raise RecallError(f"--record={record}: no such folder; did you mean {meant}? make it first if not")
