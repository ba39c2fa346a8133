"""The command `recall memory run`: run memories over a dataset, print what they came to, and set the exit code."""

from __future__ import annotations

import argparse
import hashlib
import json
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_recall.cli.common import Commands, counted, names, placeless, say
from pytest_recall.datasets.commands.judging import add_options, budget_of, check, judge_answers, reader_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_recall.datasets.cases import DatasetCases
    from pytest_recall.datasets.judged import JudgingResult
    from pytest_recall.datasets.membench import Arguments
    from pytest_recall.datasets.membench_run import MembenchResult
    from pytest_recall.datasets.reported import Reported
    from pytest_recall.memory.client import Client
    from pytest_recall.replay.budget import Meter


count = counted(1, 10_000)

MEMBENCH_DETAILS = """\
PATH is a file of LoCoMo, LongMemEval or DMR, or `sample` for the small one that is shipped, with --dataset.
Each conversation is stored once, and each question is asked. Printed is a table by category: the mean
of each metric with its 95 % interval, apart from questions that failed and those that cannot be judged.

Every question is written down as it is answered, in eval/_artifacts/membench or in --out. The same command
goes on where one was stopped, and asks questions again at which the memory broke or ran out of time, unless
--keep-failed is given; --out refuses one that asks something else. Five questions in a row that break stop the run,
unless --keep-failed is given. What is written is the journal of a run, trials.jsonl, as pytest writes it: `recall
report`, `recall cassettes cost` and `recall compare` take its folder. `recall report` makes a page of several memories,
too, with the tests of each further one against the first.

With --reader a model answers from the passages of a memory that hands out no more, by one prompt for each dataset,
which --dry-run prints. Answers are written down beside the passages, and the table has the tokens that were read
and written for one, and the cost. A question that the reader gives no answer to keeps what was measured of its
passages, and the same command asks it again. Another reader is another run.

With --judge a model says of each answer whether it is correct, by the rule that the dataset's paper has for
that. What it says is written down beside the questions, so that no answer is judged twice by the same
models; an answer on which they come to no verdict is in no mean, and is judged again by the same command.

--record keeps the calls of reader and judges, and --replay answers them from there. With --budget no further call
begins once this command has spent so much, and the exit code is 2 if something was left; the same command continues.

  recall memory run --dataset locomo sample --memory sqlite-fts
  recall memory run locomo10.json --memory hybrid --sample 200 --seed 1
  recall memory run locomo10.json --memory python:mine.py:Memory --judge openai:gpt-5.5
  recall memory run locomo10.json --reader openai:gpt-5.4-mini --judge openai:gpt-5.5 --budget 5
  recall memory run locomo10.json --memory sqlite-fts,hybrid,python:mine.py:Memory
  recall memory run locomo10.json --fail-under evidence_recall_at_k=0.6
"""


def add_membench(commands: Commands) -> None:
    """Add the command."""
    parser = placeless(
        commands, "run", "store the conversations of a dataset in a memory, and ask it", run_membench, MEMBENCH_DETAILS
    )
    parser.add_argument("path", metavar="PATH", help="the dataset's file, or `sample`")
    parser.add_argument(
        "--dataset",
        choices=("auto", "locomo", "longmemeval", "dmr"),
        default="auto",
        help="what it is (default: auto, by its first row)",
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
        help="questions at once, and conversations where each has a store of its own (default: 1)",
    )
    parser.add_argument(
        "--accumulate",
        action="store_true",
        help="tell all conversations into one store, in the order of the file, and ask about each once it was told",
    )
    parser.add_argument("--k", type=count, metavar="K", help="how many passages it is asked for (default: 10)")
    parser.add_argument("--unit", choices=("turn", "session"), default="turn", help="what is stored at a time")
    parser.add_argument("--sample", type=count, metavar="N", help="ask N questions, from each category by its share")
    parser.add_argument("--seed", default="0", metavar="SEED", help="what decides the draw of --sample (default: 0)")
    parser.add_argument("--categories", type=names, metavar="A,B", help="ask questions of these categories only")
    add_options(parser)
    parser.add_argument("-o", "--out", type=Path, metavar="DIR", help="where the questions are written down")
    parser.add_argument(
        "--fresh", action="store_true", help="ask all questions again; those of an earlier run are set aside"
    )
    parser.add_argument(
        "--keep-failed",
        action="store_true",
        help="keep questions that failed: neither ask them again nor stop after five in a row",
    )
    parser.add_argument(
        "--bundle",
        type=Path,
        metavar="FILE",
        help="also write the runs into FILE, from which `recall memory verify` computes the figures again",
    )
    parser.add_argument(
        "--bundle-texts",
        action="store_true",
        help="with the texts of LoCoMo too, whose licence you then answer for; other datasets have them anyway",
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
        "--dry-run", action="store_true", help="print what would be asked, and the reader's prompt, and ask nothing"
    )
    parser.add_argument("--json", action="store_true", help="print JSON, with all metrics")


