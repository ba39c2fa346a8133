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
from pytest_recall.datasets.reading import PROMPTS

if TYPE_CHECKING:
    from pytest_recall.datasets.cases import DatasetCases
    from pytest_recall.datasets.judged import AnswerJudge
    from pytest_recall.datasets.membench import Arguments
    from pytest_recall.datasets.reading import PassageReader
    from pytest_recall.judges.panel import Panel
    from pytest_recall.memory.client import MemoryAdapter
    from pytest_recall.models.model import Model
    from pytest_recall.replay.budget import Meter
    from pytest_recall.replay.tape import CassetteMode
    from pytest_recall.trials.model_calls import RunModels
    from pytest_recall.trials.question_run import QuestionRun
    from pytest_recall.trials.run_stop import RunStop


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
    """How the models of an ingest are asked."""

    calls: RunModels | None = None
    """The calls of the reader, and those of the memory's own models if it makes them in this process; None where there
    are neither."""
    reader: PassageReader | None = None
    judge: AnswerJudge | None = None
    problems: Sequence[str] = ()
    """What could not be recorded so far."""

    def try_judge(self, run: QuestionRun) -> RunStop | None:
        """Put known answers to the judges, and return why nothing may be asked. Raises RecallError."""
        return None if self.judge is None else run.try_judges(self.judge.ready, self.judge.calls.memory)

    def check_recorded(self) -> None:
        """Raise RecallError for a call that could not be recorded."""
        from pytest_recall.files.errors import RecallError

        if self.problems:
            raise RecallError(*self.problems)


@contextmanager
def asked_models(
    args: argparse.Namespace,
    bench: DatasetCases,
    folder: Path,
    arguments: Arguments,
    meter: Meter | None,
    number: int,
) -> Iterator[AskedModels]:
    """Hand out the model that answers from passages and those that judge, if there are some, and listen to their calls.

    `number` is that of the ingest, counted from 1: each has cassettes of its own, as it finds other passages. Raises
    RecallError.
    """
    from pytest_recall.datasets.judged import AnswerJudge
    from pytest_recall.datasets.reading import PassageReader
    from pytest_recall.files.errors import RecallError

    here = arguments.memory_models == "here"
    if args.reader is None and not here and not args.judge:
        yield AskedModels()
        return
    place, rubric = project()
    calls = _run_models(args, meter, recording_of(args).mode, here=here)
    scenario = _scenario(arguments)
    reader = judge = None
    with ExitStack() as stack:
        if args.reader is not None:
            try:
                model = calls.model(args.reader, "worker", place.root, say, ready=True)
            except RecallError as error:
                raise RecallError(*(f"--reader: {message}" for message in error.messages)) from None
            if calls.mode == "replay" and not args.judge:
                calls.check_recorded([model.name], scenario)
            stack.enter_context(closing(model))
            reader = PassageReader(model=model, prompt=arguments.prompt.partition(" ")[0], calls=calls)
        calls.record_in(scenario, number)
        if args.judge:
            own = calls.apart()
            panel = _panel(args, partial(own.model, kind="judge", root=place.root, say=say, ready=True))
            judge = AnswerJudge(bench, panel, rubric, own, folder)
            # Judges that are recorded one after the other must not take each other's cassettes.
            of_judge = f"{scenario}-judge-{sha256(judge.name.encode()).hexdigest()[:6]}"
            own.record_in(of_judge, number)
            if own.mode == "replay":
                own.check_recorded([one.name for one in panel.roles.values()], of_judge)
        stack.enter_context(calls.listening())
        yield AskedModels(None if reader is None and not here else calls, reader, judge, calls.problems)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that are about answering from passages, and about judging the answers."""
    parser.add_argument(
        "--reader", metavar="SELECTOR", help="a model that answers from the passages of memories that give no answers"
    )
    parser.add_argument(
        "--reader-prompt",
        choices=tuple(PROMPTS),
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


def check(args: argparse.Namespace, clients: Sequence[MemoryAdapter]) -> None:
    """Refuse options that would have no effect, before anything is asked. Raises RecallError."""
    from pytest_recall.files.errors import RecallError
    from pytest_recall.memory.client import MemoryAdapter

    given = [f"--{name}" for name in ("record", "replay", "budget") if getattr(args, name) is not None]
    if given == ["--budget"] and any(client.calls_models == "here" for client in clients):
        given = []  # It keeps what the models of a memory itself cost as well.
    if given and not args.judge and args.reader is None:
        raise RecallError(f"{given[0]} is about the calls of models; name one with --reader or --judge, or remove it")
    if args.reader_prompt is not None and args.reader is None:
        raise RecallError("--reader-prompt is the prompt of a reader; name one with --reader, or remove it")
    recording_of(args)
    if args.replay is not None and args.budget is not None:
        raise RecallError("--budget is about calls that are made, and --replay makes none; give one of them")
    for client in clients:
        if args.judge and args.reader is None and type(client).answer is MemoryAdapter.answer:
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
