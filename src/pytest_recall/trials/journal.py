"""The append-only journal `trials.jsonl` of a run, and tables of verdicts from elsewhere.

The first line is the header, each further one a trial, the last one the end mark. A line
is flushed as it is written, so that a process killed at any byte loses only the trial
that it was writing. A run that goes on writes a mark of that, and then further lines. A waiver and
the commit that the run was pushed with stand after the end mark.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Iterable, Mapping
from datetime import date
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from pydantic_core import PydanticSerializationError, to_json

from pytest_recall.files import clock
from pytest_recall.files.coerce import typed
from pytest_recall.files.disk import check_link, check_pulled, naming, read_text, write_bytes
from pytest_recall.files.errors import RecallError
from pytest_recall.files.eval_directory import JOURNAL
from pytest_recall.files.json_lines import line_problem
from pytest_recall.files.sections import Section
from pytest_recall.replay.exchange import Call
from pytest_recall.trials.record import (
    NOTHING_LET_THROUGH,
    RECORDS_NOTHING,
    FailedItem,
    Header,
    LetThrough,
    LostShard,
    NotCompared,
    QuestionRecord,
    Record,
    RecordingFacts,
    ReplaySummary,
    RequestChange,
    SetApart,
    Told,
    Waiver,
)
from pytest_recall.trials.run_stop import RunStop
from pytest_recall.trials.series import parse_rule
from pytest_recall.trials.texts_file import NAME as TEXTS
from pytest_recall.trials.texts_file import TextsFile, read_texts, restored
from pytest_recall.trials.trial import Trial

try:
    import fcntl
except ImportError:  # Windows: nothing tells a run that goes on from one that was killed.
    fcntl = None  # type: ignore[assignment]

NAME = JOURNAL
GRADED = "grades.jsonl"
"""The grades that people give the verdicts of a journal, beside it."""
ABOUT_TRIALS = (GRADED, "scorecard.md", "scorecard.json")
VERSION = 2
_LONGEST_END = 65_536
"""Bytes from the end of a journal in which its last line is looked for, if that is an end mark."""
_AFTER_END = (b'{"kind":"end"', b'{"kind":"waiver"', b'{"kind":"pushed"')
"""How the last line of a run that has ended begins."""


class Journal:
    """A journal that is being written; a context manager that closes the file.

    Its process holds a lock on the file, where there are such, and the lock dies with it. With `texts` the texts of
    answers are in that file.
    """

    texts: TextsFile | None = None

    def __init__(self, folder: Path, header: Header) -> None:
        self.folder = folder
        self._file: IO[bytes] = (folder / NAME).open("xb")
        self._begun = clock.monotonic()
        _hold(self._file)
        self._write(_first(header))

    @classmethod
    def continued(cls, folder: Path) -> Journal:
        """Return the journal of a run that goes on, without a last line that was cut off, held by no one else.

        Raises RecallError if another process is writing it, or OSError.
        """
        check_link(folder, folder / NAME)
        journal = cls.__new__(cls)
        journal.folder = folder
        journal._begun = clock.monotonic()
        journal._file = (folder / NAME).open("r+b")
        if not _hold(journal._file):
            journal._file.close()
            raise RecallError(f"{folder.name}: still runs, or a process that it has begun does; let it end first")
        journal._file.truncate(journal._file.read().rfind(b"\n") + 1)
        journal._file.seek(0, 2)
        return journal

    def resume(
        self,
        started: str,
        budget: float | None,
        ledger: str,
        early: str,
        recording: RecordingFacts = RECORDS_NOTHING,
        *,
        checkout_changed: bool = False,
    ) -> None:
        """Write that the run goes on: its budget, the files beside the journal, how it records.

        Also whether the checkout has changed since it began. Raises OSError.
        """
        facts = {"budget": budget, "ledger": ledger, "early": early, **recording._asdict()}
        facts |= {"checkout_changed": True} if checkout_changed else {}
        self._write({"kind": "resume", "started": started, **facts})

    @property
    def seconds(self) -> float:
        """How long this process has been writing it."""
        return round(clock.monotonic() - self._begun, 3)

    @property
    def size(self) -> int:
        """How many bytes have been written, those that are still on their way to the file included."""
        return self._file.tell()

    def close(self) -> None:
        """Let go of the files; one that has no end mark is of a run that was cut off."""
        try:
            with naming(self.folder / NAME):
                self._file.close()
        finally:  # On a full disk closing the first one raises.
            if self.texts is not None:
                self.texts.close()

    def append(self, trial: Trial) -> None:
        """Write one trial through to the operating system. Raises OSError."""
        plain = trial.to_json()
        self._write({"kind": "trial", **(plain if self.texts is None else self.texts.kept(plain))})

    def asked(self, questions: Iterable[QuestionRecord], known: Container[str] = ()) -> None:
        """Write what is asked, but for the questions of which the ids are `known`. Raises OSError."""
        for one in questions:
            if one.id not in known:
                self._write({"kind": "question", **one.to_json()})

    def measured(self, measures: Mapping[str, str]) -> None:
        """Write what the measures of extensions are, a line each by name. Raises OSError."""
        self._write(_measures(measures))

    def added(self, sections: Iterable[Section]) -> None:
        """Write what extensions add to the scorecard. Raises OSError."""
        self._write(_sections(sections))

    def spent(self, calls: Iterable[Call]) -> None:
        """Write the calls that belong to no trial. Raises OSError."""
        self._write({"kind": "calls", "calls": [call.to_json() for call in calls]})

    def let_through(self, what: LetThrough) -> None:
        """Write what was called without that it is recorded or counted. Raises OSError."""
        self._write(_let_through(what))

    def told(self, told: Told) -> None:
        """Write what a memory was told. Raises OSError."""
        self._write({"kind": "told", **{name: one for name, one in told._asdict().items() if one is not None}})

    def amend(self, header: Header) -> None:
        """Write a header that takes the place of the first one's, known better by now. Raises OSError."""
        self._write({"kind": "amend", "version": VERSION, **header.to_json()})

    def waive(self, waiver: Waiver) -> None:
        """Write a waiver of the run, which has ended. Raises OSError."""
        self._write(_waived(waiver))

    def pushed(self, commit: str) -> None:
        """Write with which commit the run, which has ended, was pushed. Raises OSError."""
        self._write(_pushed(commit))

    def end(self, exit_code: int, stop: RunStop | None = None, also: Iterable[FailedItem] = ()) -> None:
        """Write the end mark, why some cases were not run if that is known, and what else failed. Raises OSError."""
        self._write(_last(exit_code, stop, self.seconds, also))
        self.close()

    def _write(self, record: dict[str, Any]) -> None:
        try:
            self._file.write(json_line(record) + b"\n")
            self._file.flush()
        except OSError as error:
            error.filename = error.filename or str(self.folder / NAME)
            raise

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class TrialLog:
    """The trials of a session, in `all` and in its journal: each is in both, and once, whenever Ctrl-C comes.

    One that was applied to the state alone would be asked again as the run is resumed. `news` are those that no line
    about the progress has counted yet.
    """

    def __init__(self, tell: Callable[[str], None]) -> None:
        self.all: list[Trial] = []
        self.news: list[Trial] = []
        self._tell = tell
        self._arrived: tuple[Trial, Journal | None, int] | None = None

    def take(self, trial: Trial, journal: Journal | None) -> None:
        """Take in a trial, and write it down."""
        self._arrived = trial, journal, 0 if journal is None else journal.size
        self.complete()

    def complete(self) -> None:
        """Do what an interrupt has left of taking in the last trial."""
        if self._arrived is None:
            return
        trial, journal, size = self._arrived
        if not self.all or self.all[-1] is not trial:
            self.news.append(trial)
            self.all.append(trial)
        if journal is not None and journal.size == size:
            try:
                journal.append(trial)
            except OSError as error:
                self._tell(f"{journal.folder}: {trial.case_id} was not written ({error.strerror})")
        self._arrived = None


