"""The command `recall memory run`: run memories over a dataset, print what they came to, and set the exit code."""

from __future__ import annotations

import argparse
import hashlib
import os
import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pytest_recall.cli.common import LONGEST_WAIT, Commands, counted, names, placeless, print_report, project, say
from pytest_recall.datasets.commands.answer_floors import add_floors, ask_floors, check_floors, floors_section
from pytest_recall.datasets.commands.dry_run import dry_run
from pytest_recall.datasets.commands.findings import findings_of, floors_of
from pytest_recall.datasets.commands.judging import (
    add_options,
    asked_models,
    budget_of,
    check,
    models_of,
)
from pytest_recall.datasets.file import LAYOUTS, check_selected
from pytest_recall.files.duration import read_duration
from pytest_recall.files.errors import RecallError
from pytest_recall.registry import registry
from pytest_recall.trials.run_end import RunFinding, exit_code

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_recall.datasets.asking import MakeClient
    from pytest_recall.datasets.cases import DatasetCases
    from pytest_recall.datasets.membench import Arguments
    from pytest_recall.datasets.reader_floors import ReaderFloor
    from pytest_recall.datasets.repeats import Ingest, RepeatedResult
    from pytest_recall.datasets.reported import Reported
    from pytest_recall.memory.client import MemoryAdapter
    from pytest_recall.models.model_notes import ModelNotes
    from pytest_recall.replay.budget import Meter


count = counted(1, 10_000)

MEMBENCH_DETAILS = """\
PATH is a file of LoCoMo, LongMemEval or DMR, or `sample` with --dataset for the small shipped one.
Each conversation is stored once, and each question is asked. A table shows by category the mean
of each metric with its 95 % interval, without questions that failed or cannot be judged.

Each answered question is saved immediately, in eval/_artifacts/membench or in --out. The same command resumes a
stopped run, and asks questions again on which the memory raised an error or timed out, unless --keep-failed is given.
After an edit of the memory all questions are asked again; so they are after a finished run of a memory of which the
command cannot know that, such as a program or a service. --out refuses the folder of a run that asks something else.
Five failed questions in a row stop the run, unless --keep-failed is given. The output is the journal of a run,
trials.jsonl, as pytest writes it: `recall report`, `recall cassettes cost` and `recall compare` take its folder.
`recall report` makes a page of several memories, too, with the tests of each further one against the first.

With --reader a model answers from the passages of a memory that gives no answers, by one prompt for each dataset,
which --dry-run prints. Answers are saved with the passages, and the table has the tokens that were read
and written per answer, and the cost. A question without an answer of the reader keeps the metrics of its
passages, and the same command asks it again. Another reader is another run, and so is one that is code of yours and
was edited.

With --floors the same reader answers from floors and the ceiling as well, and the same judge judges these answers.

With --judge a model decides by the rule of the dataset's paper whether each answer is correct. Its verdicts are saved
with the questions, so that no answer is judged twice by the same models, of which an edited `python:` judge is none;
an answer without a verdict is in no mean, and the same command judges it again. With --concurrency several answers are
judged at once, and five in a row without a verdict stop the judging.

--record saves the calls of reader and judges, and --replay replays them. With --budget no call begins that
may cost more than is left; if anything is not asked, the exit code is 2: run the same command again to resume.

The table has the cost of models that the memory itself calls in this process: on average for a question and for a
conversation that it stores. --budget counts these; they are neither recorded nor replayed. The calls of a memory in
another process are unknown.

A memory that ingests with a model stores the same texts differently each time. --repeat N stores all of the
dataset N times and asks all questions each time. A question then has the mean of its values; the intervals include
the variance between ingests. Each ingest has a journal, the first in the run's folder and the others in `repeat-2`,
`repeat-3` and so on within it: run the same command again to resume the one that was stopped; a larger N adds to those
that are there. --budget is for all of them together.

  recall memory run --dataset locomo sample --memory sqlite-fts
  recall memory run locomo10.json --memory hybrid --sample 200 --seed 1
  recall memory run locomo10.json --memory python:mine.py:Memory --judge openai:gpt-5.5
  recall memory run locomo10.json --reader openai:gpt-5.4-mini --judge openai:gpt-5.5 --budget 5
  recall memory run locomo10.json --memory sqlite-fts,hybrid,python:mine.py:Memory
  recall memory run locomo10.json --memory python:mine.py:Memory --repeat 5
  recall memory run locomo10.json --fail-under evidence_recall_at_k=0.6
"""


