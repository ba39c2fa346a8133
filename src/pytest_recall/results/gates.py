"""Compute how the gates of a run stand and how far they may be raised, and edit their lines in the rubric."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from pytest_recall.cases.gate import Gate
from pytest_recall.cases.settings import Settings
from pytest_recall.cases.settings_file import gates_in
from pytest_recall.files import strict_yaml
from pytest_recall.files.disk import read_text, write_text
from pytest_recall.files.errors import RecallError, nearest
from pytest_recall.files.eval_directory import Place
from pytest_recall.files.git import Repository
from pytest_recall.results.standing import Standing, loosened, standings
from pytest_recall.schedule.boxes import fold
from pytest_recall.trials.record import Record
from pytest_recall.trials.series import graded
from pytest_recall.trials.trial import Row


def write_gates(path: Path, name: str, gates: Iterable[Gate], *, write: bool) -> None:
    """Put `gates` into the rubric in `path`: each in the place of the one that is about the same, else as the last.

    Of a gate that is there only its rate, `since` and `pr` change. Raises RecallError, with a sentence for each gate
    for which the form of the file leaves no place, and has then changed nothing; or OSError.
    """
    read_text(path, name)  # With its sentences about what cannot be read.
    text = path.read_bytes().decode("utf-8")  # As it is: anyone who ends lines in another way keeps them.
    refused = []
    for gate in gates:
        after = _with_gate(text, name, gate)
        if after is None:
            line = strict_yaml.flow(_fields(gate))
            refused.append(f"{name}: its form leaves no place for the gate `{gate.name}`; write `- {line}` yourself")
        else:
            text = after
    if refused:
        raise RecallError(*refused)
    if write:
        write_text(path, text)


def _with_gate(text: str, name: str, gate: Gate) -> str | None:
    """Return the text with the gate in it, or None if nothing but the gate can be told to have changed."""
    before = _loaded(text, name)
    gates = [Gate.model_validate(one) for one in before.get("gates") or ()]
    index = next((number for number, one in enumerate(gates) if one.about == gate.about), None)
    try:
        root: Any = yaml.compose(text, Loader=yaml.SafeLoader)
        if index is None:
            after = _added(text, root, gate)
            gates.append(gate)
        else:
            after = _changed(text, _value(root, "gates").value[index], gate)
            gates[index] = gate
        now = _loaded(after, name)
        # All else is as it was, to anyone who reads it; what is between the values is not touched in the first place.
        fits = {**now, "gates": ()} == {**before, "gates": ()}
        fits = fits and [Gate.model_validate(one) for one in now["gates"]] == gates
    except (RecallError, yaml.YAMLError, LookupError, AttributeError, TypeError, ValueError, StopIteration):
        return None
    return after if fits else None


def _loaded(text: str, name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = strict_yaml.load(text.removeprefix("\ufeff").replace("\r\n", "\n"), name)
    return loaded


def _fields(gate: Gate) -> dict[str, Any]:
    plain = gate.model_dump(exclude_defaults=True)
    if str(plain.get("pr", "")).isdecimal() and str(int(plain["pr"])) == plain["pr"]:
        plain["pr"] = int(plain["pr"])
    return plain


def _value(mapping: yaml.MappingNode, key: str) -> Any:
    return next(value for name, value in mapping.value if name.value == key)


def _changed(text: str, node: yaml.MappingNode, gate: Gate) -> str:
    """Return the text with the rate of the gate, `since` and `pr`; those that are not there yet follow the rate."""
    pairs = {key.value: (key, value) for key, value in node.value}
    fields = _fields(gate)
    news = {name: fields.get(name) for name in ("at_least", "since", "pr") if name in fields or name in pairs}
    edits: list[tuple[int, int, str]] = []
    anchor = pairs["at_least"]
    for name, given in news.items():
        if name in pairs:
            anchor = pairs[name]
            start, end = anchor[1].start_mark.index, anchor[1].end_mark.index
            written = _written(given, anchor[1].style)
            edits.append((start, end, written if start < end else f" {written}"))
            continue
        key, value = anchor
        if node.flow_style:
            quote = '"' if key.style == '"' else ""
            edits.append((*(value.end_mark.index,) * 2, f", {quote}{name}{quote}: {_written(given, key.style)}"))
        else:
            end, ending = _line_end(text, value.end_mark.index)
            edits.append((end, end, f"{ending}{' ' * key.start_mark.column}{name}: {_written(given, None)}"))
    # From the end, so that places before stay where they are; what follows one and the same place keeps its order.
    for _, (start, end, written) in sorted(enumerate(edits), key=lambda one: (one[1][0], one[0]), reverse=True):
        text = text[:start] + written + text[end:]
    return text


def _added(text: str, root: yaml.MappingNode, gate: Gate) -> str:
    """Return the text with another gate, as the last one is written."""
    fields = _fields(gate)
    flow = "{" + ", ".join(f"{key}: {_written(value, None)}" for key, value in fields.items()) + "}"
    if all(key.value != "gates" for key, _ in root.value):
        end, ending = _line_end(text, len(text.rstrip("\r\n")))
        lines = ["gates:", *_block(fields, "  ")]
        return text[:end] + ending + ending.join(lines) + (text[end:] or ending)
    gates = _value(root, "gates")
    if not gates.value:
        place = gates.end_mark.index - 1
        return text[:place] + flow + text[place:]
    last = gates.value[-1]
    if gates.flow_style:
        place = last.end_mark.index
        return f"{text[:place]}, {flow}{text[place:]}"
    end, ending = _line_end(text, _last_index(last))
    indent = " " * gates.start_mark.column
    lines = [f"{indent}- {flow}"] if last.flow_style else _block(fields, indent)
    return text[:end] + ending + ending.join(lines) + text[end:]


def _block(fields: Mapping[str, Any], indent: str) -> list[str]:
    lines = [f"{key}: {_written(value, None)}" for key, value in fields.items()]
    return [f"{indent}{'  ' if number else '- '}{line}" for number, line in enumerate(lines)]


def _last_index(node: Any) -> int:
    """Return where the text of a node ends; block collections name the next thing, after blanks and comments."""
    if isinstance(node, yaml.ScalarNode) or node.flow_style:
        return int(node.end_mark.index)
    return _last_index(node.value[-1][1] if isinstance(node, yaml.MappingNode) else node.value[-1])


def _line_end(text: str, place: int) -> tuple[int, str]:
    """Return where the line of `place` ends, without its end, and how lines end there."""
    end = text.find("\n", place)
    if end < 0:
        return len(text), "\r\n" if "\r\n" in text else "\n"
    return (end - 1, "\r\n") if text[end - 1] == "\r" else (end, "\n")


def _written(value: Any, style: str | None) -> str:
    """Return a value as it is written, in the quotes that stand there already."""
    if value is None or isinstance(value, float):
        return json.dumps(value)
    if style == "'":
        return "'" + str(value).replace("'", "''") + "'"
    if style == '"':
        return strict_yaml.flow(str(value))
    plain = isinstance(value, int) or (strict_yaml.scalar(value) == value and _is_plain(value))
    return str(value) if plain else strict_yaml.flow(value)


def _is_plain(text: str) -> bool:
    return text.replace("-", "").replace("_", "").isalnum() and text.isascii() and text[0] != "-"


RUNS = 10
"""How many of the last runs have to have held, by default."""


class PastGate(NamedTuple):
    """How a gate stood after a past run, by the run's name. `asked` are its cases with a live verdict in that run."""

    run: str
    standing: Standing
    asked: frozenset[str]


