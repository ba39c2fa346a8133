"""The command `recall memory judge`: judge published answers by several rules."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_recall.cli.common import (
    BUDGET_HELP,
    Commands,
    add_cassette,
    check_cassette,
    counted,
    dollars,
    placeless,
    say,
)
from pytest_recall.datasets.commands.judging import add_overlay, budget_of, calls_of, judging_models

if TYPE_CHECKING:
    from pytest_recall.datasets.answer_files import AnswerFile, AnswerKey
    from pytest_recall.datasets.answer_judging import AnswersJudge, JudgementCounts
    from pytest_recall.datasets.answer_scores import SystemScores
    from pytest_recall.datasets.dataset import Question

JUDGE_DETAILS = """\
DATA is the file of LoCoMo or LongMemEval that the answers are to, or `sample` with --dataset: questions, references
and categories are taken from it. A FILE has the answers of one system, as mem0 (`response`) and Zep
(`golden_answer`) publish those to LoCoMo, or as LongMemEval takes them (lines with `question_id` and `hypothesis`).

With --judge a model says three times of each answer whether it is correct: by a generous rule, by a strict one, and
by that of LongMemEval for its type of question. What it replied is kept, and the same command asks for nothing twice.

  recall memory judge locomo10.json mem0_results.json zep_locomo_responses.json
  recall memory judge locomo10.json mem0_results.json --judge openai:gpt-5.5 --budget 5
  recall memory judge longmemeval_oracle.json mine.jsonl --judge openai:gpt-5.5 --labels people.jsonl
  recall memory judge locomo10.json mem0_results.json --overlay shipped

