"""Define a kind of memory: the forms of its selector, its options, and how its client is made."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from pytest_recall.files.duration import read_duration
from pytest_recall.memory.client import MemoryAdapter, ModelPlace
from pytest_recall.models.provider import Provider
from pytest_recall.models.waiting import Channel

if TYPE_CHECKING:
    from pathlib import Path

_NAME = re.compile(r"[a-z][a-z0-9_]*(-[a-z0-9_]+)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySelector:
    """A selector of a memory, one line of text, taken apart."""

    text: str
    """What the person wrote."""
    kind: str
    """The name of the kind."""
    target: str = ""
    """What stands after the name, such as a command line, a file or a URL; empty for the name alone."""
    options: Mapping[str, str] = field(default_factory=dict)
    """Those after a semicolon, by name."""

    @property
    def timeout(self) -> float | None:
        """The seconds that one call may take, None where `timeout` is not set."""
        text = self.options.get("timeout")
        return None if text is None else read_duration(text, "s")


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryContext:
    """What a client is made with, beside its selector."""

    root: Path
    """The folder that relative paths are from."""
    channel: Channel
    """What programs and services are called through, so that calls are recorded and replayed."""
    environ: Mapping[str, str]
    """The variables of the environment."""
    config: Mapping[str, Any]
    """What a profile sets for the memory."""
    model: Callable[[str], Provider]
    """Returns the model that a selector of models names. Raises RecallError."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryForm:
    """A form of the selectors of a kind: its name alone, or its name with a target."""

    about: str
    """What it selects, as help says it."""
    target: str = ""
    """How help writes the target, such as `FILE`; empty for the name alone."""
    example: str = ""
    """A target with which help looks what is missing here; without one it looks where there is no target."""
    models: ModelPlace = "none"
    """Where the memory calls models: `none`, `here` in this process, or `elsewhere`."""
    title: str = ""
    """What tables call the memory, where that is not its selector."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryOption:
    """An option of a selector, as in `;timeout=60`."""

    name: str
    """Its name."""
    check: Callable[[str], str] | None = None
    """Returns what is wrong with a value, such as "'x' is no number"; empty if nothing is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryKind:
    """A kind of memory, which a selector names. Raises ValueError for a name or forms that cannot be."""

    name: str
    """What its selectors begin with: lower-case letters, digits, `-` and `_`."""
    forms: tuple[MemoryForm, ...]
    """Those of its selectors: at most one without a target, and one with. They say whether it takes a target."""
    make: Callable[[MemorySelector, MemoryContext], MemoryAdapter]
    """Returns a client. It asks nothing and imports no package: `MemoryAdapter.ready` says what is missing."""
    options: tuple[MemoryOption, ...] = ()
    """Those that may be set after a semicolon."""
    aliases: tuple[str, ...] = ()
    """Further names that select it, such as `https` beside `http`."""
    separator: str = ":"
    """What stands between the name and the target."""
    commas: bool = True
    """Whether a target may have commas. Where not, one ends the selector also before what selects nothing."""
    read: Callable[[str], str] | None = None
    """Returns the target of a selector, which it gets without its options. Raises RecallError with what is wrong.

    Without it the target is what stands after the separator.
    """

    def __post_init__(self) -> None:
        with_target = [bool(form.target) for form in self.forms]
        for name in (self.name, *(alias.lower() for alias in self.aliases)):
            if not _NAME.fullmatch(name):
                raise ValueError(f"{name!r} is no name of a memory; write lower-case letters, digits, - and _")
        if not all(isinstance(option, MemoryOption) for option in self.options):
            raise ValueError(f"the options of `{self.name}` are no MemoryOption")
        if not with_target or len(with_target) != len(set(with_target)):
            raise ValueError(f"the forms of `{self.name}` are one without a target, one with, or both")

    @property
    def takes_target(self) -> Literal["none", "optional", "required"]:
        """Whether a target stands after the name, by its forms."""
        if len(self.forms) > 1:
            return "optional"
        return "required" if self.forms[0].target else "none"

    def form(self, target: str) -> MemoryForm:
        """Return the form of a selector with this target, which may be empty."""
        return next((one for one in self.forms if bool(one.target) == bool(target)), self.forms[0])

    def written(self, form: MemoryForm) -> str:
        """Return a form as help writes it."""
        return f"{self.name}{self.separator}{form.target}" if form.target else self.name

    def example(self, form: MemoryForm) -> str:
        """Return a selector of a form with which to look what is missing here; empty if that depends on the target."""
        if not form.target:
            return self.name
        return f"{self.name}{self.separator}{form.example}" if form.example else ""


def _timeout_fault(value: str) -> str:
    if 0 < (read_duration(value, "s") or 0) < 1_000_000:
        return ""
    return f"{value!r} is not a number of seconds above 0, or a time like 90s or 500ms"


TIMEOUT_OPTION = MemoryOption(name="timeout", check=_timeout_fault)
"""The option `timeout`, which `MemorySelector.timeout` reads as seconds."""
