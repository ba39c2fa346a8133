"""Options and files that several commands share."""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_recall.cases.settings_file import read_settings
from pytest_recall.files import clock
from pytest_recall.files.duration import read_duration
from pytest_recall.files.errors import RecallError
from pytest_recall.files.eval_directory import Place, find_case_files, find_place, named_journal, patterns_in, runs_in
from pytest_recall.registry import registry
from pytest_recall.replay.budget import dollars_of
from pytest_recall.replay.record_option import MISSING, RecordOption, check_record_option, record_option
from pytest_recall.runs.context import LONGEST, CommandLine, Context, resolve, today_in
from pytest_recall.runs.job import NO_JOB, Job

if TYPE_CHECKING:
    from pytest_recall.cases.settings import Settings
    from pytest_recall.files.sections import Report
    from pytest_recall.trials.record import Record

Commands = Any
"""What `add_subparsers` returns; argparse has no public name for it."""


LONGEST_WAIT = 86_400
"""The seconds that an option for a time takes at most."""
EXAMPLES = "90s, 500ms or 2m"


def say(sentence: str) -> None:
    """Say a sentence on standard error."""
    print(f"recall: {sentence}", file=sys.stderr, flush=True)


def journals(folders: Iterable[Path]) -> Iterator[Record]:
    """Yield the journals of the runs in `folders`, the oldest first; one that cannot be read is named, and left out."""
    from pytest_recall.trials.journal import read_journal

    for folder in runs_in(folders):
        try:
            yield read_journal(folder)
        except RecallError as error:
            say(f"left out: {error}")


def whole(what: str, least: int, most: float = math.inf) -> Callable[[str], int]:
    """Return what reads a whole number from `least` to `most`, as an option takes it; `what` says what it has to be."""

    def read(text: str) -> int:
        if not text.isdecimal() or not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"{text!r} is not {what}")
        return int(text)

    return read


def counted(least: int, most: int) -> Callable[[str], int]:
    """Return what reads a count between both, as an option takes it."""
    return whole(f"a count; write a whole number from {least:,} to {most:,}", least, most)


days = whole(f"a number of days from 1 to {LONGEST.days}", 1, LONGEST.days)
"""Reads a number of days that there may be, as an option takes it."""


def duration(text: str) -> int:
    """Return the milliseconds of a length of time with its unit, or of a number of seconds."""
    found = read_duration(text, "s")
    if found is None or not (found * 1000).is_integer() or not 1 <= found * 1000 <= LONGEST_WAIT * 1000:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time from 1ms to 24h; write it like {EXAMPLES}")
    return int(found * 1000)


def command(commands: Commands, name: str, summary: str, run: Any, details: str = "") -> argparse.ArgumentParser:
    """Add and return the parser of a command that works on an eval directory."""
    parser = placeless(commands, name, summary, run, details)
    parser.add_argument("--dir", type=Path, metavar="DIR", help="the eval directory (default: eval)")
    return parser


def placeless(commands: Commands, name: str, summary: str, run: Any, details: str = "") -> argparse.ArgumentParser:
    """Add and return the parser of a command that needs no eval directory."""
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=summary,
        description=f"{summary[0].upper()}{summary[1:]}.",
        epilog=details,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(run=run)
    return parser


def add_files(parser: argparse.ArgumentParser) -> None:
    """Add the option for case files of other names."""
    parser.add_argument(
        "--files",
        action="append",
        type=_glob,
        default=[],
        metavar="GLOB",
        help="further case files, as `recall_files` in the pytest ini names them; may be repeated",
    )


def add_filters(parser: argparse.ArgumentParser, what: str) -> None:
    """Add `--scenarios` and `--dimensions`, which take `what` they name alone."""
    for name in ("scenarios", "dimensions"):
        parser.add_argument(f"--{name}", type=names, default=(), metavar="A,B", help=f"{what} of these {name} only")


def note_affected(place: Place, context: Context, rubric: Settings) -> None:
    """Say that a command does not know which cases a change affects, where a run would: it replays nothing itself."""
    if rubric.recording != "off" and context.mode == "pr" and place.cassettes.is_dir():
        say("what the change affects is left out: a run finds it by a replay")


