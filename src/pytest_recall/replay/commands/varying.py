"""The command `recall cassettes varying`: what requests differ in by themselves, and what has it ignored."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pytest_recall.cases.settings_file import read_settings
from pytest_recall.cli.common import Commands, command, place_of, say
from pytest_recall.files.disk import read_text
from pytest_recall.files.errors import RecallError, nearest
from pytest_recall.files.wording import listed, plural
from pytest_recall.replay import other_date
from pytest_recall.replay.cassette_library import Library
from pytest_recall.replay.commands.listing import add_folder, library_of
from pytest_recall.replay.dry_runs import DryRunProcess, run_together
from pytest_recall.replay.matching import SeenRequest, Volatile
from pytest_recall.replay.varying import Variation, from_lines, grouped, rubric_lines, variations
from pytest_recall.schedule.changes import NAME as FINDINGS
from pytest_recall.schedule.changes import Changes, ReplayState, from_text, wanted_text

ROUNDS = 6
"""How often both replays are made at most: what stands behind a request that varied shows itself in the next one."""
DETAILS = f"""\
Replays the recorded cases of the working tree twice, in processes of their own: today, and
{other_date.LATER.days} days later; each has other random numbers and another order of sets. Nothing is sent. What
differs between the two is no change of the code. For each such place it prints the two texts, the
cases, and what in `rubric.yaml` has it ignored: a field, a parameter or a header that varies as a
whole, or a pattern for one field, with the words beside what varies. It writes nothing: the line is
for a person to check and commit. Exits with 1 if something varies that the rubric does not ignore.

The other date is set by time-machine: {other_date.INSTALL}
"""


def add_varying(commands: Commands) -> None:
    """Add the command."""
    summary = "replay twice, and say what requests differ in by themselves"
    parser = command(commands, "varying", summary, run_varying, DETAILS)
    parser.add_argument(
        "paths", nargs="*", metavar="PATH", help="what pytest is to collect (default: the eval directory)"
    )
    parser.add_argument(
        "--case", action="append", default=[], metavar="ID", help="replay this case alone; may be repeated"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_folder(parser)


class _Replays(NamedTuple):
    """How the replays are made: what pytest collects, where, from which cassettes, and of which cases if not of all."""

    paths: Sequence[str]
    eval_dir: Path
    cassettes: Path | None
    cases: Sequence[str]


class _Replay(NamedTuple):
    """What one replay came to, and the requests in it by whose they are."""

    changes: Changes
    requests: dict[str, list[SeenRequest]]


def run_varying(args: argparse.Namespace) -> int:
    """Run the command."""
    place = place_of(args)
    rubric = read_settings(place.rubric, place.name(place.rubric))
    library = library_of(place, args)
    recorded = _recorded(library)
    if not recorded:
        raise RecallError(
            f"{place.name(library.folder)}: no case is recorded; `pytest -p recall {place.name(place.eval_dir)}"
            " --record` records them"
        )
    for case_id in args.case:
        if case_id not in recorded:
            raise RecallError(f"no recording of `{case_id}`{nearest(case_id, recorded)}")
    if not other_date.is_installed():
        raise RecallError(f"time-machine sets the other date, and is not installed; {other_date.INSTALL} installs it")
    replays = _Replays(
        args.paths or [str(place.eval_dir)], place.eval_dir, args.cassettes and library.folder, args.case
    )
    found: list[Variation] = []
    volatile = Volatile()
    for number in range(1, ROUNDS + 1):
        say(
            f"replaying {plural(len(args.case) or len(recorded), 'case')} at two dates"
            + (f", with what is ignored by now (round {number})" if number > 1 else "")
        )
        first, second = _both(replays, volatile, number)
        news = variations(first.requests, second.requests, rubric.ignoring(volatile).rules())
        found = grouped([*found, *news])
        more = volatile
        for one in news:
            more = more.joined(one.ignored)
        if more == volatile:
            break
        volatile = more
    undecided = {**_undecided(second.changes), **_undecided(first.changes)}
    count = len(first.changes.findings) - len(first.changes.ids(ReplayState.NOT_RECORDED))
    if args.json:
        print(json.dumps(_plain(found, [*rubric.volatile, *volatile.places()], count, undecided), indent=2))
        return int(bool(found))
    for one in found:
        print("\n".join(_lines(one)))
    if volatile != Volatile():
        print(f"\nfor {place.name(place.rubric)}, in place of what it has under `volatile`:\n")
        print("\n".join(rubric_lines([*rubric.volatile, *volatile.places()])))
        print()
    for why, case_ids in _by_reason(undecided).items():
        print(f"{plural(len(case_ids), 'case')} {why}: {listed(case_ids)}")
    what = plural(len(found), "place") + (" varies" if len(found) == 1 else " vary")
    print(f"{what if found else 'nothing varies'} in the requests of {plural(count, 'case')}")
    return int(bool(found))


def _recorded(library: Library) -> set[str]:
    """Return the ids of the cases that have a recording. Raises RecallError for one that is damaged."""
    headers = (header for _, header in library.headers())
    return {str(header["case"]) for header in headers if "case" in header and "baseline" not in header}


def _both(replays: _Replays, volatile: Volatile, number: int) -> tuple[_Replay, _Replay]:
    """Return what the replays of a round came to, at today's date and at the other. Raises RecallError."""
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        (scratch / "wanted.json").write_text(wanted_text(replays.cases), encoding="utf-8")
        (scratch / "ignoring.json").write_text(json.dumps(volatile.places()), encoding="utf-8")
        runs = []
        for turn, (name, seconds) in enumerate((("first", 0.0), ("second", other_date.LATER.total_seconds()))):
            own = scratch / name
            own.mkdir()
            environ = {**os.environ, "PYTHONHASHSEED": str(2 * number + turn)}
            command = _command(replays, scratch, own, seconds)
            runs.append(DryRunProcess(command, own / FINDINGS, own / "output.txt", environ))
        run_together(runs, "a replay")
        first, second = (_read(run.findings) for run in runs)
        return first, second


