"""Set up the models that judge answers for a command, and what becomes of their calls."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pytest_recall.cli.common import add_cassette, say

if TYPE_CHECKING:
    from pytest_recall.cases.settings import Settings
    from pytest_recall.datasets.cases import DatasetCases
    from pytest_recall.datasets.judged import JudgingResult
    from pytest_recall.datasets.membench import Arguments
    from pytest_recall.datasets.membench_run import MembenchResult
    from pytest_recall.files.eval_directory import Place
    from pytest_recall.judges.panel import Panel
    from pytest_recall.memory.client import Client
    from pytest_recall.replay.player import Player
    from pytest_recall.replay.tape import Tape


class JudgingModels(NamedTuple):
    """The models of `--judge` as a panel by the rubric, and the player of their calls, whose mode the options say."""

    place: Place
    rubric: Settings
    player: Player
    panel: Panel


def judging_models(args: argparse.Namespace, purpose: str) -> JudgingModels:
    """Return the models that are to judge; what audits draw depends on the `purpose`. Raises RecallError."""
    from pytest_recall.cases.settings_file import read_settings
    from pytest_recall.files.errors import RecallError
    from pytest_recall.files.eval_directory import find_place
    from pytest_recall.judges.calibrate import panel_of
    from pytest_recall.models.resolve import model_of
    from pytest_recall.replay.tape import Mode
    from pytest_recall.trials.command_cassette import player_of

    place = find_place(Path.cwd(), Path.cwd(), [Path.cwd()])
    rubric_name = place.name(place.rubric)
    rubric = read_settings(place.rubric, rubric_name)
    mode: Mode = "record" if args.record is not None else "off" if args.replay is None else "replay"
    player = player_of(rubric, mode)
    model = partial(model_of, kind="judge", player=player, root=place.root, say=say)
    try:
        panel = panel_of(rubric, tuple(args.judge), None, rubric_name, purpose, model)
    except RecallError as error:
        raise RecallError(*(f"--judge: {message}" for message in error.messages)) from None
    return JudgingModels(place, rubric, player, panel)


@contextmanager
def calls_of(args: argparse.Namespace, models: JudgingModels, name: str, stopped: str) -> Iterator[Tape | None]:
    """Hand out the tape that the calls of the block go by, in the cassette `name`; None where none is asked for.

    Raises RecallError for a call that must not begin, and, as `stopped` says, for a run that is.
    """
    from pytest_recall.files.errors import MissError, RecallError, StoppedError
    from pytest_recall.trials.command_cassette import BENCHES, taped, untaped

    place, rubric, player, _ = models
    given = args.record or args.replay
    try:
        if player.mode == "off":
            with untaped(player, rubric):
                yield None
        else:
            with taped(player, place, rubric, Path.cwd() / given if given else place.cassettes, name, BENCHES) as tape:
                yield tape
    except KeyboardInterrupt:
        raise StoppedError(stopped) from None
    except MissError as error:
        if player.mode != "off":
            raise
        raise RecallError(str(error)) from None


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that are about judging the answers of a memory."""
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


def judge_answers(
    args: argparse.Namespace,
    bench: DatasetCases,
    found: MembenchResult,
    folder: Path,
    arguments: Arguments,
    mark: str,
) -> tuple[str, JudgingResult]:
    """Return the judges in one text, and what they came to; `mark` tells cassettes apart. Raises RecallError."""
    from pytest_recall.datasets.judged import AnswerJudge, judge_all
    from pytest_recall.datasets.membench_run import header_of

    models = judging_models(args, "membench")
    stopped = f"{folder}: stopped; the same command continues it"
    with calls_of(args, models, f"{arguments.dataset}-{mark}", stopped) as tape:
        judge = AnswerJudge(bench, models.panel, models.rubric, tape)
        header = header_of(folder, bench, arguments)
        # What is on a cassette is whole, whatever was judged before.
        fresh = models.player.mode != "off"
        return judge.name, judge_all(bench, found, folder, judge, header, fresh=fresh, tell=say)