def add_record(parser: argparse.ArgumentParser, note: str = "", whose: str = "the models") -> None:
    """Add `--record` and `--replay`, for the calls of `whose` models; their help ends with `note`."""
    record = f"record the calls of {whose} into cassettes below DIR (default: eval/cassettes)"
    more = f"; --record={MISSING} replays what is there and records the rest, --record={MISSING}:DIR below DIR"
    for name, text in (("record", f"{record}{more}"), ("replay", "replay them from there")):
        parser.add_argument(f"--{name}", nargs="?", const="", metavar="DIR", help=f"{text}{note}")


def recording_of(args: argparse.Namespace) -> RecordOption:
    """Return what a command does with the calls of models, by its `--record` and `--replay`. Raises RecallError."""
    if args.record is not None and args.replay is not None:
        raise RecallError(f"--record and --replay exclude each other; --record={MISSING} combines the two")
    check_record_option(args.record, Path.cwd())
    return record_option(args.record, args.replay)


def _glob(text: str) -> str:
    if not text.strip(" /"):
        raise argparse.ArgumentTypeError("the pattern is empty; write one like '*.evals.yaml'")
    return text


def print_forms(
    forms: Mapping[str, str], missing: Callable[[str], str], options: Callable[[str], str] = lambda form: ""
) -> int:
    """Print how something is named, a line for each form and below it its options and what is missing for it here."""
    width = max(map(len, forms))
    for form, about in forms.items():
        print(f"{form:<{width}}  {about}")
        if given := options(form):
            print(f"{'':<{width}}  options: {given}")
        if lacks := missing(form):
            print(f"{'':<{width}}  not ready here: {lacks}")
    return 0


TIME_HELP = "like 500ms, 90s or 2m; a number alone is in seconds"
BUDGET_HELP = "begin no call of a model that may bring what this command spends above this"


def dollars(text: str) -> float:
    """Return an amount of US dollars, as an option takes it."""
    try:
        return dollars_of(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def names(given: str) -> tuple[str, ...]:
    """Return the names in a list with commas, as `--scenarios A,B` has it."""
    return tuple(name.strip() for name in given.split(",") if name.strip())


def project() -> tuple[Place, Settings]:
    """Return the eval directory of this folder, whether it is there or not, and its rubric. Raises RecallError."""
    root = Path.cwd()
    place = find_place(root, root, [root])
    return place, read_settings(place.rubric, place.name(place.rubric))


def place_of(args: argparse.Namespace, *runs: str) -> Place:
    """Return the eval directory that a command works on, or that it does without if it reads these `runs` by path.

    Raises RecallError if it is needed and not there.
    """
    root = Path.cwd()
    place = find_place(root, root, [root], args.dir and root / args.dir)
    lost = [run for run in runs if not named_journal(run)]
    if not place.eval_dir.is_dir() and (lost or not runs):
        for path in lost:
            if "/" in path or os.sep in path:
                raise RecallError(f"{path}: holds no run; name the folder of a run")
        raise RecallError(f"{place.name(place.eval_dir)}: no such directory; run `recall init`, or give --dir")
    if args.dir is None and root in place.eval_dir.parents and place.eval_dir != root / "eval":
        say(f"working on {place.name(place.eval_dir)}, the only eval directory here; --dir names another")
    return place


def case_paths(place: Place, args: argparse.Namespace) -> list[Path]:
    """Return the case files of the eval directory."""
    return list(find_case_files(place.eval_dir, (*patterns_in(place.eval_dir), *args.files)))


def marked_in(place: Place) -> dict[str, tuple[str, str]]:
    """Return the marked tests of the project, with scenario and dimension; say why they are not known, if so."""
    from pytest_recall.runs.collection import marked_tests

    found = marked_tests(place)
    if found.problem:
        say(found.problem)
    return found.tests


def job_here() -> Job:
    """Return the CI job that the command runs in. Raises RecallError for an extension with a fault."""
    host = registry().host(os.environ)
    return NO_JOB if host is None else host.job


def context_of(place: Place, asked: CommandLine) -> tuple[Context, Settings]:
    """Return the context and the rubric of a command, as a run would have them now."""
    rubric = read_settings(place.rubric, place.name(place.rubric))
    return resolve(asked, job_here(), rubric, today_in(os.environ, clock.now().date())), rubric


def print_report(report: Report, args: argparse.Namespace) -> None:
    """Print a report as `--json` and `--markdown` say, as far as a command has them, else for a terminal."""
    from pytest_recall.files.sections import report_lines, report_markdown

    if args.json:
        print(json.dumps(report.facts, indent=2, ensure_ascii=False))
    else:
        print(report_markdown(report) if getattr(args, "markdown", False) else "\n".join(report_lines(report.sections)))
