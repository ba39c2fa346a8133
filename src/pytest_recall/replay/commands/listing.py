"""The commands `recall cassettes list` and `verify`, and the lookup of cassettes that other commands share."""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Collection, Container, Iterable, Mapping
from datetime import date
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pytest_recall.cases.case import ID_PATTERN, NAME_PATTERN
from pytest_recall.cases.case_file import CaseFile, check_unique
from pytest_recall.cases.settings_file import read_settings
from pytest_recall.cli.common import Commands, add_files, case_paths, command, context_of, place_of
from pytest_recall.files.errors import RecallError, nearest
from pytest_recall.files.eval_directory import CASSETTE_SUFFIX, Place
from pytest_recall.files.wording import listed, one_line, plural
from pytest_recall.replay.cassette_check import checked
from pytest_recall.replay.cassette_file import Cassette, read_draft, read_header
from pytest_recall.replay.cassette_library import DRAFTS, Layer, Library
from pytest_recall.replay.exchange import Exchange, Response
from pytest_recall.replay.matching import Rules
from pytest_recall.replay.run_recordings import cassettes_in, damaged, layers_from
from pytest_recall.replay.wire_formats import usage_of
from pytest_recall.runs.context import CommandLine
from pytest_recall.schedule.state import current

Standing = Literal["case", "moved", "row", "gone", "mark", "fixture", "damaged"]
"""What is known of whom a cassette belongs to:

`case` a case of the case files; `moved` one that is in another scenario now; `row` a row of the
state, so that it may be a marked test; `gone` none of these; `mark` a test that only pytest can
find, and so may `fixture` be; `damaged` cannot be read.
"""
_CASE_ID = re.compile(ID_PATTERN)
_SCENARIO = re.compile(NAME_PATTERN)


class ListedCassette(NamedTuple):
    """One cassette or draft as `recall cassettes list` shows it."""

    name: str
    what: str
    standing: Standing
    header: Mapping[str, Any]
    calls: int
    size: int
    since: date | None
    """The day of its oldest call."""
    models: tuple[str, ...]
    is_draft: bool = False
    problem: str = ""
    run_file: str = ""
    """The file of the run on a branch that it is in; empty for none."""
    counts: bool | None = None
    """Whether it is the one that counts of `several` recordings of the same; None where that is not known."""
    why: str = ""
    """Why it does not count, or why that is not known."""
    several: bool = False


def add_folder(parser: argparse.ArgumentParser) -> None:
    """Add the option for the folder of the cassettes."""
    parser.add_argument(
        "--cassettes", type=Path, metavar="DIR", help="the folder of the cassettes (default: eval/cassettes)"
    )


def library_of(place: Place, args: argparse.Namespace, *, makes: bool = False, but: Container[str] = ()) -> Library:
    """Return the cassettes that a command works on, but for those in files of runs with names in `but`.

    Raises RecallError if the folder was given and is not there, unless the command `makes` it.
    """
    folder = place.cassettes if args.cassettes is None else Path.cwd() / args.cassettes
    if args.cassettes is not None and not folder.is_dir() and not makes:
        raise RecallError(f"{place.name(folder)}: no such directory; give the one that was recorded into")
    layers = layers_from(place, folder, but) if args.cassettes is None else ()
    return Library(folder, layers or (Layer(folder, place.name(folder)),))


def find(library: Library, place: Place, given: str) -> Path:
    """Return the cassette that `given` names. Raises RecallError.

    A file is itself, and so is a cassette in a file of recordings by the name that messages call it. The id of a case,
    the name of a fixture, and a path in the folder of the cassettes, with or without its suffix, is the recording that
    counts of those that are there.
    """
    if (file := file_of_recordings(place, given)) is not None:
        raise RecallError(instead_of(library, place, file))
    file = Path.cwd() / given
    if file.is_file() and not _is_of_runs(place, file):
        return file
    for path in library.files():
        if library.name(path) == given:
            return path
    for name in (given, f"{given}{CASSETTE_SUFFIX}") if not Path(given).is_absolute() else ():
        if (path := library.source(library.folder / name)).is_file():
            return path
    if given.endswith(CASSETTE_SUFFIX):
        raise RecallError(f"{given}: no such file; `recall cassettes list` names those that are there")
    known = by_owner(library, place, given)
    found = known.get(given, [])
    if not found:
        raise RecallError(f"no cassette of {one_line(given)!r}{nearest(given, known)}")
    found = list(dict.fromkeys(library.latest(path) for path in found))
    if len(found) > 1:
        named = ", ".join(map(library.name, found))
        raise RecallError(f"{one_line(given)!r} has more than one cassette ({named}); give the path of one")
    return found[0]


