"""The commands `recall cassettes prune`, `move`, `import` and `export`: delete, rename and convert recordings."""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Container, Iterable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple

from pytest_recall.cases.settings_file import read_settings
from pytest_recall.cli.common import Commands, add_files, case_paths, command, job_here, place_of
from pytest_recall.files import clock
from pytest_recall.files.errors import RecallError, nearest
from pytest_recall.files.eval_directory import Place
from pytest_recall.files.wording import listed, one_line, plural
from pytest_recall.replay.cassette_file import Cassette, read_draft, read_header
from pytest_recall.replay.cassette_library import Library
from pytest_recall.replay.commands.listing import (
    add_folder,
    by_owner,
    find,
    library_of,
    scenarios_of,
    size,
    standing,
    titled,
)
from pytest_recall.replay.exchange import Exchange
from pytest_recall.replay.formats.lore import ANTHROPIC, import_lore
from pytest_recall.replay.formats.vcrpy import export_vcr, import_vcr
from pytest_recall.replay.matching import Rules
from pytest_recall.replay.recorded_parts import cleaned
from pytest_recall.replay.redaction import Redactor
from pytest_recall.replay.run_recordings import damaged, forget_unpacked, lacking
from pytest_recall.runs.checkout import folds_here
from pytest_recall.schedule.state import current

PRUNE_DETAILS = """\
A cassette is deleted only if all of this is so:
  - it is whole, and it is named after the case that its header says it is the recording of;
  - that case has a scenario, and an id as case files have it, so that it may have been in one;
  - it is in no case file, of which there is one at least, all of them read to their ends;
  - it has no row in the state. A case that is gone keeps its row until you delete it.
The recordings of marked tests and of fixtures cannot be known without running pytest. A marked
test has a row as soon as it came to a verdict in a scheduled run, and is safe from then on; until
then, and if it names a scenario, it looks like a case that is gone. See --dry-run first.

The file of recordings of a run on a branch is deleted as a whole: once each of its recordings is of a
case that is gone, as above, or eval/cassettes has it, or what was recorded later.

Drafts are deleted when they are more than a day old; `--drafts all` deletes them all, also those
that a run is writing now. Files of others are never touched. What is damaged or cut off, a cassette
or a file of recordings, is named and kept, and the others are looked through; it then exits with 1.
"""
DAY = 24 * 60 * 60
SCENARIO_HELP = "the scenario of the case (default: as its case file says)"


class PrunedFile(NamedTuple):
    """A file that prune deletes, and why: a cassette, a draft, or the file of recordings of a run."""

    path: Path
    why: str
    kind: Literal["cassette", "draft", "file"] = "cassette"


def add_prune(commands: Commands) -> None:
    """Add the command."""
    parser = command(
        commands, "prune", "delete the cassettes of cases that are gone, and old drafts", run_prune, PRUNE_DETAILS
    )
    parser.add_argument("--dry-run", action="store_true", help="print what would be deleted, and change nothing")
    parser.add_argument(
        "--drafts", choices=("old", "all", "none"), default="old", help="which drafts to delete (default: old)"
    )
    add_folder(parser)
    add_files(parser)


def run_prune(args: argparse.Namespace) -> int:
    """Run the command."""
    place = place_of(args)
    broken = damaged(place) if args.cassettes is None else {}
    library = library_of(place, args, but=broken)
    pruned, kept, gone, unread = _cassettes(library, place, args)
    unread = [*broken.values(), *unread]
    files, waiting = _files_of_runs(library, place, gone)
    pruned += files + _drafts(library, place, args.drafts)
    verb = "would delete" if args.dry_run else "deleted"
    freed = 0
    for one in pruned:
        freed += one.path.stat().st_size
        if not args.dry_run:
            if one.kind == "cassette":
                library.delete(one.path)
            else:
                one.path.unlink(missing_ok=True)
        print(f"{verb}  {place.name(one.path)}  {one.why}")
    if files and not args.dry_run:
        forget_unpacked(place, broken)
    for line in kept + waiting + unread:
        print(f"kept  {line}")
    counts = Counter(one.kind for one in pruned)
    counted = f"{plural(counts['cassette'], 'cassette')} and {plural(counts['draft'], 'draft')}"
    counted += f", {plural(len(files), 'file')} of recordings" if files else ""
    print(f"{verb} {counted}, {size(freed)}" if pruned else "nothing to delete")
    return int(bool(unread))


