"""`recall memory run --judge`: the answers of a memory, judged by models, with their calls on a cassette or not."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_recall.cli.common import add_cassette

if TYPE_CHECKING:
    from pytest_recall.datasets.cases import DatasetCases
    from pytest_recall.datasets.judged import JudgingResult
    from pytest_recall.datasets.membench import Arguments
    from pytest_recall.datasets.membench_run import MembenchResult
    from pytest_recall.memory.client import Client


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that are about judging."""
    parser.add_argument(
        "--judge",
        action="append",
        default=[],
        metavar="SELECTOR",
        help="a model that says of each answer whether it is correct, by the rule of the paper; several are a panel",
    )
    add_cassette(parser)


def check(args: argparse.Namespace, client: Client) -> None:
    """Refuse options that would have no effect, before anything is asked. Raises RecallError."""
    from pytest_recall.files.errors import RecallError
    from pytest_recall.memory.client import Client

    given = [f"--{name}" for name in ("record", "replay") if getattr(args, name) is not None]
    if given and not args.judge:
        raise RecallError(f"{given[0]} is about the calls of judges; name one with --judge, or remove it")
    if len(given) > 1:
        raise RecallError("--record makes calls, and --replay makes none; give one of them")
    if args.judge and type(client).answer is Client.answer:
        raise RecallError(
            f"--judge: {client.name} hands out passages alone, and a rule is about answers; name a memory that answers"
        )


def sit(
    args: argparse.Namespace,
    bench: DatasetCases,
    found: MembenchResult,
    folder: Path,
    arguments: Arguments,
    mark: str,
    tell: Callable[[str], None],
) -> tuple[str, JudgingResult]:
    """Return the judges in one text, and what they came to; `mark` tells cassettes apart. Raises RecallError."""
    from pytest_recall.cases.settings_file import read_rubric
    from pytest_recall.datasets.judged import AnswerJudge, judge_all
    from pytest_recall.datasets.membench_run import header_of
    from pytest_recall.files.errors import MissError, RecallError, StoppedError
    from pytest_recall.files.eval_directory import find_place
    from pytest_recall.judges.calibrate import panel_of
    from pytest_recall.models.resolve import model_of
    from pytest_recall.replay.tape import Mode
    from pytest_recall.trials.command_cassette import BENCHES, player_of, taped, untaped

    place = find_place(Path.cwd(), Path.cwd(), [Path.cwd()])
    rubric_name = place.name(place.rubric)
    rubric = read_rubric(place.rubric, rubric_name)
    mode: Mode = "record" if args.record is not None else "off" if args.replay is None else "replay"
    player = player_of(rubric, mode)
    model = partial(model_of, kind="judge", player=player, root=place.root, say=tell)
    try:
        panel = panel_of(rubric, tuple(args.judge), None, rubric_name, "membench", model)
    except RecallError as error:
        raise RecallError(*(f"--judge: {message}" for message in error.messages)) from None
    cassettes = Path.cwd() / (args.record or args.replay) if args.record or args.replay else place.cassettes
    with ExitStack() as stack:
        tape = None
        if mode == "off":
            stack.enter_context(untaped(player, rubric))
        else:
            name = f"{arguments.dataset}-{mark}"
            tape = stack.enter_context(taped(player, place, rubric, cassettes, name, BENCHES))
        judge = AnswerJudge(bench, panel, rubric, tape)
        try:
            # What is on a cassette is whole, whatever was judged before.
            header = header_of(folder, bench, arguments)
            return judge.name, judge_all(bench, found, folder, judge, header, fresh=mode != "off", tell=tell)
        except KeyboardInterrupt:
            raise StoppedError(f"{folder}: stopped; the same command continues it") from None
        except MissError as error:
            if mode != "off":
                raise
            raise RecallError(str(error)) from None
