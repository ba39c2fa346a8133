"""`recall cassette import` and `recall cassette export`: recordings of vcrpy and Lore, and back to vcrpy."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path

from pytest_recall.cli.cassette_shelf import add_folder, find, library_of, scenarios_of
from pytest_recall.cli.common import Commands, command, place_of
from pytest_recall.core.errors import RecallError, nearest
from pytest_recall.core.exchange import Exchange
from pytest_recall.core.matching import Rules
from pytest_recall.core.redact import Redactor
from pytest_recall.core.secrets import secret_names
from pytest_recall.render.sentences import plural
from pytest_recall.replay.clean import cleaned
from pytest_recall.replay.vcr_format import export_vcr, import_vcr
from pytest_recall.run.place import Place
from pytest_recall.store.cassette import Cassette
from pytest_recall.store.lore import ANTHROPIC, import_lore
from pytest_recall.store.rubric import read_rubric

IMPORT = """\
SOURCE is a cassette of vcrpy (.yaml, .yml, .json) or a recording of Lore (.ndjson, .jsonl). It
becomes the cassette of the case, without the values of known secrets. A source that is cut
off, broken or doubled is refused, and so is one that still holds what looks like a key.
"""
EXPORT = """\
CASSETTE is a path, or the id of a case, or the name of a fixture. TARGET is written as vcrpy
writes it, in JSON if it ends in .json, else in YAML. Streams become one piece; a call that ended
with an error of the network has no place there, and is refused.
"""


def add(commands: Commands) -> None:
    """Add both commands."""
    parser = command(commands, "import", "make a cassette of a recording of vcrpy or Lore", import_command, IMPORT)
    parser.add_argument("source", type=Path, metavar="SOURCE", help="the recording")
    parser.add_argument("--case", metavar="ID", help="the case that it is of (default: the name of SOURCE)")
    parser.add_argument("--scenario", metavar="NAME", help="the scenario of the case (default: as its case file says)")
    parser.add_argument("--url", default=ANTHROPIC, help="where the calls of Lore went (default: %(default)s)")
    add_folder(parser)
    parser = command(commands, "export", "write a cassette as one of vcrpy", export_command, EXPORT)
    parser.add_argument("cassette", metavar="CASSETTE", help="a path, or a case id")
    parser.add_argument("target", type=Path, metavar="TARGET", help="the file to write, which must not be there")
    add_folder(parser)


def import_command(args: argparse.Namespace) -> int:
    """Run `recall cassette import`."""
    place = place_of(args)
    source = Path.cwd() / args.source
    name = place.name(source)
    if source.suffix in (".ndjson", ".jsonl"):
        exchanges = import_lore(source, args.url, name)
    elif source.suffix in (".yaml", ".yml", ".json"):
        exchanges = import_vcr(source, name)
    else:
        raise RecallError(f"{name}: not a kind that can be imported; known: .yaml, .yml, .json, .ndjson, .jsonl")
    if not exchanges:
        raise RecallError(f"{name}: holds no calls; record it again")
    case_id = args.case or source.stem
    scenario = _scenario(place, case_id) if args.scenario is None else args.scenario
    library = library_of(place, args, makes=True)
    path = library.of_case(case_id, scenario)
    if path.exists():
        raise RecallError(f"{place.name(path)}: is there already; remove it first")
    recorded = _recorded_at(exchanges, source)
    rubric = read_rubric(place.rubric, place.name(place.rubric))
    clean = _clean(exchanges, Redactor(secret_names(os.environ, rubric.secrets)), name)
    header = {"case": case_id, "scenario": scenario, "run": f"import of {source.name}", "recorded_at": recorded}
    library.finish(path, header, clean, Rules(rubric.volatile_fields))
    print(f"{place.name(path)}: {plural(len(clean), 'call')}, recorded on {recorded[:10]}")
    return 0


def export_command(args: argparse.Namespace) -> int:
    """Run `recall cassette export`."""
    place = place_of(args)
    source, target = find(library_of(place, args), place, args.cassette), Path.cwd() / args.target
    if target.exists():
        raise RecallError(f"{place.name(target)}: is there already; give another name, or remove it first")
    cassette = Cassette(source, place.name(source), Rules())
    export_vcr(cassette.exchanges(), target, place.name(target))
    print(f"{place.name(target)}: {plural(len(cassette), 'call')}")
    return 0


def _scenario(place: Place, case_id: str) -> str:
    known = scenarios_of(place, argparse.Namespace(files=[]))
    if case_id not in known:
        raise RecallError(
            f"--case: no case file has `{case_id}`{nearest(case_id, known)}; for a marked test give --scenario too"
        )
    return known[case_id]


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