def _settle(text: str) -> int:
    found = read_duration(text, "s")
    if found is None or not found.is_integer() or not 1 <= found <= LONGEST_WAIT:
        raise argparse.ArgumentTypeError(f"{text!r} is not whole seconds, up to 24h; write it like 90s or 5m")
    return int(found)


def add_membench(commands: Commands) -> None:
    """Add the command."""
    parser = placeless(
        commands, "run", "store the conversations of a dataset in a memory, and ask it", run_membench, MEMBENCH_DETAILS
    )
    parser.add_argument("path", metavar="PATH", help="the dataset's file, or `sample`")
    parser.add_argument(
        "--dataset",
        metavar="NAME",
        default="auto",
        help=f"what it is: {', '.join(LAYOUTS)}, or one of an extension (default: auto, by its first row)",
    )
    parser.add_argument(
        "--memory",
        action="append",
        metavar="SELECTOR",
        help="the memory system (default: sqlite-fts); several, A,B or given repeatedly, make one table",
    )
    parser.add_argument(
        "--memory-reset",
        action="store_true",
        help="allow to reset a memory system that is not empty, or does not say so",
    )
    parser.add_argument(
        "--concurrency",
        type=counted(1, 64),
        default=1,
        metavar="N",
        help="questions at once; also conversations if each has its own store (default: 1)",
    )
    parser.add_argument(
        "--accumulate",
        action="store_true",
        help="store all conversations in one store, in file order; ask about each after it is stored",
    )
    parser.add_argument(
        "--repeat",
        type=counted(1, 20),
        default=1,
        metavar="N",
        help="store the dataset N times and ask all questions each time, for a memory that ingests by a model"
        " (default: 1)",
    )
    parser.add_argument("--k", type=count, metavar="K", help="passages to ask for per question (default: 10)")
    parser.add_argument(
        "--unit",
        choices=("turn", "pair", "session"),
        default="turn",
        help="what is stored at a time; a pair is a turn with the reply to it (default: turn)",
    )
    parser.add_argument("--no-captions", action="store_true", help="leave out the captions of images")
    parser.add_argument("--no-dates", action="store_true", help="leave out the dates of sessions")
    parser.add_argument(
        "--settle",
        type=_settle,
        default=0,
        metavar="TIME",
        help="after a conversation is stored, wait until the memory reports that it is ready, at most this long, like"
        " 90s or 5m (a plain number is seconds); a memory that cannot report it gets all this time",
    )
    parser.add_argument("--sample", type=count, metavar="N", help="ask N questions, from each category by its share")
    parser.add_argument("--seed", default="0", metavar="SEED", help="seed of the draw of --sample (default: 0)")
    parser.add_argument("--categories", type=names, metavar="A,B", help="ask questions of these categories only")
    add_options(parser)
    add_floors(parser)
    parser.add_argument("-o", "--out", type=Path, metavar="DIR", help="folder of the run and its journal")
    parser.add_argument(
        "--fresh", action="store_true", help="ask all questions again; those of an earlier run are set aside"
    )
    parser.add_argument(
        "--keep-failed",
        action="store_true",
        help="keep questions that failed: neither ask them again nor stop after five in a row",
    )
    parser.add_argument(
        "--fail-under",
        action="append",
        default=[],
        metavar="METRIC=VALUE",
        help="exit with 1 if the mean of the metric is lower, or a question failed; may be repeated",
    )
    parser.add_argument(
        "--published",
        action="store_true",
        help="also print what papers report of other systems, which was not measured here",
    )
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="print what would be asked, and the reader's prompt; nothing is asked or written",
    )
    parser.add_argument("--json", action="store_true", help="print JSON, with all metrics")


class _Asking(NamedTuple):
    """What is asked of each memory, the budget of the models, if there is one, and what makes further clients."""

    args: argparse.Namespace
    bench: DatasetCases
    floors: dict[str, float]
    meter: Meter | None
    make: MakeClient

    def arguments(self, client: MemoryAdapter) -> Arguments:
        """Return what decides the outcome of the run of one memory."""
        from pytest_recall.datasets.membench_run import arguments_of
        from pytest_recall.datasets.reading import prompt_version

        reader = self.args.reader or ""
        prompt = prompt_version(self.args.reader_prompt or self.bench.dataset.layout.reader_prompt) if reader else ""
        return arguments_of(self.bench, client)._replace(reader=reader, prompt=prompt, settle=self.args.settle)

    def reader_notes(self, folder: Path) -> ModelNotes | None:
        """Return what is noted in the folder of a run on the reader, None without one."""
        if self.args.reader is None:
            return None
        from pytest_recall.datasets.membench_run import reader_notes
        from pytest_recall.models.resolve import resolve

        reader = resolve(self.args.reader, root=project()[0].root)
        return reader_notes(folder, reader, replayed=self.args.replay is not None)


