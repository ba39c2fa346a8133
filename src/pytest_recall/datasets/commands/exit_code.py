"""Decide on the exit code of `recall memory run`, and say what is left or below its floor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_recall.cli.common import say

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_recall.datasets.repeats import Ingest, RepeatedResult
    from pytest_recall.trials.run_stop import RunStop


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


def exit_code(
    result: RepeatedResult,
    floors: Mapping[str, float],
    *,
    replays: bool,
    keeps: bool,
    name: str = "",
) -> int:
    """Return the exit code of one memory, and say what is wrong, after its `name` where there are several.

    `floors` are those of the means by metric. Where a run `replays`, answers that are not recorded are left open; where
    it `keeps` questions that failed, these are not.
    """
    from pytest_recall.files.wording import plural

    everything = result.summary.everything
    if everything.n and everything.failures == everything.n:
        say(f"{name}{_nothing(result)}")
        return 1
    named = {f"{name}{ingest}: " if ingest else name: one for ingest, one in result.named.items()}
    never = []
    if result.judged and len(result.undecided) == len(result.judged):
        told = f"the judge gave no verdict on {plural(len(result.judged), 'answer')}"
        never.append(f"{name}no answer was judged: {told}; correct it, and the same command judges them again")
    unfinished = [_is_left(one, which, replays=replays) for which, one in named.items()]
    if (left := result.wanted - len(result.ingests)) > 0:
        say(f"{name}{plural(left, 'ingest')} not begun; the same command begins {'it' if left == 1 else 'them'}")
    if left or any(unfinished):
        for problem in never:
            say(problem)
        return 1 if never else 2
    if everything.failures + everything.unread == everything.n:
        say(f"{name}no answer was measured: the reader gave none (see above); correct it")
        return 1
    problems = [*never]
    for metric, floor in floors.items():
        mean = everything.means.get(metric)
        if mean is None or mean.value is None:
            problems.append(f"{name}--fail-under: {metric} was measured on no question")
        elif mean.value < floor:
            problems.append(f"{name}--fail-under: {metric} is {mean.value:.4f}, below {floor:g}")
    for which, one in named.items():
        problems += [f"{which}--fail-under: {lost}" for lost in _lost(one, floors)]
    for problem in problems:
        say(problem)
    if problems:
        return 1
    again = [] if keeps else [_is_asked_again(one, which) for which, one in named.items()]
    again += [_is_judged_again(one, which) for which, one in named.items()]
    return 2 if any(again) else 0


def _nothing(result: RepeatedResult) -> str:
    """Return in a sentence that every question failed, and why the last one did."""
    last = result.failed[-1].error
    asked, total = result.summary.everything.n, result.summary.total
    if asked == total:
        return f"nothing was measured: every question failed, the last one because of `{last}`; correct the memory"
    return (
        f"nothing was measured: every question failed, and the run stopped after {asked:,} of {total:,}, the last one"
        f" because of `{last}`; correct the memory, and the same command asks all of them"
    )


def _is_asked_again(one: Ingest, name: str) -> bool:
    """Return whether the same command asks questions again, which failed or were not answered, and say how many."""
    from pytest_recall.files.wording import plural

    counts = {"failed": len(one.found.failed), "without an answer of the reader": len(one.found.unread)}
    told = [f"{plural(count, 'question')} {what}" for what, count in counts.items() if count]
    if told:
        them = "it" if sum(counts.values()) == 1 else "them"
        say(f"{name}{' and '.join(told)}; the same command asks {them} again, --keep-failed keeps {them}")
    return bool(told)


def _is_judged_again(one: Ingest, name: str) -> bool:
    """Return whether the same command judges answers again, on which there was no verdict, and say how many."""
    from pytest_recall.files.wording import plural

    undecided = 0 if one.judged is None else len(one.judged.undecided)
    if undecided:
        them = "it" if undecided == 1 else "them"
        say(f"{name}{plural(undecided, 'answer')} without a verdict of the judge; the same command judges {them} again")
    return bool(undecided)


def _is_left(one: Ingest, name: str, *, replays: bool) -> bool:
    """Return whether an ingest has open questions or answers, and say which."""
    from pytest_recall.files.wording import plural

    unread = len(one.found.unread)
    left = 0 if one.judged is None else one.judged.left
    if unasked := one.found.total - len(one.found.trials):
        since = _since(one.found.stop, "question")
        say(f"{name}{plural(unasked, 'question')} not asked{since}; the same command asks them")
    if one.judged is not None and left:
        since = _since(one.judged.stop, "answer")
        say(f"{name}{plural(left, 'answer')} not judged{since}; the same command judges them")
    lacking = unread if replays else 0
    if lacking:
        say(f"{name}{plural(lacking, 'question')} without an answer of the reader; --record records them")
    return bool(unasked or left or lacking)


def _since(stop: RunStop | None, item: str) -> str:
    """Return why a run was stopped, to go on a line with, and what to do if that is not of the budget."""
    from pytest_recall.results.stop_text import stop_text

    if stop is None:
        return ""
    told = f", since {stop_text(stop, item)}"
    lost = stop.cause == "undecided" and item == "answer"
    return f"{told}; correct that, or go on to the others with --keep-failed" if lost else told


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
