"""The commands `recall bench check`, `lint` and `verify`: find mistakes in a persona, its days and questions."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_recall.cli.common import Commands, placeless, print_report, say
from pytest_recall.files.errors import RecallError
from pytest_recall.files.sections import Report, Section, TextTable
from pytest_recall.files.wording import plural
from pytest_recall.horizon.commands.options import (
    Usual,
    add_asking,
    add_dates,
    add_folders,
    corpus_of,
    count,
    say_dates,
    settled,
    spent_line,
    working,
)

if TYPE_CHECKING:
    from pytest_recall.horizon.check import PlacedFinding, ToldFinding
    from pytest_recall.horizon.passes.verify import Verification
    from pytest_recall.horizon.passes.work import Work
    from pytest_recall.horizon.question import BenchQuestion
    from pytest_recall.horizon.questioning import QuestionChange


FEW, FIRST = 30, 3
"""Findings that are printed one by one, and those of each rule where there are more."""
CHECK_DETAILS = """\
Reads DIR/persona.yaml, the story and all days, and asks no model. It looks for fields that are wrong or
unknown, arcs outside of their limits, sessions that no one declared, days and sessions that are missing or
too many, what is confidential in one session and told in another, beliefs that are corrected before their
day, and dates that contradict the calendar. Each finding has its file and its line. Of more than 30 a summary by
rule comes first, with three of each; --all prints all of them.

  recall bench check personas/assistant
  recall bench check DIR --arcs arcs-180d.yaml

Exits with 1 if there are errors, and with 0 if there are warnings alone.
"""


def add_check(commands: Commands) -> None:
    """Add the command."""
    parser = placeless(
        commands, "check", "find inconsistencies in a persona, its story and days", run_check, CHECK_DETAILS
    )
    parser.add_argument("dir", type=Path, metavar="DIR", help="the persona's folder")
    parser.add_argument("--arcs", metavar="FILE", help="the story (default: the only one, or arcs-1000d.yaml)")
    parser.add_argument("--memories-dir", metavar="DIR", help="the days (default: memories-… by the story's name)")
    add_dates(parser)
    parser.add_argument("--all", action="store_true", help=f"print each finding, also of more than {FEW}")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run_check(args: argparse.Namespace) -> int:
    """Run the command."""
    from pytest_recall.horizon.check import check
    from pytest_recall.horizon.corpus import Corpus, story_name

    if not args.dir.is_dir():
        raise RecallError(f"{args.dir}: is not there; name a persona's folder")
    corpus = Corpus(args.dir, story_name(args.dir, args.arcs), memories=args.memories_dir, dates=args.dates)
    say_dates(corpus)
    found = check(corpus)
    errors = sum(one.severity == "error" for one in found)
    plain = {"version": 1, "errors": errors, "warnings": len(found) - errors}
    total = f"{plural(errors, 'error')}, {plural(len(found) - errors, 'warning')}"
    is_short = args.all or len(found) <= FEW
    sections = [Section("", lines=[*_whole(found), total])] if is_short else list(_summary(found, total))
    print_report(Report(total, sections, {**plain, "findings": [one._asdict() for one in found]}), args)
    return int(errors > 0)


def _whole(found: Iterable[ToldFinding]) -> list[str]:
    return [f"{one.file}:{one.line}: {one.severity}: {one.message}" for one in found]


def _summary(found: Sequence[ToldFinding], total: str) -> Iterator[Section]:
    """Yield how many findings there are of each rule, errors before warnings, and the first ones of each."""
    by_rule: dict[tuple[str, str], list[ToldFinding]] = {}
    for one in sorted(found, key=lambda one: one.severity != "error"):
        by_rule.setdefault((one.severity, one.rule), []).append(one)
    rows = [
        (f"{severity} {rule}", f"{len(those):,}", f"{len({one.file for one in those}):,}")
        for (severity, rule), those in by_rule.items()
    ]
    yield Section("", [TextTable("", ("rule", "findings", "files"), rows)], lines=[total])
    for (_, rule), those in by_rule.items():
        left = len(those) - FIRST
        more = [f"… and {left:,} more of {rule}; --all prints all"] if left > 0 else []
        yield Section("", lines=[*_whole(those[:FIRST]), *more])


LINT_DETAILS = """\
DIR is the persona's folder. Each question is compared with the texts of its relevant days: whether they are there,
whether they have the values and dates of the reference and the names of the question, whether an expected refusal
tells what it must not, whether a belief that was corrected is asked as if it still held. No model is asked, and what
is put in other words is not understood: a warning is something to look at, an error something to correct.

  recall bench lint personas/assistant --arcs arcs-180d.yaml
  recall bench lint personas/assistant --arcs arcs-180d.yaml --json

