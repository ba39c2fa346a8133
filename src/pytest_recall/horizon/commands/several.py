"""Several personas in one run of `recall bench run`, one after the other."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pytest_recall.cli.common import say
from pytest_recall.files.errors import RecallError, StoppedError
from pytest_recall.files.sections import Section, TextTable, report_lines
from pytest_recall.files.wording import plural

if TYPE_CHECKING:
    from pytest_recall.horizon.profile import Profile
    from pytest_recall.horizon.run import BenchOutcome

    RunPersona = Callable[[argparse.Namespace], tuple[int, BenchOutcome | None]]
    """Runs the one persona that the arguments name, and returns the exit code and what it came to."""


def personas_of(args: argparse.Namespace, profile: Profile | None) -> list[str]:
    """Return the personas that are named, or all that are in the folder; none where the one is named otherwise."""
    from pytest_recall.horizon.corpus import PERSONA, persona_folder, personas_in

    named = list(dict.fromkeys(args.personas or ()))
    if args.data is not None and not named and profile is None and not (args.data / PERSONA).is_file():
        named = list(personas_in(args.data))
    if len(named) > 1:
        for option in ("resume", "json_out", "json", "heatmap"):
            if getattr(args, option):
                told = f"--{option.replace('_', '-')}: is about one run, and {len(named)} personas are named"
                raise RecallError(f"{told}; name one with --personas")
        if args.data is None:
            raise RecallError(f"--personas: {len(named)} are named; name the folder that they are in with --data")
        for one in named:
            persona_folder(args.data, one)
    return named


def run_each(args: argparse.Namespace, personas: Sequence[str], run: RunPersona) -> int:
    """Run one persona after the other, each in a folder of its own, and print what all of them came to."""
    worst, outcomes = 0, []
    for place, name in enumerate(personas, start=1):
        say(f"persona {name}, {place} of {len(personas)}")
        own = {**vars(args), "personas": [name], "out": None if args.out is None else args.out / name}
        try:
            code, outcome = run(argparse.Namespace(**own))
        except StoppedError:
            raise
        except RecallError as error:
            code, outcome = 2, None
            for message in error.messages:
                say(message)
        worst = max(worst, code)
        if outcome is not None:
            outcomes.append(outcome)
        print()
    if not args.dry_run and outcomes:
        print("\n".join(report_lines([Section("", [_table(outcomes)])])))
    if len(outcomes) < len(personas) and not args.dry_run:
        say(f"{plural(len(personas) - len(outcomes), 'persona')} without a result, as said above; correct it")
    return worst


def _table(outcomes: Sequence[BenchOutcome]) -> TextTable:
    """Return a row for each persona, and the means over personas, each of which counts as one.

    Lexical points of passages say nothing, and are in no mean.
    """
    from statistics import fmean

    from pytest_recall.horizon.disclosure import without_crossings
    from pytest_recall.horizon.result import LEXICAL

    shares, means, rows, answers = list[float](), list[float](), list[tuple[str, ...]](), 0
    for one in outcomes:
        every = [each for reached in one.reached for each in reached.evaluations]
        lexical = one.result["metadata"]["judgeModel"] == LEXICAL
        points = [each.points for each in without_crossings(every) if not (lexical and each.answered_by == "passages")]
        scored = [one.composite for one in points if one is not None]
        share = None if one.retrieval is None else one.retrieval.everything.system.recall.value
        mean = fmean(scored) if scored else None
        shares += [] if share is None else [share]
        means += [] if mean is None else [mean]
        answers += len(every)
        rows.append((one.persona, f"{len(every):,}", _cell(share, 100, ".1f"), _cell(mean, 1, ".2f")))
    overall = (_cell(fmean(shares) if shares else None, 100, ".1f"), _cell(fmean(means) if means else None, 1, ".2f"))
    head, last = ["persona", "answers", "recall %", "points of 6"], ["mean", f"{answers:,}", *overall]
    if any(one.kept for one in outcomes):
        head, last = [*head, "figures"], [*last, ""]
        rows = [(*row, one.kept or "new") for row, one in zip(rows, outcomes, strict=True)]
    return TextTable("", tuple(head), [*rows, tuple(last)])


def _cell(value: float | None, unit: float, form: str) -> str:
    return "–" if value is None else format(unit * value, form)