def run_membench(args: argparse.Namespace) -> int:
    """Run `recall memory run`."""
    from pytest_recall.datasets.cases import DatasetCases, dataset_of
    from pytest_recall.datasets.questions import LIMIT, SAMPLE, BenchFile
    from pytest_recall.memory.resolve import DEFAULT, resolve
    from pytest_recall.models.input_log import watch

    if args.categories == ():
        raise RecallError("--categories: names nothing; give one or more, separated by commas")
    floors = floors_of(args.fail_under)
    layouts = registry().datasets()
    check_selected(args.dataset, "--dataset", layouts)
    path = args.path if args.path == SAMPLE else str(Path(args.path).absolute())
    asked = BenchFile(
        dataset=args.dataset,
        path=path,
        limit=args.k or LIMIT,
        unit=args.unit,
        captions=not args.no_captions,
        dates=not args.no_dates,
        sample=args.sample,
        seed=args.seed,
        categories=args.categories,
    )
    dataset = dataset_of(asked, Path.cwd(), args.path, layouts)._replace(name=args.path)
    bench = DatasetCases(Path(path), args.path, asked, dataset, accumulate=args.accumulate)
    kinds = registry().memories()
    make = partial(resolve, kinds=kinds)
    selectors = kinds.selected(args.memory or [DEFAULT])
    watch()
    clients = [make(one) for one in selectors]
    for why in kinds.left_out:
        say(why)
    for client in clients:
        if args.memory_reset and client.private:
            raise RecallError(f"--memory-reset: {client.name} is empty when a run begins; remove the option")
    check(args, clients)
    check_floors(args, clients)
    if len(clients) > 1 and args.published:
        raise RecallError("--published has an effect with one memory alone; name one with --memory, or remove it")
    if args.dry_run:
        return dry_run(args, bench, clients)
    # A judge that cannot be found is told before the memory is asked, and the reader paid.
    priced = models_of(args) if args.judge or args.budget is not None else {}
    priced |= {client.name: client.model for client in clients if client.model is not None}
    with budget_of(args, priced) as meter:
        asking = _Asking(args, bench, floors, meter, make)
        return _run_one(asking, clients[0]) if len(clients) == 1 else _run_several(asking, clients)


def _run_one(asking: _Asking, client: MemoryAdapter) -> int:
    """Run one memory, print what it came to, and return the exit code."""
    from pytest_recall.datasets import datasets_text as render
    from pytest_recall.datasets.file import PUBLISHED
    from pytest_recall.datasets.reading_text import reading_section
    from pytest_recall.datasets.repeats import RepeatedResult
    from pytest_recall.datasets.repeats_text import ingests_section
    from pytest_recall.files.sections import Report, fields
    from pytest_recall.trials.question_run import end_runs

    args = asking.args
    arguments = asking.arguments(client)
    reported = _reported(args, arguments)
    folder = args.out or _folder(arguments)
    result = _ingested(asking, client, arguments, folder)
    summary, named = result.summary, result.named
    earlier = [one.found.earlier for one in result.ingests]
    sections = [*render.membench_sections(arguments, summary, earlier, result.failed, result.kept)]
    if args.repeat > 1:
        sections.append(ingests_section(result, summary))
    if arguments.reader:
        spends = {name: one.found.reading_spend for name, one in named.items()}
        sections.append(reading_section(arguments.reader, summary.everything, result.unread, spends))
    if judges := {name: one.judged for name, one in named.items() if one.judged is not None}:
        spends = {name: one.spend for name, one in judges.items()}
        named_judges = result.ingests[0].judges
        sections.append(render.judged_section(named_judges, len(result.judged), result.undecided, spends))
    floors = _floors_of(asking, client, result.ingests[0])
    if args.repeat == 1 and not client.baseline:
        sections.append(floors_section(summary, floors, wanted=args.floors))
    if reported:
        whole = args.sample is None and args.categories is None and result.complete
        same = whole and arguments.sha256 in PUBLISHED
        sections.append(render.reported_section(reported, summary, same_file=same))
    print_report(Report(f"{client.name} on {arguments.dataset}", sections, fields(sections)), args)
    keeps = {"replays": args.replay is not None, "keeps": args.keep_failed}
    ends = [findings_of(result, asking.floors, **keeps)]
    ends += [findings_of(RepeatedResult((one,), 1), {}, **keeps, name=f"{name}: ") for name, one in floors.items()]
    code = max(map(_said, ends))
    end_runs(code, [one.folder for one in (*result.ingests, *floors.values())])
    return code


