#!/usr/bin/env python3
"""Write the tables of the shipped memories, on our handbook and the samples, into docs/reference/memory-baselines.md.

    scripts/memory-baselines.py            write them again
    scripts/memory-baselines.py --check    only say whether they still hold; exit code 1 if not

Needs the extras `datasets` and `similarity`.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from pytest_recall.cases.case import Case
from pytest_recall.cases.case_file import CaseFile
from pytest_recall.cases.memory_part import QueryContext, Unit
from pytest_recall.datasets.cases import DatasetCases, dataset_of, metrics_of
from pytest_recall.datasets.datasets_text import SHOWN, summary_table
from pytest_recall.datasets.membench import MembenchSummary, fold
from pytest_recall.datasets.membench_run import arguments_of, ask_open_questions, header_of
from pytest_recall.datasets.questions import SAMPLE, BenchFile, draw
from pytest_recall.files.wording import markdown_grid
from pytest_recall.memory.built_in import BUILT_IN
from pytest_recall.memory.resolve import resolve
from pytest_recall.memory.session import Memory
from pytest_recall.metrics.retrieval import MAX_K, Retrieval, measure
from pytest_recall.trials.concurrency import Loop
from pytest_recall.trials.evidence import ranked
from pytest_recall.trials.question_run import QuestionRun
from pytest_recall.trials.trial import Outcome, Trial

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "reference" / "memory-baselines.md"
DATASETS = ("locomo", "longmemeval", "dmr")
MEMORIES = ("sqlite-fts", "embedding", "hybrid", "last-20", "full", "null")
QUESTIONS = 120
"""How many of our own are asked, drawn from each dimension by its share."""
K = 5


def paragraphs() -> list[Unit]:
    """Return the paragraphs of our handbook, each under its title and heading; its session is the article."""
    found = []
    for path in sorted((ROOT / "eval" / "knowledge").glob("*.md")):
        title = heading = ""
        for number, block in enumerate(re.split(r"\n\s*\n", path.read_text(encoding="utf-8").strip()), start=1):
            if block.startswith("## "):
                heading = block[3:].strip()
            elif block.startswith("# "):
                title = block[2:].strip()
            else:
                id = f"{path.stem}:{number}"
                text = f"{title} - {heading}\n{' '.join(block.split())}"
                found.append(Unit(id=id, content=text, metadata={"id": id, "session": path.stem}))
    return found


def questions() -> list[Case]:
    """Return some of our own cases: those of one question whose answer stands in the handbook word by word."""
    path = ROOT / "eval" / "cases.yaml"
    cases = [
        case
        for case in CaseFile(path, path.name).cases()
        if isinstance(case.input, str)
        and isinstance(case.expected, str)
        and any(call.name == "contains" and not call.arguments for call in case.judges)
    ]
    drawn = draw([(case.id, case.dimension) for case in cases], QUESTIONS, "0")
    return [case for case in cases if case.id in drawn]


def articles(case: Case) -> tuple[str, ...]:
    """Return the article that has the answer, if the case says one."""
    named = [
        call.arguments.get("source") or call.arguments.get("expected") for call in case.judges if call.name == "cites"
    ]
    return tuple(one for one in named if isinstance(one, str))


def on_handbook(selector: str, units: list[Unit], cases: list[Case]) -> MembenchSummary:
    """Return what a memory comes to on our questions, once it is told our handbook."""
    client = resolve(selector, BUILT_IN)
    k = MAX_K if client.whole else K
    chosen, _ = metrics_of("handbook", client.whole)
    trials = []
    with closing(Loop()) as loop, closing(Memory(client, wait=loop.wait, probed=0)) as memory:
        memory.reset()
        for unit in units:
            memory.store(unit.content, unit.metadata)
        memory.finalize()
        for case in cases:
            passages = memory.recall(str(case.input), K, QueryContext())
            plain: dict[str, object] = {
                "id": case.id,
                "retrieved": tuple(one.text for one in passages),
                "ground_truth": case.expected,
            }
            if evidence := articles(case):
                plain |= {"evidence": evidence, "retrieved_ids": tuple(ranked(passages, units, evidence) or ())}
            values = measure(Retrieval.model_validate(plain), k, chosen)
            trials.append(Trial(case.id, Outcome.SKIPPED, dimension=case.dimension, measures=dict(values)))
    return fold(trials, len(trials))


def handbook() -> Iterator[str]:
    """Yield the lines of the table on our handbook, a row for each memory."""
    units, cases = paragraphs(), questions()
    found = {memory: on_handbook(memory, units, cases) for memory in MEMORIES}
    names = [name for name in SHOWN if all(name in one.everything.means for one in found.values())]
    rows = []
    for memory, summary in found.items():
        means = [summary.everything.means[name] for name in names]
        cells = [f"{one.value:.2f}" + ("" if one.low is None else f" ({one.low:.2f}–{one.high:.2f})") for one in means]
        rows.append((memory, f"{summary.everything.n:,}", *cells))
    with_article = sum(bool(articles(case)) for case in cases)
    written = len({unit.metadata["session"] for unit in units})
    yield (
        f"{len(units)} paragraphs of {written} articles, and {len(cases)} questions. {with_article} of these name the"
        " article; the columns between `n` and `contains` are of them alone."
    )
    yield ""
    yield from markdown_grid(("memory", "n", *(SHOWN[name] for name in names)), rows)


def samples(folder: Path) -> Iterator[str]:
    """Yield the lines of all tables on the samples."""
    for dataset in DATASETS:
        asked = BenchFile.model_validate({"dataset": dataset, "path": SAMPLE})
        for memory in MEMORIES:
            client = resolve(memory, BUILT_IN)
            bench = DatasetCases(folder, SAMPLE, asked, dataset_of(asked, folder, SAMPLE))
            out = folder / dataset / memory
            arguments = arguments_of(bench, client)
            with QuestionRun(out, header_of(out, bench, arguments, None)) as run:
                found = ask_open_questions(bench, client, run, arguments, allowed=False)
            table = summary_table(found.summary)
            yield from (f"### {memory} on {dataset}", "", *markdown_grid(table.head, table.rows), "")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a table does not hold")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        parts = {"handbook": "\n".join(handbook()), "samples": "\n".join(samples(Path(folder)))}
    page = PAGE.read_text(encoding="utf-8")
    news = page
    for name, text in parts.items():
        begin, end = f"<!-- {name} -->\n", "<!-- end -->"
        before, _, rest = news.partition(begin)
        news = f"{before}{begin}\n{text.strip()}\n\n{end}{rest.partition(end)[2]}"
    if args.check:
        if news != page:
            print(f"{PAGE.name}: the tables are of another time; run scripts/memory-baselines.py")
        return int(news != page)
    PAGE.write_text(news, encoding="utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
