"""Set up a command's models that answer and judge, and how their calls are recorded."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pytest_recall.cli.common import BUDGET_HELP, add_record, dollars, project, recording_of, say

if TYPE_CHECKING:
    from pytest_recall.datasets.cases import DatasetCases
    from pytest_recall.datasets.judged import JudgingResult
    from pytest_recall.datasets.membench import Arguments
    from pytest_recall.datasets.membench_run import MembenchResult
    from pytest_recall.datasets.reading import PassageReader
    from pytest_recall.judges.panel import Panel
    from pytest_recall.memory.client import Client
    from pytest_recall.models.model import Model
    from pytest_recall.replay.budget import Meter
    from pytest_recall.replay.tape import CassetteMode
    from pytest_recall.trials.model_calls import RunModels


def _panel(args: argparse.Namespace, model: Callable[[str], Model]) -> Panel:
    """Return the models of `--judge` as a panel by the rubric. Raises RecallError."""
    from pytest_recall.files.errors import RecallError
    from pytest_recall.judges.calibrate import panel_of

    place, rubric = project()
    try:
        return panel_of(rubric, tuple(args.judge), None, place.name(place.rubric), "membench", model)
    except RecallError as error:
        raise RecallError(*(f"--judge: {message}" for message in error.messages)) from None


def models_of(args: argparse.Namespace) -> dict[str, Model]:
    """Return the models that `recall memory run` is to ask, by their roles. Raises RecallError."""
    from pytest_recall.models.resolve import model_of
    from pytest_recall.trials.command_cassette import player_of

    place, rubric = project()
    found: dict[str, Model] = {}
    player = player_of(rubric, recording_of(args).mode)
    if args.reader is not None:
        found["reader"] = model_of(args.reader, "worker", player=player, root=place.root, say=say, ready=False)
    if args.judge:
        found |= _panel(args, partial(model_of, kind="judge", player=player, root=place.root, say=say)).roles
    return found


def _run_models(args: argparse.Namespace, meter: Meter | None, mode: CassetteMode, *, here: bool = False) -> RunModels:
    """Return how the models of the command are asked; the memory asks its own `here` or in another process."""
    from pytest_recall.trials.model_calls import RunModels

    place, rubric = project()
    given = recording_of(args).folder
    return RunModels(place, rubric, mode, Path.cwd() / given if given else None, meter, here=here)


def _scenario(arguments: Arguments) -> str:
    """Return the folder of the cassettes of a run, which is called as the folder of its journal is."""
    from pytest_recall.datasets.membench import mark_of
    from pytest_recall.trials.command_cassette import BENCHES

    return f"{BENCHES}-{arguments.dataset}-{mark_of(arguments)}"


@contextmanager
def budget_of(args: argparse.Namespace, models: Mapping[str, Model]) -> Iterator[Meter | None]:
    """Hand out what counts the money of a command, None without a budget, and say in the end what was spent.

    `models` are those that it asks, by their roles. Raises RecallError for one whose price is not known.
    """
    from pytest_recall.trials.command_cassette import meter_of
    from pytest_recall.trials.cost_text import budget_line
    from pytest_recall.trials.priced import check_prices

    if args.budget is None:
        yield None
        return
    place, rubric = project()
    check_prices(models, rubric, place.name(place.rubric), say)
    meter = meter_of(place, rubric, args.budget)
    try:
        yield meter
    finally:
        say(budget_line(meter.balance()))
        meter.close()


class AskedModels(NamedTuple):
    """How the models of a run are asked, its memory's own among them, and the reader, if there is one."""

    calls: RunModels
    reader: PassageReader | None = None


