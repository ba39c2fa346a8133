"""Observe the model calls that a memory makes in this process, and assign them to questions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from math import fsum
from threading import Lock
from typing import TYPE_CHECKING

from pytest_recall.cases.settings import Settings
from pytest_recall.files.context_values import assigned
from pytest_recall.files.errors import MissError
from pytest_recall.models.prices import call_of
from pytest_recall.replay.budget import SpentBudget
from pytest_recall.replay.exchange import Exchange, Request
from pytest_recall.replay.hosts import place_of
from pytest_recall.replay.open_tapes import CURRENT_CASE
from pytest_recall.replay.player import Player
from pytest_recall.replay.tape import Tape
from pytest_recall.replay.wire_formats import asks_model, trouble
from pytest_recall.trials.run_stop import SpentError

if TYPE_CHECKING:
    from pytest_recall.replay.exchange import Call

_QUESTION: ContextVar[list[Call] | None] = ContextVar("recall_calls_of_question", default=None)
Take = Callable[["Call"], None]


def model_places(tape: Tape) -> set[tuple[str, int | None]]:
    """Return the hosts and ports of the models that were called while a tape was open."""
    requests = (made.exchange().request for made in tape.made)
    return {place_of(request.url) for request in requests if asks_model(request)}


class HeardTape(Tape):
    """Records nothing, and hands each call of a model to `take` once it has ended; other calls it lets alone."""

    def __init__(self, empty: Tape, rubric: Settings, take: Take, places: set[tuple[str, int | None]]) -> None:
        super().__init__("", "off", empty.rules, empty.redactor, "")
        self._places = places
        self._rubric = rubric
        self._take = take

    def hears(self, request: Request) -> bool:
        """Whether the request is put to a model: what a memory asks a database is no matter of cost."""
        return asks_model(request)

    def _keep(self, exchange: Exchange, record: bool, call: Call | None) -> None:
        """Take in a call that ended, and nothing of what was asked but the place."""
        self._places.add(place_of(exchange.request.url))
        found = call or call_of(exchange, exchange.kind, "live", self._rubric.prices)
        self._take(found._replace(trouble=trouble(exchange)))


class MemoryModelCalls:
    """The calls of models that the memory of a run makes in this process.

    With `here` they are listened to; a memory in another process makes its calls there. `tape` makes an empty tape,
    and `closed` says why no call may begin. `heard` counts the calls, and `places` are the hosts and ports of models.
    """

    def __init__(
        self,
        player: Player,
        rubric: Settings,
        *,
        here: bool,
        tape: Callable[[], Tape],
        closed: Callable[[], SpentBudget | None],
    ) -> None:
        self.here = here
        self.heard = 0
        self.places: set[tuple[str, int | None]] = set()
        self._player, self._rubric, self._tape, self._closed = player, rubric, tape, closed
        self._lock = Lock()
        self._open: list[Take] = []
        self._unwritten: list[Call] = []
        self._write: Callable[[Iterable[Call]], None] | None = None
        self._late: Tape | None = None

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Listen also to calls of threads that no one has said anything of, from the beginning of this block."""
        if not self.here:
            yield
            return
        stray = self._heard_by(self._stray)
        self._late = self._heard_by(self.beside)
        self._player.push(stray)
        try:
            yield
        finally:
            self._player.pop(stray)
            for tape in (stray, self._late):
                tape.close()

    @contextmanager
    def written(self, write: Callable[[Iterable[Call]], None]) -> Iterator[None]:
        """Have calls that belong to no question written down as they end, from the beginning of this block."""
        with self._lock:
            self._write, unwritten, self._unwritten = write, self._unwritten, []
        if unwritten:
            write(unwritten)
        try:
            yield
        finally:
            with self._lock:
                self._write = None

    def beside(self, *calls: Call) -> None:
        """Write down calls that belong to no question."""
        with self._lock:
            if self._write is None:
                self._unwritten += calls
            elif calls:
                self._write(calls)

    @contextmanager
    def told(self) -> Iterator[list[Call] | None]:
        """Hand out the list of the calls that the memory makes in this block, None where these cannot be listened to.

        They belong to no question, and are written down as they end. Raises SpentError for one that must not begin.
        """
        if not self.here:
            yield None
            return
        calls: list[Call] = []

        def take(call: Call) -> None:
            calls.append(call)
            self.beside(call)

        with self._hearing(take, in_ingest=True):
            yield calls

    @contextmanager
    def probed(self) -> Iterator[None]:
        """Do the same for what a run asks for its own sake: it is left where a call of it cannot be paid for."""
        with suppress(SpentError), self.told():
            yield

    @contextmanager
    def about(self, question: list[Call]) -> Iterator[None]:
        """Have what the memory calls as it is `asked` in this block put into the list of a question's calls."""
        with assigned(_QUESTION, question):
            yield

    @contextmanager
    def asked(self) -> Iterator[list[Call] | None]:
        """Do the same as `told` for calls that belong to a question, which is the one to write them down."""
        if not self.here:
            yield None
            return
        calls: list[Call] = []
        question = _QUESTION.get()

        def take(call: Call) -> None:
            calls.append(call)
            if question is None:
                self.beside(call)
            else:
                question.append(call)

        with self._hearing(take):
            yield calls

    @contextmanager
    def _hearing(self, take: Take, *, in_ingest: bool = False) -> Iterator[None]:
        tape, lane = self._heard_by(take), self._player.lane()
        self._player.push(tape, lane)
        with self._lock:
            self._open.append(take)
        try:
            with assigned(CURRENT_CASE, lane):
                yield
        except (MissError, Exception):
            # A memory may have made something else of the error by which its call was refused.
            self._check(tape, in_ingest)
            raise
        finally:
            with self._lock:
                self._open.remove(take)
            self._player.leave(lane, self._late)
            tape.close()
        self._check(tape, in_ingest)

    def _check(self, tape: Tape, in_ingest: bool) -> None:
        """Raise SpentError where a call was refused, since it cannot be paid for."""
        if tape.misses and (spent := self._closed()) is not None:
            raise SpentError(spent, in_ingest=in_ingest) from None

    def _stray(self, call: Call) -> None:
        """Take in a call of a thread of which nothing is known: it is of what is done now, if that is one thing."""
        with self._lock:
            take = self._open[0] if len(self._open) == 1 else self.beside
        take(call)

    def _heard_by(self, take: Take) -> HeardTape:
        def counted(call: Call) -> None:
            self.heard += 1
            take(call)

        return HeardTape(self._tape(), self._rubric, counted, self.places)

    @staticmethod
    def usage_of(calls: Iterable[Call], of: str) -> Mapping[str, float]:
        """Return what calls of a memory's models took as the usage of an answer has it, by names that begin with `of`.

        How many they are, the tokens that were read and written, and US dollars at list price: what is not known of one
        of them is left out. One that was refused took nothing, and what counts its input alone, such as an embedding,
        has written nothing.
        """
        every = list(calls)
        if not every:
            return {f"{of}_calls": 0}
        read: list[int | None] = []
        written: list[int | None] = []
        for call in every:
            tokens = call.tokens
            if tokens is None or tokens.input is None:
                nothing = 0 if call.cost == 0 and call.trouble else None
                read.append(nothing)
                written.append(nothing)
            else:
                read.append(tokens.input + (tokens.cache_read or 0) + (tokens.cache_write or 0))
                written.append(tokens.output or 0)
        found: dict[str, float] = {f"{of}_calls": len(every)}
        for name, column in (("input_tokens", read), ("output_tokens", written)):
            if None not in column:
                found[f"{of}_{name}"] = sum(one or 0 for one in column)
        costs = [call.cost for call in every if call.cost is not None]
        return found | ({f"{of}_usd": fsum(costs)} if len(costs) == len(every) else {})