class _Asking(NamedTuple):
    """What is asked of each memory, and the budget of the models, if there is one."""

    args: argparse.Namespace
    bench: DatasetCases
    floors: dict[str, float]
    meter: Meter | None

    def arguments(self, client: Client) -> Arguments:
        """Return what decides the outcome of the run of one memory."""
        from pytest_recall.datasets.membench_run import arguments_of
        from pytest_recall.datasets.reading import prompt_version

        reader = self.args.reader or ""
        prompt = prompt_version(self.args.reader_prompt or self.bench.dataset.format) if reader else ""
        return arguments_of(self.bench, client)._replace(reader=reader, prompt=prompt)


def run_membench(args: argparse.Namespace) -> int:
    """Run `recall memory run`."""
    from pytest_recall.datasets.cases import DatasetCases, dataset_of
    from pytest_recall.datasets.questions import LIMIT, SAMPLE, BenchFile
    from pytest_recall.files.errors import RecallError
    from pytest_recall.memory.resolve import DEFAULT, resolve
    from pytest_recall.memory.selector import selected

    if args.categories == ():
        raise RecallError("--categories: names nothing; give one or more, separated by commas")
    if args.bundle_texts and args.bundle is None:
        raise RecallError("--bundle-texts is about a bundle; name its file with --bundle, or remove it")
    floors = _floors(args.fail_under)
    path = args.path if args.path == SAMPLE else str(Path(args.path).absolute())
    asked = BenchFile(
        dataset=args.dataset,
        path=path,
        limit=args.k or LIMIT,
        unit=args.unit,
        sample=args.sample,
        seed=args.seed,
        categories=args.categories,
    )
    dataset = dataset_of(asked, Path.cwd(), args.path)._replace(name=args.path)
    bench = DatasetCases(Path(path), args.path, asked, dataset, accumulate=args.accumulate)
    selectors = selected(args.memory or [DEFAULT])
    clients = [resolve(one) for one in selectors]
    for client in clients:
        if args.memory_reset and client.private:
            raise RecallError(f"--memory-reset: {client.name} is empty when a run begins; remove the option")
    check(args, clients)
    if len(clients) > 1 and args.published:
        raise RecallError("--published is shown beside one memory; name one with --memory")
    if args.dry_run:
        return _dry_run(args, bench, clients)
    with budget_of(args) as meter:
        asking = _Asking(args, bench, floors, meter)
        return _run_one(asking, clients[0]) if len(clients) == 1 else _run_several(asking, clients)


def _dry_run(args: argparse.Namespace, bench: DatasetCases, clients: Sequence[Client]) -> int:
    """Print what would be asked, and ask nothing."""
    from pytest_recall.datasets.datasets_text import stored_by
    from pytest_recall.datasets.reading import PROMPTS, prompt_version
    from pytest_recall.datasets.reading_text import prompt_lines
    from pytest_recall.files.errors import RecallError
    from pytest_recall.files.wording import grid, listed, plural
    from pytest_recall.models.model import parse

    named = ("record", "replay", "budget", "bundle", "out")
    given = [f"--{name}" for name in named if getattr(args, name) is not None]
    if given or args.fresh or args.memory_reset or args.fail_under:
        raise RecallError("--dry-run asks and writes nothing; give it without options for a run that does")
    for selector in (*([] if args.reader is None else [args.reader]), *args.judge):
        parse(selector)
    name = args.reader_prompt or bench.dataset.format
    version = prompt_version(name) if args.reader else ""
    counts = Counter(one.question.category for one in bench.entries.values())
    memories = [client.name for client in clients]
    if args.json:
        plain = {
            "version": 1,
            "memories": memories,
            "dataset": bench.dataset.format,
            "k": bench.asked.limit,
            "unit": bench.asked.unit,
            "accumulate": bench.accumulate,
            "questions": dict(sorted(counts.items())),
            "reader": args.reader,
            "prompt": version or None,
            "prompt_text": PROMPTS[name] if args.reader else None,
            "judges": args.judge,
        }
        print(json.dumps(plain, indent=2, ensure_ascii=False))
        return 0
    stored = stored_by(bench.asked.unit, bench.accumulate)
    asked = f"{plural(counts.total(), 'question')}, {bench.asked.limit} passages each, {stored}"
    print(f"{listed(memories)} on {bench.dataset.format} ({args.path}): {asked}\n")
    print("\n".join(grid(("category", "n"), [(one, f"{n:,}") for one, n in sorted(counts.items())])))
    if args.reader:
        print("", *prompt_lines(args.reader, version, PROMPTS[name]), sep="\n")
    return 0