def file_of_recordings(place: Place, given: str) -> Path | None:
    """Return the file of recordings of a run whose path is `given`; None if it is another one, or none is there."""
    file = Path.cwd() / given
    return file if file.is_file() and _is_of_runs(place, file) and file.suffix == CASSETTE_SUFFIX else None


def _is_of_runs(place: Place, file: Path) -> bool:
    return file.parent.resolve() == place.run_files.resolve()


def instead_of(library: Library, place: Place, file: Path) -> str:
    """Return what to give in place of a file of recordings. Raises RecallError for one that is damaged."""
    name = place.name(file)
    inside = [path for path, _ in cassettes_in(file, name)]
    given = f'give one of them, such as "{name}: {inside[0]}"' if inside else "delete it"
    if all(layer.name != name for layer in library.layers):
        given = f"leave out --cassettes, and {given}"
    return f"{name}: is a file of {plural(len(inside), 'recording')} ({listed(inside)}); {given}"


def by_owner(library: Library, place: Place, wanted: str) -> dict[str, list[Path]]:
    """Return the cassettes by the case or the fixture that they are of, without those that are damaged.

    Raises RecallError if the only one of the `wanted` case is.
    """
    known: dict[str, list[Path]] = {}
    damaged: RecallError | None = None
    for path in library.files():
        try:
            header = read_header(path, library.name(path))
        except RecallError as error:
            if path.stem == wanted:  # Files are called by the ids of their cases.
                damaged = error
            continue
        known.setdefault(str(header.get("case") or header.get("fixture")), []).append(path)
    if damaged is not None and wanted not in known:
        raise damaged
    return known


def scenarios_of(place: Place, args: argparse.Namespace) -> dict[str, str]:
    """Return the scenario of each case in the case files, read to their ends. Raises RecallError."""
    files = [CaseFile(path, place.name(path)) for path in case_paths(place, args)]
    check_unique(files)
    return {case.id: case.scenario for file in files for case in file.cases()}


def standing(header: Mapping[str, Any], scenarios: Mapping[str, str], rows: Collection[str]) -> Standing:
    """Return what is known of the one whose cassette has this header."""
    case_id, scenario = header.get("case"), header.get("scenario")
    if not isinstance(case_id, str):
        return "fixture"
    if case_id in scenarios:
        return "case" if scenarios[case_id] == scenario else "moved"
    if case_id in rows:
        return "row"
    # A case file gives each case a scenario that begins with a letter, as that of a calibration does not, and an
    # id without brackets; the parameters of a marked test have them.
    return "gone" if _SCENARIO.match(str(scenario or "")) and _CASE_ID.match(case_id) else "mark"


def titled(header: Mapping[str, Any]) -> str:
    """Return whose cassette has this header, in one line."""
    if isinstance(header.get("case"), str):
        trial = f" (baseline {one_line(str(header['baseline']), 60)})" if "baseline" in header else ""
        trial += f" (trial {header['repeat']})" if "repeat" in header else ""
        return (
            one_line("/".join(part for part in (str(header.get("scenario", "")), header["case"]) if part), 80) + trial
        )
    if isinstance(header.get("fixture"), str):
        return one_line(f"{header['fixture']} ({header.get('scope')} fixture)", 80)
    return "?"


def model_of(exchange: Exchange) -> str | None:
    """Return the model of a call, in one line; None if neither side names one."""
    model, _ = usage_of(exchange.request, exchange.response or Response(0))
    return None if model is None else one_line(model, 60)


