"""Event files: `eval/events/`, one small file for each run, written once and never changed."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from datetime import date
from pathlib import Path
from typing import Any

from pytest_recall.cases.settings_fields import QUARANTINE_DAYS, Quarantine
from pytest_recall.files.coerce import typed
from pytest_recall.files.disk import create_text, read_text
from pytest_recall.files.errors import RecallError
from pytest_recall.schedule.events import Apart, Event, Events
from pytest_recall.trials.trial import Outcome

FOLDER = "events"
SUFFIX = ".jsonl"
VERSION = 1
NO_VERDICT = "none"
"""The outcome in the line of a case that came to no verdict."""


def event_files(folder: Path) -> dict[str, Path]:
    """Return the event files in `folder` by name, in the order of their days. Raises RecallError."""
    try:
        found = [path for path in folder.iterdir() if path.suffix == SUFFIX and not path.name.startswith(".")]
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise RecallError(f"{folder}: cannot be read ({error.strerror}); check that it is a readable folder") from None
    return {path.stem: path for path in sorted(found)}


def read_events(path: Path, name: str) -> Events:
    """Return the events in a file. Raises RecallError, in one sentence, for one that is damaged."""
    return parse_events(read_text(path, name), name)


def parse_events(text: str, name: str) -> Events:
    """Return the events in `text`. Raises RecallError."""
    *lines, rest = text.split("\n")
    number = 1
    try:
        if rest or not lines:
            number = len(lines) + 1
            raise ValueError("it was cut off")
        head = json.loads(lines[0])
        if head["version"] != VERSION:
            raise RecallError(f"{name}:1: version {head['version']} is not known to this pytest-recall; upgrade it")
        verdicts: list[Event] = []
        apart: list[Apart] = []
        unanswered: list[str] = []
        for line in lines[1:]:
            number += 1
            plain = json.loads(line)
            if plain.get("outcome") == NO_VERDICT:
                unanswered.append(str(plain["case"]))
            elif "outcome" in plain:
                verdicts.append(_event(plain, head))
            else:
                days = (plain["quarantined"], plain.get("until"))
                since, until = (day and date.fromisoformat(day) for day in days)
                apart.append(Apart(plain["case"], since, until, plain.get("owner")))
        number = 1
        lapses = head.get("quarantine_lapses")
        return Events(
            **typed(Events, {key: value for key, value in head.items() if key in _HEAD}),
            date=date.fromisoformat(head["date"]),
            quarantine=None
            if lapses is None
            else Quarantine(int(lapses), str(head["owner"]), int(head.get("quarantine_days", QUARANTINE_DAYS))),
            verdicts=tuple(verdicts),
            apart=tuple(apart),
            unanswered=tuple(unanswered),
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        why = f"{error.args[0]} is missing" if isinstance(error, KeyError) else str(error)
        raise RecallError(
            f"{name}:{number}: not what a run has written ({why}); restore the file from git, or delete it to forget"
            " the run"
        ) from None


_HEAD = ("run", "who", "trials", "model", "reset")


def _event(plain: Mapping[str, Any], head: Mapping[str, Any]) -> Event:
    outcome = Outcome(plain["outcome"])
    if not outcome.is_verdict:
        raise ValueError(f"{outcome.value} is no verdict")
    found = {"pr": head.get("pr"), "model": head.get("model"), **plain}
    return Event(**typed(Event, {**found, "case_id": plain["case"]}), outcome=outcome)


def write_events(folder: Path, events: Events) -> Path:
    """Write a new event file and return its path; one with the same content stays as it is. Raises OSError."""
    text = events_text(events)
    path = folder / f"{stem(events)}-{hashlib.sha256(text.encode()).hexdigest()[:6]}{SUFFIX}"
    create_text(path, text)
    return path


def stem(events: Events) -> str:
    """Return how the names of all event files of a run begin: with its day, so that they sort by it."""
    parts = (events.date.isoformat(), events.who, events.run)
    return "-".join(re.sub(r"[^A-Za-z0-9_.+]+", "-", part)[:60] for part in parts)


def events_text(events: Events) -> str:
    """Return the text of an event file: a line for the run, and one for each case."""
    prs = {event.pr for event in events.verdicts}
    pr = prs.pop() if len(prs) == 1 else None
    head = {
        "version": VERSION,
        "run": events.run,
        "date": events.date.isoformat(),
        "who": events.who,
        "trials": events.trials,
        "pr": pr,
        "model": events.model,
        "reset": events.reset or None,
        "quarantine_lapses": events.quarantine and events.quarantine.after,
        "quarantine_days": events.quarantine and events.quarantine.days,
        "owner": events.quarantine and events.quarantine.owner,
    }
    common = {"pr": pr, "model": events.model}
    lines = [{key: value for key, value in head.items() if value is not None}]
    lines += (_plain(event, common) for event in events.verdicts)
    lines += ({"case": case_id, "outcome": NO_VERDICT} for case_id in events.unanswered)
    lines += (
        {
            "case": one.case_id,
            "quarantined": one.since and one.since.isoformat(),
            "until": one.until and one.until.isoformat(),
            "owner": one.owner,
        }
        for one in events.apart
    )
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


def _plain(event: Event, common: Mapping[str, str | None]) -> dict[str, Any]:
    plain: dict[str, Any] = {"case": event.case_id, "outcome": event.outcome.value}
    plain |= {key: value for key in ("note", "reason", "under") if (value := getattr(event, key))}
    return plain | {key: value for key in ("pr", "model") if (value := getattr(event, key)) != common[key]}


def delete(paths: Iterable[Path]) -> None:
    """Delete event files that are in the state. Raises OSError."""
    for path in paths:
        path.unlink(missing_ok=True)