def _run_one(asking: _Asking, client: Client) -> int:
    """Run one memory, print what it came to, and return the exit code."""
    from pytest_recall.datasets import datasets_text as render
    from pytest_recall.datasets.file import PUBLISHED
    from pytest_recall.datasets.reading_text import reading_lines, readings_json

    args, bench = asking.args, asking.bench
    arguments = asking.arguments(client)
    reported = _reported(args, arguments)
    folder = args.out or _folder(arguments)
    found, judged = _asked(asking, client, arguments, folder)
    summary = found.summary
    told: list[str] = []
    extra: dict[str, Any] = {}
    if arguments.reader:
        told += reading_lines(arguments.reader, summary.everything, found.unread, found.reading_spend)
        extra |= {"reading": readings_json(found.unread, found.reading_spend)}
    if judged is not None:
        judges, sat = judged
        told += list(render.verdicts(judges, len(sat.judged), sat.undecided, sat.spend))
        extra |= {"judge": render.verdicts_json(judges, len(sat.judged), sat.undecided, sat.spend)}
    if reported:
        whole = args.sample is None and args.categories is None and summary.complete
        same = whole and arguments.sha256 in PUBLISHED
        told += ["", *render.reported_lines(reported, summary, same_file=same)]
        extra["published"] = render.reported_json(reported, summary, same_file=same)
    if args.json:
        print(json.dumps({**render.membench_json(arguments, summary), **extra}, indent=2, ensure_ascii=False))
    else:
        print("\n".join([*render.membench_lines(arguments, summary, found.failed), *told]))
    _bundle(args, bench, [folder])
    return _verdict(asking, found, judged)


def _run_several(asking: _Asking, clients: Sequence[Client]) -> int:
    """Run memories one after the other, print one table, and return the worst of their exit codes."""
    from pytest_recall.datasets import several as render
    from pytest_recall.datasets.membench_run import read_figures
    from pytest_recall.files.wording import section_lines
    from pytest_recall.memory.selector import title

    args, bench = asking.args, asking.bench
    runs, codes, folders = [], [], []
    for client in clients:
        arguments = asking.arguments(client)
        folder = _folder(arguments) if args.out is None else args.out / _slug(client.name)
        say(f"{client.name}: {folder}")
        found, judged = _asked(asking, client, arguments, folder)
        trials = {one.case_id: one for one in found.trials}
        contents = read_figures(folder, title(client.name))._replace(trials=trials)
        runs.append(render.MemoryRun(arguments, found.summary, contents))
        folders.append(folder)
        codes.append(_verdict(asking, found, judged, f"{client.name}: "))
    compared = render.against_first(runs)
    if args.json:
        print(json.dumps(render.several_json(runs, compared), indent=2, ensure_ascii=False))
    else:
        print("\n".join(section_lines(render.several_section(runs, compared))))
    _bundle(args, bench, folders)
    return max(codes)


def _bundle(args: argparse.Namespace, bench: DatasetCases, folders: Sequence[Path]) -> None:
    """Write the runs into a bundle, if that is asked for."""
    from pytest_recall.datasets.bundle_file import LICENCES, write_bundle
    from pytest_recall.datasets.questions import SAMPLE

    if args.bundle is None:
        return
    licence = None if bench.asked.path == SAMPLE else LICENCES.get(bench.dataset.format)
    texts = licence is None or args.bundle_texts
    write_bundle(args.bundle, folders, texts=texts)
    without = "" if texts else f", with ids and digests in place of the dataset's texts ({licence})"
    say(f"{args.bundle}: written{without}; `recall memory verify {args.bundle}` computes its figures again")


