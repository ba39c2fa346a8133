"""The commands `recall bench run`, `rebuild`, `merge` and `rescore`: run a persona over a memory, and its files."""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_recall.cli.common import (
    BUDGET_HELP,
    TIME_HELP,
    Commands,
    add_record,
    dollars,
    duration,
    placeless,
    print_report,
    project,
    recording_of,
    say,
)
from pytest_recall.files.errors import RecallError
from pytest_recall.files.eval_directory import PERSONAS, find_place
from pytest_recall.files.wording import listed, plural
from pytest_recall.horizon.commands.options import add_dates, profile_of, say_dates
from pytest_recall.horizon.commands.published import add_published, draw, grid, settle_published, with_timeout
from pytest_recall.horizon.commands.several import personas_of, run_each
from pytest_recall.registry import registry
from pytest_recall.replay.record_option import RecordOption

if TYPE_CHECKING:
    from pytest_recall.horizon.parts import Parts
    from pytest_recall.horizon.profile import Profile
    from pytest_recall.horizon.profile_file import BenchSettings
    from pytest_recall.horizon.run import BenchOutcome
    from pytest_recall.replay.budget import Meter
    from pytest_recall.trials.model_calls import RunModels


BENCH_DETAILS = """\
A profile is a YAML file that names the persona, the memory and the models. Options override it.
  persona: {id: mara, dir: personas/mara, arcs: arcs-60d.yaml}
  harness: {adapter: sqlite-fts}
  models: {judge: "openai:gpt-5.4-mini", appellateJudge: "openai:gpt-5.4", answer: "openai:gpt-5.4-mini"}
  run: {ranges: {start: 6, end: 60, step: 6}, sample: 50, judgeMemoryWindow: 1}

The memory is told the days once, up to one checkpoint after the other, and asked at each of them. Its own
answer is judged; a memory that only finds passages is answered for by `answer`, a model, and without one the
passages stand as the answer. Without a judge the points come from the reference's words (`lexical`), and are
shown for answers alone: of passages the result is how much of the relevant days they are from, beside floors.

Each answer is a trial in the journal trials.jsonl, in eval/_artifacts/bench or in --out, and the published
files are written from it: questions.jsonl, failures.jsonl, progress.jsonl, result.json; heatmap.svg
shows it. Run the same command again to resume a stopped run: questions with
points are not asked again, questions that failed are. After an edit of the memory or of a model that is code
of yours, after a finished run of one of which that cannot be known, such as a service or a program, or with
--fresh, all is asked again; the earlier run is kept in DIR/earlier-1. A folder with a run of another
configuration is refused. `recall cassettes cost`, `compare` and `audit` read the journal as any other.

  recall bench run --profile mara.profile.yaml --dry-run
  recall bench run --profile mara.profile.yaml --memory python:mine.py:Memory --out runs/mine
  recall bench run --persona personas/mara --memory sqlite-fts --ranges 30d 60d

Several personas, named with --personas or all that are in the folder of --data, are run one after the other, each in
a folder of its own below --out.

With --budget no call of a model begins that may cost more than is left, also of those that the memory calls
itself in this process. What was not asked then is printed and in result.json, and the same command asks it.

With --record the calls of the judges and of `answer` go to cassettes, one for each question, below
DIR/_bench-…; --replay answers them from there, without a network, a key or a cost. The memory is told and
asked as always, and calls its own models. A question with a call that is not recorded has no points.

Exits with 2 if a question is without points in the end, or was not asked.
"""


