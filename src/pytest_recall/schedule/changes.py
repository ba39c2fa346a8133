"""Tell which cases a change affects, from what a replay of each of them with its judges came to."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from enum import StrEnum
from math import inf
from typing import Any, NamedTuple

from pytest_recall.files.coerce import typed
from pytest_recall.files.errors import RecallError
from pytest_recall.files.wording import listed, one_line, plural
from pytest_recall.replay.tape import Mismatch
from pytest_recall.trials.conditions import RecordedAnswer, digest_of, kept_answer
from pytest_recall.trials.execution import Result
from pytest_recall.trials.trial import Answer, Outcome, Row, Trial

NAME = "changed.json"
"""The file of the newest run that says what a replay of all cases found."""
VERSION = 2
KEY = 12
"""Hex digits of the digest by which equal differences are known."""
MOST_LINES = 8
"""Lines of a difference that are kept."""


class ReplayState(StrEnum):
    """What the replay of a case came to.

    A case is *proven* if its agent and its judges asked what is recorded, and the answer and the outcome are those of
    the recording. It has *another answer* if only these differ. All others have to be asked again.
    """

    PROVEN = "proven"
    OTHER = "other answer"
    UNJUDGED = "other judging"
    CHANGED = "changed"
    NOT_RECORDED = "not recorded"
    UNKNOWN = "unknown"


TO_ASK = (ReplayState.CHANGED, ReplayState.NOT_RECORDED, ReplayState.UNKNOWN)
"""The states of which a replay says nothing about the agent as it is now."""
_ORDER = (
    ReplayState.UNKNOWN,
    ReplayState.CHANGED,
    ReplayState.NOT_RECORDED,
    ReplayState.UNJUDGED,
    ReplayState.OTHER,
    ReplayState.PROVEN,
)


class ReplayFinding(NamedTuple):
    """What the replay of one case came to.

    `why` says what is unknown. `call` is the recorded call, counted from 1, that `lines` differ from; equal
    differences of several cases have one `key`. `outcome` is that of the replay, and `before` the one on record, each
    empty where there is none. `note` is why it failed. `trial` is the replay's own, as plain JSON, where it came to
    something else than is on record. `passing` says what differs by itself in its requests, as its base does as well.
    `usd` is what the recorded calls of an affected case cost at list price, None where that is not known.
    """

    state: ReplayState
    why: str = ""
    call: int = 0
    lines: tuple[str, ...] = ()
    key: str = ""
    outcome: str = ""
    before: str = ""
    note: str = ""
    trial: Mapping[str, Any] | None = None
    passing: tuple[str, ...] = ()
    usd: float | None = None

    @property
    def breaks(self) -> bool:
        """Whether the case fails now on what it passed with, by the change alone."""
        failed = Outcome.FAILED.value
        return self.state is ReplayState.OTHER and self.outcome == failed and self.before != failed

    @property
    def reason(self) -> str:
        """What differs, in one line."""
        where = f"call {self.call}: " if self.call else ""
        if self.state in (ReplayState.CHANGED, ReplayState.UNJUDGED):
            more = f" and {len(self.lines) - 1} more" if len(self.lines) > 1 else ""
            told = f"{where}{self.lines[0]}{more}" if self.lines else "asks something else than is recorded"
            return f"judged otherwise: {told}" if self.state is ReplayState.UNJUDGED else told
        if self.state is ReplayState.OTHER:
            before = f", recorded as {self.before}" if self.before else ""
            return f"another answer or verdict from equal requests: {self.outcome}{before}"
        return self.why or str(self.state)

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON types; empty fields are left out."""
        free = {} if self.usd is None else {"usd": self.usd}  # What costs nothing has a price.
        return {name: value for name, value in self._asdict().items() if value not in ("", 0, (), None)} | free

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> ReplayFinding:
        """Return the finding that `to_json` gave. Raises KeyError, TypeError or ValueError for anything else."""
        trial = plain.get("trial")
        if trial is not None:
            Trial.from_json(trial)
        if not 0 <= (plain.get("usd") or 0) < inf:
            raise ValueError(f"usd: {plain['usd']!r} is not an amount")
        return cls(state=ReplayState(plain["state"]), trial=trial, **typed(cls, plain))


