"""Parse the selectors of memories, each one line of text, by the kinds that there are."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TypeVar

from pytest_recall.files.errors import RecallError, fault_text, nearest
from pytest_recall.memory.client import ModelPlace
from pytest_recall.memory.kind import MemoryForm, MemoryKind, MemorySelector

DISPLAYED = ("synthesisModel", "embeddingProvider", "embeddingModel")
"""Settings of a memory by the published names that results show as well, whether it takes them or not."""
WORKER = "{worker}"
"""Stands in a selector for the process: `main`, or the name of a worker of pytest-xdist."""

_PRIVATE = re.compile(r":(//)?.*@", re.DOTALL)
_HIDDEN = r":\1…@"
_OPTION = re.compile(r";([A-Za-z_]\w*)=([^;]*)$")
Returned = TypeVar("Returned")


class MemoryKinds:
    """The kinds of memories that there are: those of the core, and those of extensions."""

    def __init__(
        self,
        kinds: Iterable[MemoryKind],
        *,
        packages: Mapping[str, str] = MappingProxyType({}),
        refused: Mapping[str, str] = MappingProxyType({}),
        left_out: Sequence[str] = (),
    ) -> None:
        """Take the kinds, their packages by name, the names that are refused with why, and the extensions left out."""
        every = tuple(kinds)
        self.all = tuple(kind for kind in every if kind.name not in refused)
        self.refused = refused
        self.left_out = tuple(left_out)
        self._packages = packages
        self._by_name = {name: kind for kind in reversed(every) for name in (kind.name, *kind.aliases)}
        names = "|".join(map(re.escape, self._by_name))
        self._begins = re.compile(rf",(?=\s*(?:{names})\b)")

    def forms(self) -> list[tuple[MemoryKind, MemoryForm]]:
        """Return every form of a selector, with its kind."""
        return [(kind, form) for kind in self.all for form in kind.forms]

    def kind_of(self, selector: MemorySelector) -> MemoryKind:
        """Return the kind of a selector that was parsed by these kinds."""
        return self._by_name[selector.kind]

    def models_of(self, text: str) -> ModelPlace:
        """Return where the memory that `text` selects calls models, `elsewhere` where it selects none."""
        try:
            selector = self.parse(text)
        except RecallError:
            return "elsewhere"
        return self.kind_of(selector).form(selector.target).models

    def selected(self, texts: Iterable[str]) -> list[str]:
        """Return the selectors in texts, each of which may have several, separated by commas before a known kind.

        Raises RecallError for one that is named twice.
        """
        found = [part.strip() for text in texts for part in self._begins.split(text)]
        if twice := next((one for one in found if found.count(one) > 1), None):
            raise RecallError(f"--memory: {_shown(twice)} is named twice; name each memory once")
        return found

    def parse(self, text: str) -> MemorySelector:
        """Return the selector that `text` is. Raises RecallError with one sentence."""
        text = text.strip()
        rest, options = _options(text)
        self._check_alone(text, rest)
        word = rest.partition(":")[0]
        kind = self._named(word)
        if kind is None:
            raise self._unknown(text, word)
        if kind.read is not None:
            target = self._target(kind, kind.read, text, rest)
        else:
            target = _target(kind, text, rest)
        self._check_options(text, kind, options)
        return MemorySelector(text=text, kind=kind.name, target=target, options=options)

    def call(self, kind: MemoryKind, function: Callable[[], Returned]) -> Returned:
        """Return what a function of a kind returns. Raises RecallError, which names its package, for a fault of it."""
        try:
            return function()
        except (RecallError, KeyboardInterrupt):
            raise
        except BaseException as error:  # It may be anyone's code.
            raise self.fault(kind, fault_text(error)) from error

    def fault(self, kind: MemoryKind, why: str) -> RecallError:
        """Return the error of a kind that cannot be used, with its package."""
        package = self._packages.get(kind.name, "pytest-recall")
        return RecallError(f"the extension of {package}: the memory `{kind.name}` has a fault ({why})")

    def _named(self, word: str) -> MemoryKind | None:
        """Return the kind with a name, or None. Raises RecallError for a name that is refused."""
        kind = self._by_name.get(word)
        if kind is None:  # The target may stand behind another separator, as in `last-20`.
            others = ((name, one) for name, one in self._by_name.items() if one.separator != ":")
            kind = next((one for name, one in others if word.startswith(f"{name}{one.separator}")), None)
        for name in () if kind is None else (word, kind.name):
            if name in self.refused:
                raise RecallError(self.refused[name])
        return kind

    def _target(self, kind: MemoryKind, read: Callable[[str], str], text: str, rest: str) -> str:
        try:
            target = self.call(kind, lambda: read(rest))
        except RecallError as error:
            plain = _PRIVATE.sub(_HIDDEN, rest)
            messages = (one.replace(repr(rest), repr(plain)).replace(rest, plain) for one in error.messages)
            raise RecallError(*(f"{_shown(text)}: {message}" for message in messages)) from None
        if not isinstance(target, str):
            raise self.fault(kind, f"`read` returns {type(target).__name__}, and no text")
        return target

    def _check_alone(self, text: str, rest: str) -> None:
        """Raise RecallError where commas separate several selectors, or one from what is none."""
        word = rest.partition(",")[0].partition(":")[0]
        kind = self._by_name.get(word)
        if "@" in rest or (kind is not None and kind.commas and (kind.takes_target == "required" or ":" in rest)):
            return  # What stands after the colon may have commas, and a password is not repeated.
        others = rest.split(",")[1:]
        if kind is not None and kind.takes_target != "none":
            # A comma in the path of a file, before the last colon of the selector.
            while any(":" in one and not self._begins.match(f",{one}") for one in others):
                others = others[1:]
        if unknown := next((one.strip() for one in others if not self._begins.match(f",{one}")), None):
            raise self._unknown(unknown, unknown)
        if others:
            raise RecallError(f"{_shown(text)}: names several memories, and one is taken here; name one")

    def _unknown(self, text: str, word: str) -> RecallError:
        if self.left_out:
            return RecallError(f"{_shown(text)}: no memory is selected like this; {'; '.join(self.left_out)}")
        names = [kind.name if kind.separator == ":" else kind.example(kind.forms[0]) or kind.name for kind in self.all]
        return RecallError(f"{_shown(text)}: no memory is selected like this{nearest(word.lower(), names)}")

    def _check_options(self, text: str, kind: MemoryKind, options: Mapping[str, str]) -> None:
        by_name = {option.name: option for option in kind.options}
        for name, value in options.items():
            if name not in by_name:
                raise RecallError(f"{_shown(text)}: unknown option `{name}`{nearest(name, by_name)}")
            if not value:
                raise RecallError(f"{_shown(text)}: `{name}` has no value; give it one")
            check = by_name[name].check
            if check is not None and (why := self._checked(kind, check, value)):
                raise RecallError(f"{_shown(text)}: {why}")

    def _checked(self, kind: MemoryKind, check: Callable[[str], str], value: str) -> str:
        return self.call(kind, lambda: check(value))


def _target(kind: MemoryKind, text: str, rest: str) -> str:
    """Return what stands after the separator. Raises RecallError where that does not fit the kind."""
    begins = (one for one in (kind.name, *kind.aliases) if rest == one or rest.startswith(f"{one}{kind.separator}"))
    name = next(begins, None)
    form = f"`{kind.written(next((one for one in kind.forms if one.target), kind.forms[0]))}`"
    if name is None:  # It stands before a colon, which is not its separator.
        raise RecallError(f"{_shown(text)}: no memory is selected like this; write {form}")
    target = rest.removeprefix(name).removeprefix(kind.separator).strip()
    article, separator = ("a ", "colon") if kind.separator == ":" else ("", f"`{kind.separator}`")
    if rest != name and not target:
        raise RecallError(f"{_shown(text)}: there is nothing after {article and 'the '}{separator}; write {form}")
    if not target and kind.takes_target == "required":
        raise RecallError(f"{_shown(text)}: which one? write {form}")
    if target and kind.takes_target == "none":
        raise RecallError(f"{_shown(text)}: `{kind.name}` takes nothing after {article}{separator}; remove it")
    return target


def _shown(text: str) -> str:
    """Return a selector as messages repeat it: what stands before an @ may be a password."""
    return repr(_PRIVATE.sub(_HIDDEN, text))


def _options(text: str) -> tuple[str, dict[str, str]]:
    """Take the options off the end; a semicolon elsewhere belongs to a command line."""
    found: dict[str, str] = {}
    while match := _OPTION.search(text):
        if match[1] in found:
            raise RecallError(f"{_shown(text)}: `{match[1]}` is set twice; remove one")
        found[match[1]] = match[2].strip()
        text = text[: match.start()].rstrip()
    return text, found