def add_bench(commands: Commands) -> None:
    """Add the command."""
    parser = placeless(
        commands, "run", "tell a memory system the days of a persona, and ask it", run_bench, BENCH_DETAILS
    )
    parser.add_argument("--profile", type=Path, metavar="FILE", help="what to run, a YAML file")
    parser.add_argument("--memory", metavar="SELECTOR", help="the memory system (`recall memory list` shows the forms)")
    parser.add_argument(
        "--persona", type=Path, metavar="DIR", help="the persona's folder, or `ferry-office` for the shipped one"
    )
    parser.add_argument("--data", type=Path, metavar="DIR", help="the folder with the personas, or that of one")
    parser.add_argument("--personas", nargs="+", metavar="ID", help="the persona (default: the profile's), or several")
    parser.add_argument("--arcs", metavar="FILE", help="the story (default: the profile's, or the only one)")
    add_dates(parser)
    parser.add_argument("--judge", metavar="SELECTOR", help="the model that judges, or `lexical`")
    parser.add_argument(
        "--appellate-judge", metavar="SELECTOR", help="the model that judges answers with few points once more"
    )
    parser.add_argument("--answer", metavar="SELECTOR", help="the model that answers from what the memory found")
    parser.add_argument(
        "--ranges", nargs="+", metavar="DAYS", help="the checkpoints, such as 30d 90d 6mo full, or with commas"
    )
    parser.add_argument("--seed", type=int, metavar="N", help="what decides order and sample; 0 keeps the order")
    parser.add_argument(
        "--timeout",
        type=duration,
        metavar="TIME",
        help=f"how long the memory may take for one question, {TIME_HELP} (default: the profile's, or 30s)",
    )
    parser.add_argument(
        "--model-timeout",
        type=duration,
        metavar="TIME",
        help=f"how long one attempt at a call of a judge or of --answer may take, {TIME_HELP}"
        " (default: the profile's, or 120s)",
    )
    parser.add_argument("--concurrency", type=int, metavar="N", help="questions at once")
    parser.add_argument(
        "--sample",
        type=int,
        metavar="N",
        help="ask N of the older questions at each checkpoint, from each category by its share (default: all)",
    )
    parser.add_argument(
        "--judge-memory-window",
        type=int,
        metavar="N",
        help="days around the relevant ones that the judge is shown; 0 shows none",
    )
    parser.add_argument(
        "--groups-enabled",
        action=argparse.BooleanOptionalAction,
        help="ask the questions about sessions as well, from the session in which each belongs",
    )
    parser.add_argument(
        "--feed",
        choices=("days", "conversations", "tool-calls"),
        help="what the memory stores: the days, or what generate-conversations or generate-tool-calls wrote of them",
    )
    parser.add_argument("--unit", choices=("session", "day", "topic"), help="what is stored at a time")
    parser.add_argument("--k", type=int, metavar="K", help="how many passages it is asked for")
    parser.add_argument("-o", "--out", type=Path, metavar="DIR", help="where the run is written down")
    parser.add_argument(
        "--resume",
        type=Path,
        metavar="DIR",
        help="resume the run in this folder, or in that of a trials.jsonl",
    )
    parser.add_argument(
        "--fresh", action="store_true", help="ask all questions again; those of an earlier run are set aside"
    )
    parser.add_argument(
        "--memory-reset", action="store_true", help="allow to reset a memory that is not empty, or does not say so"
    )
    parser.add_argument(
        "--skip-preflight", action="store_true", help="do not try the judging models on known answers first"
    )
    parser.add_argument(
        "--budget",
        type=dollars,
        metavar="USD",
        help=BUDGET_HELP,
    )
    add_record(parser)
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="print what would be asked and what it takes; nothing is asked or written",
    )
    parser.add_argument("--json", action="store_true", help="print JSON: the result, or the need of --dry-run")
    add_published(parser)


def run_bench(args: argparse.Namespace) -> int:
    """Run the command."""
    from pytest_recall.models.input_log import watch
    from pytest_recall.trials.question_run import end_runs

    settle_published(args)
    _check(args)
    profile = profile_of(args)
    personas = personas_of(args, profile)
    watch()
    folders: list[Path] = []
    with _budget(args) as meter:
        if len(personas) > 1:
            code = run_each(args, personas, lambda own: _one(own, profile, meter, folders))
        else:
            args.personas = personas or None
            code = _one(args, profile, meter, folders)[0]
    end_runs(code, folders)
    return code