def entries(
    library: Library, place: Place, rules: Rules, scenarios: Mapping[str, str], rows: Collection[str]
) -> list[ListedCassette]:
    """Return all cassettes and drafts, those of one name together; damaged ones as far as they can be read."""
    found = []
    finished = library.files()
    copies = Counter(library.inside(path) for path in finished)
    for path in [*finished, *library.drafts()]:
        is_draft = path.parent.name == DRAFTS
        name = library.name(path)
        header: Mapping[str, Any] = {}
        exchanges: list[Exchange] = []
        problem = ""
        try:
            if is_draft:
                header, exchanges = read_draft(path, name)
            else:
                cassette = Cassette(path, name, rules)
                header, exchanges = cassette.header, list(cassette.exchanges())
        except RecallError as error:
            problem = str(error)
        counts, why = (None, "") if is_draft or problem else _counts(library, path)
        models = {model for exchange in exchanges if (model := model_of(exchange))}
        found.append(
            ListedCassette(
                name=name,
                what=name if problem else titled(header),
                standing="damaged" if problem else standing(header, scenarios, rows),
                header=header,
                calls=len(exchanges),
                size=path.stat().st_size if path.is_file() else 0,
                since=since(header, exchanges),
                models=tuple(sorted(models)),
                is_draft=is_draft,
                problem=problem,
                run_file="" if library.is_own(path) else library.layer(path).name,
                counts=counts,
                why=why,
                several=not is_draft and copies[library.inside(path)] > 1,
            )
        )
    return sorted(found, key=lambda entry: (entry.what, entry.is_draft, entry.name))


def _counts(library: Library, path: Path) -> tuple[bool | None, str]:
    """Return whether a cassette is the one that counts, and why not; None where another one of the same is damaged."""
    try:
        why = library.passed_over(path)
    except RecallError as error:
        return None, str(error)
    return not why, why


def since(header: Mapping[str, Any], exchanges: Iterable[Exchange]) -> date | None:
    """Return the day of the oldest call: recording what was missing keeps older calls beside the header's day."""
    days = []
    for at in [header.get("recorded_at"), *(exchange.at for exchange in exchanges)]:
        try:
            days.append(date.fromisoformat(str(at)[:10]))
        except ValueError:
            continue
    return min(days, default=None)


def size(count: int) -> str:
    """Return a number of bytes as people read it."""
    if count < 1024:
        return f"{count} B"
    return f"{count / 1024:.1f} KB" if count < 1024**2 else f"{count / 1024**2:.1f} MB"


def table(found: Iterable[ListedCassette], scenarios: Mapping[str, str], today: date) -> list[str]:
    """Return a line for each entry, and the totals."""
    every = list(found)
    rows = [
        (
            entry.what,
            "" if entry.problem else plural(entry.calls, "call"),
            size(entry.size),
            _recorded(entry, today),
            ", ".join(entry.models),
            _note(entry, scenarios),
        )
        for entry in every
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(5)] if rows else []
    lines = []
    for what, calls, bytes_, *rest in rows:
        cells = [what.ljust(widths[0]), calls.rjust(widths[1]), bytes_.rjust(widths[2])]
        cells += [cell.ljust(width) for cell, width in zip(rest, [*widths[3:], 0], strict=True)]
        lines.append(f"  {'  '.join(cells)}".rstrip())
    return [*lines, total(every)]


def total(found: Iterable[ListedCassette]) -> str:
    """Return how much there is, and how much of it is in the way."""
    every = list(found)
    whole = [entry for entry in every if not entry.is_draft]
    orphans = sum(entry.standing in ("gone", "moved") for entry in whole)
    drafts = len(every) - len(whole)
    damaged = sum(entry.standing == "damaged" for entry in every)
    parts = [
        f"{plural(len(whole), 'cassette')}, {plural(sum(entry.calls for entry in whole), 'call')},"
        f" {size(sum(entry.size for entry in every))}"
    ]
    parts += [plural(orphans, "orphan")] if orphans else []
    parts += [plural(drafts, "unfinished draft")] if drafts else []
    parts += [f"{damaged} damaged"] if damaged else []
    return "; ".join(parts)


def _recorded(entry: ListedCassette, today: date) -> str:
    if entry.since is None:
        return ""
    return f"{entry.since}, {plural((today - entry.since).days, 'day')} old"


