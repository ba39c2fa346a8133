"""Hold the recording that is open while a case or a fixture runs."""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

from pytest_recall.files import clock
from pytest_recall.files.context_values import assigned
from pytest_recall.files.disk import exists
from pytest_recall.files.errors import RecallError, UnrecordableError
from pytest_recall.files.wording import listed
from pytest_recall.replay.cassette_file import Cassette, Draft, read_draft
from pytest_recall.replay.differences import DifferenceKind, RequestDifference, difference_line
from pytest_recall.replay.encodings import decoded
from pytest_recall.replay.equality import EqualCalls, header_differences, key_of, told_apart, written_key
from pytest_recall.replay.exchange import Call, Exchange, Request
from pytest_recall.replay.fixture_answers import other_fixture
from pytest_recall.replay.forks import Following, ForkLog
from pytest_recall.replay.hosts import place_of, without_query
from pytest_recall.replay.matching import Rules, with_known_ids
from pytest_recall.replay.nearest_request import nearest_request
from pytest_recall.replay.other_headers import is_credential, other_headers
from pytest_recall.replay.redaction import Redactor
from pytest_recall.replay.tokens import hands_out, minted, renewed

CassetteMode = Literal["off", "record", "missing", "replay"]
"""Off lets everything through; missing replays what there is and records the rest."""
HeaderCheck = Literal["off", "report", "require"]
"""How a request is held to the headers that were recorded, beside those by which it is matched.

In a replay other headers are a difference, of which `report` serves the call all the same, and `require` makes a miss.
Under both, what records takes the request for one that is not recorded.
"""

TEARDOWN = "teardown"
"""The phase of a call that a fixture or a hook makes when its test is over."""
MAX_COMPARED = 24
"""Recorded requests that a miss is compared with: enough to find the one that was changed, in a few milliseconds."""


class Repeatable(Protocol):
    """The calls that a replay may make any number of times, or not at all, which other cases take from this one."""

    def has(self, request: Request) -> bool:
        """Whether a call is one of them."""

    def keep(self, exchange: Exchange) -> None:
        """Record a call for the others."""


@dataclass(slots=True)
class Made:
    """One call that was made while the tape was open."""

    kind: str
    source: str
    """`live` or `replayed`."""
    seq: int
    exchange: Callable[[], Exchange]
    call: Call | None = None
    """What the call came to, where someone had to know as soon as it ended."""
    is_token: bool = False
    """Whether it has fetched a token although that is recorded."""


class Mismatch(NamedTuple):
    """The first thing in which a replay differed from its recording."""

    kind: str
    """Whose calls they are, such as `agent` or `judge`."""
    call: int = 0
    """The recorded call that is nearest, counted from 1; 0 if there is none."""
    differences: tuple[RequestDifference, ...] = ()
    request: str = ""
    """The key of what was asked in place of that call; empty where nothing was."""


class _Marks(NamedTuple):
    """What the calls that were asked for leave behind on a tape, beside themselves."""

    difference: Mismatch | None
    lacks_headers: bool
    has_left_base: bool


class _Abroad(NamedTuple):
    """A live call of another process that has not ended: what is asked, and in which phase."""

    url: str
    phase: str


class _Ended(NamedTuple):
    """A live call of another process that has ended."""

    exchange: Exchange
    record: bool
    call: Call | None


