"""Open a memory's stores for the questions of a run, and yield these one after the other or at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, nullcontext
from functools import partial
from threading import Event
from typing import NamedTuple, TypeVar

from pytest_recall.cases.case import Case
from pytest_recall.datasets.cases import DatasetCases, QuestionEntry
from pytest_recall.datasets.lanes import AskEntry, Lanes
from pytest_recall.files.errors import CaseError, RecallError
from pytest_recall.files.interruptible import result_of
from pytest_recall.memory.client import MemoryAdapter
from pytest_recall.memory.filled import FilledMark
from pytest_recall.memory.session import Memory
from pytest_recall.trials.concurrency import Loop
from pytest_recall.trials.drive import AskQuestion, CallThread
from pytest_recall.trials.memory_calls import MemoryModelCalls
from pytest_recall.trials.model_calls import RunModels
from pytest_recall.trials.trial import Answer, Trial

PROBED, ASKED_BACK = 4, 40
"""Units that are asked back of a conversation, and of all of them, to see whether the memory keeps what it is told."""
Given = TypeVar("Given")
MakeClient = Callable[[str], MemoryAdapter]
"""Returns a client of the memory that a selector names."""


class AtOnce(NamedTuple):
    """How questions are asked at once."""

    places: int
    """How many are asked at once, so that no more calls than that are made at a time."""
    client: Callable[[str], MemoryAdapter] | None = None
    """Returns the store of a conversation by a name, which begins with `run`. Without it all have one store, and a
    conversation is told after the questions about the one before."""
    run: str = ""


def at_once_of(places: int, client: MemoryAdapter, make: MakeClient, *, reads: bool, accumulate: bool) -> AtOnce | None:
    """Return how questions are asked at once, None for one after the other; `reads` says that a model answers them.

    `make` returns further clients of the memory. To `accumulate`, all conversations have one store. Raises RecallError
    where nothing could be done at once.
    """
    if places == 1:
        return None
    client.learn()
    if client.namespaces and not accumulate:
        return AtOnce(places, client.in_namespace)
    if client.private and not accumulate:
        return AtOnce(places, lambda name: make(client.name))
    if client.concurrent or reads:
        return AtOnce(places)
    if accumulate:
        raise RecallError(
            f"--concurrency: with --accumulate conversations are told one after the other, and {client.name} is asked"
            " by one thread; leave it out, or let an object say with `concurrent = True` that several may ask it"
        )
    raise RecallError(
        f"--concurrency: {client.name} has one store, in which conversations would mix, and is asked by one thread; a"
        " service that keeps them apart says `namespaces` in its health, tools take a `namespace`, and an object has a"
        " method `namespace(name)`, or says with `concurrent = True` that several threads may ask it"
    )


def check_ready(names: Iterable[str], make: MakeClient) -> None:
    """Raise RecallError with a sentence for each memory that cannot be made or says that it cannot be used."""
    problems = []
    for name in names:
        # One of its own: what is made here must not be bound to a thread or a loop that the run has not.
        with closing(Loop()) as loop, closing(Memory(make(name), wait=loop.wait)) as memory:
            try:
                memory.ready()
                memory.healthcheck()
            except CaseError as error:
                problems.append(f"{name}: {error}")
    if problems:
        raise RecallError(*problems)


class OpenStore(NamedTuple):
    """A memory that is ready, and what asks it."""

    memory: Memory
    ask: Callable[[Case], Answer]
    """May be called from any thread where questions are asked at once."""
    took: Callable[[Case], Mapping[str, float]]
    """Returns what it took to store what a case needs, if no answer has said so."""


@contextmanager
def open_store(
    made: Callable[[], MemoryAdapter],
    *,
    allowed: bool,
    tell: Callable[[str], None],
    in_all: int,
    threads: bool,
    settle: int,
    mark: FilledMark | None = None,
    calls: MemoryModelCalls | None = None,
    is_halted: Callable[[], bool] = lambda: False,
) -> Iterator[OpenStore]:
    """Hand out the memory, ready and empty; what is not private is empty again afterwards, or it is told why not.

    At most `in_all` units are asked back. One that several threads must not ask has a thread of its own, from the
    beginning to the end, if `threads` do. It has `settle` seconds to become ready after a conversation was told. What
    is not private may hold something if `mark` says that it is of the same run, which says so before anything is told.
    `calls` are listened to meanwhile. Once `is_halted` nothing more is told.
    """

    def telling(key: str) -> AbstractContextManager[None]:
        assert mark is not None
        if not mark.is_there:
            mark.begin()
        return mark.telling(key)

    with ExitStack() as stack:
        loop = stack.enter_context(closing(Loop()))
        own: CallThread | None = None
        if threads:
            own = stack.enter_context(closing(CallThread()))

        def on(call: Callable[[], Given]) -> Given:
            return call() if own is None else result_of(own.submit(call))

        def opened() -> Memory:
            client = made()
            memory = Memory(
                client,
                wait=loop.wait,
                probed=0 if client.baseline else PROBED,
                in_all=in_all,
                settle=settle,
                telling=nullcontext if mark is None or client.private else telling,
                is_halted=is_halted,
                calls=calls,
            )
            stack.callback(lambda: on(memory.close))
            memory.ready()
            memory.healthcheck()
            memory.guard(allowed or (mark is not None and mark.is_there))
            return memory

        def took(case: Case) -> Mapping[str, float]:
            part = case.memory
            assert part is not None
            return on(lambda: memory.took(part, case.limit))

        memory = on(opened)
        shared = not threads or on(lambda: memory.concurrent)
        try:
            ask: Callable[[Case], Answer] = memory.ask if shared else lambda case: on(partial(memory.ask, case))
            yield OpenStore(memory, ask, took)
        finally:
            if memory.filled and not memory.private:
                try:
                    on(memory.reset)
                    if mark is not None:
                        mark.end()
                except CaseError as error:
                    # What was measured before is not lost for that.
                    tell(f"{memory.name}: could not be emptied: {error}; empty it before it is used again")


class OpenQuestions(NamedTuple):
    """The open questions of a run, and what stops them and returns the trials of those that had begun."""

    questions: Iterator[AskQuestion]
    rest: Callable[[], Iterable[Trial]] | None = None
    """None of those that do not begin before they are taken."""


@contextmanager
def open_questions(
    bench: DatasetCases,
    client: MemoryAdapter,
    open_: Sequence[QuestionEntry],
    at_once: AtOnce | None,
    *,
    allowed: bool,
    tell: Callable[[str], None],
    ask: Callable[[QuestionEntry, OpenStore], Trial],
    settle: int,
    mark: FilledMark,
    models: RunModels | None = None,
) -> Iterator[OpenQuestions]:
    """Hand out what asks each open question. At once no further one is begun than the `models` can be paid for.

    Where conversations have each their own store, that is emptied whatever it holds; another is if that is `allowed`,
    or if `mark` says that it holds what this run has told it. A store has `settle` seconds to become ready.
    Where the run was killed, stores of conversations that no question is left about are emptied as well.
    """
    halted = Event()
    calls = None if models is None else models.memory
    with ExitStack() as stack:
        own = None if at_once is None else at_once.client
        if own is not None and client.namespaces:
            # It was asked for what it can do, and its stores may share what it has begun: a process, a connection.
            loop = stack.enter_context(closing(Loop()))
            stack.callback(Memory(client, wait=loop.wait).close)
        shared: OpenStore | None = None
        if own is None:
            threads = at_once is not None
            one_store = open_store(
                lambda: client,
                allowed=allowed,
                tell=tell,
                in_all=ASKED_BACK,
                threads=threads,
                settle=settle,
                mark=mark,
                calls=calls,
                is_halted=halted.is_set,
            )
            shared = stack.enter_context(one_store)
        if at_once is None:
            assert shared is not None
            yield OpenQuestions(partial(ask, one, shared) for one in open_)
            return
        groups: dict[int, list[QuestionEntry]] = {}
        for one in open_:
            groups.setdefault(one.row, []).append(one)

        def store_of(row: int, in_all: int) -> AbstractContextManager[OpenStore]:
            assert own is not None
            return open_store(
                partial(own, f"{at_once.run}-{row}"),
                allowed=True,
                tell=tell,
                in_all=in_all,
                threads=True,
                settle=settle,
                mark=mark.of(row),
                calls=calls,
                is_halted=halted.is_set,
            )

        for row in sorted(mark.parts - groups.keys()) if own is not None else ():
            with store_of(row, 0) as left:
                left.memory.filled = True
        # As many as are asked back where the conversations are told one after the other.
        asked_back = {row: max(0, ASKED_BACK - PROBED * place) for place, row in enumerate(groups)}

        @contextmanager
        def conversation(entries: Sequence[QuestionEntry]) -> Iterator[AskEntry[QuestionEntry]]:
            row = entries[0].row
            with ExitStack() as inner:
                store = shared
                if store is None:
                    store = inner.enter_context(store_of(row, asked_back[row]))

                def asked(entry: QuestionEntry) -> tuple[Trial, bool]:
                    trial = ask(entry, store)
                    part = bench.case(entry).memory
                    return trial, part is not None and store.memory.holds(part)

                yield asked

        most = 1 if own is None else at_once.places
        bench.holds = max(bench.holds, most)
        closed = (lambda: None) if models is None else models.closed
        lanes = Lanes(groups.values(), at_once.places, conversation, most=most, closed=closed, halt=halted.set)
        stack.enter_context(lanes)
        yield OpenQuestions(lanes.questions(), lanes.rest)
