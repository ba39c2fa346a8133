"""`recall judges calibrate`: judging models beside people who judged the same answers."""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import get_args

from pytest_recall.cases.settings import Rubric
from pytest_recall.cases.settings_fields import JudgeKind
from pytest_recall.cases.settings_file import read_rubric
from pytest_recall.cli.common import Commands, add_cassette, command, dollars, place_of
from pytest_recall.files.disk import locked
from pytest_recall.files.errors import RecallError, StoppedError
from pytest_recall.files.eval_directory import Place
from pytest_recall.files.wording import plural
from pytest_recall.judges.calibrate import Calibrated, LabelledSet, panel_of
from pytest_recall.judges.calibration import standard_of
from pytest_recall.judges.calibration_file import Replies, read_labels, write_calibrations
from pytest_recall.judges.judges_text import calibration_json, calibration_markdown, terminal
from pytest_recall.models.prices import call_of
from pytest_recall.models.resolve import model_of
from pytest_recall.replay.budget import Meter
from pytest_recall.replay.player import Player
from pytest_recall.replay.tape import Mode
from pytest_recall.trials.command_cassette import limit, player_of, taped, untaped
from pytest_recall.trials.cost import spend_of
from pytest_recall.trials.cost_text import budget_line

DETAILS = """\
LABELS has one JSON object on each line: an answer, with the verdict of a person.
  {"id": "1", "question": "…", "expected": "…", "answer": "…", "label": "pass"}
More fields: passages, score (0 to 1), judge, criteria, arguments, labelled_by, note. `recall judges audit
RUN --to-labels LABELS` adds answers of a run that someone has graded.

Each answer is judged as a run would: the same prompts, votes and retries. The appellate judge is put
all of them. A judgement that cannot be read or had is listed apart, and is not a score.

Replies are kept in eval/_artifacts/calibration, so that a calibration that was killed goes on where
it was, and one whose prompts have not changed asks nothing. --fresh asks again. With --record
or --replay the calls go by the cassette DIR/_calibration/<name of LABELS>-<kind>.ndjson.

With --budget no call begins once so much is spent. What was not judged then is listed, nothing is
written, and the exit code is 2; the same command continues it.

Exits with 1 if a judge falls short of `judge_min_kappa` in the rubric.
"""


def add(commands: Commands) -> None:
    """Add the command."""
    parser = command(commands, "calibrate", "compare judging models with people, on labelled answers", run, DETAILS)
    parser.add_argument("labels", type=Path, metavar="LABELS", help="the labelled answers, a .jsonl file")
    parser.add_argument(
        "--judge",
        action="append",
        default=[],
        metavar="SELECTOR",
        help="the model that judges; several are a panel (default: `judge` in the rubric)",
    )
    parser.add_argument(
        "--appellate-judge",
        metavar="SELECTOR",
        help="the model that is appealed to (default: `appellate_judge` in the rubric)",
    )
    parser.add_argument(
        "--kind", choices=get_args(JudgeKind), default="rubric", help="which judge it is (default: rubric)"
    )
    add_cassette(parser, "; no reply is kept elsewhere")
    parser.add_argument(
        "--budget", type=dollars, metavar="USD", help="let no call begin once this calibration has spent so much"
    )
    parser.add_argument("--write", action="store_true", help="put the result into eval/calibration.yaml")
    parser.add_argument("--fresh", action="store_true", help="ask again what has been asked before")
    parser.add_argument("--dry-run", action="store_true", help="only say how many calls it would make")
    shape = parser.add_mutually_exclusive_group()
    shape.add_argument("--json", action="store_true", help="print JSON")
    shape.add_argument("--markdown", action="store_true", help="print Markdown")


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    _check(args)
    place = place_of(args)
    rubric_name, labels_name = place.name(place.rubric), str(args.labels)
    rubric = read_rubric(place.rubric, rubric_name)
    labels = read_labels(args.labels, labels_name)
    digest = hashlib.sha256(args.labels.read_bytes()).hexdigest()
    player = player_of(rubric, _mode(args))
    found = partial(model_of, kind="judge", player=player, root=place.root, say=_say, ready=not args.dry_run)
    try:
        # Which passes are audited is drawn by the answers' ids, the same ones each time.
        panel = panel_of(rubric, tuple(args.judge), args.appellate_judge, rubric_name, "calibration", found)
    except RecallError as error:
        raise RecallError(f"calibrate: {error}") from None
    bench = LabelledSet(labels, labels_name, args.kind, panel, rubric)
    if bench.left_out:
        print(f"recall: {plural(bench.left_out, 'label')} of other judges left out", file=sys.stderr)
    # What a cassette holds is complete, whatever was asked before.
    by_cassette = player.mode != "off"
    replies = Replies(None if by_cassette else place.artifacts.calibration(args.kind), fresh=args.fresh)
    need = bench.need(replies)
    if args.dry_run:
        kept = f"; of {need.kept:,} more the reply is kept" if need.kept else ""
        print(f"{plural(len(bench.labels), 'answer')}: {plural(need.calls, 'call')}, or more where replies fail{kept}")
        return 0
    progress = _progress if need.calls else _silent
    meter = None if args.budget is None else limit(player, place, rubric, args.budget)
    try:
        if by_cassette:
            done = _by_cassette(args, player, place, rubric, lambda: bench.judge(replies, progress, _open))
        else:
            place.artifacts.make()
            with untaped(player, rubric):
                done = bench.judge(replies, progress, meter.closed if meter else _open)
        why = "" if meter is None else _told(meter)
    except KeyboardInterrupt:
        told = "begin again" if by_cassette else "the replies are kept, and the same command continues it"
        raise StoppedError(f"stopped; {told}") from None
    finally:
        if meter is not None:
            meter.close()
    found_out = done.agreements, spend_of(done.calls), done.left
    if args.json:
        print(json.dumps(calibration_json(*found_out), indent=2, ensure_ascii=False))
    else:
        print(calibration_markdown(*found_out, why) if args.markdown else "\n".join(terminal(*found_out, why)))
    if done.left:
        unwritten = f"{place.name(place.calibration)} is as it was; " if args.write else ""
        again = "the same command without --fresh" if args.fresh else "the same command"
        print(f"recall: {unwritten}the replies are kept, and {again} continues it", file=sys.stderr)
        return 2
    if args.write:
        _write(place, done, digest)
    short = [told for one in done.agreements if (told := one.shortfall(standard_of(rubric)))]
    for told in short:
        print(f"recall: {told}", file=sys.stderr)
    return int(bool(short))


