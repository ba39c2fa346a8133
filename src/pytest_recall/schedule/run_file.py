"""Read and write a run file: what one run did to the rows of the state, each of them before and after it.

A run on any branch but the default one writes such a file, in the form of `recall.yaml`, so that branches do not change
the same file. A reviewer reads it as the difference of that file; a fold takes the verdicts from it, since the row of a
case may be another one by then. Its name ends with the count of trials that it holds and a digest of what it says.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pytest_recall.cases.settings_fields import Quarantine
from pytest_recall.files import strict_yaml
from pytest_recall.files.coerce import typed
from pytest_recall.files.disk import create_text, read_text
from pytest_recall.files.errors import RecallError
from pytest_recall.schedule.events import Apart, Event, Events, fold_events
from pytest_recall.schedule.state_file import flow, row_fields, row_of
from pytest_recall.schedule.state_head import RESTORE, count_of, date_of, quoted
from pytest_recall.trials.trial import Outcome, Row

SUFFIX = ".yaml"
VERSION = 1
_HEADER = """\
# What one run on a branch found: rows of recall.yaml before and after it. Commit it with the branch, do not edit it;
# the next run on the default branch folds its verdicts into recall.yaml, and a later one deletes it.
"""
_NAME = re.compile(r"(?P<stem>.+)-(?P<trials>[0-9]+)-(?P<digest>[0-9a-f]{6})", re.DOTALL)
_HEAD = ("run", "who", "commit", "trials", "model", "reset", "change", "affected", "unanswered", "waived")
_OF_VERDICT = (
    *("note", "reason", "pr", "model", "under", "cleared", "accepted", "lapses"),
    *("weighed", "needed", "unconfirmed", "run"),
)
_COMMIT_DIGITS = 7
_REMEDY = f"{RESTORE}, or delete it to forget the run"
_ROWS = frozenset({"before", "after"})
NO_ROWS: Mapping[str, Row] = MappingProxyType({})


def run_files(folder: Path) -> dict[str, Path]:
    """Return the run files in `folder` by name, which is without its ending, sorted by day. Raises RecallError."""
    try:
        found = [path for path in folder.iterdir() if path.suffix == SUFFIX and not path.name.startswith(".")]
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise RecallError(f"{folder}: cannot be read ({error.strerror}); check that it is a readable folder") from None
    return {path.stem: path for path in sorted(found)}


def read_run_file(path: Path, name: str) -> Events:
    """Return what a run file holds. Raises RecallError, in one sentence, for one that is damaged."""
    return parse_run_file(read_text(path, name, remedy=_REMEDY), name)


def parse_run_file(text: str, name: str) -> Events:
    """Return what the run file `name` holds, whose text is `text`. Raises RecallError."""
    if (line := strict_yaml.conflict_line(text)) is not None:
        raise _damaged(name, line, "merge-conflict marker")
    plain = strict_yaml.load(text, name, remedy=_REMEDY)
    if not isinstance(plain, dict) or plain.get("version") is None:
        raise _damaged(name, 1, "`version` is missing")
    if plain["version"] != VERSION:
        raise RecallError(f"{name}:1: version {plain['version']!r} is not known to this pytest-recall; upgrade it")
    where: tuple[str, ...] = ()
    try:
        head = typed(Events, {key: plain[key] for key in _HEAD if plain.get(key) is not None})
        quarantine = plain.get("quarantine")
        events = Events(
            **head,
            behind=_requests(plain.get("behind") or {}),
            date=date_of(plain["date"], "date"),
            quarantine=None
            if quarantine is None
            else Quarantine(count_of(quarantine["lapses"], "lapses"), str(quarantine["owner"])),
        )
        verdicts: list[Event] = []
        apart: list[Apart] = []
        for case_id, fields in (plain.get("cases") or {}).items():
            where = ("cases", case_id)
            for key in _ROWS & fields.keys():
                row_of(fields[key])  # It is for people, and has to be a row all the same.
            if "verdict" in fields:
                verdicts.append(_event(case_id, fields["verdict"]))
            if "quarantine" in fields:
                apart.append(_apart(case_id, fields["quarantine"]))
        events = events._replace(verdicts=tuple(verdicts), apart=tuple(apart))
        where = ()
        # Last, since what is wrong with a line says more. Whole lines that are gone are seen by this alone.
        if (named := _NAME.fullmatch(_stem(name))) and named["digest"] != _digest(events):
            raise ValueError(f"lines were lost or changed: its name has the digest {named['digest']} of other verdicts")
        return events
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        why = f"{error.args[0]} is missing" if isinstance(error, KeyError) else str(error)
        line = strict_yaml.lines(text, name).get(where, 1)
        raise _damaged(name, line, f"{where[1]}: {why}" if where else why) from None


def _damaged(name: str, line: int, why: str) -> RecallError:
    return RecallError(f"{name}:{line}: not what a run has written ({why}); {_REMEDY}")


def _stem(name: str) -> str:
    return Path(name.rpartition(":")[2]).stem


def _event(case_id: str, plain: Mapping[str, Any]) -> Event:
    outcome = Outcome(plain["outcome"])
    if not outcome.is_verdict:
        raise ValueError(f"{outcome.value} is no verdict")
    if not set(plain.get("weighed", "")) <= {"p", "f"}:
        raise ValueError(f"weighed: {plain['weighed']!r} are not trials, p or f")
    given = {key: plain[key] for key in _OF_VERDICT if key in plain}
    return Event(**typed(Event, {**given, "case_id": case_id}), outcome=outcome)


def _requests(plain: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    for case_id, request in plain.items():
        if not isinstance(request, str):
            raise TypeError(f"behind: {case_id}: {request!r} is no request")
    return tuple(plain.items())


def _apart(case_id: str, plain: Mapping[str, Any]) -> Apart:
    since, until = (None if plain.get(key) is None else date_of(plain[key], key) for key in ("since", "until"))
    return Apart(case_id, since, until, None if plain.get("owner") is None else str(plain["owner"]))


def write_run_file(folder: Path, events: Events, before: Mapping[str, Row]) -> Path:
    """Write a new run file beside rows that were `before` it, and return its path; one that is there stays as it is.

    Raises OSError.
    """
    path = folder / f"{name_of(events)}{SUFFIX}"
    create_text(path, run_file_text(events, before))
    return path


def name_of(events: Events) -> str:
    """Return the name under which a state knows these events: of the file that holds them, without its ending."""
    return f"{stem_of(events)}-{events.trials}-{_digest(events)}"


def stem_of(events: Events) -> str:
    """Return how the names of all files of a run begin: with its day, so that they sort by it."""
    # Two jobs may begin a run in the same second.
    parts = filter(None, (events.date.isoformat(), events.who, events.run, events.commit[:_COMMIT_DIGITS]))
    return "-".join(re.sub(r"[^A-Za-z0-9_.+]+", "-", part)[:60] for part in parts)


def trials_known(events: Events, names: Iterable[str]) -> int | None:
    """Return how many trials of the run of `events` are in what has these `names`; None for a run that is new."""
    return _trials(names).get(stem_of(events))


def not_held(names: Iterable[str], folded: Iterable[str]) -> list[str]:
    """Return those of the `names` that a state with these `folded` names does not hold.

    It holds a part of a run as well if it holds more trials of that: a run that was resumed elsewhere is folded whole.
    """
    held = set(folded)
    most = _trials(held)
    return [name for name in names if name not in held and not _is_covered(name, most, more=1)]


def runs_not_held(names: Iterable[str], folded: Iterable[str]) -> list[str]:
    """Return those of the `names` of whose run a state with these `folded` names does not hold as many trials."""
    most = _trials(folded)
    return [name for name in names if not _is_covered(name, most, more=0)]


def _trials(names: Iterable[str]) -> dict[str, int]:
    """Return how many trials of each run are in what has these names, by the stem of the run."""
    most: dict[str, int] = {}
    for named in filter(None, map(_NAME.fullmatch, names)):
        most[named["stem"]] = max(int(named["trials"]), most.get(named["stem"], 0))
    return most


def _is_covered(name: str, most: Mapping[str, int], *, more: int) -> bool:
    named = _NAME.fullmatch(name)
    return named is not None and most.get(named["stem"], -1) >= int(named["trials"]) + more


def _digest(events: Events) -> str:
    return hashlib.sha256(run_file_text(events, None).encode("utf-8", "surrogatepass")).hexdigest()[:6]


def run_file_text(events: Events, before: Mapping[str, Row] | None = NO_ROWS) -> str:
    """Return the text of a run file over the rows `before` it; without rows, only what a fold takes from it."""
    rows = {} if before is None else before
    after = {} if before is None else {**before, **fold_events(before, {"": events})}
    head = {
        "version": VERSION,
        "run": events.run,
        "date": events.date,
        "who": events.who,
        "commit": events.commit or None,
        "trials": events.trials,
        "model": events.model,
        "reset": events.reset or None,
        "quarantine": events.quarantine and {"lapses": events.quarantine.after, "owner": events.quarantine.owner},
        "change": events.change or None,
        "affected": list(events.affected) or None,
        "unanswered": list(events.unanswered) or None,
        "waived": events.waived or None,
        "behind": dict(events.behind) or None,
    }
    lines = [f"{key}: {flow(value)}\n" for key, value in head.items() if value is not None]
    verdicts = {event.case_id: event for event in events.verdicts}
    apart = {one.case_id: one for one in events.apart}
    moved = {case_id for case_id, row in after.items() if rows.get(case_id) != row}
    lines.append("cases:\n")
    for case_id in sorted(verdicts.keys() | apart.keys() | moved):
        lines.append(f"  {quoted(case_id)}:\n")
        for key, known in (("before", rows), ("after", after)):
            if case_id in known:
                lines.append(f"    {key}: {row_fields(known[case_id])}\n")
        if (event := verdicts.get(case_id)) is not None:
            lines.append(f"    verdict: {flow(_plain(event))}\n")
        if (one := apart.get(case_id)) is not None:
            days = {"since": one.since, "until": one.until, "owner": one.owner}
            lines.append(f"    quarantine: {flow(days)}\n")
    return _HEADER + "".join(lines)


def _plain(event: Event) -> dict[str, Any]:
    told = {key: value for key in _OF_VERDICT if (value := getattr(event, key)) not in (None, "", (), 0)}
    if event.lapses is not None:
        told["lapses"] = event.lapses
    return {"outcome": event.outcome.value, **told}
