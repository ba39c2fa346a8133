"""Load what packages add to the command, by their entry points; one with a fault is left out, and named."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, NamedTuple

import pluggy

from pytest_recall import hookspec
from pytest_recall.files.errors import fault_text, nearest


class UnusedExtension(NamedTuple):
    """An extension that is not used."""

    package: str
    """The distribution that it is of."""
    why: str

    def __str__(self) -> str:
        return f"the extension of {self.package} is left out: {self.why}"


class Extensions:
    """The extensions of this environment, each known by the package that it is of."""

    def __init__(self) -> None:
        self.left_out: list[UnusedExtension] = []
        self._manager = pluggy.PluginManager("pytest")
        self._manager.add_hookspecs(hookspec)
        self._packages: dict[object, str] = {}
        found = {(point.name, point.value): point for point in entry_points(group=hookspec.GROUP)}
        for point in sorted(found.values(), key=lambda one: one.name):
            self._load(point)

    def _load(self, point: EntryPoint) -> None:
        package = point.dist.name if point.dist is not None else point.value
        module, why = attempt(point.load)
        if why:
            self.left_out.append(UnusedExtension(package, f"it cannot be loaded ({why})"))
            return
        known = sorted(name for name in vars(hookspec) if name.startswith("pytest_"))
        marked = [name for name, value in vars(module).items() if hasattr(value, "pytest_impl")]
        if others := [name for name in marked if name not in known]:
            self.left_out.append(UnusedExtension(package, f"`{others[0]}` is no hook{nearest(others[0], known)}"))
            return
        _, why = attempt(lambda: self._manager.register(module))
        if why:
            self.left_out.append(UnusedExtension(package, why))
            with suppress(Exception):
                self._manager.unregister(module)
            return
        self._packages[module] = package

    def call(self, hook: str) -> Iterator[tuple[str, Any]]:
        """Yield what each extension returns for a hook without arguments, with its package; a fault leaves it out."""
        for implementation in getattr(self._manager.hook, hook).get_hookimpls():
            package = self._packages[implementation.plugin]
            found, why = attempt(implementation.function)
            if why:
                self.left_out.append(UnusedExtension(package, f"`{hook}` has a fault ({why})"))
            else:
                yield package, found


def attempt(call: Callable[[], Any]) -> tuple[Any, str]:
    """Return what code of others returns, and what went wrong in words, with the line of it; empty if nothing did."""
    try:
        return call(), ""
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # It may end the process, which is not for it to do.
        return None, fault_text(error)


@cache
def extensions() -> Extensions:
    """Return the extensions of this environment, loaded once."""
    return Extensions()
