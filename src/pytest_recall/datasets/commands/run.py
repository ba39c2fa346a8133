"""The commands `recall memory run` and those of datasets: run a memory over a dataset, and look into its file."""

from __future__ import annotations

import argparse
import hashlib
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_recall.cli.common import Commands, counted, names, placeless, say
from pytest_recall.datasets.commands.judging import add_options, check, judge_answers
from pytest_recall.datasets.dataset import Inventory
from pytest_recall.datasets.datasets_text import Checked, dataset_json, dataset_lines
from pytest_recall.datasets.file import LAYOUTS, PUBLISHED, digest, open_dataset, sample_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_recall.datasets.cases import DatasetCases
    from pytest_recall.datasets.judged import JudgingResult
    from pytest_recall.datasets.membench import Arguments, MembenchSummary
    from pytest_recall.datasets.membench_run import MembenchResult
    from pytest_recall.datasets.reported import Reported
    from pytest_recall.memory.client import Client


count = counted(1, 10_000)

MEMBENCH_DETAILS = """\
PATH is a file of LoCoMo, LongMemEval or DMR, or `sample` for the small one that is shipped, with --dataset.
Each conversation is stored once, and each question is asked. Printed is a table by category: the mean
of each metric with its 95 % interval, apart from questions that failed and those that cannot be judged.

Every question is written down as it is answered, in eval/_artifacts/membench or in --out. The same command
goes on where one was stopped, and asks questions again at which the memory broke or ran out of time, unless
--keep-failed is given; --out refuses one that asks something else. Five questions in a row that break stop the run,
unless --keep-failed is given. What is written is the journal of a run, trials.jsonl, as pytest writes it: `recall
report`, `recall cassettes cost` and `recall compare` take its folder.

With --judge a model says of each answer whether it is correct, by the rule that the dataset's paper has for
that. What it says is written down beside the questions, so that no answer is judged twice by the same
models; an answer on which they come to no verdict is in no mean, and is judged again by the same command.

  recall memory run --dataset locomo sample --memory sqlite-fts
  recall memory run locomo10.json --memory hybrid --sample 200 --seed 1
  recall memory run locomo10.json --memory python:mine.py:Memory --judge openai:gpt-5.5
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
    parser.add_argument("--json", action="store_true", help="print JSON, with all metrics")


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
    bench = DatasetCases(
        Path(path), args.path, asked, dataset_of(asked, Path.cwd(), args.path)._replace(name=args.path)
    )
    selectors = selected(args.memory or [DEFAULT])
    clients = [resolve(one) for one in selectors]
    for client in clients:
        if args.memory_reset and client.private:
            raise RecallError(f"--memory-reset: {client.name} is empty when a run begins; remove the option")
        check(args, client)
    if len(clients) == 1:
        return _run_one(args, bench, clients[0], floors)
    if args.published:
        raise RecallError("--published is shown beside one memory; name one with --memory")
    return _run_several(args, bench, clients, floors)


def _run_one(args: argparse.Namespace, bench: DatasetCases, client: Client, floors: dict[str, float]) -> int:
    """Run one memory, print what it came to, and return the exit code."""
    from pytest_recall.datasets import datasets_text as render
    from pytest_recall.datasets.file import PUBLISHED
    from pytest_recall.datasets.membench_run import arguments_of

    arguments = arguments_of(bench, client)
    reported = _reported(args, arguments)
    folder = args.out or _folder(arguments)
    found, judged = _asked(args, bench, client, arguments, folder)
    summary = found.summary
    told: list[str] = []
    extra: dict[str, Any] = {}
    if judged is not None:
        judges, sat = judged
        told = list(render.verdicts(judges, len(sat.judged), sat.undecided, sat.spend))
        extra = {"judge": render.verdicts_json(judges, len(sat.judged), sat.undecided, sat.spend)}
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
    return _verdict(floors, summary, 0 if judged is None else len(judged[1].undecided))


def _run_several(
    args: argparse.Namespace, bench: DatasetCases, clients: Sequence[Client], floors: dict[str, float]
) -> int:
    """Run memories one after the other, print one table, and return the worst of their exit codes."""
    from pytest_recall.datasets import several as render
    from pytest_recall.datasets.comparison import JournalContents
    from pytest_recall.datasets.membench import plain
    from pytest_recall.datasets.membench_run import arguments_of

    runs, codes, folders = [], [], []
    for client in clients:
        arguments = arguments_of(bench, client)
        folder = _folder(arguments) if args.out is None else args.out / _slug(client.name)
        say(f"{client.name}: {folder}")
        found, judged = _asked(args, bench, client, arguments, folder)
        summary = found.summary
        trials = {one.case_id: one for one in found.trials}
        asked = {} if found.record is None else found.record.asked
        contents = JournalContents(client.name, plain(arguments), trials, asked)
        runs.append(render.MemoryRun(arguments, summary, contents))
        undecided = 0 if judged is None else len(judged[1].undecided)
        folders.append(folder)
        codes.append(_verdict(floors, summary, undecided, f"{client.name}: "))
    compared = render.against_first(runs)
    if args.json:
        print(json.dumps(render.several_json(runs, compared), indent=2, ensure_ascii=False))
    else:
        print("\n".join(render.several_lines(runs, compared)))
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
    args: argparse.Namespace, bench: DatasetCases, client: Client, arguments: Arguments, folder: Path
) -> tuple[MembenchResult, tuple[str, JudgingResult] | None]:
    """Ask the questions that are open, have the answers judged if that is wanted, and return what it came to."""
    from pytest_recall.datasets.membench_run import go_on

    found = go_on(
        bench,
        client,
        folder,
        arguments,
        allowed=args.memory_reset,
        tell=say,
        keeps_failed=args.keep_failed,
        fresh=args.fresh,
    )
    if not args.judge:
        return found, None
    judges, sat = judge_answers(args, bench, found, folder, arguments, _mark(arguments))
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
    from pytest_recall.files.eval_directory import BENCHES, find_place

    root = Path.cwd()
    artifacts = find_place(root, root, [root]).artifacts
    artifacts.make()
    return artifacts.folder / BENCHES / f"{arguments.dataset}-{_mark(arguments)}"


def _mark(arguments: Arguments) -> str:
    from pytest_recall.datasets.membench import asked_of

    return hashlib.sha256(json.dumps(asked_of(arguments)).encode()).hexdigest()[:12]


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


def _verdict(floors: dict[str, float], summary: MembenchSummary, undecided: int, name: str = "") -> int:
    """Return the exit code, and say what is wrong; `undecided` answers have no verdict of the judge."""
    from pytest_recall.metrics.measures import JUDGED

    everything = summary.everything
    if everything.failures == everything.n:
        say(f"{name}nothing was measured: every question failed, as said above; correct the memory")
        return 1
    problems = []
    for metric, floor in floors.items():
        mean = everything.means.get(metric)
        if mean is None or mean.value is None:
            problems.append(f"{metric} was measured on no question")
        elif mean.value < floor:
            problems.append(f"{metric} is {mean.value:.4f}, below {floor:g}")
    if floors and everything.failures:
        problems.append(f"{everything.failures:,} questions failed, and are in no mean")
    if undecided and any(metric in JUDGED for metric in floors):
        problems.append(f"{undecided:,} answers came to no verdict of the judge, and are in no mean")
    for problem in problems:
        say(f"{name}--fail-under: {problem}")
    return 1 if problems else 0


DATASET_CHECK_DETAILS = """\
Reads the file row by row, whatever its size. Exits with 0 if nothing in it is odd, or if it is, byte
for byte, one that was published; with 1 if it can be read and something in it is odd; with 2 if it
cannot be read, and the sentence says at which row.
"""


def add_dataset_check(commands: Commands) -> None:
    """Add the command."""
    parser = placeless(
        commands,
        "dataset",
        "count what a file of LoCoMo, LongMemEval or DMR holds, and find what is odd in it",
        run_dataset_check,
        DATASET_CHECK_DETAILS,
    )
    parser.add_argument("path", type=Path, metavar="PATH", help="the file")
    parser.add_argument(
        "--dataset", choices=("auto", *LAYOUTS), default="auto", help="what it is (default: auto, by its first row)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run_dataset_check(args: argparse.Namespace) -> int:
    """Run the command."""
    dataset = open_dataset(args.path, format=None if args.dataset == "auto" else args.dataset)
    inventory = Inventory()
    for sample in dataset.samples():
        inventory.add(sample)
    layout = LAYOUTS[dataset.format]
    how = layout.shape if args.dataset == "auto" else "as --dataset says"
    found = digest(dataset)
    published = PUBLISHED.get(found.sha256)
    checked = Checked(dataset.name, dataset.format, how, found.size, found.sha256, published, inventory)
    if args.json:
        print(json.dumps(dataset_json(checked), indent=2, ensure_ascii=False))
    else:
        print("\n".join(dataset_lines(checked)))
    return int(bool(inventory.oddities) and published is None)


DATASET_SAMPLE_DETAILS = """\
The file was written for tests and demonstrations and has nothing of the real one:
  recall memory sample locomo > locomo.json
"""


def add_dataset_sample(commands: Commands) -> None:
    """Add the command."""
    parser = placeless(
        commands, "sample", "print a small file in the format of a dataset", run_dataset_sample, DATASET_SAMPLE_DETAILS
    )
    parser.add_argument("format", choices=tuple(LAYOUTS), help="which dataset")


def run_dataset_sample(args: argparse.Namespace) -> int:
    """Run the command."""
    print(sample_text(args.format), end="")
    return 0