def _one(
    args: argparse.Namespace, profile: Profile | None, meter: Meter | None, folders: list[Path]
) -> tuple[int, BenchOutcome | None]:
    """Run one persona, and return the exit code and what it came to, None of a dry run; add its folder to `folders`."""
    from dataclasses import replace

    from pytest_recall.horizon.parts import parts_of
    from pytest_recall.horizon.profile_file import settings_of
    from pytest_recall.horizon.run_text import preview_report

    settings = settings_of(profile, args.profile, _given(args), Path.cwd())
    settings = replace(settings, memory=with_timeout(settings.memory, args.grpc_timeout))
    kinds = registry().memories()
    here = kinds.models_of(settings.memory) == "here"
    if settings.ignored:
        say(f"{args.profile}: {', '.join(settings.ignored)}: no effect on {settings.memory}")
    if not settings.models:
        _check_models(args, here=here)
    say_dates(settings.corpus)
    with closing(parts_of(settings, kinds, _calls(args, meter, settings, here), say, ready=not args.dry_run)) as parts:
        for why in () if folders else kinds.left_out:
            say(why)
        if args.dry_run:
            print_report(preview_report(_name(parts), parts), args)
            return 0, None
        folders.append(_folder(args, parts))
        return _go(args, parts, folders[-1])


def _go(args: argparse.Namespace, parts: Parts, folder: Path) -> tuple[int, BenchOutcome]:
    from pytest_recall.files.sections import report_lines
    from pytest_recall.horizon.judge import PanelJudge
    from pytest_recall.horizon.run import BenchRun
    from pytest_recall.horizon.run_file import write_result
    from pytest_recall.horizon.run_text import ended_sections
    from pytest_recall.horizon.runs import read_answered
    from pytest_recall.trials.cost_text import budget_line
    from pytest_recall.trials.run_end import exit_code

    if args.memory_reset and parts.client.private:
        raise RecallError(f"--memory-reset: {parts.client.name} is empty when a run begins; remove the option")
    if args.skip_preflight and not isinstance(parts.judge, PanelJudge):
        raise RecallError("--skip-preflight has no effect, since no model judges; remove it")
    if args.skip_preflight and args.replay is not None:
        raise RecallError("--skip-preflight has no effect with --replay, which tries no judge; remove it")
    if args.skip_catchup_ingest and parts.client.private:
        raise RecallError(f"--skip-catchup-ingest: {parts.client.name} is empty when a run begins; remove the option")
    asked = BenchRun(
        parts,
        folder,
        allowed=args.memory_reset,
        preflight=not args.skip_preflight,
        tell=say,
        keeps=args.skip_catchup_ingest,
        fresh=args.fresh,
        resumes=args.resume is not None,
    )
    try:
        outcome = asked.run()
    finally:
        if (balance := parts.calls.balance) is not None:
            say(budget_line(balance))
    is_lost = outcome.stop is not None and outcome.stop.cause == "undecided"
    if args.json_out is not None:
        write_result(args.json_out, outcome.result)
    if outcome.reached and not args.no_heatmap_png:
        draw(folder)
    if args.json or args.heatmap:
        print(json.dumps(grid(folder) if args.heatmap else outcome.result, indent=2, ensure_ascii=False))
    elif asked.measures or not is_lost:
        run = read_answered(folder, str(folder)) if outcome.reached else None
        print("\n".join(report_lines(ended_sections(_name(parts), outcome, str(folder), run))))
    for finding in outcome.findings:
        say(finding.text)
    return exit_code(one.kind for one in outcome.findings), outcome


def _check(args: argparse.Namespace) -> None:
    """Refuse options that would have no effect."""
    if args.out is not None and args.resume is not None:
        raise RecallError("--out and --resume both name the folder of the run; give one of them")
    recording_of(args)
    if args.replay is not None and args.budget is not None:
        raise RecallError("--budget is about calls that are made, and --replay makes none; give one of them")
    if args.fresh and (args.resume is not None or args.skip_catchup_ingest):
        other = "--resume" if args.resume is not None else "--skip-catchup-ingest"
        raise RecallError(f"{other} resumes a run, and --fresh asks all of it again; give one of them")


def _check_models(args: argparse.Namespace, *, here: bool) -> None:
    """Refuse options that are about the calls of models where none is asked; the memory may call some `here` itself."""
    for name in ("budget", "model_timeout", "record", "replay"):
        if getattr(args, name) is not None and not (here and name == "budget"):
            told = f"--{name.replace('_', '-')} is about the calls of models, and none is asked"
            raise RecallError(f"{told}; name one with --judge or --answer, or remove it")