def is_begun(folder: Path) -> bool:
    """Whether the folder has a journal with a whole line: one that was cut off before it says nothing."""
    path = folder / NAME
    try:
        with path.open("rb") as file:
            return file.readline().endswith(b"\n")
    except OSError:
        return False


def set_aside(folder: Path, beside: Iterable[str] = ()) -> Path:
    """Move the journal in `folder`, and what is `beside` it, into a folder of its own in it, and return that.

    Its grades and its scorecard are about its trials, and go with it. Nothing is lost. Raises RecallError if another
    process is writing it, or OSError.
    """
    Journal.continued(folder).close()
    number = 1 + sum(1 for _ in folder.glob("earlier-*"))
    while (there := folder / f"earlier-{number}").exists():
        number += 1
    there.mkdir()
    for name in (*beside, *ABOUT_TRIALS, TEXTS, NAME):  # What a journal names is there before it.
        if (folder / name).exists():
            (folder / name).rename(there / name)
    return there


def read_header(folder: Path) -> Header:
    """Return the header of the run in `folder`, as it was begun. Raises RecallError for a line that is none."""
    path = folder / NAME
    try:
        with path.open("rb") as file:
            line = file.readline()
        check_pulled(line, str(path))
        return _header(json.loads(line), path)
    except OSError as error:
        raise RecallError(f"{path}: cannot be read ({error.strerror}); check that it is readable") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise RecallError(
            f"{path}:1: not a journal line ({line_problem(error)}); restore the file or delete the run"
        ) from None