@dataclass(slots=True, eq=False)
class Tape(Following):
    """One cassette while it is in use.

    Threads, tasks and forked processes share it; each identical call gets the next answer.
    """

    name: str
    mode: CassetteMode
    rules: Rules
    redactor: Redactor
    hint: str
    """How to record the cassette, for the message of a miss."""
    cassette: Cassette | None = None
    draft_path: Path | None = None
    """Where what is recorded goes while the tape is open."""
    path: Path | None = None
    """Where what is recorded goes at the end."""
    header: Mapping[str, Any] = field(default_factory=dict)
    made: list[Made] = field(default_factory=list)
    misses: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    unkept: list[str] = field(default_factory=list)
    """The cause of each call that may not be written down."""
    started: dict[str, None] = field(default_factory=dict)
    """The programs that were started while it was open, as the rubric names them."""
    is_partial: bool = False
    """Whether a call may have been one of its own that nothing records."""
    lacks_money: bool = False
    """Whether a call was refused since there was no money for it."""
    left_behind: list[str] = field(default_factory=list)
    """A message for each call and each program of what an earlier case had left behind that was refused while this was
    open."""
    passed: bool = False
    """Whether the test that it belongs to has ended without an error."""
    difference: Mismatch | None = None
    """Where it asked first for what is not recorded, or left recorded calls unasked."""
    teardown: bool = False
    """Whether the test is over, and only hooks and the ends of fixtures may still call."""
    reported: int = 0
    """How many of the `misses` a phase of the test has ended with."""
    accounted: int = 0
    """How many of the calls in `made` someone has already accounted for."""
    live: frozenset[str] = frozenset()
    """The kinds of calls that are not looked up in the cassette: what is recorded of them is neither asked for nor out
    of date."""
    header_check: HeaderCheck = "off"
    lacks_headers: bool = False
    """With a `header_check`, whether a recorded call that was served does not say which headers it had."""
    requests: list[Request] | None = None
    """Those of a replay, without secrets, where someone compares them; else None."""
    answer_tokens: int | None = None
    """How many tokens the longest answer has that was recorded of this case before; None if that is not known."""
    older: tuple[Cassette, ...] = ()
    """Older recordings of the same. One of them is replayed in its place if the first request is in that and not in the
    newer ones."""
    base: Cassette | None = None
    """A recording of the same before a change: it answers until the agent asks the first thing that it lacks, and
    judges also after that."""
    repeatable: Repeatable | None = None
    """The calls that a replay may make any number of times."""
    passes_by: Callable[[str], bool] = lambda url: False
    """Says of a URL whether calls there come to no recording."""
    renamed: Callable[[], str] = lambda: ""
    """Says what to do if its case had another id, where nothing is recorded."""
    log: ForkLog | None = None
    is_over: bool = False
    """Whether it is a copy whose original is closed."""
    fixtures: Mapping[str, str] = field(default_factory=dict)
    """Digests of what the wider fixtures of its case were answered."""
    learn: Callable[[Request, Call], None] = lambda request, call: None
    """Takes in what a live call of another process has cost."""
    too_late: Callable[[str], None] = lambda message: None
    """Is given a message for each live call that a copy begins after its original is closed."""
    _open: dict[int, Callable[[], None]] = field(default_factory=dict)
    _draft: Draft | None = None
    _closed: bool = False
    _seq: int = 0
    _bursts: list[set[int]] = field(default_factory=list)
    _turns: dict[int, Iterator[int]] = field(default_factory=dict)
    _apart: dict[int, EqualCalls] = field(default_factory=dict)
    _served: set[tuple[Cassette, int]] = field(default_factory=set)
    _has_left_base: bool = False
    _ids: dict[str, bool] = field(default_factory=dict)
    _tokens: Counter[str] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _abroad: dict[int, _Abroad] = field(default_factory=dict)
    _ended: deque[_Ended] = field(default_factory=deque)
    _refused: list[str] = field(default_factory=list)

    @property
    def label(self) -> str:
        """Whose calls these are, in words: a case or a fixture; the name of the cassette where it is neither's."""
        for kind in ("case", "fixture"):
            if kind in self.header:
                return f"{kind} `{self.header[kind]}`"
        return self.name and f"`{self.name}`"

    @property
    def known_rules(self) -> Rules:
        """The rules for what is recorded beside what is there: a header that is unknown of that decides nothing."""
        return self.rules if self.cassette is None else self.cassette.rules

    @property
    def other_fixture(self) -> str:
        """A fixture that got other answers than when the case was recorded; empty without one."""
        if self.cassette is None or not self.fixtures:
            return ""
        return other_fixture(self.cassette.header, self.fixtures)

    def hears(self, request: Request) -> bool:
        """Whether a call that is neither recorded nor replayed is any of its business."""
        return True

    def serve(self, request: Request, kind: str) -> Exchange | None:
        """Return the answer to `request` that is next in turn, or None if no recording has one left.

        A recording of what is missing takes the turn of a token and answers with none: a server that is asked later
        takes no placeholder, and the token costs nothing.
        """
        if self.older:
            self._choose(request)
        if self.base is not None and (kind == "judge" or not self._has_left_base):
            served = self._serve(self.base, request, kind)
            if served is not None:
                return served
        served = None if self.cassette is None else self._serve(self.cassette, request, kind)
        if served is not None and not served.background:
            self.leave_base(kind)
        return served

    def leave_base(self, kind: str) -> None:
        """Take in that `base` lacks a call of this kind: what an agent asks after that may depend on its answer."""
        if self.base is not None and kind != "judge" and not self._has_left_base:
            with self:
                self._has_left_base = True
                self._add_marks()

    def fetches_token(self, request: Request) -> bool:
        """Whether a recorded call that is equal to `request` was not served, as its token is fetched anew."""
        return bool(self._tokens) and self._tokens[self._key(request)] > 0

    def _serve(self, cassette: Cassette, request: Request, kind: str) -> Exchange | None:
        turn = self._turn(cassette, request, kind)
        if turn is None:
            return None
        place, seq = turn
        answered, whole = cassette.answered(place)
        exchange = renewed(answered, clock.seen_by_tests())
        if cassette is self.base and not exchange.is_answered:
            return None  # An outage of that day says nothing of the change.
        if self.mode == "missing" and hands_out(exchange):
            key = self._key(request)
            with self:
                self._tokens[key] += 1
                self._add("fetches", key)
            return None
        asked = None if self.requests is None else self.redactor.request(request)
        self._take_served(whole, kind, seq, asked)
        if self.log is not None:
            with self:
                self._add("asked", cassette.path, place, kind, seq, asked)
        return exchange

    def _take_served(self, whole: Callable[[], Exchange], kind: str, seq: int, asked: Request | None) -> None:
        if self.requests is not None and asked is not None:
            self.requests.append(asked)
        self.made.append(Made(kind, "replayed", seq, whole))

    def _choose(self, request: Request) -> None:
        """Replay the first of the recordings that holds this request, which is the first that is made."""
        with self:
            for one in (self.cassette, *self.older) if self.older else ():
                if one is not None and one.places_of(request, self.redactor):
                    self._take_chosen(one)
                    break
            self.older = ()
            self._add("chosen", None if self.cassette is None else self.cassette.path)

    def _take_chosen(self, cassette: Cassette) -> None:
        self.cassette, self.name, self.older = cassette, cassette.name, ()

    def serve_again(self, request: Request) -> Exchange | None:
        """Return the last answer to `request`, however often it was served, or None if it is not recorded."""
        return next(reversed(self.answers(request)), None)

    def answers(self, request: Request) -> list[Exchange]:
        """Return all recorded answers to `request`, in the order in which it was asked."""
        if self.cassette is None:
            return []
        cassette, now = self.cassette, clock.seen_by_tests()
        places = self._equal(cassette, request)
        found = [renewed(cassette.answered(place)[0], now) for place in places]
        return [] if self.mode == "missing" and any(map(hands_out, found)) else found

    def holds(self, request: Request) -> bool:
        """Whether a request is recorded and still to be asked."""
        if self.cassette is None:
            return False
        cassette = self.cassette
        self.hear()
        return any((cassette, place) not in self._served for place in self._equal(cassette, request))

    def _turn(self, cassette: Cassette, request: Request, kind: str) -> tuple[int, int] | None:
        """Return which of the calls that are equal to `request` is next in turn, and its place in this run's order."""
        places = self._equal(cassette, request)
        with self:
            if self.header_check != "off" and self.difference is None:
                try:
                    place = self._like(cassette, places, request, kind)
                finally:
                    self._add_marks()
            else:
                turns = self._turns.setdefault(id(places), iter(places))
                place = next((place for place in turns if (cassette, place) not in self._served), None)
            if place is None:
                return None
            self._served.add((cassette, place))
            self._seq += 1
            self._add("served", cassette.path, place, self._seq)
            return place, self._seq - 1

    def _equal(self, cassette: Cassette, request: Request) -> Sequence[int]:
        """Return the places of the recorded calls that are equal to `request`."""
        places = cassette.places_of(request, self.redactor)
        return (
            places
            if len(places) < 2
            else self._told_apart(cassette, places).equal_to(request, self.rules, self.redactor)
        )

    def _told_apart(self, cassette: Cassette, places: Sequence[int]) -> EqualCalls:
        """Return the recorded calls with one key by what tells them apart."""
        with self._lock:
            if id(places) not in self._apart:
                self._apart[id(places)] = told_apart(
                    {place: cassette.heading(place).request for place in places},
                    lambda: (cassette.answered(place)[0] for place in places),
                    self.rules,
                )
            return self._apart[id(places)]

    def _like(self, cassette: Cassette, places: Sequence[int], request: Request, kind: str) -> int | None:
        """Return the first of these recorded calls that has the headers of `request` and was not asked for.

        In a replay it is the first of all if none has them, which is a difference. Raises RecallError where the check
        has to `require` them, and for calls of a fixture that cases share, as what it returns to them is not what it
        would return now.
        """
        first, found = None, list[RequestDifference]()
        for place in places:
            if (cassette, place) in self._served:
                continue
            call = cassette.heading(place)
            if call.request.others is None or call.may_be_left:
                self.lacks_headers = self.lacks_headers or not call.may_be_left
                return place
            differences = header_differences(call.request, request, self.rules, self.redactor)
            if not differences:
                return place
            if first is None:
                first, found, number = place, differences, call.seq + 1
        if first is None or self.mode != "replay":
            return None
        self._differs(kind, number, found)
        if self.header_check == "require" or "fixture" in self.header:
            raise RecallError(f"{self.name}: call {number}: {difference_line(found[0])}; {self.hint}")
        return first

    def reserve(self, leave: Callable[[], None] | None = None, url: str = "") -> int:
        """Return the place of a call that is about to be made, in the order in which calls begin.

        `leave` is called when the tape closes, if the call has not ended by then. `url` is where a call goes that is
        to be recorded.
        """
        with self:
            self._seq += 1
            if leave is not None:
                self._begins(self._seq - 1)
                self._open[self._seq - 1] = leave
            if self.log is not None:
                url = self.redactor.redacted(self.redactor.url(url)) if url else ""
                if self.is_over and url:
                    self.too_late(self._not_ended(url))
                self._add("begun", self._seq, url)
            return self._seq - 1

    def _begins(self, seq: int) -> None:
        if self._open or self._abroad:
            self._bursts = _joined(self._bursts, {*list(self._open), *self._abroad, seq})

    def ends(self, seq: int) -> bool:
        """Whether the call that was reserved this place ends now, and has not before, in whichever thread."""
        return self._open.pop(seq, None) is not None

    def keep(self, exchange: Exchange, *, record: bool, call: Call | None = None) -> None:
        """Take in a live call that ended, and write it down if it is to be recorded."""
        if self.is_copy:
            with self:
                if not self.is_over:
                    self._add("ended", exchange, record, call)
            self._learn(exchange)
            return
        if self.log is not None:
            self.hear()  # What it has of their answers is known to be theirs.
        self._keep(exchange, record, call)

    def _learn(self, exchange: Exchange) -> tuple[Exchange, bool]:
        """Return a call without the tokens that it has handed out, which are known from now on.

        And whether one of these was fetched anew in place of a recorded one.
        """
        answered, tokens = minted(exchange, lambda: self._key(exchange.request), self.redactor.text)
        self.redactor.learn(tokens)
        if is_token := bool(tokens) and self.fetches_token(exchange.request):
            self._tokens[self._key(exchange.request)] -= 1
        return answered, is_token

    def _keep(self, exchange: Exchange, record: bool, call: Call | None) -> None:
        answered, is_token = self._learn(exchange)
        for name, value in exchange.request.headers:
            if is_credential(name.lower()):
                self.redactor.carry(value.rpartition(" ")[2])
        self.made.append(Made(exchange.kind, "live", exchange.seq, lambda: exchange, call, is_token))
        if not record:
            return
        if self.draft_path is None:  # Before the session.
            if self.repeatable is not None:
                self.repeatable.keep(exchange)
            return
        # Only what is written down is searched by so much.
        from pytest_recall.replay.recorded_parts import cleaned

        try:
            clean = cleaned(answered, self.redactor)
            if self.redactor.is_proven_otherwise(key_of(clean.request, self.rules), exchange.request, clean.request):
                raise UnrecordableError("credential", _OF_ANOTHER)
        except UnrecordableError as error:
            url = self.redactor.redacted(self.redactor.url(exchange.request.url))
            self.problems.append(f"{self.name}: a call to {url} was not recorded, since it {error}")
            self.unkept.append(error.cause)
            return
        request = with_known_ids(clean.request, partial(self._is_given, exchange.seq))
        stored = {name.lower() for name, _ in request.headers}
        others = other_headers(exchange.request.headers, stored, self.rules, self.redactor)
        request = request._replace(others=others)
        clean = clean._replace(request=request, key=key_of(request, self.known_rules))
        with self:
            if self._closed:
                if not clean.background:
                    self.problems.append(
                        f"{self.name}: a call to {clean.request.url} ended after its test, and was not recorded;"
                        " let the test wait for it"
                    )
                return
            try:
                if self._draft is None:
                    self._draft = Draft(self.draft_path, self.header, self.known_rules)
                self._draft.append(clean)
            except OSError as error:
                self.problems.append(f"{self.name}: a call was not recorded ({error.strerror or error})")
        if self._is_repeatable(exchange.request) and not is_token:
            assert self.repeatable is not None
            self.repeatable.keep(answered)

    def _not_ended(self, url: str) -> str:
        return (
            f"{self.name}: a call to {url} of a child process was not recorded, since it had not ended with its test;"
            " let the test wait for it, and end no child process before its answer"
        )

    def _is_given(self, before: int, call_id: str) -> bool:
        """Whether the id of a call is in an answer to what was asked `before`; if not, the client has made it up."""
        if call_id not in self._ids:
            text = call_id.encode("utf-8", "surrogatepass")
            try:
                answers = (made.exchange().response for made in reversed(list(self.made)) if made.seq < before)
                said = (decoded(one.headers, one.chunks) or one.chunks for one in answers if one is not None)
                self._ids[call_id] = any(text in b"".join(chunks) for chunks in said)
            except RecallError:  # A recorded request is damaged, which is told where it is read.
                return True
        return self._ids[call_id]

    def close(self) -> None:
        """End writing; the draft stays for anyone who finishes the recording.

        A response that no one reads on, and that no one has closed, ends here as if it were closed.
        """
        for leave in list(self._open.values()):
            leave()
        with self:
            self._closed = True
            if self._draft is not None:
                self._draft.close()
                self._draft = None

    # What forked processes do

    def hear(self) -> None:
        """Take in what other processes have done."""
        if self.log is None:
            return
        with self:
            pass
        self._take_ended()

    def _take_ended(self) -> None:
        while self._ended:
            try:
                exchange, record, call = self._ended.popleft()
            except IndexError:
                return  # Another thread has it.
            if self.is_copy:
                self._learn(exchange)
                continue
            self._keep(exchange, record, call)
            if call is not None:
                self.learn(exchange.request, call)

    def miss(self, message: str) -> None:
        """Take in that a call was refused."""
        self.misses.append(message)
        if self.is_copy:
            with self:
                self._add("refused", message)

    def refused(self) -> list[str]:
        """Return which of the misses other processes have met since this was last called."""
        if not self._refused:
            return []
        with self:
            refused, self._refused = self._refused, []
        return refused

    def start(self, program: str) -> None:
        """Take in that a program was started."""
        self.started[program] = None
        if self.is_copy:
            with self:
                self._add("started", program)

    def note_unrecorded(self) -> None:
        """Take in that a call was made, maybe one of its own, that nothing records."""
        if self.is_partial:
            return
        self.is_partial = True
        if self.is_copy:
            with self:
                self._add("unrecorded")

    def note_unpaid(self) -> None:
        """Take in that there is no money for a call."""
        self.lacks_money = True
        if self.is_copy:
            with self:
                self._add("unpaid")

    def forget_forks(self) -> None:
        """Let no forked process do anything to it any more."""
        if self.log is None or self.is_copy:
            return
        with self._lock:
            log, self.log = self.log, None
            try:
                self._catch_up(log)
                log.add(("over",))
            finally:
                log.unlock()
                log.close()
        self._take_ended()
        self.problems += (self._not_ended(call.url) for call in self._abroad.values() if call.url)

    def after_fork(self) -> None:
        """Go on in the new process, to which the calls that are open do not belong."""
        Following.after_fork(self)
        self._open.clear()

    def _add_marks(self) -> None:
        if self.log is not None:
            self._add("marks", _Marks(self.difference, self.lacks_headers, self._has_left_base))

    def _follow(self, kind: str, *args: Any) -> None:
        match kind, *args:
            case "served", path, place, seq:
                self._served.add((self._of(path), place))
                self._seq = seq
            case "asked", path, place, asker, seq, request:
                self._take_served(partial(self._of(path).exchange, place), asker, seq, request)
            case "chosen", path:
                if path is not None:
                    self._take_chosen(self._of(path))
            case "missed", request:
                if self.requests is not None:
                    self.requests.append(request)
            case "marks", marks:
                self.difference, self.lacks_headers, self._has_left_base = marks
            case "begun", seq, url:
                self._begins(seq - 1)
                self._seq, self._abroad[seq - 1] = seq, _Abroad(url, TEARDOWN if self.teardown else "")
            case "ended", exchange, record, call:
                begun = self._abroad.pop(exchange.seq, None)
                phase = exchange.phase if begun is None else begun.phase
                self._ended.append(_Ended(exchange._replace(phase=phase), record, call))
            case "fetches", key:
                self._tokens[key] += 1
            case "refused", message:
                self.misses.append(message)
                self._refused.append(message)
            case "started", program:
                self.started[program] = None
            case "unrecorded", *_:
                self.is_partial = True
            case "unpaid", *_:
                self.lacks_money = True
            case "over", *_:
                self.is_over = True

    def _of(self, path: Path) -> Cassette:
        return next(one for one in (self.cassette, self.base, *self.older) if one is not None and one.path == path)

    def unused(self) -> list[Exchange]:
        """Return the recorded calls that were not asked for."""
        cassette = self.cassette
        if cassette is None:
            return []
        return [cassette.exchange(place) for place in cassette.calls if (cassette, place) not in self._served]

    @property
    def is_of_base(self) -> bool:
        """Whether `base` has answered a call, which `cassette` then lacks."""
        return any(cassette is self.base for cassette, _ in self._served)

    def may_be_left(self, exchange: Exchange) -> bool:
        """Whether a recorded call need not be asked for here, and is worth keeping if it is not."""
        return exchange.kind in self.live or exchange.may_be_left or self._is_repeatable(exchange.request)

    def _is_repeatable(self, request: Request) -> bool:
        return self.repeatable is not None and self.repeatable.has(request)

    def left_over(self) -> list[str]:
        """Return what to say of recorded calls that were not asked for; nothing if there are none.

        Before the test is over, calls that were made after it are not yet missed.
        """
        try:
            unused = [
                exchange
                for exchange in self.unused()
                if not self.may_be_left(exchange)
                and (self.teardown or exchange.phase != TEARDOWN)
                # What is named in the rubric since it was recorded is asked elsewhere.
                and not self.passes_by(exchange.request.url)
            ]
        except RecallError as error:
            return [str(error)]
        if not unused:
            return []
        first = min(unused, key=lambda exchange: exchange.seq)
        advice = self._as_often(*(exchange.request for exchange in unused))
        by_judges = all(exchange.kind == "judge" for exchange in unused)
        self._differs("judge" if by_judges else first.kind, first.seq + 1, [RequestDifference(DifferenceKind.NOT_SENT)])
        numbers = ", ".join(str(number) for number in sorted(exchange.seq + 1 for exchange in unused)[:10])
        cached = " (a cache of the agent's framework may have answered; switch it off or empty it)"
        cause = cached if self.is_answered_elsewhere() else ""
        what = f"{first.request.method} {without_query(first.request.url)}{cause}"
        if len(unused) == 1:
            return [f"{self.name}: recorded call {numbers} was not asked for, {what}; {advice}"]
        more = ", …" if len(unused) > 10 else ""
        many = f"{len(unused)} recorded calls were not asked for ({numbers}{more})"
        return [f"{self.name}: {many}, the first of them {what}; {advice}"]

    def is_answered_elsewhere(self) -> bool:
        """Whether no call was made but such as may be repeated, of a test that has others recorded, if it made any."""
        try:
            if any(not self._is_repeatable(made.exchange().request) for made in list(self.made)):
                return False
            recorded = (one.heading(at) for one in (self.cassette, self.base) if one is not None for at in one.calls)
            return not self.made or any(not self._is_repeatable(exchange.request) for exchange in recorded)
        except RecallError:  # What is damaged is told where it is read.
            return False

    def asked(self) -> tuple[str, ...]:
        """Return the keys of what the agent has asked, sorted. Raises RecallError for what cannot be read."""
        calls = [made.exchange() for made in list(self.made) if made.kind != "judge"]
        keys = {one.key or self._key(one.request) for one in calls if not one.background}
        return tuple(sorted(keys))

    def _key(self, request: Request) -> str:
        return written_key(request, self.known_rules, self.redactor)

    def served(self) -> list[Exchange]:
        """Return the recorded calls that were asked for, in that order."""
        return [made.exchange()._replace(seq=made.seq) for made in self.made if made.source == "replayed"]

    def made_live(self) -> list[Exchange]:
        """Return the calls that were made live and are to be recorded, as they were made."""
        return [made.exchange() for made in list(self.made) if made.source == "live" and made.kind not in self.live]

    def recorded(self) -> list[Exchange]:
        """Return the calls that the draft holds, in the order in which they ended.

        Which of several calls that are made at once begins first is another one each time. Such calls are numbered by
        what they ask, so that another recording has them in the same order.
        """
        if self.draft_path is None or not exists(self.draft_path):
            return []
        calls = self._without_carried(read_draft(self.draft_path, self.name)[1])
        numbers: dict[int, int] = {}
        for burst in self._bursts:
            several = sorted((call for call in calls if call.seq in burst), key=lambda call: call.seq)
            ordered = sorted(several, key=_by_content)
            numbers |= {call.seq: place.seq for call, place in zip(ordered, several, strict=True)}
        return [call._replace(seq=numbers.get(call.seq, call.seq)) for call in calls]

    def _without_carried(self, calls: list[Exchange]) -> list[Exchange]:
        """Return calls without the tokens in their answers which only a request that carries them gives away."""
        tokens: dict[str, str] = {}
        for call in calls if self.redactor.carried else ():
            tokens |= minted(call, partial(str, call.key), self.redactor.text, self.redactor.carried)[1]
        if not tokens:
            return calls
        from pytest_recall.replay.recorded_parts import cleaned

        self.redactor.learn(tokens)
        clean = [cleaned(call, self.redactor) for call in calls]
        return [call._replace(key=key_of(call.request, self.known_rules)) for call in clean]

    def stays(self, calls: Sequence[Exchange]) -> str:
        """Return why an earlier recording of the same stays, though this one has no call; empty if it does not."""
        if calls or not (self.is_partial or self.started):
            return ""
        return f"{self.name}: {_STAYS}"

    def asks_elsewhere(self, request: Request) -> bool:
        """Whether the recording has no call to the server of a request that it does not answer."""
        if self.cassette is None:
            return False
        recorded = [*self.unused(), *self.served()]
        place = place_of(self.redactor.url(request.url))
        return all(place_of(call.request.url) != place for call in recorded)

    def missed(self, request: Request, kind: str = "agent") -> str:
        """Return what to say of a request that nothing answers: the nearest recorded one, and what changed."""
        self.hear()
        missed = f"{self.name}: {self._missed(request, kind)}"
        if self.is_copy:
            with self:
                self._add_marks()
                if self.requests is not None:
                    self._add("missed", self.requests[-1])
        return missed

    def _differs(self, kind: str, call: int = 0, differences: Iterable[RequestDifference] = (), key: str = "") -> None:
        clean = tuple(one.clean(self.redactor.redacted) for one in differences)
        self.difference = self.difference or Mismatch(kind, call, clean, key)

    def _missed(self, request: Request, kind: str) -> str:
        made, request = request, self.redactor.request(request)
        if self.requests is not None:
            self.requests.append(request)
        if self.cassette is None:
            self._differs(kind)
            return "; ".join(filter(None, (f"{request.line} is not recorded", self.hint, self.renamed())))
        try:
            rules = self.cassette.rules
            key = key_of(request, rules)
            places = self.cassette.places_of(made, self.redactor)
            if places:
                apart = self._told_apart(self.cassette, places)
                equal = apart.equal_to(made, self.rules, self.redactor)
                if not equal:
                    return self._of_other_headers(request, kind, apart.headers)
                self._differs(kind, differences=[RequestDifference(DifferenceKind.REPEATED, request.line)])
                times = "once" if len(equal) == 1 else f"{len(equal)} times"
                return (
                    f"{request.line} is asked once more than it was recorded, which is {times};"
                    f" {self._as_often(request)}"
                )
            recorded = [*self.unused(), *self.served()]
            others = ([one for one in recorded if one.kind == kind] or recorded)[:MAX_COMPARED]
            place, found = nearest_request(request, [exchange.request for exchange in others], rules)
        except RecallError as error:
            return f"{request.line} is not recorded, and the cassette is damaged: {error}"
        if place < 0:
            self._differs(kind, differences=[RequestDifference(DifferenceKind.NOT_RECORDED, request.line)], key=key)
            return f"{request.line} is not recorded; {self.hint}"
        self._differs(kind, others[place].seq + 1, found, key)
        lines = [difference_line(one) for one in found]
        shown = "".join(f"\n    {line}" for line in lines[:8]) + (f"\n    … {len(lines) - 8} more" if lines[8:] else "")
        nearest = f"nearest: call {others[place].seq + 1}, recorded → asked{shown}"
        return f"{request.line} is not recorded; {self.hint}\n  {nearest}"

    def _of_other_headers(self, request: Request, kind: str, headers: Sequence[str]) -> str:
        """Return what to say of a request of which only calls with other headers are recorded, and other answers."""
        self._differs(
            kind, differences=[RequestDifference(DifferenceKind.CHANGED, f"header {name}") for name in headers]
        )
        if tokens := [name for name in headers if is_credential(name)]:
            return (
                f"{request.line} is recorded with several answers, and with other tokens in {listed(tokens)}, so that"
                f" none is known to be its own; {self.hint}"
            )
        names = ", ".join(headers)
        ignored = ", ".join(f"header.{name}" for name in headers)
        return (
            f"{request.line} is recorded with several answers, and with other values of {names}, so that none is known"
            f" to be its own; add `match_headers: [{names}]` to rubric.yaml if the answer depends on it and record the"
            f" case again, else `volatile: [{ignored}]`; {self.hint}"
        )

    def _as_often(self, *requests: Request) -> str:
        """Return what to do about requests that are made more or less often than recorded."""
        from pytest_recall.replay.wire_formats import asks_model  # Only for a message.

        other = next((request for request in requests if not asks_model(request)), None)
        if other is None:
            return self.hint
        line = f"calls: {{'{other.method} {without_query(other.url)}': repeatable}}"
        return f"{self.hint}; if it may be asked any number of times, add `{line}` to rubric.yaml"