def _run_several(asking: _Asking, clients: Sequence[MemoryAdapter]) -> int:
    """Run memories one after the other, print one table, and return the worst of their exit codes.

    What cannot be used is told before anything is asked. One that breaks later is told, and left out of the table.
    """
    from pytest_recall.datasets import several as render
    from pytest_recall.datasets.asking import check_ready
    from pytest_recall.datasets.membench_run import is_finished, read_figures
    from pytest_recall.datasets.repeats import RepeatedResult
    from pytest_recall.files.errors import StoppedError, is_full, remedy_of, sentence_of
    from pytest_recall.files.wording import one_line, same_command
    from pytest_recall.trials.question_run import end_runs

    args, bench = asking.args, asking.bench
    runs = []
    codes = []
    floors: dict[str, dict[str, Ingest]] = {}
    broken: dict[str, str] = {}
    wanted: list[tuple[MemoryAdapter, Arguments, Path]] = []
    for client in clients:
        arguments = asking.arguments(client)
        wanted.append((client, arguments, _folder(arguments) if args.out is None else args.out / _slug(client.name)))
    check_ready(
        (
            client.name
            for client, arguments, folder in wanted
            if args.fresh
            or not is_finished(
                bench, folder, arguments, client, asking.reader_notes(folder), keeps_failed=args.keep_failed
            )
        ),
        asking.make,
    )
    for client, arguments, folder in wanted:
        say(f"{client.name}: {folder}")
        try:
            one = _asked(asking, client, arguments, folder)
            asked = _floors_of(asking, client, one)
        except StoppedError:
            raise
        except (RecallError, OSError) as error:
            if is_full(error):  # What the next memory is asked could not be kept either.
                raise
            why = sentence_of(error)
            broken[client.name] = one_line(f"{why}; {remedy_of(error)}" if isinstance(error, OSError) else why, 300)
            continue
        found = one.found
        trials = {trial.case_id: trial for trial in found.trials}
        contents = read_figures(folder, arguments.title)._replace(trials=trials)
        runs.append(render.MemoryRun(arguments, found.summary, contents, found.earlier))
        keeps = {"replays": args.replay is not None, "keeps": args.keep_failed}
        codes.append(_said(findings_of(RepeatedResult((one,), 1), asking.floors, **keeps, name=f"{client.name}: ")))
        if args.reader and not client.baseline:
            floors[client.name] = asked
        for name, floor in asked.items():
            of_floor = findings_of(RepeatedResult((floor,), 1), {}, **keeps, name=f"{client.name}, {name}: ")
            codes.append(_said(of_floor))
    compared = render.against_first(runs)
    beside = {
        one.arguments.memory: floors_section(one.summary, floors[one.arguments.memory], wanted=args.floors)
        for one in runs
        if one.arguments.memory in floors
    }
    if runs or args.json:
        print_report(render.several_report(runs, compared, beside, broken), args)
    for name, why in broken.items():
        say(f"{name}: not in the table, since it broke: {why}; {same_command('ask', again=True)}")
    of_floors = [one.folder for measured in floors.values() for one in measured.values()]
    code = 2 if broken else max(codes)
    end_runs(code, [*(folder for _, _, folder in wanted), *of_floors])
    return code


def _said(found: Sequence[RunFinding]) -> int:
    """Say what was found at the end of a run, and return its exit code."""
    for one in found:
        say(one.text)
    return exit_code(one.kind for one in found)


def _floors_of(asking: _Asking, client: MemoryAdapter, memory: Ingest) -> dict[str, Ingest]:
    """Ask the floors of a memory, if that is wanted and it searches, and return what came of it by name."""
    args = asking.args
    if not args.floors or client.baseline:
        return {}
    return ask_floors(memory, client.name, asking.arguments, partial(_asked, asking), keeps_failed=args.keep_failed)