def read_journal(folder: Path) -> Record:
    """Return the journal of the run in `folder`.

    A last line that was cut off is left out. Raises RecallError for a line that no
    version has written, or a header of a later version.
    """
    path = folder / NAME
    *lines, _ = read_text(path, whole_lines=True).split("\n")
    if not lines:
        raise RecallError(
            f"{path}: no whole line; the run was cut off before its first case; delete its folder, or name another run"
        )
    header: Header | None = None
    first: dict[str, Any] = {}
    trials: list[Trial] = []
    calls: list[Call] = []
    let_through = NOTHING_LET_THROUGH
    exit_code: int | None = None
    stop: RunStop | None = None
    also: tuple[FailedItem, ...] = ()
    told: list[Told] = []
    questions: dict[str, QuestionRecord] = {}
    measures: dict[str, str] = {}
    sections: tuple[Section, ...] = ()
    texts = read_texts(folder)
    resumed: list[str] = []
    waiver: Waiver | None = None
    pushed = ""
    seconds: float | None = 0.0
    for number, line in enumerate(lines, start=1):
        try:
            record = json.loads(line)
            kind = record["kind"]
            if number == 1:
                header, first = _header(record, path), record
            elif kind == "trial":
                trial = Trial.from_json(restored(record, texts))
                if trial.rule:
                    parse_rule(trial.rule)
                trials.append(trial)
            elif kind == "calls":
                calls += map(Call.from_json, record["calls"])
            elif kind == "let_through":
                let_through = let_through.joined(LetThrough.from_json(record))
            elif kind == "told":
                told.append(Told(**typed(Told, record)))
            elif kind == "question":
                asked = QuestionRecord.from_json(record)
                questions[asked.id] = asked
            elif kind == "measures":
                measures |= {str(name): str(about) for name, about in record["about"].items()}
            elif kind == "sections":
                sections = tuple(map(Section.from_json, record["sections"]))
            elif kind == "amend":
                header = _header({**record, "kind": "run", "started": first["started"]}, path)
            elif kind == "resume":
                seconds = None if exit_code is None else seconds  # When a killed run ended is not known.
                exit_code, stop, waiver, pushed, sections = None, None, None, "", ()
                resumed.append(str(record["started"]))
                facts = {key: record[key] for key in ("budget", "ledger", "early")}
                facts |= {key: record[key] for key in (*RecordingFacts._fields, "checkout_changed") if key in record}
                header = header and header._replace(**typed(Header, facts))
            elif kind == "waiver":
                waiver = Waiver(**typed(Waiver, record))
            elif kind == "pushed":
                pushed = str(record["commit"])
            elif kind == "end":
                exit_code = int(record["exit_code"])
                stop = RunStop.from_json(record["stop"]) if "stop" in record else None
                also = tuple(FailedItem(**typed(FailedItem, one)) for one in record.get("also", ()))
                took = record.get("seconds")
                seconds = None if seconds is None or took is None else seconds + float(took)
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
            raise RecallError(
                f"{path}:{number}: not a journal line ({line_problem(error)}); restore the file or delete the run"
            ) from None
    assert header is not None
    took_all = None if exit_code is None else seconds
    every = Record(header, tuple(trials), exit_code, tuple(calls), stop, took_all, also)
    every = every._replace(told=tuple(told), resumed=tuple(resumed), asked=questions, let_through=let_through)
    return every._replace(waiver=waiver, pushed=pushed, measures=measures, sections=sections)


def is_cut_off(folder: Path) -> bool:
    """Whether the run in `folder` has no end mark, and no process that writes it; False where that cannot be told."""
    try:
        with (folder / NAME).open("rb") as file:
            file.seek(max(0, file.seek(0, 2) - _LONGEST_END))
            last = file.read().rstrip(b"\n").rpartition(b"\n")[2]
            return not last.startswith(_AFTER_END) and _hold(file)
    except OSError:
        return False


