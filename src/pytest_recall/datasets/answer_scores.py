"""Score published answers by several judges: their range, what people's labels correct, and the order of systems."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

from pytest_recall.datasets.answer_files import AnswerFile, AnswerKey
from pytest_recall.datasets.categories import category_title
from pytest_recall.datasets.dataset import Question
from pytest_recall.datasets.locomo import CATEGORIES
from pytest_recall.datasets.overlay import OverlayEntry, by_both
from pytest_recall.files.wording import grid, plural
from pytest_recall.metrics.agreement import Confusion
from pytest_recall.metrics.answers import contains, locomo_f1, token_f1
from pytest_recall.metrics.clustered import Clustered, clustered_mean, clustered_share, widened
from pytest_recall.metrics.intervals import UNIT
from pytest_recall.metrics.intervals import mean_of as mean_of_values
from pytest_recall.metrics.rectified import rectified, shortage

LENIENT, STRICT, PER_TYPE = "lenient", "strict", "per type"
PROMPTS = (LENIENT, STRICT, PER_TYPE)
"""The rules by which a model judges each answer."""
WORDS = ("token F1", "contains", "LoCoMo F1")
"""What is computed of the words of each answer."""
_TYPES = {
    "multi-hop": "multi-session",
    "temporal": "temporal-reasoning",
    "open-domain": "single-session-user",
    "single-hop": "single-session-user",
}
_NUMBERS = {name: number for number, name in CATEGORIES.items()}

Scores = Mapping[str, Mapping[str, float | None]]
"""The score of each answer, 0..1, by judge and question; None where there is no verdict."""


class SystemScores(NamedTuple):
    """The answers of a file, the questions that count, and the scores of both."""

    file: AnswerFile
    asked: Mapping[str, Question]
    scores: Scores


def scored_questions(key: AnswerKey, overlay: Mapping[str, OverlayEntry] | None = None) -> dict[str, Question]:
    """Return the questions that answers are judged by: those with a reference, as an overlay corrects them.

    Unanswerable ones are left out, since not every rule has a place for them.
    """
    found = {}
    for id, question in key.questions.items():
        entry = (overlay or {}).get(id)
        if question.unanswerable or (entry is not None and entry.answer is None):
            continue
        reference = question.answer if entry is None else entry.answer
        if reference is not None:
            found[id] = Question(id=id, text=question.text, answer=reference, category=question.category)
    return found


def rule(prompt: str, question: Question, dataset: str) -> dict[str, Any]:
    """Return what the judge `paper` is told for a question: whose rule it is, and of which type the question is."""
    if prompt == PER_TYPE:
        category = question.category if dataset == "longmemeval" else _TYPES[question.category]
        return {"dataset": "longmemeval", "category": category}
    return {"dataset": "locomo" if prompt == LENIENT else STRICT}


def by_words(answers: Mapping[str, str], asked: Mapping[str, Question], metrics: Iterable[str]) -> Scores:
    """Return the scores of answers by their words."""
    found: dict[str, dict[str, float | None]] = {name: {} for name in metrics}
    for id, question in asked.items():
        if id not in answers or question.answer is None:
            continue
        for name, scores in found.items():
            if name == "LoCoMo F1":
                scores[id] = locomo_f1(answers[id], question.answer, _NUMBERS[question.category])
            elif name == "contains":
                scores[id] = float(contains(answers[id], question.answer))
            else:
                scores[id] = token_f1(answers[id], question.answer)
    return found


def mean_of(system: SystemScores, judge: str, ids: Iterable[str], clusters: Mapping[str, str]) -> Clustered:
    """Return the mean score of the answers to these questions that the judge has decided on, with its interval.

    As elsewhere, that is never narrower than the one that takes answers for independent.
    """
    scores = system.scores[judge]
    values = [(clusters[id], value) for id in ids if (value := scores.get(id)) is not None]
    if judge in (*PROMPTS, "contains"):
        return clustered_share((cluster, value == 1) for cluster, value in values)
    found, plain = clustered_mean(values, within=UNIT), mean_of_values((value for _, value in values), within=UNIT)
    wide = widened(plain, values, share=False, within=UNIT)
    return found._replace(low=wide.low, high=wide.high)


def confusion_of(system: SystemScores, judge: str, people: Mapping[str, bool]) -> Confusion:
    """Return a judge compared with people, over the answers that both have decided on."""
    counts = dict.fromkeys(((says, truth) for says in (True, False) for truth in (True, False)), 0)
    for id, truth in people.items():
        if (value := system.scores[judge].get(id)) is not None:
            counts[value == 1, truth] += 1
    return Confusion(
        right_passes=counts[True, True],
        false_passes=counts[True, False],
        right_fails=counts[False, False],
        false_fails=counts[False, True],
    )


def corrected(
    system: SystemScores, judge: str, people: Mapping[str, bool], clusters: Mapping[str, str]
) -> tuple[float, float, float] | str:
    """Return the rate of the answers without a label, with the judge's errors taken out, and its interval; or why not.

    Its errors are those on the labelled answers of the same system: on others it may err differently.
    Answers of a cluster may be alike; labels are taken for independent.
    """
    labels = confusion_of(system, judge, people)
    if lacks := shortage(labels):
        return lacks
    others = [
        (clusters[id], value == 1)
        for id, value in system.scores[judge].items()
        if value is not None and id not in people
    ]
    found = rectified(sum(passed for _, passed in others), len(others), labels, groups=others)
    return "no answer is without a label" if found is None else (found.value, *found.interval)


def order(systems: Sequence[SystemScores]) -> dict[str, list[tuple[str, float]]]:
    """Return by judge the systems from the best on, with their means over the answers that all of them have."""
    found = {}
    for judge in systems[0].scores:
        decided = [{id for id, value in one.scores[judge].items() if value is not None} for one in systems]
        common = set.intersection(*decided)
        if common:
            means = [
                (one.file.name, sum(one.scores[judge][id] or 0.0 for id in common) / len(common)) for one in systems
            ]
            found[judge] = sorted(means, key=lambda one: -one[1])
    return found


def disputes(orders: Mapping[str, Sequence[tuple[str, float]]]) -> list[str]:
    """Return for each pair of systems that judges put in different orders who says what; empty if none is."""
    means = {judge: dict(one) for judge, one in orders.items()}
    found = []
    for first, second in combinations(sorted({name for one in means.values() for name in one}), 2):
        above = [judge for judge, of in means.items() if of[first] > of[second]]
        below = [judge for judge, of in means.items() if of[first] < of[second]]
        if above and below:
            found.append(f"{first} is above {second} by {', '.join(above)}, and below it by {', '.join(below)}")
    return found


def categories(asked: Mapping[str, Question]) -> dict[str, list[str]]:
    """Return the questions by category, as tables call these."""
    found: dict[str, list[str]] = {}
    for id, question in asked.items():
        found.setdefault(category_title(question.category), []).append(id)
    return dict(sorted(found.items()))


def _tables(system: SystemScores, key: AnswerKey, before: SystemScores | None = None) -> Iterator[str]:
    judges = tuple(system.scores)
    groups = {**categories(system.asked), "all": list(system.asked)}
    earlier = {} if before is None else {**categories(before.asked), "all": list(before.asked)}
    rows = []
    for name, ids in groups.items():
        answered = sum(id in system.file.answers for id in ids)
        means = [mean_of(system, judge, ids, key.clusters).value for judge in judges]
        was = [
            None if before is None else mean_of(before, judge, earlier.get(name, ()), key.clusters).value
            for judge in judges
        ]
        rows.append((name, f"{answered:,}", *map(by_both, means, was)))
    yield from grid(("category", "n", *judges), rows)


def lines(
    systems: Sequence[SystemScores],
    key: AnswerKey,
    overlaid: Sequence[SystemScores],
    people: Mapping[tuple[str, str], bool],
) -> Iterator[str]:
    """Yield the lines for a terminal; `overlaid` are the same systems by a corrected key, if there is one."""
    for place, one in enumerate(systems):
        left = sum(id not in one.file.answers for id in one.asked)
        absent = f", {left:,} of its questions have no answer" if left else ""
        strange = f", {plural(one.file.strange, 'row')} about none of its questions" if one.file.strange else ""
        yield f"{one.file.name}, {one.file.layout}{absent}{strange}"
        yield from _tables(one, key)
        for judge in one.scores:
            mean = mean_of(one, judge, one.asked, key.clusters)
            undecided = sum(value is None for value in one.scores[judge].values())
            if mean.value is not None:
                interval = "" if mean.low is None else f" ({mean.low:.2f}–{mean.high:.2f})"
                told = f"{judge}: {mean.value:.2f}{interval}" + (
                    f", {undecided:,} without a verdict" if undecided else ""
                )
                yield told + _people(one, judge, people, key.clusters)
        yield _range(one, key)
        if overlaid:
            yield "by the corrected key (difference):"
            yield from _tables(overlaid[place], key, one)
        yield ""
    if len(systems) > 1:
        yield from _ranking(systems, "")
        if overlaid:
            yield from _ranking(overlaid, " by the corrected key")


def _people(one: SystemScores, judge: str, people: Mapping[tuple[str, str], bool], clusters: Mapping[str, str]) -> str:
    own = {id: truth for (name, id), truth in people.items() if name == one.file.name}
    if not own or judge not in PROMPTS:
        return ""
    found = corrected(one, judge, own, clusters)
    if isinstance(found, str):
        return f"; not corrected: {found}"
    value, low, high = found
    return f"; corrected by {plural(len(own), 'label')}: {value:.2f} ({low:.2f}–{high:.2f}) of the others"


def _range(one: SystemScores, key: AnswerKey) -> str:
    told = []
    for what, judges in (("models", PROMPTS), ("words", WORDS)):
        means = [mean_of(one, judge, one.asked, key.clusters).value for judge in judges if judge in one.scores]
        if known := [value for value in means if value is not None]:
            told.append(f"{min(known):.2f} to {max(known):.2f} by {what}")
    return f"range: {', '.join(told)}"


def _ranking(systems: Sequence[SystemScores], by: str) -> Iterator[str]:
    orders = order(systems)
    for judge, means in orders.items():
        yield f"order{by}, {judge}: {', '.join(f'{name} {value:.3f}' for name, value in means)}"
    found = disputes(orders)
    yield from (f"the order{by} depends on the judge: {one}" for one in found)
    if orders and not found:
        yield f"the order{by} is the same by every judge that tells the systems apart"


def plain_scores(
    systems: Sequence[SystemScores], key: AnswerKey, people: Mapping[tuple[str, str], bool]
) -> dict[str, Any]:
    """Return the same as plain JSON types."""
    return {
        "systems": [
            {
                "file": one.file.name,
                "format": one.file.layout,
                "strange_rows": one.file.strange,
                "categories": {
                    name: {judge: mean_of(one, judge, ids, key.clusters)._asdict() for judge in one.scores}
                    for name, ids in {**categories(one.asked), "all": list(one.asked)}.items()
                },
                "undecided": {judge: sum(v is None for v in scores.values()) for judge, scores in one.scores.items()},
                "corrected": {
                    judge: corrected(one, judge, own, key.clusters)
                    for judge in PROMPTS
                    if judge in one.scores and (own := {id: t for (n, id), t in people.items() if n == one.file.name})
                },
            }
            for one in systems
        ],
        "order": {judge: dict(means) for judge, means in order(systems).items()},
        "disputes": disputes(order(systems)),
    }