_OF_ANOTHER = (
    "asks for a token on behalf of someone whom nothing in it names, and so did a recorded call with another"
    " credential; set a variable that holds each of these credentials, or name it under `secrets`"
)


def _by_content(call: Exchange) -> tuple[Any, ...]:
    """Return what calls at once are ordered by: agents before judges, and of a conversation the shorter one first."""
    body = call.request.body
    return call.phase, call.kind, len(body), body, call.key


def _joined(bursts: list[set[int]], calls: set[int]) -> list[set[int]]:
    """Return the groups of calls that were open at the same time, with these together."""
    touched = [burst for burst in bursts if burst & calls]
    return [*(burst for burst in bursts if not burst & calls), calls.union(*touched)]


_STAYS = (
    "nothing was recorded of it, and its recording stays as it is: what was called or started meanwhile is in none;"
    " delete the file if it is not to be replayed any more"
)
APART: ContextVar[bool] = ContextVar("recall_apart", default=False)
"""Whether what is called here passes by the player: it is allowed, and neither recorded nor counted."""
LET_THROUGH: ContextVar[tuple[object, ...]] = ContextVar("recall_let_through", default=())
"""The players that have let a call through which is being made here: it may connect, as far as they have a say."""
LIVE: ContextVar[bool] = ContextVar("recall_live", default=False)
"""Whether what is called here is made over the network and counted, and not recorded."""
DIRECT: ContextVar[str] = ContextVar("recall_direct", default="")
"""Why what is called here must not wait for a batch; empty if it may."""


@contextmanager
def known_answers() -> Iterator[None]:
    """Ask a judging model today what it makes of known answers: no case's recording holds these calls."""
    # All cases wait for these answers, which come one after the other.
    with assigned(LIVE, True), assigned(DIRECT, "known answers, put to a judge"):
        yield


@contextmanager
def let_through(player: object) -> Iterator[None]:
    """Make a call that `player` has let through in this block."""
    with assigned(LET_THROUGH, (*LET_THROUGH.get(), player)):
        yield