def finding(
    result: Result | None,
    outcome: Outcome,
    difference: Mismatch | None,
    recorded: RecordedAnswer | None,
    *,
    answer: Answer | None = None,
    row: Row | None = None,
    error: str = "",
    words: Iterable[str] = (),
) -> ReplayFinding:
    """Return what a replay came to that ended with `outcome`.

    `difference` is where it left its recording, of which `recorded` is None if there is none; `answer` is what the
    agent answered, as far as it came. Without an answer on record the outcome is held against the `row`. `words` are
    the case's own, by which equal differences of two cases may differ.
    """
    if difference is not None:
        if recorded is None:
            return ReplayFinding(ReplayState.NOT_RECORDED)
        judging = difference.kind == "judge" and answer is not None
        lines = tuple(one_line(line, 300) for line in difference.lines[:MOST_LINES])
        return ReplayFinding(
            ReplayState.UNJUDGED if judging else ReplayState.CHANGED,
            call=difference.call,
            lines=lines,
            key=_key(difference.lines, words),
        )
    if not outcome.is_verdict:
        return ReplayFinding(ReplayState.UNKNOWN, why=error)
    note = "" if result is None or outcome is Outcome.PASSED else one_line(result.note, 300)
    if recorded is not None and recorded.answer is not None and answer is not None:
        before: Outcome | None = Outcome.PASSED if recorded.passed else Outcome.FAILED
        same = before is outcome and (
            recorded.digest == digest_of(answer) if recorded.digest else recorded.answer == kept_answer(answer.text)
        )
    else:
        # A test gives no answer, and an agent that asks no model has no recording: it has really run.
        before = None if row is None else Outcome.FAILED if row.failing else Outcome.PASSED
        same = before is outcome or (before is None and outcome is Outcome.PASSED)
    told = "" if before is None else before.value
    if same:
        return ReplayFinding(ReplayState.PROVEN, outcome=outcome.value, before=told)
    return ReplayFinding(ReplayState.OTHER, outcome=outcome.value, before=told, note=note)


def of_series(findings: Iterable[ReplayFinding], trials: int) -> ReplayFinding:
    """Return what the replays of a case came to of which so many `trials` are recorded, or as many as were replayed.

    A case of several trials is asked again if one of them is not proven.
    """
    every = list(findings)
    worst = min(every, key=lambda one: _ORDER.index(one.state))
    if worst.state is ReplayState.PROVEN or trials == 1:
        return worst
    worst = worst._replace(usd=None if worst.usd is None else worst.usd * trials)
    if worst.state in (ReplayState.OTHER, ReplayState.UNJUDGED):
        # What one trial of several comes to decides nothing, and the others may come to something else as well.
        told = (f"one of its {trials} trials: {worst.state}",)
        return ReplayFinding(ReplayState.CHANGED, lines=told, key="series", usd=worst.usd)
    return worst


class Wanted(NamedTuple):
    """Which cases are to be replayed, and regular expressions of what differs by itself in the requests of each."""

    passing: Mapping[str, tuple[str, ...]] = {}

    def to_text(self) -> str:
        """Return the text of the file that `from_text` reads."""
        return json.dumps({case_id: list(patterns) for case_id, patterns in self.passing.items()}, ensure_ascii=False)

    @classmethod
    def from_text(cls, text: str, name: str) -> Wanted:
        """Return what is wanted by the file that messages call `name`. Raises RecallError."""
        try:
            plain = json.loads(text)
            for patterns in plain.values():
                if not isinstance(patterns, list):
                    raise TypeError
                for pattern in patterns:
                    re.compile(pattern)
            return cls({case_id: tuple(patterns) for case_id, patterns in plain.items()})
        except (ValueError, TypeError, AttributeError, RecursionError, re.error):
            raise RecallError(
                f"{name}: does not say which cases to replay; write a JSON object of their ids, each with a list of"
                " regular expressions of what differs by itself in its requests, which may be empty"
            ) from None