def _check(args: argparse.Namespace) -> None:
    """Refuse options that would have no effect."""
    if args.dry_run and (args.write or args.json or args.markdown):
        raise RecallError("--dry-run judges nothing, so that there is nothing to print or to write; give it alone")
    if args.replay is not None and (args.record is not None or args.dry_run):
        other = "--dry-run counts" if args.record is None else "--record makes"
        raise RecallError(f"{other} calls, and --replay makes none; give one of them")
    if args.budget is not None and (args.dry_run or args.replay is not None or args.record is not None):
        other = "--dry-run and --replay ask no model" if args.record is None else "a recording has to be whole"
        raise RecallError(f"--budget is for a calibration that may stop halfway, and {other}; leave one of them out")
    if args.fresh and (args.record is not None or args.replay is not None):
        raise RecallError("--fresh has no effect with --record or --replay, which use no kept reply; remove it")


def _by_cassette(
    args: argparse.Namespace, player: Player, place: Place, rubric: Rubric, judged: Callable[[], Calibrated]
) -> Calibrated:
    """Return what `judged` comes to with its calls recorded or replayed, and these calls."""
    given = args.record or args.replay
    folder = Path.cwd() / given if given else place.cassettes
    with taped(player, place, rubric, folder, f"{args.labels.stem}-{args.kind}") as tape:
        done = judged()
    return done._replace(
        calls=tuple(call_of(made.exchange(), made.kind, made.source, rubric.prices) for made in tape.made)
    )


def _write(place: Place, done: Calibrated, digest: str) -> None:
    name = place.name(place.calibration)
    for one in done.agreements:
        if one.kappa is None:
            print(f"recall: {one.name}: its kappa is undefined, and not written", file=sys.stderr)
    if rows := done.rows(datetime.now(UTC).date().isoformat(), f"sha256:{digest}"):
        with locked(place.lock):
            write_calibrations(place.calibration, name, rows)
        print(f"{name}: {plural(len(rows), 'row')} written", file=sys.stderr)


def _mode(args: argparse.Namespace) -> Mode:
    return "record" if args.record is not None else "off" if args.replay is None else "replay"


def _say(sentence: str) -> None:
    print(f"recall: {sentence}", file=sys.stderr)


def _progress(done: int, total: int) -> None:
    """Say how far it is: in place on a terminal, and a line for each tenth elsewhere."""
    told = f"judged {done} of {total}, {total - done} left"
    if sys.stderr.isatty():
        print(f"\r{told}", end="\n" if done == total else "", file=sys.stderr, flush=True)
    elif done == total or done * 10 // total > (done - 1) * 10 // total:
        print(told, file=sys.stderr, flush=True)


def _told(meter: Meter) -> str:
    """Say what is left of the budget, and return why no further call may begin."""
    why = meter.closed()
    print(f"recall: {budget_line(meter.budget, *meter.sums(), why)}", file=sys.stderr)
    return why


def _open() -> str:
    return ""


def _silent(done: int, total: int) -> None:
    pass