Exits with 1 if no judgement came to a verdict, and with 2 if some did not, or if answers are left for
which the budget has no room.
"""


def add_judge(commands: Commands) -> None:
    """Add the command."""
    parser = placeless(
        commands,
        "judge",
        "judge published answers by several rules, by models and by word overlap",
        run_judge,
        JUDGE_DETAILS,
    )
    parser.add_argument("data", metavar="DATA", help="the dataset's file, or `sample`")
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="the answers of a system")
    parser.add_argument(
        "--dataset",
        choices=("auto", "locomo", "longmemeval"),
        default="auto",
        help="what DATA is (default: auto, by its first row)",
    )
    parser.add_argument(
        "--judge",
        action="append",
        default=[],
        metavar="SELECTOR",
        help="the model that judges; several, given repeatedly, decide by majority",
    )
    add_cassette(parser, "; no reply is kept elsewhere")
    parser.add_argument("--budget", type=dollars, metavar="USD", help=BUDGET_HELP)
    parser.add_argument(
        "--concurrency", type=counted(1, 64), default=1, metavar="N", help="judgements at once (default: 1)"
    )
    parser.add_argument("--fresh", action="store_true", help="ask again what was asked before")
    parser.add_argument("--labels", type=Path, metavar="FILE", help="what people say of answers: file, id and label")
    add_overlay(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")


def run_judge(args: argparse.Namespace) -> int:
    """Run the command."""
    from pytest_recall.datasets import answer_files, answer_scores
    from pytest_recall.datasets.cases import dataset_of, metrics_of
    from pytest_recall.datasets.overlay import overlay_line
    from pytest_recall.datasets.questions import SAMPLE, BenchFile
    from pytest_recall.files.wording import plural

    _check(args)
    path = args.data if args.data == SAMPLE else str(Path(args.data).absolute())
    dataset = dataset_of(BenchFile(dataset=args.dataset, path=path), Path.cwd(), args.data)._replace(name=args.data)
    key = answer_files.read_key(dataset)
    files = [answer_files.read_answers(one, key) for one in args.files]
    people = {} if args.labels is None else answer_files.read_people(args.labels, files)
    overlay = None if args.overlay is None else answer_files.read_overlay(args.overlay, key.dataset, key.in_places())
    known, missing = metrics_of(key.dataset, False)
    if missing:
        say(missing)
    metrics = [name for name in answer_scores.WORDS if name != "LoCoMo F1" or "locomo_f1" in known]
    asked = answer_scores.scored_questions(key)
    keys = [asked] if overlay is None else [asked, answer_scores.scored_questions(key, overlay.entries)]
    if left := len(key.questions) - len(asked):
        say(f"questions that cannot be answered, or have no reference, are left out: {left:,}")
    if overlay is not None:
        say(overlay_line(overlay, key.in_places()))
    found, counts = _scored(args, key, files, keys, metrics)
    if args.json:
        plain = answer_scores.plain_scores(found[0], key, people)
        if overlay is not None:
            plain["overlay"] = answer_scores.plain_scores(found[1], key, people)
        told = {"version": 1, "dataset": key.dataset, "unasked": counts.left, "undecided": counts.undecided}
        print(json.dumps({**told, **plain}, indent=2, ensure_ascii=False))
    else:
        print("\n".join(answer_scores.lines(found[0], key, found[1] if overlay is not None else (), people)))
    if counts.undecided:
        of = f"{counts.undecided:,} of {plural(counts.made, 'judgement')} came to no verdict"
        say(f"{of}, the first as said above; correct the judge, and the same command judges them again")
    if counts.left:
        unmade = plural(counts.left, "judgement")
        say(f"{unmade} not made, since {counts.why}; run the same command again to resume")
    if counts.made and counts.undecided == counts.made:
        return 1
    return 2 if counts.left or counts.undecided else 0


def _check(args: argparse.Namespace) -> None:
    """Refuse options that would have no effect."""
    from pytest_recall.files.errors import RecallError

    about = [f"--{name}" for name in ("budget", "record", "replay", "labels") if getattr(args, name) is not None]
    if args.concurrency > 1:
        about.append("--concurrency")
    if args.fresh:
        about.append("--fresh")
    if about and not args.judge:
        raise RecallError(f"{about[0]} is about the verdicts of models; name one with --judge, or remove it")
    check_cassette(args)
    if (args.record is not None or args.replay is not None) and (args.fresh or args.budget is not None):
        raise RecallError("--fresh and --budget are for judging that may stop halfway, and a recording is whole")
    if len({str(one) for one in args.files}) < len(args.files):
        raise RecallError("an answer file is named twice; name each once")


def _scored(
    args: argparse.Namespace,
    key: AnswerKey,
    files: Sequence[AnswerFile],
    keys: Sequence[Mapping[str, Question]],
    metrics: Iterable[str],
) -> tuple[list[list[SystemScores]], JudgementCounts]:
    """Return the scores of each file by each key, and what became of the judgements."""
    from pytest_recall.datasets.answer_judging import JudgementCounts
    from pytest_recall.datasets.answer_scores import PROMPTS, SystemScores, by_words

    metrics = tuple(metrics)

    def scores(judge: AnswersJudge | None) -> list[list[SystemScores]]:
        return [
            [
                SystemScores(
                    file,
                    asked,
                    {
                        **({} if judge is None else judge.scores(file.answers, asked, key.dataset)),
                        **by_words(file.answers, asked, metrics),
                    },
                )
                for file in files
            ]
            for asked in keys
        ]

    if not args.judge:
        return scores(None), JudgementCounts()
    answers = sum(id in file.answers for asked in keys for file in files for id in asked)
    return _by_models(args, scores, answers * len(PROMPTS))


def _by_models(
    args: argparse.Namespace, scores: Callable[[AnswersJudge | None], list[list[SystemScores]]], total: int
) -> tuple[list[list[SystemScores]], JudgementCounts]:
    from pytest_recall.datasets.answer_judging import AnswersJudge
    from pytest_recall.judges.calibration_file import Replies

    models = judging_models(args, "answers")
    kept = models.player.mode == "off"
    stopped = "stopped; the replies are kept: run the same command again to resume"
    with calls_of(args, models, "answers", stopped) as at_once:
        if kept:
            models.place.artifacts.make()
        replies = Replies(models.place.artifacts.calibration("answers") if kept else None, fresh=args.fresh)
        with budget_of(args, models.panel.roles) as meter:
            models.player.meter = meter
            judge = AnswersJudge(
                models.panel,
                replies,
                say,
                total,
                None if meter is None else meter.closed,
                threads=args.concurrency,
                at_once=at_once,
            )
            judge.ready(models.rubric, models.rubric.judge.preflight if kept else "off")
            return scores(judge), judge.counts