@contextmanager
def _budget(args: argparse.Namespace) -> Iterator[Meter | None]:
    """Hand out what keeps the budget of the whole command, None without one. Raises RecallError."""
    from pytest_recall.trials.command_cassette import meter_of

    if args.budget is None or args.dry_run:
        yield None
        return
    with closing(meter_of(*project(), args.budget)) as meter:
        yield meter


def _calls(args: argparse.Namespace, meter: Meter | None, settings: BenchSettings, here: bool) -> RunModels:
    """Return how models are asked; `here` says that the memory calls some.

    Raises RecallError for a rubric that is none, or a folder that is not there.
    """
    from pytest_recall.trials.model_calls import RunModels

    root = Path.cwd()
    place, rubric = project()
    # In a dry run nothing is asked, and so nothing recorded.
    mode, given = RecordOption("off") if args.dry_run else recording_of(args)
    folder = root / given if given else place.cassettes
    if mode == "replay" and not folder.is_dir():
        raise RecallError(f"--replay: {place.name(folder)}: no such directory; --record makes recordings there")
    return RunModels(place, rubric, mode, folder, meter, settings.model_timeout, here=here)


def _given(args: argparse.Namespace) -> Any:
    from pytest_recall.horizon.profile_file import Given

    by_alias: Mapping[str, Any] = {
        "ranges": None if args.ranges is None else ",".join(args.ranges),
        "seed": args.seed,
        "timeout": args.timeout,
        "parallelism": args.concurrency,
        "sample": args.sample,
        "judgeMemoryWindow": args.judge_memory_window,
        "groupsEnabled": args.groups_enabled,
        "feed": args.feed,
        "unit": args.unit,
        "k": args.k,
    }
    return Given(
        folder=args.persona,
        data=args.data,
        persona=args.personas[0] if args.personas else None,
        arcs=args.arcs,
        dates=args.dates,
        memory=args.memory,
        judge=args.judge,
        appellate=args.appellate_judge,
        answer=args.answer,
        model_timeout=args.model_timeout,
        run={name: value for name, value in by_alias.items() if value is not None},
    )


def _folder(args: argparse.Namespace, parts: Parts) -> Path:
    """Return the folder of the run: the one that is named, or that of runs of this configuration."""
    from pytest_recall.horizon.run_file import PROGRESS
    from pytest_recall.trials.journal import NAME, is_begun

    if args.resume is not None:
        folder: Path = args.resume.parent if args.resume.name in (NAME, PROGRESS) else args.resume
        if not is_begun(folder):
            raise RecallError(f"--resume: {folder} holds no run; give --out to begin one there")
        return folder
    if args.out is not None:
        named: Path = args.out
        return named
    root = Path.cwd()
    artifacts = find_place(root, root, [root]).artifacts
    artifacts.make()
    header = json.dumps(parts.configuration.header(""), sort_keys=True)
    mark = hashlib.sha256(header.encode()).hexdigest()[:12]
    return artifacts.folder / PERSONAS / f"{parts.configuration.persona}-{mark}"


def _name(parts: Parts) -> str:
    configuration = parts.configuration
    feed = configuration.run.feed
    told = "" if feed == "days" else f", told its {feed.replace('-', ' ')}"
    arcs, judge = configuration.arcs, configuration.judge
    return f"{configuration.memory} on {configuration.persona} ({arcs}){told}, judged by {judge}"


REBUILD_DETAILS = """\
Puts result.json together from progress.jsonl and questions.jsonl. An answer goes to the checkpoint that its
line names. Published lines name none: there it goes to the first checkpoint that ended at its time or later.
Answers after the last checkpoint are left out, and counted. An existing file is not replaced; name another.

  recall bench rebuild runs/mine
  recall bench rebuild runs/mine -o rebuilt.json

exit codes: 0 written, 2 nothing was written
"""


def add_rebuild(commands: Commands) -> None:
    """Add the command."""
    parser = placeless(
        commands, "rebuild", "put result.json together from the lines of a run", run_rebuild, REBUILD_DETAILS
    )
    parser.add_argument("run_dir", type=Path, metavar="RUN_DIR", help="the folder of the run")
    parser.add_argument("-o", "--out", type=Path, metavar="FILE", help="where to (default: result.json in RUN_DIR)")