def _asked(
    asking: _Asking, client: Client, arguments: Arguments, folder: Path
) -> tuple[MembenchResult, tuple[str, JudgingResult] | None]:
    """Ask the questions that are open, have the answers judged if that is wanted, and return what it came to."""
    from pytest_recall.datasets.asking import at_once_of
    from pytest_recall.datasets.membench_run import go_on

    args, bench, _, meter = asking
    with reader_of(args, arguments, meter) as reader:
        found = go_on(
            bench,
            client,
            folder,
            arguments,
            allowed=args.memory_reset,
            tell=say,
            keeps_failed=args.keep_failed,
            fresh=args.fresh,
            reader=reader,
            at_once=at_once_of(args.concurrency, client, reads=reader is not None, accumulate=args.accumulate),
        )
    if not args.judge or (args.reader and not found.answered):
        return found, None
    judges, sat = judge_answers(args, bench, found, folder, arguments, meter)
    return sat.found, (judges, sat)


def _slug(name: str) -> str:
    """Return the name of a memory as a folder is called."""
    return f"{re.sub(r'[^A-Za-z0-9.-]+', '-', name).strip('-.')[:40]}-{hashlib.sha256(name.encode()).hexdigest()[:6]}"


def _reported(args: argparse.Namespace, arguments: Arguments) -> Sequence[Reported]:
    """Return what others report, if it is asked for. Raises RecallError where no one does."""
    from pytest_recall.datasets.reported import REPORTED, reported_on
    from pytest_recall.files.errors import RecallError

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


def _floors(given: list[str]) -> dict[str, float]:
    from pytest_recall.files.errors import RecallError, nearest
    from pytest_recall.metrics.measures import MEASURES

    floors: dict[str, float] = {}
    for text in given:
        name, _, value = text.partition("=")
        if name not in MEASURES:
            raise RecallError(f"--fail-under: `{name}` is unknown{nearest(name, MEASURES)}")
        try:
            floors[name] = float(value)
        except ValueError:
            floors[name] = -1.0
        if not 0 <= floors[name] <= 1:
            raise RecallError(f"--fail-under: {text!r} names no mean; write it like {name}=0.6")
    return floors


def _verdict(asking: _Asking, found: MembenchResult, judged: tuple[str, JudgingResult] | None, name: str = "") -> int:
    """Return the exit code of one memory, and say what is wrong."""
    from pytest_recall.files.wording import plural
    from pytest_recall.metrics.measures import JUDGED
    from pytest_recall.metrics.retrieval import OF_ANSWERS

    summary = found.summary
    everything, unread = summary.everything, len(found.unread)
    undecided, left = (0, 0) if judged is None else (len(judged[1].undecided), judged[1].left)
    if unasked := summary.total - everything.n:
        say(f"{name}{plural(unasked, 'question')} not asked, since {found.stopped}; the same command asks them")
    if left and asking.meter is not None:
        say(f"{name}{plural(left, 'answer')} not judged, since {asking.meter.closed()}; the same command judges them")
    if unread and asking.args.replay is not None:
        say(f"{name}{plural(unread, 'question')} without an answer of the reader; --record records them")
    if unasked or left or (unread and asking.args.replay is not None):
        return 2
    if everything.failures == everything.n:
        say(f"{name}nothing was measured: every question failed, as said above; correct the memory")
        return 1
    if everything.failures + unread == everything.n:
        say(f"{name}no answer was measured: the reader gave none, as said above; correct it")
        return 1
    problems = []
    for metric, floor in asking.floors.items():
        mean = everything.means.get(metric)
        if mean is None or mean.value is None:
            problems.append(f"{metric} was measured on no question")
        elif mean.value < floor:
            problems.append(f"{metric} is {mean.value:.4f}, below {floor:g}")
    if asking.floors and everything.failures:
        problems.append(f"{everything.failures:,} questions failed, and are in no mean")
    if unread and any(metric in JUDGED or metric in OF_ANSWERS for metric in asking.floors):
        problems.append(f"{unread:,} questions have no answer of the reader, and are in no mean of answers")
    if undecided and any(metric in JUDGED for metric in asking.floors):
        problems.append(f"{undecided:,} answers came to no verdict of the judge, and are in no mean")
    for problem in problems:
        say(f"{name}--fail-under: {problem}")
    return 1 if problems else 0
