"""The command `recall memory metrics`: read lines of what was retrieved and answered, and print their metrics."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from pydantic import ValidationError

from pytest_recall.cli.common import Commands, names, placeless
from pytest_recall.files.strict_json import strict_json
from pytest_recall.files.validation import explain
from pytest_recall.metrics.intervals import METHOD, Mean
from pytest_recall.metrics.retrieval import MetricValue, Retrieval
from pytest_recall.metrics.summary import Means, RetrievalSummary, Summarized

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
                    print(json.dumps(line(one, values)), flush=True)
    except KeyboardInterrupt:
        raise StoppedError("stopped before the end, so that there is no summary; what was printed holds") from None
    found = (fold or RetrievalFold(args.k or K, chosen, name)).summary()
    if args.table:
        print(table([found.published] if found.published else [], found.k), end="")
        for told in _of_table(found):
            print(f"recall: {told}", file=sys.stderr)
    else:
        print(json.dumps({"summary": retrieval_json(found, refused)}))
    if refused > MAX_TOLD:
        print(f"recall: {refused - MAX_TOLD:,} more lines were left out", file=sys.stderr)
    return 2 if refused else 0


def _of_table(found: Summarized) -> Iterator[str]:
    """Yield what a reader of the table cannot see in it: which questions failed, and which are not in it."""
    if found.published is None:
        if found.n == 0:
            yield "no line was measured, so that the table has no row"
        elif found.failures == found.n:
            yield f"{found.n:,} of {found.n:,} questions failed, so that the table has no row"
        else:
            yield "no line has a value of both `retrieved` and `ground_truth`, so that the table has no row"
        return
    failures, questions = found.published.failures, found.published.means.questions
    if failures:
        yield (
            f"{failures:,} of {questions:,} questions failed, and are zeros in the table; --summary-only counts them"
            " apart"
        )
    if left := found.n - questions:
        yield f"{left:,} of {found.n:,} lines have no `retrieved` or no `ground_truth`, and are not in the table"


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
    """Open the file, or return standard input. Raises RecallError where there is nothing to read."""
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


MAX_LINE = 16 * 1024 * 1024


class RetrievalLine(NamedTuple):
    """A line, counted from 1: its retrieval, or what is wrong with it, a sentence for each problem."""

    line: int
    retrieval: Retrieval | None
    problems: tuple[str, ...] = ()


def read_retrievals(file: BinaryIO, name: str) -> Iterator[RetrievalLine]:
    """Yield the lines of `file`, which messages call `name`, that are not blank; a broken one does not end it.

    Of what was read only a hash of each id is kept. Raises OSError.
    """
    seen: set[bytes] = set()
    number = 0
    while raw := file.readline(MAX_LINE + 1):
        number += 1
        if len(raw) > MAX_LINE and not raw.endswith(b"\n"):
            while (rest := file.readline(MAX_LINE)) and not rest.endswith(b"\n"):
                pass
            yield RetrievalLine(number, None, (f"{name}:{number}: is longer than {MAX_LINE >> 20} MB; split it",))
            continue
        if number == 1:
            raw = raw.removeprefix(b"\xef\xbb\xbf")
        if raw.strip():
            yield _read(raw.rstrip(), name, number, seen)


def _read(raw: bytes, name: str, number: int, seen: set[bytes]) -> RetrievalLine:
    where = f"{name}:{number}: "
    try:
        text = raw.decode("utf-8")
        value = strict_json(text)
        if "\\u" in text:  # an escape may be half of a pair, which JSON lets pass and no encoding does
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeDecodeError as error:
        return RetrievalLine(number, None, (f"{where}byte {error.start} of the line is not UTF-8; write it as UTF-8",))
    except UnicodeEncodeError as error:
        half = f"\\u{ord(error.object[error.start]):04x}"
        return RetrievalLine(
            number, None, (f"{where}{half} is half of a character; write its other half, too, or neither",)
        )
    except (ValueError, RecursionError) as error:
        return RetrievalLine(number, None, (f"{where}not JSON ({error}); write one object per line",))
    if not isinstance(value, dict):
        return RetrievalLine(number, None, (f"{where}is not an object; write one per line, in braces",))
    try:
        found = Retrieval.model_validate(value)
    except ValidationError as error:
        return RetrievalLine(number, None, tuple(explain(error, Retrieval, name, lambda _: number)))
    mark = blake2b(found.id.encode("utf-8"), digest_size=16).digest()
    if mark in seen:
        return RetrievalLine(number, None, (f"{where}id: `{found.id}` was there before; choose another",))
    seen.add(mark)
    return RetrievalLine(number, found)


_NAME, _COUNT = 14, 9


def published_json(summary: RetrievalSummary) -> dict[str, Any]:
    """Return the summary with the published keys in their order; whole numbers have no decimals, as there."""
    means = _keys(summary.means)
    told: dict[str, Any] = {"name": summary.name, **means, "k": summary.k}
    if summary.failures:
        told["recall_failures"] = summary.failures
    told["results"] = None
    if summary.categories is not None:
        told["category_breakdowns"] = {name: _keys(means) for name, means in sorted(summary.categories.items())}
    return told


def table(summaries: Sequence[RetrievalSummary], k: int) -> str:
    """Return a Markdown table of the summaries, `k` at its head; it has a line for each, and ends with a line end.

    Its columns are as wide as in published ones, so that rows of both stand below each other. Wider
    values push the rest of their line aside, and nothing is cut; a `|` in a name is written as `\\|`.
    """
    last = f"Recall@{k}"
    lines = [
        f"| {'Benchmark':<{_NAME}} | {'Questions':<{_COUNT}} | Exact Match | Avg F1  | {last} |",
        f"|{'-' * 16}|{'-' * 11}|{'-' * 13}|{'-' * 9}|{'-' * (len(last) + 2)}|",
    ]
    for name, _, means, *_ in summaries:
        cells = (
            f"{name.replace('|', chr(92) + '|'):<{_NAME}}",
            f"{means.questions:<{_COUNT}}",
            f"{100 * means.exact_match:>10.1f}%",
            f"{means.token_f1:.4f} ",
            f"{100 * means.recall_at_k:>{len(last) - 1}.1f}%",
        )
        lines.append("| " + " | ".join(cells) + " |")
    return "".join(f"{line}\n" for line in lines)


def _keys(means: Means) -> dict[str, Any]:
    return {
        "total_questions": means.questions,
        "exact_match_accuracy": _plain(means.exact_match),
        "avg_f1": _plain(means.token_f1),
        "recall_at_k": _plain(means.recall_at_k),
    }


def _plain(value: float) -> float:
    return int(value) if value.is_integer() else value


def line(one: Retrieval, values: Mapping[str, MetricValue]) -> dict[str, Any]:
    """Return what is printed of a retrieval."""
    told: dict[str, Any] = {"id": one.id}
    if one.category is not None:
        told["category"] = one.category
    if one.error is not None:
        told["error"] = one.error
    return {**told, "metrics": dict(values)}


def retrieval_json(found: Summarized, refused: int) -> dict[str, Any]:
    """Return the summary; `refused` lines are not in it."""
    told: dict[str, Any] = {
        "n": found.n,
        "failures": found.failures,
        "refused": refused,
        "k": found.k,
        "confidence": 0.95,
        "metrics": _means(found.means),
    }
    if found.percentiles:
        told["percentiles"] = {"seconds": {**found.percentiles, "method": METHOD}}
    if found.estimated:
        told["estimated"] = dict(found.estimated)
    if found.categories is not None:
        told["categories"] = {name: _means(means) for name, means in found.categories.items()}
    if found.published is not None:
        told["published"] = published_json(found.published)
    return told


def _means(means: Mapping[str, Mean]) -> dict[str, Any]:
    return {name: mean._asdict() for name, mean in means.items()}