class Changes(NamedTuple):
    """What a replay found of each case, by id; `of` how many it was to look at."""

    found: Mapping[str, ReplayFinding] = {}
    of: int = 0

    def ids(self, *states: ReplayState) -> list[str]:
        """Return the cases in these states, sorted."""
        return sorted(case_id for case_id, one in self.found.items() if one.state in states)

    @property
    def affected(self) -> frozenset[str]:
        """The cases that have to be asked again."""
        return frozenset(self.ids(*TO_ASK))

    @property
    def rejudged(self) -> frozenset[str]:
        """The cases of which only the judging has to be done again, on the answer that the replay gave."""
        return frozenset(self.ids(ReplayState.UNJUDGED))

    @property
    def proven(self) -> int:
        """How many cases are as they were recorded."""
        return sum(one.state is ReplayState.PROVEN for one in self.found.values())

    @property
    def touched(self) -> tuple[str, ...]:
        """The cases of which the change altered a request, the judging or the answer; sorted."""
        return tuple(self.ids(ReplayState.CHANGED, ReplayState.UNJUDGED, ReplayState.OTHER))

    @property
    def broken(self) -> list[str]:
        """The cases that fail by the change alone, sorted."""
        return sorted(case_id for case_id, one in self.found.items() if one.breaks)

    def suspects(self, most: int = 40) -> dict[str, list[str]]:
        """Return two cases for each of `most` differences, by its key, and those that fail by the change alone.

        What two cases with the same difference do before the change says what all with it do.
        """
        groups: dict[str, list[str]] = {}
        for case_id in self.ids(ReplayState.CHANGED, ReplayState.UNJUDGED):
            groups.setdefault(self.found[case_id].key, []).append(case_id)
        groups |= {case_id: [case_id] for case_id in self.broken}
        largest = sorted(groups, key=lambda key: (-len(groups[key]), key))[:most]
        return {key: groups[key][:2] for key in largest}

    def with_key(self, key: str) -> list[str]:
        """Return the cases with this difference."""
        return sorted(case_id for case_id, one in self.found.items() if one.key == key and key)

    def after(self, again: Changes, passing: Mapping[str, tuple[str, ...]]) -> Changes:
        """Return the same with what was found `again` of cases in which `passing` lines differ by themselves."""
        news = {case_id: one._replace(passing=tuple(passing[case_id])) for case_id, one in again.found.items()}
        return self._replace(found={**self.found, **news})

    def against(self, before: Changes) -> Changes:
        """Return the same, in which no case fails by the change that fails in the same way `before` it."""
        known = {case_id for case_id in self.broken if case_id in before.found and before.found[case_id].breaks}
        failed = Outcome.FAILED.value
        return self._replace(found=self.found | {i: self.found[i]._replace(before=failed) for i in known})  # type: ignore[operator]

    def asking_all(self) -> Changes:
        """Return the same with what had only to be judged again to be asked again, so that all of it is recorded."""
        found = {
            case_id: one._replace(state=ReplayState.CHANGED) if one.state is ReplayState.UNJUDGED else one
            for case_id, one in self.found.items()
        }
        return self._replace(found=found)

    def only(self, case_ids: Container[str]) -> Changes:
        """Return what was found of some cases."""
        return self._replace(found={case_id: one for case_id, one in self.found.items() if case_id in case_ids})

    def joined(self, other: Changes) -> Changes:
        """Return both together, such as of two processes that replayed a part each."""
        return Changes({**self.found, **other.found}, self.of + other.of)

    @property
    def told(self) -> str:
        """The counts in one line."""
        counts = Counter(one.state for one in self.found.values())
        to_ask = sum(counts[state] for state in TO_ASK)
        parts = [f"{counts[state]} {word}" for state, word in _WORDS.items() if counts[state]]
        told = f"{to_ask} of {plural(len(self.found), 'case')} affected"
        if left := self.of - len(self.found):
            parts.append(f"{plural(left, 'case')} not replayed")
        return f"{told} ({', '.join(parts)})" if parts else told

    def lines(self) -> Iterator[str]:
        """Yield what was found, for a terminal: the cases by state, and what differs, equal differences once."""
        for state, said in _SAID.items():
            if ids := self.ids(state):
                yield f"{said} ({len(ids)}): {listed(ids)}"
        yield from self.details()

    def details(self) -> Iterator[str]:
        """Yield what differs, equal differences once, and which cases fail by the change alone."""
        passing: dict[tuple[str, ...], list[str]] = {}
        for case_id, one in sorted(self.found.items()):
            if one.passing:
                passing.setdefault(one.passing, []).append(case_id)
        for lines, ids in sorted(passing.items(), key=lambda item: (-len(item[1]), item[1]))[:_SHOWN]:
            yield f"  {plural(len(ids), 'case')}, such as {ids[0]}: by itself, as before the change: {lines[0]}"
        groups: dict[str, list[str]] = {}
        for case_id in self.ids(ReplayState.CHANGED, ReplayState.UNJUDGED):
            groups.setdefault(self.found[case_id].key or case_id, []).append(case_id)
        for ids in sorted(groups.values(), key=lambda ids: (-len(ids), ids))[:_SHOWN]:
            one = self.found[ids[0]]
            yield f"  {plural(len(ids), 'case')}, such as {ids[0]}: {one.reason}"
        if len(groups) > _SHOWN:
            yield f"  and {len(groups) - _SHOWN} other differences"
        for case_id in self.broken[:_SHOWN]:
            yield f"  FAILED {case_id}: {self.found[case_id].note or self.found[case_id].reason}"
        if len(self.broken) > _SHOWN:
            yield f"  and {len(self.broken) - _SHOWN} more that fail by the change alone"