def write_journal(folder: Path, record: Record) -> None:
    """Replace the journal in `folder` by one that reads as `record`. Raises OSError."""
    records = [_first(record.header), *({"kind": "question", **one.to_json()} for one in record.asked.values())]
    if record.measures:
        records.append(_measures(record.measures))
    records += ({"kind": "trial", **trial.to_json()} for trial in record.trials)
    if record.calls:
        records.append({"kind": "calls", "calls": [call.to_json() for call in record.calls]})
    if any(record.let_through):
        records.append(_let_through(record.let_through))
    if record.sections:
        records.append(_sections(record.sections))
    if record.exit_code is not None:
        records.append(_last(record.exit_code, record.stop, record.seconds, record.also))
    if record.waiver is not None:
        records.append(_waived(record.waiver))
    if record.pushed:
        records.append(_pushed(record.pushed))
    write_bytes(folder / NAME, b"".join(json_line(one) + b"\n" for one in records), durable=True)


def _first(header: Header) -> dict[str, Any]:
    return {"kind": "run", "version": VERSION, **header.to_json()}


def _last(exit_code: int, stop: RunStop | None, seconds: float | None, also: Iterable[FailedItem]) -> dict[str, Any]:
    failed = [one._asdict() for one in also]
    known = {"stop": None if stop is None else stop.to_json(), "also": failed or None, "seconds": seconds}
    return {"kind": "end", "exit_code": exit_code, **{name: one for name, one in known.items() if one is not None}}


def _let_through(what: LetThrough) -> dict[str, Any]:
    return {"kind": "let_through", **what.to_json()}


def _measures(about: Mapping[str, str]) -> dict[str, Any]:
    return {"kind": "measures", "about": dict(about)}


def _sections(sections: Iterable[Section]) -> dict[str, Any]:
    return {"kind": "sections", "sections": [section.to_json() for section in sections]}


def _waived(waiver: Waiver) -> dict[str, Any]:
    return {"kind": "waiver", **waiver._asdict()}


def _pushed(commit: str) -> dict[str, Any]:
    return {"kind": "pushed", "commit": commit}


def _hold(file: IO[bytes]) -> bool:
    """Lock the file for this process, and return whether it has it now, or whether that is unknown."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # A file system without locks.
        return True
    return True


def json_line(record: dict[str, Any]) -> bytes:
    """Return a record as the journal has it, without the end of its line."""
    try:
        return to_json(record)
    except PydanticSerializationError:
        return json.dumps(record, separators=(",", ":")).encode()  # a lone surrogate has no UTF-8, but an escape


def _header(record: dict[str, Any], path: Path) -> Header:
    if record["kind"] != "run":
        raise RecallError(f"{path}:1: not a journal: the first line must describe the run")
    if record["version"] != VERSION:
        raise RecallError(
            f"{path}:1: a journal of version {record['version']}, and this pytest-recall reads version {VERSION};"
            " run the cases again, or use the release that wrote it"
        )
    header = Header(
        **typed(Header, record),
        picks=tuple(_pairs(record["picks"])),
        observed=tuple(_pairs(record.get("observed", ()))),
        slice=tuple(_pairs(record.get("slice", ()))),
        quarantined=tuple(SetApart(**typed(SetApart, one)) for one in record.get("quarantined", ())),
        settings=_mapping(record.get("settings", {})),
        lost=tuple(LostShard.from_json(one) for one in record.get("lost", ())),
        replayed=None if record.get("replayed") is None else ReplaySummary.from_json(record["replayed"]),
        moved=tuple(_pairs(record.get("moved", ()))),
        not_compared=None
        if record.get("not_compared") is None
        else NotCompared(**typed(NotCompared, record["not_compared"])),
        altered=tuple((str(old), str(now), tuple(map(str, parts))) for old, now, parts in record.get("altered", ())),
        request_changes=tuple(
            (str(case_id), RequestChange.from_json(one)) for case_id, one in record.get("request_changes", ())
        ),
        judge_code=tuple((str(case), str(name), str(path)) for case, name, path in record.get("judge_code", ())),
        as_base=tuple((str(case_id), tuple(map(str, keys))) for case_id, keys in record.get("as_base", ())),
        missing=tuple((str(case_id), str(old), str(now)) for case_id, old, now in record.get("missing", ())),
        unanswered=tuple(
            (str(case_id), str(day), int(days), str(by)) for case_id, day, days, by in record.get("unanswered", ())
        ),
    )
    date.fromisoformat(header.date)
    return header


def _mapping(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError(f"settings: {value!r} is not an object")
    return value


def _pairs(picks: Iterable[Any]) -> Iterable[tuple[str, str]]:
    for case_id, reason in picks:
        yield str(case_id), str(reason)