@contextmanager
def asked_models(
    args: argparse.Namespace, arguments: Arguments, meter: Meter | None, number: int
) -> Iterator[AskedModels | None]:
    """Hand out the model that answers from passages, if there is to be one, and listen to calls in the block.

    These are its own, and those of the memory's models if it makes them in this process; None where there are neither.
    `number` is that of the ingest, counted from 1: each has cassettes of its own, as it finds other passages. Raises
    RecallError, also for a call that could not be recorded.
    """
    from pytest_recall.datasets.reading import PassageReader
    from pytest_recall.files.errors import RecallError
    from pytest_recall.memory.selector import models_of as models_of_memory

    here = models_of_memory(arguments.memory) == "here"
    if args.reader is None and not here:
        yield None
        return
    mode: CassetteMode = "off" if args.reader is None else recording_of(args).mode
    calls = _run_models(args, meter, mode, here=here)
    scenario = _scenario(arguments)
    with ExitStack() as stack:
        reader = None
        if args.reader is not None:
            try:
                model = calls.model(args.reader, "worker", project()[0].root, say, ready=True)
            except RecallError as error:
                raise RecallError(*(f"--reader: {message}" for message in error.messages)) from None
            if calls.mode == "replay" and not args.judge:
                calls.check_recorded([model.name], scenario)
            stack.enter_context(closing(model))
            reader = PassageReader(model=model, prompt=arguments.prompt.partition(" ")[0], calls=calls)
        stack.enter_context(calls.listening(scenario, number))
        yield AskedModels(calls, reader)
    if calls.problems:
        raise RecallError(*calls.problems)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that are about answering from passages, and about judging the answers."""
    parser.add_argument(
        "--reader", metavar="SELECTOR", help="a model that answers from the passages of memories that give no answers"
    )
    parser.add_argument(
        "--reader-prompt",
        choices=("locomo", "longmemeval", "dmr", "plain"),
        help="the prompt of the reader; --dry-run prints it (default: the dataset's)",
    )
    parser.add_argument(
        "--judge",
        action="append",
        default=[],
        metavar="SELECTOR",
        help="a model that judges whether an answer is correct, by the paper's rule; several are a panel",
    )
    add_record(parser, "; each question has its own", "the reader and the judges")
    parser.add_argument("--budget", type=dollars, metavar="USD", help=BUDGET_HELP)


def check(args: argparse.Namespace, clients: Sequence[Client]) -> None:
    """Refuse options that would have no effect, before anything is asked. Raises RecallError."""
    from pytest_recall.files.errors import RecallError
    from pytest_recall.memory.client import Client
    from pytest_recall.memory.selector import models_of as models_of_memory

    given = [f"--{name}" for name in ("record", "replay", "budget") if getattr(args, name) is not None]
    if given == ["--budget"] and any(models_of_memory(client.name) == "here" for client in clients):
        given = []  # It keeps what the models of a memory itself cost as well.
    if given and not args.judge and args.reader is None:
        raise RecallError(f"{given[0]} is about the calls of models; name one with --reader or --judge, or remove it")
    if args.reader_prompt is not None and args.reader is None:
        raise RecallError("--reader-prompt is the prompt of a reader; name one with --reader, or remove it")
    recording_of(args)
    if args.replay is not None and args.budget is not None:
        raise RecallError("--budget is about calls that are made, and --replay makes none; give one of them")
    for client in clients:
        if args.judge and args.reader is None and type(client).answer is Client.answer:
            raise RecallError(
                f"--judge: {client.name} returns passages alone, and no answer to judge; name a memory that answers, or"
                " with --reader a model that answers from passages"
            )
    if args.repeat > 1 and len(clients) > 1:
        raise RecallError("--repeat is for one memory; name one with --memory, or remove it")
    if args.repeat > 1 and clients[0].baseline:
        raise RecallError(f"--repeat: {clients[0].name} does not search, so that each ingest gives the same; remove it")
    if args.reader is not None and all(client.answers_only for client in clients):
        raise RecallError(f"--reader: {clients[0].name} answers by itself, and returns no passages; remove it")


def judge_answers(
    args: argparse.Namespace,
    bench: DatasetCases,
    found: MembenchResult,
    folder: Path,
    arguments: Arguments,
    meter: Meter | None,
    number: int,
) -> tuple[str, JudgingResult]:
    """Return the judges in one text, and what they came to of the ingest of this number. Raises RecallError."""
    from pytest_recall.datasets.judged import AnswerJudge, judge_all
    from pytest_recall.datasets.membench_run import header_of
    from pytest_recall.files.errors import RecallError

    place, rubric = project()
    calls = _run_models(args, meter, recording_of(args).mode)
    panel = _panel(args, partial(calls.model, kind="judge", root=place.root, say=say, ready=True))
    judge = AnswerJudge(bench, panel, rubric, calls, folder)
    # Judges that are recorded one after the other must not take each other's cassettes.
    scenario = f"{_scenario(arguments)}-judge-{sha256(judge.name.encode()).hexdigest()[:6]}"
    if calls.mode == "replay":
        calls.check_recorded([one.name for one in panel.roles.values()], scenario)
    with calls.listening(scenario, number):
        sat = judge_all(
            found,
            folder,
            judge,
            header_of(folder, bench, arguments),
            threads=args.concurrency,
            keeps_failed=args.keep_failed,
            tell=say,
        )
    if calls.problems:
        raise RecallError(*calls.problems)
    return judge.name, sat
