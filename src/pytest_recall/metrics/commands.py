"""`recall memory metrics`: what a memory system returned, measured, from any language that writes JSON lines."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from pytest_recall.cli.common import Commands, names, placeless

K = 5
MAX_TOLD = 20
DETAILS = """\
Reads a JSON object from each line of FILE, or of standard input. It has an `id`, and what there is of:
  retrieved, ground_truth, k, answer, retrieved_ids, evidence, category, abstained, unanswerable,
  seconds, tokens_read, tokens_stored, stored, error
A metric is worked out where a line has what it needs, and left out where not. With `error`, or a null
where the system should have given something, it is a failure: counted, and never a zero.

Prints a line of JSON for each, and last the summary: every mean with n, its 95 % interval and the
failures. The table is the one in which scores of memory systems are published; in it, failures are
zeros, and “exact match” says that a text contains the truth.

A line that cannot be used is named on standard error and left out; the others are measured, and the exit
code is 2. Lines are measured as they come. Kept are sums, a hash of each id and each number of
`seconds`: about 100 MB for a million lines.

  my-memory-eval | recall memory metrics --summary-only
  recall memory metrics results.jsonl --metrics evidence_recall_at_k,ndcg_at_k --k 10
"""


def add_metrics(commands: Commands) -> None:
    """Add the command."""
    parser = placeless(
        commands, "metrics", "measure what a memory system returned, from JSON lines", run_metrics, DETAILS
    )
    parser.add_argument("file", nargs="?", type=Path, metavar="FILE", help="the lines (default: standard input)")
    parser.add_argument("--metrics", metavar="A,B", help="these metrics only (default: all but locomo_f1)")
    parser.add_argument(
        "--k", type=_rank, metavar="N", help=f"the k of lines that have none (default: that of the first line, or {K})"
    )
    parser.add_argument("--name", metavar="NAME", help="what was measured, for the table (default: the file's name)")
    shape = parser.add_mutually_exclusive_group()
    shape.add_argument("--summary-only", action="store_true", help="print the summary alone")
    shape.add_argument("--table", action="store_true", help="print a Markdown table of the published metrics alone")


def run_metrics(args: argparse.Namespace) -> int:
    """Run the command."""
    from pytest_recall.files.errors import RecallError, StoppedError
    from pytest_recall.metrics import retrieval_text
    from pytest_recall.metrics.retrieval_file import read_retrievals
    from pytest_recall.metrics.summary import PUBLISHED, RetrievalFold

    chosen = _chosen(args.metrics)
    if args.table and chosen is not None:
        raise RecallError(f"--metrics has no effect on --table, which shows {', '.join(PUBLISHED)}; give one of them")
    where = "stdin" if args.file is None else str(args.file)
    fold: RetrievalFold | None = None
    first = refused = 0

    def refuse(*sentences: str) -> None:
        nonlocal refused
        refused += 1
        if refused <= MAX_TOLD:
            print("".join(f"recall: {sentence}\n" for sentence in sentences), end="", file=sys.stderr)

    name = args.name or ("stdin" if args.file is None else args.file.stem)
    try:
        with _opened(args.file) as file:
            for number, one, problems in read_retrievals(file, where):
                if one is None:
                    refuse(*problems)
                    continue
                k = one.k or args.k or (fold.k if fold else K)
                if fold is None:
                    fold, first = RetrievalFold(k, chosen, name), number
                if k != fold.k:
                    refuse(f"{where}:{number}: k: is {k}, and {fold.k} on line {first}; measure each k by itself")
                    continue
                try:
                    values = fold.add(one)
                except RecallError as error:
                    refuse(*(f"{where}:{number}: {message}" for message in error.messages))
                    continue
                if not (args.summary_only or args.table):
                    # At once: a program that writes a line to a pipe may wait for its values before the next one.
                    print(json.dumps(retrieval_text.line(one, values)), flush=True)
    except KeyboardInterrupt:
        raise StoppedError("stopped before the end, so that there is no summary; what was printed holds") from None
    found = (fold or RetrievalFold(args.k or K, chosen, name)).summary()
    if args.table:
        print(retrieval_text.table([found.published] if found.published else [], found.k), end="")
        if found.published and found.published.failures:
            told = f"{found.published.failures:,} of {found.published.means.questions:,} questions failed"
            print(f"recall: {told}, and are zeros in the table; --summary-only counts them apart", file=sys.stderr)
    else:
        print(json.dumps({"summary": retrieval_text.retrieval_json(found, refused)}))
    if refused > MAX_TOLD:
        print(f"recall: {refused - MAX_TOLD:,} more lines were left out", file=sys.stderr)
    return 2 if refused else 0


def _chosen(given: str | None) -> tuple[str, ...] | None:
    """Return the metrics that are asked for by name. Raises RecallError for an unknown one, or without NLTK."""
    from pytest_recall.files.errors import RecallError, nearest
    from pytest_recall.metrics.answers import stem
    from pytest_recall.metrics.retrieval import METRICS

    if given is None:
        return None
    found = names(given)
    if not found:
        raise RecallError("--metrics is empty; name some, or leave it out for all")
    if unknown := [name for name in found if name not in METRICS]:
        raise RecallError(*(f"--metrics: `{name}` is unknown{nearest(name, METRICS)}" for name in unknown))
    if "locomo_f1" in found:
        try:
            stem("word")
        except ModuleNotFoundError as error:
            raise RecallError(f"locomo_f1: {error}") from None
    return found


@contextmanager
def _opened(path: Path | None) -> Iterator[BinaryIO]:
    """Open the file, or hand out standard input. Raises RecallError where there is nothing to read."""
    from pytest_recall.files.errors import RecallError

    if path is None:
        if sys.stdin.isatty():
            raise RecallError("there is nothing on standard input; pipe JSON lines into it, or name a FILE")
        yield sys.stdin.buffer
        return
    try:
        file = path.open("rb")
    except OSError as error:
        raise RecallError(f"{path}: cannot be read ({error.strerror}); check that it is there and readable") from None
    with file:
        yield file


def _rank(text: str) -> int:
    from pytest_recall.metrics.retrieval import MAX_K

    if not text.isdecimal() or not 1 <= int(text) <= MAX_K:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of ranks; write a whole number such as 10")
    return int(text)