Exits with 1 if there are errors, and with 0 if there are warnings alone.
"""


def add_lint(commands: Commands) -> None:
    """Add the command."""
    parser = placeless(commands, "lint", "find mistakes in the questions, without a model", run_lint, LINT_DETAILS)
    parser.add_argument("persona", type=Path, metavar="DIR", help="the persona's folder")
    add_folders(parser, "qa")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run_lint(args: argparse.Namespace) -> int:
    """Run the command."""
    from pytest_recall.horizon.check import lint_corpus
    from pytest_recall.horizon.corpus import QUESTIONS

    corpus = corpus_of(args)
    say_dates(corpus)
    file = corpus.qa / QUESTIONS
    rows, found = lint_corpus(corpus)
    if not rows:
        raise RecallError(f"{file}: has no questions; `recall bench generate-qa` writes them")
    counts = Counter(one.finding.severity for one in found)
    if args.json:
        plain = {"version": 1, "file": str(file), "questions": rows, **_counts(counts)}
        print(json.dumps({**plain, "findings": [_plain_lint(one) for one in found]}, indent=2, ensure_ascii=False))
        return int(counts["error"] > 0)
    for one in found:
        named = f"{one.id}: " if one.id else ""
        print(f"{file}:{one.line}: {one.finding.severity} {one.finding.code}: {named}{one.finding.message}")
    by_code = Counter(one.finding.code for one in found)
    told = ", ".join(f"{code} {number:,}" for code, number in by_code.most_common())
    of = f"{plural(counts['error'], 'error')}, {plural(counts['warning'], 'warning')}"
    print(f"{plural(rows, 'question')}: {of}", end="")
    print(f" ({told})" if told else "")
    return int(counts["error"] > 0)


def _counts(counts: Counter[Any]) -> dict[str, int]:
    return {"errors": counts["error"], "warnings": counts["warning"]}


def _plain_lint(one: PlacedFinding) -> dict[str, Any]:
    finding = one.finding
    plain = {"line": one.line, "id": one.id, "severity": finding.severity, "code": finding.code}
    return {**plain, "field": finding.field, "message": finding.message}


VERIFY_DETAILS = """\
DIR is the persona's folder. For each question a model is shown the relevant days, and passages of later days that have
its rarer words: it says which claims of the reference the days do not support, and from which day on the reference is
no longer right. Questions about what may be told where are left out.

Each verdict is a line of verification.jsonl beside the questions, in the published form. Run the same command
again to resume a stopped one; a question, its reference or its days that were changed are asked about again, --fresh
asks all again. --dry-run says what it would take.

--apply writes suggested references and `irrelevant_after` into the questions, with the old text in verification.jsonl
first; without --model it asks no model, and applies the verdicts that there are. A suggestion with a value that is in
none of the relevant days is not applied, and neither is any for a question about what may be told where.

  recall bench verify personas/assistant --arcs arcs-60d.yaml --model anthropic:claude-opus-4-7 --sample 50 --dry-run
  recall bench verify personas/assistant --arcs arcs-60d.yaml --model anthropic:claude-opus-4-7
  recall bench verify personas/assistant --arcs arcs-60d.yaml --apply