def _ingested(asking: _Asking, client: MemoryAdapter, arguments: Arguments, folder: Path) -> RepeatedResult:
    """Tell a memory the dataset as often as is wanted, each time with all questions, up to what cannot be finished."""
    from pytest_recall.datasets.repeats import RepeatedResult
    from pytest_recall.trials.repeat_folders import begun_repeats, repeat_folder

    repeat = asking.args.repeat
    found: list[Ingest] = []
    while len(found) < repeat and not (found and found[-1].unfinished):
        number = len(found) + 1
        one = repeat_folder(folder, number)
        if repeat > 1:
            say(f"ingest {number} of {repeat}: {one}")
        # What a memory has kept of an ingest, such as where its random numbers are, is not for the next one.
        found.append(_asked(asking, client if number == 1 else asking.make(client.name), arguments, one, number=number))
    if (there := len(begun_repeats(folder))) > repeat:
        first = "the first one" if repeat == 1 else f"the first {repeat}"
        say(f"{folder}: has {there} ingests, and the figures are of {first}; --repeat {there} takes all of them")
    return RepeatedResult(tuple(found), repeat)


def _asked(
    asking: _Asking,
    client: MemoryAdapter,
    arguments: Arguments,
    folder: Path,
    floor: ReaderFloor | None = None,
    number: int = 1,
) -> Ingest:
    """Ask the questions that are open after an ingest, have the answers judged if that is wanted, and return both.

    A `floor` returns passages in place of the memory.
    """
    from pytest_recall.datasets.asking import at_once_of
    from pytest_recall.datasets.judged import judge_all
    from pytest_recall.datasets.membench_run import ask_open_questions, header_of
    from pytest_recall.datasets.repeats import Ingest, RepeatedResult
    from pytest_recall.trials.question_run import QuestionRun

    args, bench, meter = asking.args, asking.bench, asking.meter
    header = header_of(folder, bench, arguments, args.budget)
    with (
        QuestionRun(folder, header, say, project()[1].redactor(os.environ).redacted) as run,
        asked_models(args, bench, folder, arguments, meter, number) as models,
    ):
        reader = models.reader
        found = ask_open_questions(
            bench,
            client,
            run,
            arguments,
            allowed=args.memory_reset,
            keeps_failed=args.keep_failed,
            fresh=args.fresh,
            reader=reader,
            floor=floor,
            models=models.calls,
            first=partial(models.try_judge, run),
            at_once=at_once_of(
                args.concurrency, client, asking.make, reads=reader is not None, accumulate=args.accumulate
            ),
            # All ingests fill the same store, and each of them may be the one that was killed.
            filled=folder if number == 1 else folder.parent,
        )
        models.check_recorded()
        one = Ingest(folder, found)
        if (judge := models.judge) is not None and (found.answered or (found.trials and not args.reader)):
            sat = judge_all(found, run, judge, threads=args.concurrency, keeps_failed=args.keep_failed)
            models.check_recorded()
            one = Ingest(folder, sat.found, judge.name, sat)
        floors = asking.floors if floor is None else {}
        ended = findings_of(RepeatedResult((one,), 1), floors, replays=args.replay is not None, keeps=args.keep_failed)
        run.end(exit_code(found.kind for found in ended), one.stop)
    return one


def _slug(name: str) -> str:
    """Return the name of a memory as a folder is called."""
    return f"{re.sub(r'[^A-Za-z0-9.-]+', '-', name).strip('-.')[:40]}-{hashlib.sha256(name.encode()).hexdigest()[:6]}"


def _reported(args: argparse.Namespace, arguments: Arguments) -> Sequence[Reported]:
    """Return what others report, if it is asked for. Raises RecallError where no one does."""
    from pytest_recall.datasets.reported import REPORTED, reported_on

    found = reported_on(arguments.dataset) if args.published else ()
    if args.published and not found:
        known = " and ".join(sorted({one.dataset for one in REPORTED}))
        raise RecallError(f"--published: no figure with a source is kept for {arguments.dataset}, only for {known}")
    return found


def _folder(arguments: Arguments) -> Path:
    """Return the folder of runs with these arguments, below the eval directory."""
    from pytest_recall.datasets.membench import mark_of
    from pytest_recall.files.eval_directory import BENCHES, find_place

    root = Path.cwd()
    artifacts = find_place(root, root, [root]).artifacts
    artifacts.make()
    return artifacts.folder / BENCHES / f"{arguments.dataset}-{mark_of(arguments)}"
