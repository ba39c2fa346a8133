"""Find what is left of a run of `recall memory run`, lost or below its floor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_recall.trials.run_end import RunFinding

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pytest_recall.datasets.repeats import Ingest, RepeatedResult


def floors_of(given: list[str]) -> dict[str, float]:
    """Return the least mean by metric that is asked for. Raises RecallError."""
    from pytest_recall.datasets.datasets_text import metric_of_column
    from pytest_recall.files.errors import RecallError, nearest
    from pytest_recall.metrics.measures import MEASURES

    floors: dict[str, float] = {}
    for text in given:
        name, _, value = text.partition("=")
        if name not in MEASURES:
            if metric := metric_of_column(name):
                raise RecallError(f"--fail-under: `{name}` is a column of the table; its metric is `{metric}`")
            raise RecallError(f"--fail-under: `{name}` is unknown{nearest(name, MEASURES)}")
        try:
            floors[name] = float(value)
        except ValueError:
            floors[name] = -1.0
        if not 0 <= floors[name] <= 1:
            raise RecallError(f"--fail-under: {text!r} names no mean; write it like {name}=0.6")
    return floors


def findings_of(
    result: RepeatedResult,
    floors: Mapping[str, float],
    *,
    replays: bool,
    keeps: bool,
    name: str = "",
) -> list[RunFinding]:
    """Return what keeps the exit code of one memory from 0, in sentences after its `name` where there are several.

    `floors` are those of the means by metric. Where a run `replays`, answers that are not recorded are left open; where
    it `keeps` questions that failed, these are not.
    """
    from pytest_recall.files.wording import plural, same_command

    everything = result.summary.everything
    if everything.n and everything.failures == everything.n:
        return [RunFinding("nothing", f"{name}{_nothing(result)}")]
    named = {f"{name}{ingest}: " if ingest else name: one for ingest, one in result.named.items()}
    never = []
    if result.judged and len(result.undecided) == len(result.judged):
        told = f"the judge gave no verdict on {plural(len(result.judged), 'answer')}"
        again = same_command("judge", len(result.judged), again=True, first="correct it")
        never.append(RunFinding("nothing", f"{name}no answer was judged: {told}; {again}"))
    unfinished = [found for which, one in named.items() for found in _left(one, which, replays=replays)]
    if (left := result.wanted - len(result.ingests)) > 0:
        told = f"{plural(left, 'ingest')} not begun; {same_command('begin', left)}"
        unfinished.append(RunFinding("left", f"{name}{told}"))
    if unfinished:
        return [*unfinished, *never]
    if everything.failures + everything.unread == everything.n:
        return [RunFinding("nothing", f"{name}no answer was measured: the reader gave none (see above); correct it")]
    problems = []
    for metric, floor in floors.items():
        mean = everything.means.get(metric)
        if mean is None or mean.value is None:
            problems.append(f"{name}--fail-under: {metric} was measured on no question")
        elif mean.value < floor:
            problems.append(f"{name}--fail-under: {metric} is {mean.value:.4f}, below {floor:g}")
    for which, one in named.items():
        problems += [f"{which}--fail-under: {lost}" for lost in _lost(one, floors)]
    if never or problems:
        return [*never, *(RunFinding("missed", problem) for problem in problems)]
    return [
        found
        for which, one in named.items()
        for found in (*(() if keeps else _failed(one, which)), *_unjudged(one, which))
    ]


def _nothing(result: RepeatedResult) -> str:
    """Return in a sentence that every question failed, and why the last one did."""
    from pytest_recall.files.wording import same_command

    last = result.failed[-1].error
    asked, total = result.summary.everything.n, result.summary.total
    if asked == total:
        return f"nothing was measured: every question failed, the last one because of `{last}`; correct the memory"
    return (
        f"nothing was measured: every question failed, and the run stopped after {asked:,} of {total:,}, the last one"
        f" because of `{last}`; {same_command('ask', total, first='correct the memory')}"
    )


def _failed(one: Ingest, name: str) -> Iterator[RunFinding]:
    """Yield how many questions the same command asks again, which failed or were not answered."""
    from pytest_recall.files.wording import plural, same_command

    counts = {"failed": len(one.found.failed), "without an answer of the reader": len(one.found.unread)}
    told = [f"{plural(count, 'question')} {what}" for what, count in counts.items() if count]
    if told:
        count = sum(counts.values())
        again = f"{same_command('ask', count, again=True)}, --keep-failed keeps {'it' if count == 1 else 'them'}"
        yield RunFinding("lost", f"{name}{' and '.join(told)}; {again}")


def _unjudged(one: Ingest, name: str) -> Iterator[RunFinding]:
    """Yield how many answers the same command judges again, on which there was no verdict."""
    from pytest_recall.files.wording import plural, same_command

    undecided = 0 if one.judged is None else len(one.judged.undecided)
    if undecided:
        again = same_command("judge", undecided, again=True)
        yield RunFinding("lost", f"{name}{plural(undecided, 'answer')} without a verdict of the judge; {again}")


def _left(one: Ingest, name: str, *, replays: bool) -> Iterator[RunFinding]:
    """Yield which questions and answers of an ingest are open."""
    from pytest_recall.files.wording import plural, same_command
    from pytest_recall.results.stop_text import open_text

    unread = len(one.found.unread)
    left = 0 if one.judged is None else one.judged.left
    if unasked := one.found.total - len(one.found.trials):
        yield RunFinding("left", name + open_text(unasked, "question", one.found.stop))
    if one.judged is not None and left:
        more = ", or go on to the others with --keep-failed"
        yield RunFinding("left", name + open_text(left, "answer", one.judged.stop, "judge", more))
    if unread and replays:
        told = f"{plural(unread, 'question')} without an answer of the reader"
        yield RunFinding("left", f"{name}{told}; {same_command('record', unread, options='with --record')}")


def _lost(one: Ingest, floors: Mapping[str, float]) -> list[str]:
    """Return what keeps the floors from being reached: questions of an ingest that are in no mean."""
    from pytest_recall.files.wording import plural
    from pytest_recall.metrics.measures import JUDGED
    from pytest_recall.metrics.retrieval import OF_ANSWERS, OF_EVIDENCE

    everything = one.found.summary.everything
    failures, unread = everything.failures, len(one.found.unread)
    undecided = 0 if one.judged is None else len(one.judged.undecided)
    found = []
    if floors and failures:
        found.append(f"{plural(failures, 'question')} failed, and {_are(failures)} in no mean")
    # Where nothing of it was measured that is said already.
    if everything.unmeasurable and any(metric in OF_EVIDENCE and metric in everything.means for metric in floors):
        told = plural(everything.unmeasurable, "question")
        found.append(f"evidence is not measurable for {told}, which {_are(everything.unmeasurable)} in no mean of it")
    if unread and any(metric in JUDGED or metric in OF_ANSWERS for metric in floors):
        have = "has" if unread == 1 else "have"
        told = f"{plural(unread, 'question')} {have} no answer of the reader"
        found.append(f"{told}, and {_are(unread)} in no mean of answers")
    if undecided and any(metric in JUDGED for metric in floors):
        told = f"the judge gave no verdict on {plural(undecided, 'answer')}"
        found.append(f"{told}, which {_are(undecided)} in no mean")
    return found


def _are(count: int) -> str:
    return "is" if count == 1 else "are"