Exits with 1 if a reference is not supported or out of date, and with 2 if a question has no verdict.
"""
VERIFY_USUAL = Usual(temperature=0.0, max_tokens=1_500, timeout=600_000)


def add_verify(commands: Commands) -> None:
    """Add the command."""
    parser = placeless(commands, "verify", "have a model check references against the days", run_verify, VERIFY_DETAILS)
    parser.add_argument("persona", type=Path, metavar="DIR", help="the persona's folder")
    add_folders(parser, "qa")
    add_asking(parser, VERIFY_USUAL)
    parser.add_argument("--sample", type=count, metavar="N", help="look at N questions, each category by its share")
    parser.add_argument("--seed", type=int, metavar="N", help="seed of the draw of --sample (default: 42)")
    parser.add_argument("--fresh", action="store_true", help="ask again what was asked before")
    parser.add_argument("--apply", action="store_true", help="apply the suggestions to the questions")


def run_verify(args: argparse.Namespace) -> int:
    """Run the command."""
    from pytest_recall.horizon.passes.daily import Asking
    from pytest_recall.horizon.passes.verify import Verification

    _check(args)
    settled(args, None, VERIFY_USUAL)
    corpus = corpus_of(args)
    say_dates(corpus)
    found = Verification(corpus, fresh=args.fresh)
    chosen = found.chosen(args.sample, 42 if args.seed is None else args.seed)
    if args.model is not None:
        with working(args.model, args) as work:
            if args.dry_run:
                return _dry_run(args, found, chosen, work)
            found.verify(chosen, work, Asking(args.temperature, args.max_tokens), say)
            say(spent_line(work))
    changes = found.changes(chosen)
    if args.apply:
        found.apply(changes)
    left = found.left(chosen)
    wrong = [one for one in chosen if one.id in found.known and _is_wrong(one, found.known[one.id])]
    if args.json:
        print(json.dumps(_plain_verify(found, chosen, wrong, changes, args.apply), indent=2, ensure_ascii=False))
    else:
        _print(found, chosen, wrong, changes, args.apply)
    return 2 if left else int(bool(wrong))


def _check(args: argparse.Namespace) -> None:
    if args.model is None and not args.apply:
        raise RecallError("--model: is not given; name a strong model, or give --apply for the verdicts that there are")
    if args.dry_run and (args.apply or args.model is None):
        raise RecallError("--dry-run makes no call and writes nothing; give it with --model, and without --apply")
    if args.seed is not None and args.sample is None:
        raise RecallError("--seed: has an effect with --sample alone; remove it")
    asking = {"--fresh": args.fresh or None, "--temperature": args.temperature, "--max-tokens": args.max_tokens}
    for name, given in {**asking, "--timeout": args.timeout}.items():
        if args.model is None and given is not None:
            raise RecallError(f"{name}: has an effect with --model alone; remove it")


def _dry_run(args: argparse.Namespace, found: Verification, chosen: list[BenchQuestion], work: Work) -> int:
    from pytest_recall.horizon.passes.work import forecast, sentence, sizes_of

    left = found.left(chosen)
    estimate = forecast(work.model, sizes_of(map(found.prompts, left), args.max_tokens))
    known = len(chosen) - len(left)
    if args.json:
        print(json.dumps({"version": 1, "questions": len(left), "known": known, **estimate._asdict()}, indent=2))
    else:
        print(sentence(plural(len(left), "question"), estimate, known))
    return 0


def _is_wrong(question: BenchQuestion, line: Mapping[str, Any]) -> bool:
    from pytest_recall.horizon.questioning import is_outdated

    return not line["supported"] or is_outdated(question, line)


def _told(question: BenchQuestion, line: Mapping[str, Any]) -> list[str]:
    from pytest_recall.horizon.questioning import is_outdated

    told = []
    if not line["supported"]:
        claims = "; ".join(line.get("unsupported_claims") or ()) or "the reference"
        told.append(f"not supported: {claims}")
        if not line.get("question_answerable_from_corpus", True):
            told.append("cannot be answered from its days")
    if is_outdated(question, line):
        told.append(f"out of date from day {line['outdated_on_day']} on")
    return told


def _print(
    found: Verification,
    chosen: list[BenchQuestion],
    wrong: list[BenchQuestion],
    changes: Mapping[str, QuestionChange],
    applied: bool,
) -> None:
    path = found.file.path
    lines = {row.raw.get("id"): row.line for row in found.file.rows}
    for question in wrong:
        print(f"{path}:{lines[question.id]}: {question.id}: {', '.join(_told(question, found.known[question.id]))}")
        change = changes.get(question.id)
        for name, value in change.fields.items() if change else ():
            print(f"  {'now' if applied else 'suggested'} {name}: {value}")
        for why in change.refused if change else ():
            print(f"  not {'applied' if applied else 'suggested'}: {why}")
    known = [question for question in chosen if question.id in found.known]
    print(f"{plural(len(chosen), 'question')}: {len(known) - len(wrong):,} hold, {len(wrong):,} do not", end="")
    print(f", {len(chosen) - len(known):,} without a verdict" if len(chosen) > len(known) else "")
    for category, of, bad in _by_category(known, wrong):
        print(f"  {category:<26} {bad:>4,} of {of:,} do not hold")
    number = sum(bool(one.fields) for one in changes.values())
    if applied:
        print(f"{plural(number, 'question')} changed; what they were is in {found.journal}")


def _by_category(known: Iterable[BenchQuestion], wrong: Iterable[BenchQuestion]) -> list[tuple[str, int, int]]:
    of, bad = [one.category for one in known], [one.category for one in wrong]
    return [(name, of.count(name), bad.count(name)) for name in dict.fromkeys(of) if name in bad]


def _plain_verify(
    found: Verification,
    chosen: list[BenchQuestion],
    wrong: list[BenchQuestion],
    changes: Mapping[str, QuestionChange],
    applied: bool,
) -> dict[str, Any]:
    return {
        "version": 1,
        "file": str(found.file.path),
        "questions": len(chosen),
        "without_a_verdict": [one.id for one in found.left(chosen)],
        "wrong": [dict(found.known[one.id]) for one in wrong],
        "changes": {id: {"fields": one.fields, "refused": list(one.refused)} for id, one in changes.items()},
        "applied": applied,
    }