def _files_of_runs(library: Library, place: Place, gone: Container[Path]) -> tuple[list[PrunedFile], list[str]]:
    """Return the files of runs in which nothing is left to take over, and what to say of others.

    `gone` are the recordings in them that are of no case. On a branch, nothing is said of what main will take over.
    """
    cassettes, folds = place.name(place.cassettes), folds_here(place, job_here())
    pruned: list[PrunedFile] = []
    waiting: list[str] = []
    for layer in library.layers:
        files = [path for path in library.files() if path.is_relative_to(layer.folder) and not library.is_own(path)]
        if not files:
            continue
        try:
            left = [path for path in lacking(place, layer) if path not in gone]
        except RecallError:
            continue  # It is named among what is kept.
        of_gone = listed(path.relative_to(layer.folder).as_posix() for path in files if path in gone)
        if not left:
            why = f"{cassettes} has its recordings" + (f"; of cases that are gone: {of_gone}" if of_gone else "")
            pruned.append(PrunedFile(place.run_files / Path(layer.name).name, why, "file"))
        elif of_gone or folds:
            lacks = listed(path.relative_to(layer.folder).as_posix() for path in left)
            waiting.append(
                f"{layer.name}  {cassettes} lacks {lacks} of it; `pytest -p recall {place.name(place.eval_dir)}"
                " --record=missing` on the default branch takes over what is asked there; delete the file if that is"
                " asked no more"
            )
    return pruned, waiting


def _cassettes(
    library: Library, place: Place, args: argparse.Namespace
) -> tuple[list[PrunedFile], list[str], list[Path], list[str]]:
    """Return the cassettes of cases that are gone, what to say of others that no case file knows, and those in files.

    That is, the recordings of cases that are gone in the files of runs on branches. Last is what is wrong with those
    that cannot be read.
    """
    scenarios = scenarios_of(place, args)
    rows = current(place).rows
    rubric = read_settings(place.rubric, place.name(place.rubric))
    pruned: list[PrunedFile] = []
    kept: list[str] = []
    in_files: list[Path] = []
    unread: list[str] = []
    for path in library.files():
        name = library.name(path)
        try:
            cassette = Cassette(path, name, rubric.rules())
            cassette.verify()
        except RecallError as error:
            unread.append(str(error))
            continue
        header = cassette.header
        if not library.fits(path, header):
            kept.append(f"{name}  not named after what it says it is the recording of, {titled(header)}")
            continue
        case = one_line(str(header.get("case")))
        match standing(header, scenarios, rows):
            case "gone" if not library.is_own(path):
                in_files.append(path)
            case "gone":
                pruned.append(PrunedFile(path, f"no case `{case}`"))
            case "moved":
                now = scenarios[header["case"]]
                kept.append(
                    f"{name}  `{case}` is in the scenario {now} now; `recall cassettes move {case}` puts it there"
                )
            case "row":
                kept.append(f"{name}  `{case}` is in no case file, and has a row in {place.name(place.state)}")
    if (pruned or in_files) and not case_paths(place, args):
        raise RecallError(
            f"{place.name(place.eval_dir)}: no case files, so that every case would be gone; give --dir or --files"
        )
    return pruned, kept, in_files, unread


def _drafts(library: Library, place: Place, which: str) -> list[PrunedFile]:
    now = clock.wall()
    found = []
    for path in library.drafts() if which != "none" else ():
        age = now - path.stat().st_mtime
        if (which == "all" or age > DAY) and _is_ours(path, library):
            found.append(PrunedFile(path, f"draft, {plural(max(0, int(age // DAY)), 'day')} old", "draft"))
    return found


def _is_ours(path: Path, library: Library) -> bool:
    """Tell whether a file among the drafts was written by a recording; one that was killed at once left nothing."""
    try:
        header, _ = read_draft(path, library.name(path))
    except RecallError:
        return False
    return bool(header) or path.read_bytes()[:8] in (b"", b'{"crc":"')


MOVE = """\
  recall cassettes move OLD NEW    a case has another id, and its recordings are those of NEW
  recall cassettes move CASE       a case is in another scenario, and its recordings go there

The calls stay as they are, with the dates on which they were made; the recordings of its baselines
and of each trial of a series go with them. Nothing is moved if one of them is damaged, or if there
is a recording in its new place. `recall state move` does the same for the rows of the state.
"""


def add_move(commands: Commands) -> None:
    """Add the command."""
    parser = command(commands, "move", "keep the recordings of a renamed case", run_move, MOVE)
    parser.add_argument("old", metavar="OLD", help="the id under which it was recorded")
    parser.add_argument("new", nargs="?", metavar="NEW", help="its id now (default: the same)")
    parser.add_argument("--scenario", metavar="NAME", help=SCENARIO_HELP)
    parser.add_argument("--dry-run", action="store_true", help="print what would be moved, and change nothing")
    add_folder(parser)
    add_files(parser)