_SHOWN = 5
_WORDS = {
    ReplayState.CHANGED: "ask something else",
    ReplayState.NOT_RECORDED: "not recorded",
    ReplayState.UNKNOWN: "did not end",
    ReplayState.UNJUDGED: "to be judged again",
    ReplayState.OTHER: "with another answer",
    ReplayState.PROVEN: "proven",
}
_SAID = {
    ReplayState.PROVEN: "proven, with equal requests, answer and verdict",
    ReplayState.CHANGED: "would ask something else than is recorded",
    ReplayState.NOT_RECORDED: "have no recording to compare with",
    ReplayState.UNJUDGED: "their judges would ask something else than is recorded",
    ReplayState.OTHER: "another answer or verdict from equal requests",
    ReplayState.UNKNOWN: "did not end: not known",
}


def to_text(changes: Changes, day: str, commit: str = "") -> str:
    """Return the text of the file that says what a replay found, on a `day` in ISO 8601."""
    plain = {
        "version": VERSION,
        "date": day,
        **({"commit": commit} if commit else {}),
        "cases": len(changes.found),
        "of": changes.of,
        "changed": changes.ids(ReplayState.CHANGED),
        "not_recorded": changes.ids(ReplayState.NOT_RECORDED),
        "unjudged": changes.ids(ReplayState.UNJUDGED),
        "other_answer": changes.ids(ReplayState.OTHER),
        "proven": changes.ids(ReplayState.PROVEN),
        "unknown": {case_id: changes.found[case_id].why for case_id in changes.ids(ReplayState.UNKNOWN)},
        "found": {case_id: one.to_json() for case_id, one in sorted(changes.found.items()) if _says_more(one)},
    }
    return json.dumps(plain, indent=2, ensure_ascii=False) + "\n"


def _says_more(one: ReplayFinding) -> bool:
    return one.state is not ReplayState.NOT_RECORDED


def from_text(text: str, name: str) -> Changes:
    """Return what `to_text` wrote into the file that messages call `name`. Raises RecallError for anything else."""
    try:
        plain = json.loads(text)
        if isinstance(said := plain.get("error"), str):
            raise RecallError(said)
        if plain["version"] != VERSION:
            raise RecallError(
                f"{name}: version {plain['version']!r} is not that of this pytest-recall; write it by `pytest -p recall"
                " --record=missing --recall-dry-run`"
            )
        found = {str(case_id): ReplayFinding.from_json(one) for case_id, one in plain["found"].items()}
        found |= {str(case_id): ReplayFinding(ReplayState.NOT_RECORDED) for case_id in plain["not_recorded"]}
        return Changes(found, int(plain["of"]))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise RecallError(
            f"{name}: does not say what a replay found; write it by `pytest -p recall --record=missing"
            " --recall-dry-run`"
        ) from None


_LINE = re.compile(r"(.*?): “(.*)” → “(.*)”", re.DOTALL)


def _key(lines: Iterable[str], words: Iterable[str]) -> str:
    """Return a digest of what differs: of each line the changed words alone, wherever in a list they stand."""
    text = "\n".join(map(_changed_words, lines))
    for word in sorted({word for word in words if word.strip()}, key=lambda word: (-len(word), word)):
        text = re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", "\0", text)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:KEY]


def _changed_words(line: str) -> str:
    match = _LINE.fullmatch(line)
    if match is None:
        return line
    path, before, after = re.sub(r"\[\d+\]", "[]", match[1]), match[2].split(), match[3].split()
    while before and after and before[0] == after[0]:
        del before[0], after[0]
    while before and after and before[-1] == after[-1]:
        del before[-1], after[-1]
    return f"{path}: {' '.join(before)} → {' '.join(after)}"
