"""Capture what a case prints and logs while another case has its turn, and show it at its own turn."""

from __future__ import annotations

import io
import logging
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, NamedTuple

import pytest

from pytest_recall.plugin.pytest_internals import REPLACED, captures

Undo = Callable[[], None]


class CapturedOutput(NamedTuple):
    """What was printed, by stream, and logged."""

    texts: Mapping[str, str]
    records: Sequence[logging.LogRecord]

    def again(self, handlers: tuple[logging.Handler, ...]) -> None:
        """Print and log it where this is called, which is within the turn of the case."""
        for name, text in self.texts.items():
            if text:
                getattr(sys, name).write(text)
        for record in self.records:
            for handler in handlers:
                if record.levelno >= handler.level:
                    handler.handle(record)


class Sink:
    """Takes what one case prints and logs; once it is `over`, that goes where it goes for everybody."""

    def __init__(self) -> None:
        self.streams = {"stdout": _Text(), "stderr": _Text()}
        self.records: list[logging.LogRecord] = []
        self.over = False

    def taken(self) -> CapturedOutput:
        """Return what has come since the last time."""
        records, self.records = self.records, []
        return CapturedOutput({name: text.taken() for name, text in self.streams.items()}, records)


SINK: ContextVar[Sink | None] = ContextVar("recall_sink", default=None)


def sink() -> Sink | None:
    """Return what takes what is printed and logged here; None is pytest's own capture."""
    found = SINK.get()
    return None if found is None or found.over else found


class _Text(io.TextIOWrapper):
    """A stream in memory, with a `buffer` for bytes, as pytest's own has."""

    def __init__(self) -> None:
        self._bytes = io.BytesIO()
        super().__init__(self._bytes, encoding="utf-8", errors="replace", newline="", write_through=True)

    def taken(self) -> str:
        """Return what was written since the last time."""
        said = self._bytes.getvalue().decode("utf-8", "replace")
        self.seek(0)
        self.truncate()
        return said


class _Switch:
    """Stands for one of pytest's streams: for the case that runs here it is the case's, else it is what it was."""

    def __init__(self, name: str, own: Any) -> None:
        self.__dict__.update(_recall_name=name, _recall_own=own)

    def _recall_stream(self) -> Any:
        into = sink()
        return self._recall_own if into is None else into.streams[self._recall_name]

    def fileno(self) -> int:
        """Return pytest's: what another process writes cannot be told apart."""
        number: int = self._recall_own.fileno()
        return number

    def __getattr__(self, name: str) -> Any:
        return getattr(self._recall_stream(), name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._recall_stream(), name, value)

    def __iter__(self) -> Iterator[str]:
        return iter(self._recall_stream())

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return type(self._recall_own)


class _Recorder(logging.Handler):
    """Keeps the log records of cases that run at the same time as the one that is reported."""

    def emit(self, record: logging.LogRecord) -> None:
        into = sink()
        if into is not None:
            into.records.append(record)


class Output:
    """The switches that are in place while cases run at once."""

    def __init__(self, config: pytest.Config) -> None:
        self._undo: list[Undo] = []
        self.capture = config.pluginmanager.getplugin("capturemanager")
        self.handlers: tuple[logging.Handler, ...] = ()
        self._switch_streams()
        self._switch_logging(config.pluginmanager.getplugin("logging-plugin"))

    def _switch_streams(self) -> None:
        for name, holder in captures(self.capture):
            self._switch(name, holder)

    def _switch(self, name: str, holder: Any) -> None:
        # pytest exchanges sys.stdout for each phase; both of what it puts there are switches now.
        switches = {attribute: _Switch(name, getattr(holder, attribute)) for attribute in REPLACED}
        for attribute, switch in switches.items():
            if getattr(sys, name) is switch._recall_own:
                setattr(sys, name, switch)
            setattr(holder, attribute, switch)

        def undo() -> None:
            for attribute, switch in switches.items():
                if getattr(holder, attribute, None) is switch:
                    setattr(holder, attribute, switch._recall_own)
                if getattr(sys, name) is switch:
                    setattr(sys, name, switch._recall_own)

        self._undo.append(undo)

    def _switch_logging(self, plugin: Any) -> None:
        found = (getattr(plugin, "caplog_handler", None), getattr(plugin, "report_handler", None))
        self.handlers = tuple(handler for handler in found if isinstance(handler, logging.Handler))
        if not self.handlers:
            return
        for handler in self.handlers:
            handler.addFilter(_is_of_the_turn)
            self._undo.append(lambda handler=handler: handler.removeFilter(_is_of_the_turn))  # type: ignore[misc]
        recorder, root = _Recorder(), logging.getLogger()
        known = [logger for logger in root.manager.loggerDict.values() if isinstance(logger, logging.Logger)]
        for logger in (root, *(logger for logger in known if not logger.propagate)):
            logger.addHandler(recorder)
            self._undo.append(lambda logger=logger: logger.removeHandler(recorder))  # type: ignore[misc]
        wanted = getattr(plugin, "log_level", None)
        if wanted is not None and wanted < root.level:
            # Of itself pytest lowers it within each phase, and raises it between them.
            self._undo.append(lambda level=root.level: root.setLevel(level))  # type: ignore[misc]
            root.setLevel(wanted)

    def close(self) -> None:
        """Take the switches away."""
        for undo in reversed(self._undo):
            undo()
        self._undo.clear()


def _is_of_the_turn(record: logging.LogRecord) -> bool:
    return sink() is None