def run_move(args: argparse.Namespace) -> int:
    """Run the command."""
    place = place_of(args)
    library = library_of(place, args)
    rules = read_settings(place.rubric, place.name(place.rubric)).rules()
    scenarios = scenarios_of(place, args)
    new = args.old if args.new is None else args.new
    if new != args.old and args.old in scenarios:
        raise RecallError(f"`{args.old}` is still a case; rename it in its case file first")
    scenario = scenario_of(scenarios, new, args.scenario)
    known = by_owner(library, place, args.old)
    if args.old not in known:
        raise RecallError(f"no cassette of `{one_line(args.old)}`{nearest(args.old, known)}")
    moves: dict[Path, Cassette] = {}
    for path in known[args.old]:
        header = read_header(path, library.name(path))
        if header.get("case") != args.old or not library.fits(path, header):
            continue
        if not library.is_own(path):
            raise RecallError(
                f"{library.name(path)}: was recorded on a branch, and cannot be moved; merge the branch, and have the"
                " default branch take it over first"
            )
        target = library.of_header({**header, "case": new, "scenario": scenario})
        if target is None or target == path:
            continue
        if target in moves:
            both = f"{library.name(moves[target].path)} and {library.name(path)}"
            raise RecallError(f"{both} would both become {place.name(target)}; remove one of them")
        if target.exists():
            raise RecallError(f"{library.name(path)}: {place.name(target)} is there already; remove one of them")
        moves[target] = Cassette(path, library.name(path), rules)
        moves[target].verify()
    if not moves:
        where = f" outside of the scenario `{scenario}`" if new == args.old else ""
        raise RecallError(f"no cassette of `{args.old}`{where}; `recall cassettes list` names those that are there")
    verb = "would move" if args.dry_run else "moved"
    for target, cassette in moves.items():
        if not args.dry_run:
            library.move(cassette, target, {"case": new, "scenario": scenario})
        print(f"{verb}  {library.name(cassette.path)} to {place.name(target)}  {plural(len(cassette), 'call')}")
    return 0


IMPORT = """\
SOURCE is a cassette of vcrpy (.yaml, .yml, .json), a recording of Lore (.ndjson, .jsonl), or a
folder of such files, those below it included. Each becomes the cassette of a case, without the
values of known secrets. A file that is cut off, broken or doubled is refused, and so is one that
still holds what looks like a key. Of a folder, what is refused is a line each, and the rest is
taken; exits with 1 if something is refused, with 2 if nothing is taken.
"""
_VCRPY = (".yaml", ".yml", ".json")
_LORE = (".ndjson", ".jsonl")
EXPORT = """\
CASSETTE is what `recall cassettes show` takes. TARGET is written as vcrpy writes it, in JSON if it
ends in .json, else in YAML. Streams become one piece; a call that ended with an error of the network
has no place there, and is refused.
"""


def add_convert(commands: Commands) -> None:
    """Add both commands."""
    parser = command(commands, "import", "import a recording of vcrpy or Lore", import_command, IMPORT)
    parser.add_argument("source", type=Path, metavar="SOURCE", help="the recording, or a folder of recordings")
    parser.add_argument("--case", metavar="ID", help="the case that it is of (default: the name of the file)")
    parser.add_argument("--scenario", metavar="NAME", help=SCENARIO_HELP)
    parser.add_argument("--url", default=ANTHROPIC, help="where the calls of Lore went (default: %(default)s)")
    add_folder(parser)
    parser = command(commands, "export", "export a cassette to vcrpy", export_command, EXPORT)
    parser.add_argument("cassette", metavar="CASSETTE", help="a case id, or a path")
    parser.add_argument("target", type=Path, metavar="TARGET", help="the file to write; must not exist")
    add_folder(parser)


