"""Call the models of a command within its budget, recorded or replayed, and count the calls by kind."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from copy import copy
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_recall.cases.settings import Settings
from pytest_recall.files.context_values import assigned
from pytest_recall.files.errors import MissError, RecallError
from pytest_recall.files.eval_directory import Place
from pytest_recall.files.wording import plural
from pytest_recall.models.model import Ask, Model, Reply, parse
from pytest_recall.models.prices import call_of_reply, list_price, seller_of, url_of
from pytest_recall.models.resolve import model_of
from pytest_recall.replay.budget import Balance, Meter, SpentBudget
from pytest_recall.replay.cassette_library import Library
from pytest_recall.replay.exchange import Call, CallKind, Tokens
from pytest_recall.replay.open_tapes import CURRENT_CASE, CaseContext
from pytest_recall.replay.tape import CassetteMode
from pytest_recall.replay.watch import Watch
from pytest_recall.trials.command_cassette import CommandCassettes, answered_itself, open_tape, or_without, player_of
from pytest_recall.trials.memory_calls import MemoryModelCalls, model_places
from pytest_recall.trials.priced import check_prices
from pytest_recall.trials.run_stop import SpentError

if TYPE_CHECKING:
    from pytest_recall.models.settings import Prices
    from pytest_recall.replay.tape import Tape


@dataclass(kw_only=True)
class QuestionCalls:
    """The calls about one question, with what each cost, and where they are recorded."""

    calls: list[Call] = field(default_factory=list)
    prices: Mapping[str, Prices] = field(default_factory=dict)
    tape: Tape | None = None
    lane: CaseContext | None = None
    closed: Callable[[], SpentBudget | None] = lambda: None
    """Returns why no call may begin, if that is so."""
    whole: bool = False
    """For the caller that knows that the question is done."""
    heard: dict[str, bool] = field(default_factory=dict)
    """Whether each model that has answered, by name, called an upstream for that."""

    def ask(self, model: Model, kind: CallKind, ask: Ask) -> Reply:
        """Return the reply. Raises ModelError, RecallError for a call that is not recorded, and SpentError."""
        made = [] if self.tape is None else self.tape.made
        before = len(made)
        with self._asking(kind):
            reply = model.ask(ask)
        # What calls no upstream, such as an object that the user wrote, is asked also where others are replayed.
        source = "replayed" if len(made) > before and all(one.source == "replayed" for one in made[before:]) else "live"
        self.heard[model.name] = self.heard.get(model.name, False) or len(made) > before
        self.calls.append(call_of_reply(model, reply, source, self.prices)._replace(kind=kind))
        return reply

    @contextmanager
    def _asking(self, kind: CallKind) -> Iterator[None]:
        if self.lane is None:
            yield
            return
        if (spent := self.closed()) is not None:
            raise SpentError(spent)
        try:
            with assigned(CURRENT_CASE, self.lane), self.lane.opened.asking(kind):
                yield
        except MissError as error:
            if (spent := self.closed()) is not None:
                raise SpentError(spent) from None
            raise RecallError(str(error)) from error


def source_of(calls: Sequence[Call]) -> str:
    """Return where the answer of a trial with these calls came from."""
    sources = {call.source for call in calls} or {"live"}
    return sources.pop() if len(sources) == 1 else "mixed"


_SHEET: ContextVar[QuestionCalls | None] = ContextVar("recall_sheet_of_calls", default=None)


@contextmanager
def counting(sheet: QuestionCalls | None = None) -> Iterator[QuestionCalls]:
    """Hand out a sheet, a new one by default, on which each call of a counted model in this block is put."""
    sheet = sheet or QuestionCalls()
    with assigned(_SHEET, sheet):
        yield sheet


class Counted:
    """A model that counts its calls, which are of `kind`."""

    def __init__(self, model: Model, kind: CallKind = "judge") -> None:
        self._model = model
        self._kind: CallKind = kind

    @property
    def name(self) -> str:
        """The selector."""
        return self._model.name

    @property
    def asked(self) -> Model:
        """The model itself."""
        return self._model

    @property
    def seller(self) -> str | None:
        """Who sells it, None if no vendor does, or it is unknown."""
        return seller_of(self._model)

    @property
    def url(self) -> str | None:
        """Where it is, if that is not where its vendor has it."""
        return url_of(self._model)

    def ask(self, ask: Ask) -> Reply:
        """Return the reply. Raises ModelError, and what a sheet raises."""
        sheet = _SHEET.get()
        return self._model.ask(ask) if sheet is None else sheet.ask(self._model, self._kind, ask)

    def close(self) -> None:
        """Let go of connections and threads."""
        if callable(close := getattr(self._model, "close", None)):
            close()


class RunModels:
    """How the models of a run are asked.

    `mode` and `folder` are of their cassettes, `meter` keeps the budget, None for as much as it takes. `problems`
    are those of recordings. One attempt at a call may take `timeout` milliseconds, None for as long as usual. The calls
    of the memory are its own: they are made as always, and listened to by `memory` if it makes them `here`. In a replay
    they are listened to once: what is called after that is not the run's.
    """

    def __init__(
        self,
        place: Place,
        rubric: Settings,
        mode: CassetteMode = "off",
        folder: Path | None = None,
        meter: Meter | None = None,
        timeout: int | None = None,
        *,
        here: bool = False,
    ) -> None:
        self._timeout = timeout
        self._place, self._rubric = place, rubric
        self.redact = rubric.redactor(os.environ).redacted
        """Takes secrets out of a text."""
        self._folder = folder or place.cassettes
        # A memory asks as an agent would, so that the model that works for it has to have another kind.
        self._player = player_of(rubric, mode, {"agent": "live", "worker": "cassette"})
        self._player.meter = self._meter = meter
        self._cassettes: CommandCassettes | None = None
        self._upstream = False
        self._heard: dict[str, bool] = {}
        self._says: list[Callable[[str], None]] = []
        self.problems: list[str] = []
        self.memory = MemoryModelCalls(
            self._player, rubric, here=here, tape=lambda: open_tape(rubric), closed=lambda: self.closed()
        )

    @property
    def mode(self) -> CassetteMode:
        """What is done with calls."""
        return self._player.mode

    def model(self, selector: str, kind: CallKind, root: Path, say: Callable[[str], None], *, ready: bool) -> Counted:
        """Return the model for calls of `kind`. Raises RecallError if there is none, or something is missing for it."""
        self._says[:] = [say]
        self._upstream |= parse(selector).kind != "python"
        found = model_of(selector, kind, player=self._player, root=root, say=say, ready=ready, timeout=self._timeout)
        return Counted(found, kind)

    def price(self, model: Counted, tokens: Tokens) -> float | None:
        """Return what tokens of a model cost, by the rubric or the list; None if that is not known."""
        return list_price(model.name, model.seller, tokens, self._rubric.prices, model.url)

    def check_prices(self, models: Mapping[str, Model], say: Callable[[str], None]) -> None:
        """Raise RecallError for models, by their roles, whose price is not known if there is a budget to keep."""
        if self._meter is not None:
            check_prices(models, self._rubric, self._place.name(self._place.rubric), say)

    @property
    def balance(self) -> Balance | None:
        """How the budget stands; None without one."""
        return None if self._meter is None else self._meter.balance()

    def closed(self) -> SpentBudget | None:
        """Return why no further call may begin; None if one may."""
        return None if self._meter is None else self._meter.closed()

    def apart(self) -> RunModels:
        """Return how other models of the same run are asked, whose cassettes are in another folder."""
        return copy(self)

    def record_in(self, scenario: str, repeat: int = 1) -> None:
        """Have the cassettes in the folder `scenario`; each `repeat` of the same has its own."""
        self._cassettes = CommandCassettes(
            player=self._player,
            place=self._place,
            rubric=self._rubric,
            folder=self._folder,
            scenario=scenario,
            repeat=repeat,
        )

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Listen to the calls that are made in this block."""
        self._player.listens = self.memory.here
        watch = Watch(self._player)
        try:
            with self.memory.listening():
                yield
        finally:
            watch.close()
            silent = [name for name, heard in self._heard.items() if not heard]
            for say in self._says if self.mode != "off" else ():
                if silent:
                    say(answered_itself(silent, replays=self.mode == "replay"))
                if self.memory.heard:
                    made = plural(self.memory.heard, "call")
                    say(f"the memory made {made} to models of its own, which are neither recorded nor replayed")

    @contextmanager
    def about(self, name: str, *, kept: bool = True) -> Iterator[QuestionCalls]:
        """Hand out the sheet of a question, on which each call of this block is counted, and cassette `name` is used.

        What was recorded is kept if the sheet says that it is `whole` in the end. Where nothing is to be `kept`,
        calls are made, and not recorded.
        """
        if self._cassettes is None:
            with counting(QuestionCalls(prices=self._rubric.prices)) as sheet, self.memory.about(sheet.calls):
                yield sheet
            return
        tape = self._cassettes.tape(name) if kept and self.mode != "off" else open_tape(self._rubric)
        lane = self._player.lane()
        self._player.push(tape, lane)
        sheet = QuestionCalls(prices=self._rubric.prices, tape=tape, lane=lane, closed=self.closed)
        try:
            with counting(sheet), self.memory.about(sheet.calls):
                yield sheet
        except BaseException:
            # There is no trial that has them.
            self.memory.beside(*sheet.calls)
            raise
        finally:
            self._player.leave(lane)
            tape.close()
            self.memory.places |= model_places(tape)
            for model, heard in sheet.heard.items() if kept else ():
                self._heard[model] = self._heard.get(model, False) or heard
            if sheet.whole and not tape.problems:
                self._cassettes.finish(tape, name)
            elif tape.draft_path is not None:
                tape.draft_path.unlink(missing_ok=True)
            self.problems += tape.problems

    def check_recorded(self, models: Sequence[str], scenario: str) -> None:
        """Raise RecallError where there is no recording at all of what these models were asked."""
        folder = Library(self._folder).of_case("", scenario).parent
        if not folder.is_dir():
            told = f"--replay: {self._place.name(folder)}: no such recording; make it with --record"
            raise RecallError(f"{told}{or_without(models)}")

    def unrecorded(self, names: Iterable[str]) -> int:
        """Return how many of these questions have no cassette, where calls are recorded.

        Objects that the user wrote may make no call, and leave no recording.
        """
        if self._cassettes is None or not self._upstream or self.mode not in ("record", "missing"):
            return 0
        return sum(not self._cassettes.path(name).exists() for name in names)
