"""Hold what a session learns while it runs: messages, marked tests, money and the event loop."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio

    from pytest_recall.replay.exchange import Call
    from pytest_recall.trials.concurrency import Loop
    from pytest_recall.trials.record import LetThrough


class SessionLog:
    """What is printed at the end of a session: `problems` make it fail, `notes` do not.

    `refused` are mistakes that workers found, and `halted` is why nothing more is run; both end the session with the
    code of a usage error.
    """

    def __init__(self, *, follows: bool) -> None:
        self._follows = follows
        self.problems: list[str] = []
        self.notes: list[str] = []
        self.refused: list[str] = []
        self.halted = ""

    def note(self, *messages: str) -> None:
        """Add notes; each is shown once."""
        self.notes += [message for message in dict.fromkeys(messages) if message not in self.notes]

    def trouble(self, problems: Iterable[str]) -> None:
        """Add what could not be done; each is shown once."""
        self.problems += [problem for problem in dict.fromkeys(problems) if problem not in self.problems]

    def refuse(self, error: str) -> None:
        """Add a mistake that a worker found; each is shown once."""
        if error not in self.refused:
            self.refused.append(error)

    def halt(self, reason: str) -> None:
        """Set why nothing more is to be run; the first reason stays."""
        if reason and not self.halted:
            self.halted = reason
            if not self._follows:
                self.problems.append(reason)


class CollectedTests:
    """What only collection finds.

    `late` are marked tests, by the ids of their cases, with scenario and dimension; `nodes` maps their node ids to
    those ids. `settled` are the cases that shards of an explicit choice have in common. `crashes` are node ids whose
    worker died, with the error, before it was known whether they are marked tests. `deselected` are the cases of items
    that pytest was told to leave out, by whichever plugin, and `passed_over` those of marked tests that were left out
    before they were cases. `uncollected` says by node id what is wrong with case files. `informed` says that a worker's
    findings were taken, and `sent` that this worker has sent its own.
    """

    def __init__(self) -> None:
        self.late: dict[str, tuple[str, str]] = {}
        self.nodes: dict[str, str] = {}
        self.settled: set[str] | None = None
        self.crashes: dict[str, str] = {}
        self.deselected: set[str] = set()
        self.passed_over: set[str] = set()
        self.uncollected: dict[str, str] = {}
        self.unknown_baselines: dict[str, None] = {}
        self.informed = self.sent = False


class Money:
    """What the calls of a session come to beside its trials.

    `calls` belong to no trial. `unpaid` are the node ids that the budget has left out, by baseline, or under an empty
    name of the agent under test. `cut` counts the errors of cases that ran out of money between two calls. `alone` and
    `looped` count the cases that did not run at the same time as others, by the fixture that belongs to the whole
    process, or is async.
    """

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.unpaid: dict[str, set[str]] = {}
        self.cut = 0
        self.alone: Counter[str] = Counter()
        self.looped: Counter[str] = Counter()


class Unrecorded:
    """What was asked and not recorded: the programs that cases have started, and how often they asked by each client.

    `telemetry`, and `ignored` by the setting, count by host the calls that are not recorded, and `places` are where
    other clients have connected that the setting lets through, as the players of all processes know.
    """

    def __init__(self) -> None:
        self.programs: dict[str, None] = {}
        self.clients: Counter[str] = Counter()
        self.telemetry: Counter[str] = Counter()
        self.ignored: Counter[str] = Counter()
        self.places: dict[str, None] = {}

    def let_through(self, *, replays: bool) -> LetThrough:
        """Return what the rubric lets through; the programs of a recording are said by themselves."""
        from pytest_recall.trials.record import LetThrough

        return LetThrough(self.ignored, tuple(sorted(self.places)), tuple(self.programs) if replays else ())


class SessionLoop:
    """The one event loop on which a session awaits, so that clients keep their connections."""

    def __init__(self) -> None:
        self._runner: asyncio.Runner | None = None
        self._thread: Loop | None = None

    def use(self, loop: Loop) -> None:
        """Await on a loop that runs in a thread of its own, as cases that overlap do."""
        self._thread = loop

    def wait(self, awaitable: Awaitable[Any]) -> Any:
        """Return what `awaitable` gives."""
        if self._thread is not None:
            return self._thread.wait(awaitable)
        import asyncio

        from pytest_recall.trials.concurrency import run_awaitable

        if self._runner is None:
            self._runner = asyncio.Runner()
        return run_awaitable(self._runner, awaitable)

    def close(self) -> None:
        """Close the loops that were used."""
        for loop in (self._runner, self._thread):
            if loop is not None:
                loop.close()