def run_rebuild(args: argparse.Namespace) -> int:
    """Run the command."""
    from pytest_recall.horizon.merging import rebuild_result
    from pytest_recall.horizon.run_file import RESULT, write_result

    path = args.out or args.run_dir / RESULT
    if path.exists():
        raise RecallError(f"{path}: is there already; name another file with --out, or remove it first")
    found, plain = rebuild_result(args.run_dir)
    write_result(path, plain)
    answers = plural(len(found.run.evaluations), "answer")
    print(f"{path}: {answers} at {plural(len(found.run.stops), 'checkpoint')}")
    if found.orphans:
        print(f"recall: {plural(found.orphans, 'answer')} after the last checkpoint left out", file=sys.stderr)
    return 0


MERGE_DETAILS = """\
Writes the union of the checkpoints of runs to a new folder: result.json, progress.jsonl, and questions.jsonl
where all of them have it. Of a checkpoint that several have, the last one named counts. Runs whose memory,
models, seed or other settings differ are refused; use `recall bench report` to compare them. With a
sample, a part that begins later asks more at its first checkpoint than the whole would have: to it, all are new.

  recall bench merge runs/first-half runs/second-half -o runs/whole

exit codes: 0 written, 2 nothing was written
"""


def add_merge(commands: Commands) -> None:
    """Add the command."""
    parser = placeless(commands, "merge", "merge the parts of one run", run_merge, MERGE_DETAILS)
    parser.add_argument("run_dirs", type=Path, nargs="+", metavar="RUN_DIR", help="the folder of a part; two or more")
    parser.add_argument("-o", "--out", type=Path, required=True, metavar="DIR", help="output directory; must not exist")


def run_merge(args: argparse.Namespace) -> int:
    """Run the command."""
    from pytest_recall.horizon.merging import merge_folders
    from pytest_recall.horizon.run_file import QUESTIONS

    if len(args.run_dirs) < 2:
        raise RecallError(f"{args.run_dirs[0]}: is one run, which there is nothing to merge with; name another")
    merged = merge_folders(args.run_dirs, args.out)
    answers = plural(len(merged.run.evaluations), "answer")
    print(f"{args.out}: {answers} at {plural(len(merged.run.stops), 'checkpoint')}")
    if merged.replaced:
        print(f"recall: in several, the last one counts: {listed(merged.replaced)}", file=sys.stderr)
    if not (args.out / QUESTIONS).exists():
        print(f"recall: no {QUESTIONS}, since not all of them have one", file=sys.stderr)
    return 0


RESCORE_DETAILS = """\
Reads result.json, progress.jsonl and, where it is there, questions.jsonl of a run, of ours or a published
one. Means, counts, rates, the heatmap and the totals are computed again from the points of the answers, and
each is compared with what is written, to twelve digits. The judge is not asked again.

  recall bench rescore results/ea-180d-mempalace
  recall bench rescore results/ea-180d-mempalace --json

exit codes: 0 all numbers agree, 1 one differs, 2 the run cannot be read, or there is nothing to compare
"""


def add_rescore(commands: Commands) -> None:
    """Add the command."""
    parser = placeless(
        commands, "rescore", "compute a run's numbers again from its answers", run_rescore, RESCORE_DETAILS
    )
    parser.add_argument("run_dir", type=Path, metavar="RUN_DIR", help="the folder of the run")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run_rescore(args: argparse.Namespace) -> int:
    """Run the command."""
    from pytest_recall.horizon.rescore import rescore
    from pytest_recall.horizon.run_file import read_lines
    from pytest_recall.horizon.run_text import rescore_report
    from pytest_recall.horizon.runs import read_run

    found, lines = read_run(args.run_dir), read_lines(args.run_dir)
    if not found.evaluations:
        raise RecallError(f"{args.run_dir}: holds no answers, so that nothing can be computed again; rebuild the run")
    rescored = rescore(found, [*lines.checkpoints, lines.summary], lines.questions if lines.labelled else None)
    name = str(args.run_dir)
    print_report(rescore_report(name, rescored), args)
    return int(bool(rescored.differences))