def _command(replays: _Replays, scratch: Path, own: Path, seconds: float) -> list[str]:
    command = [sys.executable, "-m", "pytest", "-p", "recall", *replays.paths, f"--recall-dir={replays.eval_dir}"]
    command += [f"--recall-dry-run-cassettes={replays.cassettes or ''}", "--recall-dry-run", "--recall-mode=all"]
    command += [f"--recall-dry-run-file={own / FINDINGS}", f"--recall-dry-run-requests={own}"]
    command += [f"--recall-dry-run-ignoring={scratch / 'ignoring.json'}"]
    command += [f"--recall-dry-run-of={scratch / 'wanted.json'}"] if replays.cases else []
    command += [f"--recall-dry-run-later={seconds:.0f}"] if seconds else []
    return [*command, "--maxfail=0", "--tb=line", "-o", f"cache_dir={own / 'cache'}"]


def _read(findings: Path) -> _Replay:
    """Return what a replay has written, into one folder."""
    requests: dict[str, list[SeenRequest]] = {}
    for path in sorted(findings.parent.glob("*.jsonl")):
        for owner, asked in from_lines(read_text(path).splitlines(), path.name).items():
            requests.setdefault(owner, []).extend(asked)
    return _Replay(from_text(read_text(findings), "a replay"), requests)


def _undecided(changes: Changes) -> dict[str, str]:
    """Return the cases that were not compared to their ends, by id, with the reason."""
    cut = dict.fromkeys(changes.ids(ReplayState.CHANGED, ReplayState.UNJUDGED), _CUT)
    return {**cut, **dict.fromkeys(changes.ids(ReplayState.UNKNOWN), _ENDED)}


_CUT = "compared up to the first call that is not recorded"
_ENDED = "compared up to an error of the agent or a judge"


def _by_reason(undecided: dict[str, str]) -> dict[str, list[str]]:
    return {why: sorted(one for one in undecided if undecided[one] == why) for why in sorted(set(undecided.values()))}


def _lines(one: Variation) -> Iterable[str]:
    """Yield what is to say of one place."""
    yield f"{one.place}: “{one.first}” → “{one.second}”"
    yield f"  in {plural(len(one.cases), 'case')}: {listed(one.cases)}"
    if places := one.ignored.places():
        yield from (f"  {line}" for line in rubric_lines(places))
    else:
        yield f"  {one.why}"


def _plain(
    found: Iterable[Variation], places: list[str | dict[str, str]], count: int, undecided: dict[str, str]
) -> dict[str, Any]:
    return {
        "version": 1,
        "later_seconds": other_date.LATER.total_seconds(),
        "cases": count,
        "varying": [one.to_json() for one in found],
        "volatile": places,
        "undecided": undecided,
    }
