"""Read and write the state: the rows of `recall.yaml`, and event files not folded into it."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from datetime import date, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from pytest_recall.cases.settings import StateLayout
from pytest_recall.cases.settings_fields import QUARANTINE_DAYS, Quarantine
from pytest_recall.files.coerce import typed
from pytest_recall.files.disk import create_text, read_text
from pytest_recall.files.errors import RecallError, nearest
from pytest_recall.files.eval_directory import Place
from pytest_recall.files.git import committed
from pytest_recall.files.wording import plural
from pytest_recall.schedule.events import Apart, Event, Events, fold_events, fold_unanswered, in_order
from pytest_recall.schedule.merge import continued
from pytest_recall.schedule.state_file import State, parse_state, read_state, write_state
from pytest_recall.trials.journal import read_journal
from pytest_recall.trials.trial import Outcome

SUFFIX = ".jsonl"
VERSION = 1
NO_VERDICT = "none"
"""The outcome in the line of a case that came to no verdict."""
_NAMED = re.compile(rf"-([0-9a-f]{{6}}){re.escape(SUFFIX)}$")
"""How the name of a file that a run has written ends: with a digest of its text."""


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
    """Return the events in `text`, which is that of the file `name`. Raises RecallError."""
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
        events = Events(
            **typed(Events, {key: value for key, value in head.items() if key in _HEAD}),
            date=date.fromisoformat(head["date"]),
            quarantine=None
            if lapses is None
            else Quarantine(int(lapses), str(head["owner"]), int(head.get("quarantine_days", QUARANTINE_DAYS))),
            verdicts=tuple(verdicts),
            apart=tuple(apart),
            unanswered=tuple(unanswered),
        )
        # Last, since what is wrong with a line says more. Whole lines that are gone are seen by this alone.
        if (named := _NAMED.search(name)) and named[1] != _digest(text):
            raise ValueError(f"lines were lost or changed: {named[1]} in its name is the digest of another text")
        return events
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        why = "not JSON" if isinstance(error, json.JSONDecodeError) else str(error)
        if isinstance(error, KeyError):
            why = f"{error.args[0]} is missing"
        raise RecallError(
            f"{name}:{number}: not what a run has written ({why}); restore the file from git, or delete it to forget"
            " the run"
        ) from None


_TOLD = (
    *("note", "reason", "under", "cleared", "accepted", "lapses"),
    *("weighed", "needed", "doubt"),
)
_HEAD = ("run", "who", "trials", "model", "reset", "change", "affected")


def _event(plain: Mapping[str, Any], head: Mapping[str, Any]) -> Event:
    outcome = Outcome(plain["outcome"])
    if not outcome.is_verdict:
        raise ValueError(f"{outcome.value} is no verdict")
    if not set(plain.get("weighed", "")) <= {"p", "f"}:
        raise ValueError(f"weighed: {plain['weighed']!r} are not trials, p or f")
    found = {"pr": head.get("pr"), "model": head.get("model"), **plain}
    return Event(**typed(Event, {**found, "case_id": plain["case"]}), outcome=outcome)


def write_events(folder: Path, events: Events) -> Path:
    """Write a new event file and return its path; one with the same content stays as it is. Raises OSError."""
    path = event_path(folder, events)
    create_text(path, events_text(events))
    return path


def event_path(folder: Path, events: Events) -> Path:
    """Return the path of the file that has these events."""
    return folder / f"{stem(events)}-{_digest(events_text(events))}{SUFFIX}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:6]


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
        "change": events.change or None,
        "affected": events.affected or None,
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
    plain |= {key: value for key in _TOLD if (value := getattr(event, key))}
    return plain | {key: value for key in ("pr", "model") if (value := getattr(event, key)) != common[key]}


def delete(paths: Iterable[Path]) -> None:
    """Delete event files that are in the state. Raises OSError."""
    for path in paths:
        path.unlink(missing_ok=True)


KEEP_DAYS = 7
"""Events of so many days stay files by default, so that pull requests that merge late find their place among them."""
REMEMBERED_DAYS = 60
"""How long the state file names an event file that it holds, should the file come back with an old branch."""


def current(place: Place) -> State:
    """Return the state of a checkout, event files included. Raises RecallError."""
    # Most who read hold no lock, and a fold may go on meanwhile. It writes the state file first, and then deletes the
    # files that this names. So the files are listed first: one that is gone by then is in the rows that are read below.
    files = event_files(place.events)
    state = read_state(place.state, place.name(place.state))
    waiting = {name: path for name, path in files.items() if name not in state.folded}
    try:
        events = {name: read_events(path, place.name(path)) for name, path in waiting.items()}
    except RecallError:
        if all(path.exists() for path in waiting.values()):
            raise
        return current(place)  # A fold has come between the two: by now the state file has what it deleted.
    return with_events(state, events)


def with_events(state: State, events: Mapping[str, Events]) -> State:
    """Return the state after `events`, by name."""
    if not events:
        return state
    return state.with_rows(fold_events(state.rows, events), fold_unanswered(state.unanswered, events))


def unfolded(place: Place, state: State) -> dict[str, Events]:
    """Return the events that are not in the state file yet, by name. Raises RecallError for a damaged file."""
    files = event_files(place.events)
    return {name: read_events(files[name], place.name(files[name])) for name in files if name not in state.folded}


def check_dates(state: State, latest: date, name: str) -> None:
    """Raise RecallError for a row of a day that is still to come: a failure until then would be taken for old news.

    So for a case that was last asked on such a day, which would rest for as long. `latest` is today, or the later day
    that a run is made for. One day more is a clock that is ahead.
    """
    rows, last = state.rows, latest + timedelta(days=1)
    if asked := sorted(case_id for case_id, one in state.unanswered.items() if one.last_asked > last):
        raise RecallError(
            f"{name}: unanswered: `{asked[0]}` was last asked on {state.unanswered[asked[0]].last_asked}, which is"
            f" after {latest}: until then it would rest; restore the file from git, or correct `last_asked`"
        )
    ahead = sorted(case_id for case_id, row in rows.items() if row.last_tested > last)
    if ahead:
        more = f" ({plural(len(ahead), 'row')} are of such days)" if ahead[1:] else ""
        day = rows[ahead[0]].last_tested
        raise RecallError(
            f"{name}: `{ahead[0]}` was last tested on {day}, which is after {latest}{more}: until"
            " then every failure would be lost; restore the rows from git, or correct `last_tested` and `next_due`"
        )


def check_layout(place: Place, layout: StateLayout) -> None:
    """Raise RecallError if runs are to change rows of the state file while event files wait to be folded into it."""
    if layout != "rows" or not (files := event_files(place.events)):
        return
    if waiting := len(files.keys() - set(read_state(place.state, place.name(place.state)).folded)):
        are = "event file is" if waiting == 1 else "event files are"
        raise RecallError(
            f"{place.name(place.events)}: {waiting} {are} not in {place.name(place.state)} yet; run"
            f" `recall state fold --keep-days 0`, or write `state: events` in {place.name(place.rubric)}"
        )


def committed_state(place: Place, revision: str) -> State | None:
    """Return the state as it is in a commit, event files included; None where there is none. Raises RecallError."""
    files = committed(place.eval_dir, revision)
    if not files:
        return None
    state = parse_state(files.pop("recall.yaml", ""), f"{revision}:{place.name(place.state)}")
    paths = {Path(name).stem: name for name in files if name.endswith(".jsonl") and name.count("/") == 1}
    events = {
        name: parse_events(files[path], f"{revision}:{place.name(place.eval_dir)}/{path}")
        for name, path in paths.items()
        if name not in state.folded
    }
    return with_events(state, events)


class Folded(NamedTuple):
    """What a fold has done: to how many event files and rows, and how many files are left."""

    files: int
    rows: int
    left: int


def compact(place: Place, today: date, keep_days: int, *, write: bool) -> Folded:
    """Move the events of all but the last `keep_days` days into the state file, whose lock the caller holds.

    The state file first names what it holds, in the same write; the files are deleted after it. So anyone who dies in
    between has folded them once, and the next fold deletes them. Raises RecallError or OSError.
    """
    state = read_state(place.state, place.name(place.state))
    events = unfolded(place, state)
    until = today - timedelta(days=keep_days)
    # What is younger stays a file: a pull request that merges late brings an event of an earlier day, which is sorted
    # before the others as long as these are files, and would be passed over as older than a row.
    old = {name: events[name] for name in in_order(events) if events[name].date <= until}
    changed = fold_events(state.rows, old)
    files = event_files(place.events)
    done = {*state.folded, *old}
    if write:
        waiting = fold_unanswered(state.unanswered, old)
        names = sorted(_remembered(done, set(files)))
        text = state.updated(changed, folded=names, unanswered=waiting)
        if text != state.text:
            write_state(place.state, text)
        delete(path for name, path in files.items() if name in done)
    return Folded(len(old), len(changed), len(events) - len(old))


def _remembered(names: set[str], there: set[str]) -> set[str]:
    """Return the names that the state file has to keep: of files that are there, and the newest."""
    days = {name: _day(name) for name in names}
    known = [day for day in days.values() if day is not None]
    since = max(known, default=date.min) - timedelta(days=REMEMBERED_DAYS) if known else date.min
    return {name for name, day in days.items() if name in there or day is None or day >= since}


def _day(name: str) -> date | None:
    try:
        return date.fromisoformat(name[:10])
    except ValueError:
        return None


def move(place: Place, pairs: Iterable[tuple[str, str]], *, write: bool) -> None:
    """Have the cases go on under their new ids, as (old, new), in the state, whose lock the caller holds.

    Raises RecallError, and then has changed nothing, for an id without a row, or one that event files tell of.
    """
    state, ids = _state(place), dict(pairs)
    _check(place, state, ids)
    rows = {new: continued(state.rows[old], state.rows.get(new)) for old, new in ids.items()}
    _write(place, state, state.updated(rows, removed=ids.keys()), write)


def forget(place: Place, ids: Iterable[str], *, write: bool) -> None:
    """Delete rows from the state, whose lock the caller holds. Raises RecallError as `move` does."""
    state, gone = _state(place), set(ids)
    _check(place, state, gone)
    waiting = {case_id: one for case_id, one in state.unanswered.items() if case_id not in gone}
    _write(place, state, state.updated({}, removed=gone, unanswered=waiting), write)


def told_by_newest_run(place: Place) -> list[tuple[str, str]]:
    """Return the ids that the newest run has found to be new ones of cases with a row, as (old, new)."""
    runs = place.artifacts.runs()
    return list(read_journal(runs[-1]).header.moved) if runs else []


def _state(place: Place) -> State:
    return read_state(place.state, place.name(place.state))


def _check(place: Place, state: State, ids: Iterable[str]) -> None:
    name = place.name(place.state)
    waiting = unfolded(place, state)
    rows = with_events(state, waiting).rows
    if lost := sorted(set(ids) - rows.keys()):
        raise RecallError(*(f"{name}: no row of `{case_id}`{nearest(case_id, rows)}" for case_id in lost))
    told = {case_id for events in waiting.values() for case_id in events.about}
    if found := sorted(told & set(ids)):
        raise RecallError(
            f"{place.name(place.events)}: has events of `{found[0]}` that {name} lacks; run"
            " `recall state fold --keep-days 0` first"
        )


def _write(place: Place, state: State, text: str, write: bool) -> None:
    if write and text != state.text:
        write_state(place.state, text)
