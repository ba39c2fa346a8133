"""Time the metrics over 20,000 pairs of short texts; prints seconds as JSON.

metrics_probe.py ROUNDS
"""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from time import perf_counter

from pytest_recall.metrics.answers import contains, locomo_f1, rouge_l, squad_f1, token_f1
from pytest_recall.metrics.commands import read_retrievals
from pytest_recall.metrics.summary import RetrievalFold

PAIRS = 20_000
NAMES = ["Alice", "Bob", "Carol", "Dora", "Émile", "Frank", "Grace", "Heidi", "Ivan", "Judy"]
THINGS = ["pottery", "camping", "painting", "swimming", "hiking", "reading", "cooking", "running", "dancing", "chess"]


def pairs() -> list[tuple[str, str]]:
    """Return answers of about a dozen words with references of two to four, about half of which they contain."""
    made = []
    for number in range(PAIRS):
        name, thing, other = NAMES[number % 10], THINGS[number // 10 % 10], THINGS[number // 100 % 10]
        answer = f"{name} said on {number % 28 + 1} May that she likes {thing} more than {other}."
        made.append((answer, f"{thing} more than {other}" if number % 2 else f"{number % 31} May 2023"))
    return made


def main(rounds: int) -> None:
    made = pairs()
    lines = "".join(
        json.dumps({"id": number, "retrieved": [answer], "ground_truth": gold, "k": 5}) + "\n"
        for number, (answer, gold) in enumerate(made)
    ).encode()

    def over(score: Callable[[str, str], object]) -> Callable[[], None]:
        def all_pairs() -> None:
            for answer, gold in made:
                score(answer, gold)

        return all_pairs

    def read_and_fold() -> None:
        fold = RetrievalFold(5, ("contains", "token_f1", "contains_at_k"))
        for read in read_retrievals(io.BytesIO(lines), "lines"):
            assert read.retrieval is not None
            fold.add(read.retrieval)

    sides = {
        "contains and token F1": over(lambda answer, gold: (contains(answer, gold), token_f1(answer, gold))),
        "SQuAD's F1": over(lambda answer, gold: squad_f1(answer, [gold])),
        "ROUGE-L": over(rouge_l),
        "LoCoMo's F1, single-hop": over(lambda answer, gold: locomo_f1(answer, gold, 4)),
        "LoCoMo's F1, multi-hop": over(lambda answer, gold: locomo_f1(answer, gold, 1)),
        "a line read, checked and folded": read_and_fold,
    }
    seconds: dict[str, list[float]] = {name: [] for name in sides}
    for number in range(rounds + 1):
        for name, action in sides.items():
            begin = perf_counter()
            action()
            if number:
                seconds[name].append(perf_counter() - begin)
    print(json.dumps({"pairs": PAIRS, "seconds": seconds}))


if __name__ == "__main__":
    main(int(sys.argv[1]))