class GateStep(NamedTuple):
    """What is to become of a gate: `to` is its new rate, 0..1, or None where it stays, and `why` says so in words.

    `runs` counts the runs looked at that asked for it again, and `asked` the cases that these asked; `lowest` is
    where it stood lowest, and last so: in one of them, or now (then its run is empty). It is None where nothing is
    known.
    """

    gate: Gate
    to: float | None
    why: str
    runs: int
    asked: int
    lowest: PastGate | None


def step(gate: Gate, seen: Sequence[PastGate], now: Standing, runs: int = RUNS) -> GateStep:
    """Return what is to become of `gate`: raised to the lowest rate of its last `runs` runs and of `now`, or left.

    `seen` are past runs, the oldest first. A run with too few verdicts says nothing. One without a live verdict on
    a case of the gate repeats what an earlier one has found: it does not show that the rate has held, but where
    it stood lower, it did not. The rate is rounded down to whole percent. No gate is ever lowered.
    """
    window, count = _last(seen, runs)
    asked = len(frozenset[str]().union(*(one.asked for one in window)))
    known = [one for one in (*window, PastGate("", now, frozenset())) if one.standing.status != "too few verdicts"]
    lowest = min(known, key=lambda one: one.standing.rate or 0.0, default=None)
    needed = min(gate.verdicts, now.cases)

    def stays(why: str) -> GateStep:
        return GateStep(gate, None, why, count, asked, lowest)

    if gate.at_least >= 1.0:
        return stays("there is nothing above it")
    if not now.cases:
        return stays("no case counts for it")
    if now.status == "too few verdicts":
        return stays(f"too few verdicts now: {now.verdicts} of {now.cases} cases have one, {needed} are needed")
    if count < runs:
        return stays(f"too few runs: {count} have asked its cases, {runs} are needed")
    if asked < needed:
        return stays(f"too few cases: these runs have asked {asked} of them, {needed} are needed")
    assert lowest is not None, "now is known"
    if (lowest.standing.rate or 0.0) < gate.at_least:
        return stays("it has not held")
    # In whole numbers: 100 * 0.29 is less than 29.
    to = 100 * lowest.standing.passed // lowest.standing.verdicts / 100
    return (
        GateStep(gate, to, "", count, asked, lowest)
        if to > gate.at_least
        else stays("it has held no higher, in whole percent")
    )


