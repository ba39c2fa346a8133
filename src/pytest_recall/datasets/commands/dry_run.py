"""Print what `recall memory run` would ask, and ask nothing."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pytest_recall.cli.common import print_report

if TYPE_CHECKING:
    from pytest_recall.datasets.cases import DatasetCases
    from pytest_recall.memory.client import MemoryAdapter


def dry_run(args: argparse.Namespace, bench: DatasetCases, clients: Sequence[MemoryAdapter]) -> int:
    """Print what would be asked, and ask nothing."""
    from pytest_recall.datasets.categories import category_title
    from pytest_recall.datasets.datasets_text import stored_by
    from pytest_recall.datasets.reader_floors import is_unknown
    from pytest_recall.datasets.reading import PROMPTS, prompt_version
    from pytest_recall.datasets.reading_text import prompt_section
    from pytest_recall.files.sections import Report, Section, TextTable
    from pytest_recall.files.wording import listed, plural
    from pytest_recall.metrics.floors import READ_FROM
    from pytest_recall.models.model import parse

    for selector in (*([] if args.reader is None else [args.reader]), *args.judge):
        parse(selector)
    name = args.reader_prompt or bench.dataset.layout.reader_prompt
    version = prompt_version(name) if args.reader else ""
    counts = Counter(one.question.category for one in bench.entries.values())
    cases = [(bench.case(one).evidence, one.question.unanswerable) for one in bench.entries.values()]
    searching = sum(not client.baseline for client in clients)
    further = searching * sum(not is_unknown(floor, *one) for floor in READ_FROM for one in cases)
    memories = [client.name for client in clients]
    told = {**bench.asked.telling._asdict(), "settle": args.settle, "accumulate": bench.accumulate}
    calls = counts.total() * args.repeat * len(memories) if args.reader or args.judge else 0
    plain = {
        "version": 1,
        "memories": memories,
        "dataset": bench.dataset.format,
        "k": bench.asked.limit,
        **told,
        "repeat": args.repeat,
        "questions": dict(sorted(counts.items())),
        "reader": args.reader,
        "prompt": version or None,
        "prompt_text": PROMPTS[name] if args.reader else None,
        "judges": args.judge,
        "calls": calls,
        "floor_calls": further if args.floors else 0,
    }
    often = f", {args.repeat} times" if args.repeat > 1 else ""
    stored = stored_by(told) + often
    asked = f"{plural(counts.total(), 'question')}, {plural(bench.asked.limit, 'passage')} each, {stored}"
    on = f"{listed(memories)} on {bench.dataset.format} ({args.path}): {asked}"
    rows = sorted((category_title(one), f"{n:,}") for one, n in counts.items())
    sections = [Section("", [TextTable("", ("category", "n"), rows)], lines=[on])]
    if args.reader:
        sections.append(prompt_section(args.reader, version, PROMPTS[name]))
    lines = []
    if calls:
        asked_of = [*(["the reader"] if args.reader else []), *(["each judge"] if args.judge else [])]
        lines.append(f"{plural(calls, 'call')} of {' and '.join(asked_of)} at most")
    if args.floors:
        judged = ", and as many of each judge where there is a rule for the answer" if args.judge else ""
        told_further = f"{plural(further, 'further call')} of the reader{judged}"
        lines.append(f"then from {listed(READ_FROM)}, in as many tokens as the memory returns: {told_further}")
    print_report(Report(on, [*sections, Section("", lines=lines)], plain), args)
    return 0