class _Importer:
    """What is the same for all files of one import: where they go, and what must not be written."""

    def __init__(self, place: Place, args: argparse.Namespace) -> None:
        rubric = read_settings(place.rubric, place.name(place.rubric))
        self._place, self._args = place, args
        self._library = library_of(place, args, makes=True)
        self._rules = rubric.rules()
        self._redactor = rubric.redactor(os.environ)
        self._sources: dict[Path, str] = {}

    @cached_property
    def _scenarios(self) -> dict[str, str]:
        return scenarios_of(self._place, argparse.Namespace(files=[]))

    def take(self, source: Path) -> tuple[str, int]:
        """Make a cassette of one file; return what to say of it, and how many calls it has. Raises RecallError."""
        name = self._place.name(source)
        notes: list[str] = []
        if source.suffix in _LORE:
            exchanges = import_lore(source, self._args.url, name, notes.append)
        elif source.suffix in _VCRPY:
            exchanges = import_vcr(source, name, notes.append)
        else:
            known = ", ".join((*_VCRPY, *_LORE))
            raise RecallError(f"{name}: not a kind that can be imported; known: {known}")
        if not exchanges:
            raise RecallError(f"{name}: holds no calls; record it again")
        case_id = self._args.case or source.stem
        try:
            scenario = scenario_of(self._scenarios, case_id, self._args.scenario)
        except RecallError as error:
            raise RecallError(f"{name}: {error}") from None
        path = self._library.of_case(case_id, scenario)
        if path in self._sources:
            raise RecallError(f"{name}: is named as {self._sources[path]}; import it alone, with --case")
        if path.exists():
            raise RecallError(f"{name}: {self._library.name(path)} is there already; remove it first")
        recorded = _recorded_at(exchanges, source)
        clean = _clean(exchanges, self._redactor, name)
        header = {"case": case_id, "scenario": scenario, "run": f"import of {source.name}", "recorded_at": recorded}
        # A header that no request has may have been filtered out: whether it was sent is unknown.
        held = {header.lower() for exchange in exchanges for header, _ in exchange.request.headers}
        self._library.finish(path, header, clean, self._rules.among(held))
        self._sources[path] = name
        for note in notes:
            print(f"recall: note: {note}", file=sys.stderr)
        return f"{self._library.name(path)}: {plural(len(clean), 'call')}, recorded on {recorded[:10]}", len(clean)


def scenario_of(scenarios: Mapping[str, str], case_id: str, given: str | None) -> str:
    """Return the scenario of a case, as its file says, or as it is `given` for a marked test. Raises RecallError."""
    own = scenarios.get(case_id)
    if given is not None:
        if own not in (None, given):
            raise RecallError(
                f"`{case_id}` is in the scenario `{own}`, and no run would read its cassette under `{given}`; leave out"
                " --scenario"
            )
        return given
    if own is None:
        known = nearest(case_id, scenarios)
        raise RecallError(f"no case file has `{case_id}`{known}; for a marked test give --scenario too")
    return own


def import_command(args: argparse.Namespace) -> int:
    """Run `recall cassettes import`."""
    place = place_of(args)
    source = Path.cwd() / args.source
    importer = _Importer(place, args)
    if not source.is_dir():
        print(importer.take(source)[0])
        return 0
    if args.case is not None:
        raise RecallError(f"--case: {place.name(source)} is a folder; give the file that is of this case")
    files = sorted(path for path in source.rglob("*") if path.suffix in (*_VCRPY, *_LORE) and path.is_file())
    if not files:
        raise RecallError(f"{place.name(source)}: holds no recordings, which end in {', '.join((*_VCRPY, *_LORE))}")
    taken = calls = 0
    for file in files:
        try:
            calls += importer.take(file)[1]
            taken += 1
        except RecallError as error:
            more = f" (and {plural(len(error.messages) - 1, 'more problem')})" if len(error.messages) > 1 else ""
            print(f"recall: {error.messages[0]}{more}", file=sys.stderr)
    print(f"{taken} of {plural(len(files), 'file')} imported, {plural(calls, 'call')}; {len(files) - taken} refused")
    if not taken:
        return 2
    return int(taken < len(files))


def export_command(args: argparse.Namespace) -> int:
    """Run `recall cassettes export`."""
    place = place_of(args)
    library = library_of(place, args)
    source, target = find(library, place, args.cassette), Path.cwd() / args.target
    if target.exists():
        raise RecallError(f"{place.name(target)}: is there already; give another name, or remove it first")
    cassette = Cassette(source, library.name(source), Rules())
    export_vcr(cassette.exchanges(), target, place.name(target))
    print(f"{place.name(target)}: {plural(len(cassette), 'call')}")
    return 0


def _recorded_at(exchanges: Iterable[Exchange], source: Path) -> str:
    """Return when the newest call was made, or else when the file was written: a copy of it looks younger."""
    times = [exchange.at for exchange in exchanges if exchange.at]
    for exchange in exchanges:
        date = exchange.response.header("date") if exchange.response else None
        try:
            times.append(parsedate_to_datetime(date or "").astimezone(UTC).isoformat(timespec="seconds"))
        except (ValueError, OverflowError):
            continue
    return max(times) if times else datetime.fromtimestamp(source.stat().st_mtime, UTC).isoformat(timespec="seconds")


def _clean(exchanges: Iterable[Exchange], redactor: Redactor, name: str) -> list[Exchange]:
    """Return the calls as they may be written. Raises RecallError for each that must not be."""
    clean, problems = [], []
    for exchange in exchanges:
        try:
            clean.append(cleaned(exchange, redactor))
        except RecallError as error:
            problems.append(f"{name}: call {exchange.seq + 1} {error}")
    if problems:
        raise RecallError(*problems)
    return clean
