"""Hold what a session learns while it runs: messages, marked tests, money and the event loop."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio

    from pytest_recall.plugin.cassettes import CassetteManager
    from pytest_recall.replay.exchange import Call
    from pytest_recall.trials.concurrency import Loop
    from pytest_recall.trials.record import LetThrough


class SessionLog:
    """What is printed at the end of a session."""

    def __init__(self, *, follows: bool) -> None:
        self._follows = follows
        self.problems: list[str] = []
        """What makes the session fail."""
        self.notes: list[str] = []
        """What does not make the session fail."""
        self.refused: list[str] = []
        """Mistakes that workers found. They end the session with the code of a usage error."""
        self.halted = ""
        """Why nothing more is run. It ends the session with the code of a usage error."""

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
    """What only collection finds."""

    def __init__(self) -> None:
        self.marked_tests: dict[str, tuple[str, str]] = {}
        """Marked tests, by the ids of their cases, with scenario and dimension."""
        self.nodes: dict[str, str] = {}
        """The ids of the cases of marked tests, by node id."""
        self.settled: set[str] | None = None
        """The cases that shards of an explicit choice have in common."""
        self.crashes: dict[str, str] = {}
        """Node ids whose worker died before it was known whether they are marked tests, with the error."""
        self.deselected: dict[str, bool] = {}
        """The cases of items that pytest was told to leave out, and whether `--deselect` names them."""
        self.passed_over: set[str] = set()
        """The cases of marked tests that were left out before they were cases."""
        self.unknown_baselines: dict[str, None] = {}
        self.informed = self.sent = False
        """Whether a worker's findings were taken, and, as `sent`, whether this worker has sent its own."""


class Money:
    """What the calls of a session come to beside its trials."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        """The calls that belong to no trial."""
        self.unpaid: dict[str, set[str]] = {}
        """The node ids that the budget has left out, by baseline; those of the agent under test have an empty name."""
        self.cut = 0
        """How many errors are of cases that ran out of money between two calls."""
        self.alone: Counter[str] = Counter()
        """How many cases did not run at the same time as others, by the fixture that belongs to the whole process."""
        self.looped: Counter[str] = Counter()
        """How many cases did not run at the same time as others, by the fixture that is async."""
        self.batched: Counter[str] = Counter()
        """How many calls went through a batch API, and how many directly."""


class Unrecorded:
    """What was asked and not recorded, as the players of all processes know."""

    def __init__(self) -> None:
        self.programs: dict[str, None] = {}
        """The programs that cases have started."""
        self.clients: Counter[str] = Counter()
        """How often these programs asked by each client."""
        self.telemetry: Counter[str] = Counter()
        """How many calls to hosts of telemetry are not recorded, by host."""
        self.ignored: Counter[str] = Counter()
        """How many calls are not recorded since their hosts are ignored, by host."""
        self.places: dict[str, None] = {}
        """Where other clients have connected that this setting lets through."""

    def add(self, manager: CassetteManager) -> None:
        """Add what this process has asked."""
        player, redacted = manager.player, manager.redactor.redacted
        self.programs.update(manager.started)
        self.clients.update(player.unseen)
        if manager.mode == "off" and player.meter is None:
            return
        for host, count in player.telemetry_calls.items():
            self.telemetry[redacted(host)] += count
        for host, count in player.ignored_calls.items():
            self.ignored[redacted(host)] += count
        self.places.update((redacted(place), None) for place in player.ignored_places)

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON types, for the controller of a worker."""
        return {
            "programs": list(self.programs),
            "clients": self.clients,
            "telemetry": self.telemetry,
            "ignored": self.ignored,
            "places": list(self.places),
        }

    def update(self, payload: Mapping[str, Any]) -> None:
        """Add what another process has asked, as its `to_json` gives it."""
        self.programs.update(dict.fromkeys(payload["programs"]))
        self.clients.update(payload["clients"])
        self.telemetry.update(payload["telemetry"])
        self.ignored.update(payload["ignored"])
        self.places.update(dict.fromkeys(payload["places"]))

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