def _note(entry: ListedCassette, scenarios: Mapping[str, str]) -> str:
    notes = ["unfinished draft"] if entry.is_draft else []
    notes += [f"in {entry.run_file}"] if entry.run_file else []
    if entry.counts and entry.several:
        notes.append("counts")
    if entry.counts is False:
        notes.append(f"does not count: {entry.why}")
    if entry.counts is None and entry.why:
        notes.append(f"not known whether it counts: {entry.why}")
    if entry.standing == "damaged":
        notes.append("damaged; `recall cassettes verify` says where")
    if entry.standing == "gone":
        notes.append("orphan: no such case")
    if entry.standing == "moved":
        notes.append(f"orphan: the case is in the scenario {scenarios[entry.header['case']]} now")
    return ", ".join(notes)


LIST = """\
The age is that of the oldest call. An orphan is the recording of a case that is in no case file
and has no row in the state, or that is in another scenario by now; `recall cassettes prune` deletes
the former, and `move` gives either to the case that it is of now. An unfinished draft was left
behind by a run that was killed, or by a test that failed; `pytest -p recall eval --record=missing`
takes up what it holds. What a run on a branch has recorded is in a file of that run in eval/runs.
Where there are several recordings of a case, it says which one counts, the one recorded last, and of
each other one why it does not.
"""
VERIFY = """\
Reads every line of every cassette, also in the files of recordings in eval/runs. Exits with 1 if
one is damaged, cut off, of another version, or not named after the case that it is the recording of.
"""


def add_list(commands: Commands) -> None:
    """Add the commands."""
    listing = command(commands, "list", "list the cassettes, with their age and models", run_list, LIST)
    listing.add_argument("--date", metavar="YYYY-MM-DD", help="the day to count ages to (default: today in UTC)")
    listing.add_argument("--json", action="store_true", help="print JSON")
    add_folder(listing)
    add_files(listing)
    verify = command(commands, "verify", "read each cassette to its end, and say which are damaged", run_verify, VERIFY)
    verify.add_argument("--json", action="store_true", help="print JSON")
    add_folder(verify)


def run_list(args: argparse.Namespace) -> int:
    """Run `recall cassettes list`."""
    place = place_of(args)
    context, rubric = context_of(place, CommandLine(date=args.date))
    library = library_of(place, args)
    scenarios = scenarios_of(place, args)
    rows = current(place).rows
    found = entries(library, place, rubric.rules(), scenarios, rows)
    if args.json:
        print(json.dumps({"date": str(context.date), "cassettes": [_plain(entry) for entry in found]}, indent=2))
    elif found:
        print(f"{place.name(library.folder)} on {context.date}")
        print("\n".join(table(found, scenarios, context.date)))
    else:
        where = place.name(place.eval_dir)
        print(f"{place.name(library.folder)}: no cassettes; `pytest -p recall {where} --record` records them")
    return 0


def _plain(entry: ListedCassette) -> dict[str, Any]:
    header = {name: entry.header[name] for name in ("case", "scenario", "fixture", "scope") if name in entry.header}
    return {
        "path": entry.name,
        **header,
        "standing": entry.standing,
        "draft": entry.is_draft,
        "counts": entry.counts,
        "why": entry.why,
        "calls": entry.calls,
        "bytes": entry.size,
        "recorded_at": entry.header.get("recorded_at"),
        "since": entry.since and str(entry.since),
        "models": list(entry.models),
        **({"problem": entry.problem} if entry.problem else {}),
    }


def run_verify(args: argparse.Namespace) -> int:
    """Run `recall cassettes verify`."""
    place = place_of(args)
    rubric = read_settings(place.rubric, place.name(place.rubric))
    broken = damaged(place) if args.cassettes is None else {}
    library = library_of(place, args, but=broken)
    found = checked(library, library.files(), place, rubric.rules())
    problems = [*broken.values(), *found.problems]
    if args.json:
        print(json.dumps({"cassettes": found.cassettes, "calls": found.calls, "problems": problems}, indent=2))
    elif problems:
        parts = (
            [f"{found.unreliable} of {plural(found.cassettes, 'cassette')}"] if found.unreliable or not broken else []
        )
        parts += [plural(len(broken), "damaged file") + " of recordings"] if broken else []
        print("\n".join([*problems, f"{' and '.join(parts)} cannot be relied on"]))
    else:
        print(f"{plural(found.cassettes, 'cassette')}, {plural(found.calls, 'call')}: all in order")
    return int(bool(problems))
