"""Questions at once: each is asked once, on no more places than there are, after its conversation was told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Barrier, Event, Lock

from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.datasets.lanes import AskEntry, Lanes
from pytest_recall.replay.budget import SpentBudget
from pytest_recall.trials.execution import Result, TrialCase, make_trial
from pytest_recall.trials.run_stop import SpentError
from pytest_recall.trials.trial import Outcome, Trial

Entry = tuple[int, int]


def trial(entry: Entry) -> Trial:
    return make_trial(TrialCase(id="{}-{}".format(*entry)), Result(Outcome.PASSED))


class Stage:
    """Conversations of so many questions, of which the first `untold` ones find it not told yet."""

    def __init__(self, sizes: Sequence[int], untold: int = 1) -> None:
        self.conversations = [[(row, number) for number in range(size)] for row, size in enumerate(sizes)]
        self.untold = untold
        self.lock = Lock()
        self.asked: list[Entry] = []
        self.running: Counter[int] = Counter()
        self.open: list[int] = []
        self.opened = self.most = self.most_open = 0
        self.wrong: list[str] = []

    @contextmanager
    def conversation(self, entries: Sequence[Entry]) -> Iterator[AskEntry[Entry]]:
        row = entries[0][0]
        with self.lock:
            self.open.append(row)
            self.opened += 1
            self.most_open = max(self.most_open, len(self.open))
        try:
            yield self.ask
        finally:
            with self.lock:
                self.open.remove(row)
                if self.running[row]:
                    self.wrong.append("left while a question was asked")

    def ask(self, entry: Entry) -> tuple[Trial, bool]:
        row, number = entry
        with self.lock:
            self.asked.append(entry)
            self.running[row] += 1
            self.most = max(self.most, self.running.total())
            if number < self.untold and self.running[row] > 1:
                self.wrong.append("asked beside another before all was told")
            if row not in self.open:
                self.wrong.append("not open")
        with self.lock:
            self.running[row] -= 1
        return trial(entry), number + 1 >= self.untold


def all_of(lanes: Lanes[Entry]) -> tuple[list[str], str]:
    """Return the ids of the trials that come, and what is raised in place of one."""
    ended: list[str] = []
    try:
        for question in lanes.questions():
            ended.append(question().case_id)
    except (SpentError, ValueError) as error:
        return ended, f"{type(error).__name__}: {error}"
    return ended, ""


@given(st.lists(st.integers(0, 6), max_size=8), st.integers(1, 6), st.integers(1, 4), st.integers(1, 3))
def test_each_question_is_asked_once_of_what_is_open_and_told(
    sizes: list[int], places: int, most: int, untold: int
) -> None:
    stage = Stage(sizes, untold)
    with Lanes(stage.conversations, places, stage.conversation, most=most) as lanes:
        ended = [question() for question in lanes.questions()]
    every = [entry for entries in stage.conversations for entry in entries]
    assert sorted(stage.asked) == every
    assert sorted(one.case_id for one in ended) == sorted(trial(one).case_id for one in every)
    assert stage.most <= places
    assert stage.most_open <= most
    assert stage.opened == sum(size > 0 for size in sizes)
    assert (stage.open, stage.wrong) == ([], [])
    for row in range(len(sizes)):
        numbers = [number for one, number in stage.asked if one == row]
        assert numbers[:untold] == sorted(numbers)[:untold]


def test_all_places_are_for_one_conversation_once_it_is_told() -> None:
    stage = Stage([5])
    together = Barrier(4)  # It breaks, and the test fails, if four questions are not asked at once.

    def ask(entry: Entry) -> tuple[Trial, bool]:
        if entry[1]:
            together.wait(10)
        return stage.ask(entry)

    @contextmanager
    def conversation(entries: Sequence[Entry]) -> Iterator[AskEntry[Entry]]:
        with stage.conversation(entries):
            yield ask

    with Lanes(stage.conversations, 4, conversation, most=4) as lanes:
        assert len([question() for question in lanes.questions()]) == 5


def test_what_had_begun_ends_when_nothing_more_can_be_paid_for() -> None:
    stage = Stage([4, 4])
    with Lanes(
        stage.conversations,
        3,
        stage.conversation,
        most=3,
        closed=lambda: SpentBudget(1.0, is_spent=True) if len(stage.asked) >= 3 else None,
    ) as lanes:
        ended, why = all_of(lanes)
    assert why == "SpentError: the budget of $1.00 is spent"
    assert sorted(ended) == sorted(trial(one).case_id for one in stage.asked)
    assert 3 <= len(ended) <= 5
    assert stage.open == []


def test_what_is_not_taken_any_more_is_handed_out_as_the_rest() -> None:
    stage = Stage([6])
    taken, begun = Event(), Event()

    def ask(entry: Entry) -> tuple[Trial, bool]:
        if entry[1]:
            begun.set()
            taken.wait(10)
        return stage.ask(entry)

    @contextmanager
    def conversation(entries: Sequence[Entry]) -> Iterator[AskEntry[Entry]]:
        with stage.conversation(entries):
            yield ask

    with Lanes(stage.conversations, 2, conversation, most=2) as lanes:
        first = next(lanes.questions())()
        assert begun.wait(10)
        taken.set()
        rest = list(lanes.rest())
    assert first.case_id == "0-0"
    assert sorted(one.case_id for one in rest) == sorted(trial(one).case_id for one in stage.asked[1:])
    assert rest
    assert stage.open == []


def test_what_asking_raises_is_raised_in_place_of_a_trial() -> None:
    stage = Stage([2, 2])

    @contextmanager
    def conversation(entries: Sequence[Entry]) -> Iterator[AskEntry[Entry]]:
        with stage.conversation(entries):
            if entries[0][0]:
                raise ValueError("no memory")
            yield stage.ask

    with Lanes(stage.conversations, 2, conversation, most=2) as lanes:
        _, why = all_of(lanes)
    assert why == "ValueError: no memory"
    assert stage.open == []