def _last(seen: Sequence[PastGate], runs: int) -> tuple[list[PastGate], int]:
    """Return the end of `seen` that has `runs` runs with a live verdict, or as many as there are, and their count."""
    window: list[PastGate] = []
    count = 0
    for one in reversed(seen):
        if count == runs:
            break
        if one.standing.status != "too few verdicts" and one.standing.fresh:
            window.append(one)
            count += bool(one.asked)
    return window, count


def rows_of_runs(records: Iterable[Record], now: Mapping[str, Row]) -> Iterator[tuple[Record, dict[str, Row]]]:
    """Yield runs in the order of their days, each with the rows that it started from, as far as they are known.

    A row is known from an earlier run on record; or from a later one or the state `now`, if its last verdict is of
    a day before. The latest of them is taken. Who is in quarantine now is so throughout, and no one else.
    """
    runs = sorted(records, key=lambda record: record.header.date)
    told: dict[str, list[Row]] = {case_id: [row] for case_id, row in now.items()}
    for record in runs:
        for trial in record.trials:
            if trial.row is not None and not trial.arm:
                told.setdefault(trial.case_id, []).append(trial.row)
    found: dict[str, Row] = {}
    for record in runs:
        day = date.fromisoformat(record.header.date)
        before: dict[str, Row] = {
            case_id: row for case_id, rows in told.items() if (row := _latest(rows, day)) is not None
        }
        for case_id, row in found.items():
            if case_id not in before or row.last_tested >= before[case_id].last_tested:
                before[case_id] = row
        # Where the run itself says what it started from, nothing else can know better.
        own = {case_id: trial.row for case_id, trial in graded(record.trials).items()}
        before = {case_id: row for case_id, row in {**before, **own}.items() if row is not None}
        apart = {case_id: now[case_id].quarantined if case_id in now else None for case_id in before}
        before = {case_id: row._replace(quarantined=apart[case_id]) for case_id, row in before.items()}
        yield record, before
        if record.header.writes:
            found |= fold(before, record.trials, day)


def _latest(rows: Iterable[Row], day: date) -> Row | None:
    return max((row for row in rows if row.last_tested < day), key=lambda row: row.last_tested, default=None)


def gates_of(
    record: Record, rubric: Settings, cases: Mapping[str, tuple[str, str]], rows: Mapping[str, Row]
) -> tuple[Standing, ...]:
    """Return how the rubric's gates stand after a run over a schedule; none after one whose cases someone chose.

    `cases` are all cases by id, with scenario and dimension; those that the run has found beside them count as well.
    """
    if not rubric.gates or not record.header.scheduled:
        return ()
    trials = graded(record.trials)
    own = {case_id: (trial.scenario, trial.dimension) for case_id, trial in trials.items() if trial.scenario}
    return standings(rubric.gates, {**cases, **own}, rows, trials)


def loosened_gates(place: Place, gates: tuple[Gate, ...], base: str) -> tuple[str, ...]:
    """Return which gates ask for less than at the commit `base`; none where there is none, or git does not have it."""
    if not base:
        return ()
    try:
        before = Repository(place.root).text_beside(base, place.rubric)
    except RecallError:
        return ()
    return () if before is None else tuple(loosened(gates_in(before), gates))


KINDS = ("scenario", "dimension")
ALL = "all"


def steps(
    rubric: Settings,
    added: Iterable[Gate],
    records: Iterable[Record],
    cases: Mapping[str, tuple[str, str]],
    rows: Mapping[str, Row],
    runs: int,
) -> list[GateStep]:
    """Return what is to become of each gate of the rubric and of those to be `added`, which ask for nothing yet.

    `cases` are all cases by id, with scenario and dimension; `rows` is the state; `records` are the runs on record,
    of which those count that the schedule chose and that came to their end.
    """
    gates = (*rubric.gates, *added)
    asked_for = rubric.model_copy(update={"gates": gates})
    seen: list[list[PastGate]] = [[] for _ in gates]
    for record, before in rows_of_runs(records, rows):
        if record.exit_code is None:
            continue
        live = {
            case_id: (trial.scenario, trial.dimension)
            for case_id, trial in graded(record.trials).items()
            if trial.outcome.is_verdict
            and trial.counts_for_schedule
            and not (case_id in before and before[case_id].quarantined is not None)
        }
        for found, standing in zip(seen, gates_of(record, asked_for, cases, before), strict=False):
            asked = frozenset(one for one in live if standing.gate.covers(*cases.get(one, live[one])))
            found.append(PastGate(record.header.run, standing, asked))
    now = standings(gates, cases, rows, {})
    return [step(gate, found, stands, runs) for gate, found, stands in zip(gates, seen, now, strict=True)]


def gate_to_add(given: str, cases: Mapping[str, tuple[str, str]], gates: Iterable[Gate]) -> Gate:
    """Return the gate that `--add` names, which asks for nothing yet: `scenario:NAME`, `dimension:NAME` or `all`.

    Raises RecallError for what no case is about, or what has a gate already.
    """
    kind, _, name = given.partition(":")
    if given != ALL and kind not in KINDS:
        raise RecallError(
            f"--add: {given!r} is not a part of the cases; write `scenario:NAME`, `dimension:NAME` or `all`"
        )
    if given != ALL:
        known = {names[KINDS.index(kind)] for names in cases.values()}
        if name not in known:
            raise RecallError(f"--add: the {kind} {name!r} is in no case{nearest(name, known)}")
    fields = {} if given == ALL else {kind: name}
    gate = Gate.model_validate({**fields, "at_least": 0.0})
    if any(gate.about == one.about for one in gates):
        raise RecallError(f"--add: there is a gate for {gate.name} already; leave out --add, and it is raised")
    return gate
