"""Load what packages add, by their entry points, and call their hooks; what has a fault is named with its package."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache, partial
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pluggy

from pytest_recall import hookspec
from pytest_recall.files.errors import RecallError, fault_text, nearest
from pytest_recall.files.eval_directory import relative

if TYPE_CHECKING:
    from pytest_recall.forge.host import Host


class UnusedExtension(NamedTuple):
    """An extension that is not used."""

    package: str
    """The distribution that it is of."""
    why: str

    def __str__(self) -> str:
        return f"the extension of {self.package} is left out: {self.why}"


class Returned(NamedTuple):
    """What the implementation of a hook came to."""

    package: str
    """The distribution that it is of, or the file of a conftest or the name of a plugin."""
    value: Any = None
    fault: str = ""
    """What went wrong, in words, with the line of it; empty where nothing did."""


class Registry:
    """The extensions of this environment, each known by the package that it is of.

    `manager` knows the hooks, and may have implementations of its own, as pytest's has those of conftest files.
    """

    def __init__(self, manager: pluggy.PluginManager) -> None:
        self.left_out: list[UnusedExtension] = []
        self._manager = manager
        self._packages: dict[object, str] = {}
        points = {(point.name, point.value): point for point in entry_points(group=hookspec.GROUP)}
        for point in sorted(points.values(), key=lambda one: one.name):
            self._load(point)

    def _load(self, point: EntryPoint) -> None:
        package = point.dist.name if point.dist is not None else point.value
        module, why = attempt(point.load)
        if why:
            self.left_out.append(UnusedExtension(package, f"it cannot be loaded ({why})"))
            return
        hooks = sorted(name for name in vars(hookspec) if name.startswith("pytest_"))
        marked = [name for name, value in vars(module).items() if hasattr(value, "pytest_impl")]
        if others := [name for name in marked if name not in hooks]:
            self.left_out.append(UnusedExtension(package, f"`{others[0]}` is no hook{nearest(others[0], hooks)}"))
            return
        _, why = attempt(lambda: self._manager.register(module))
        if why:
            self.left_out.append(UnusedExtension(package, why))
            with suppress(Exception):
                self._manager.unregister(module)
            return
        self._packages[module] = package

    def implements(self, hook: str) -> bool:
        """Whether anything implements a hook."""
        return bool(getattr(self._manager.hook, hook).get_hookimpls())

    def results(self, hook: str, **arguments: object) -> Iterator[Returned]:
        """Call the implementations of a hook one by one, and yield what each returns, or what is wrong with it."""
        return self.each(hook, lambda package: arguments)

    def each(self, hook: str, arguments_of: Callable[[str], Mapping[str, object]]) -> Iterator[Returned]:
        """Do the same, with arguments of its own for each package."""
        for implementation in getattr(self._manager.hook, hook).get_hookimpls():
            package = self._package_of(implementation)
            arguments = arguments_of(package)
            values = [arguments[name] for name in implementation.argnames]
            file = getattr(implementation.plugin, "__file__", None) or ""
            yield Returned(package, *attempt(partial(implementation.function, *values), file))

    def listed(self, hook: str, kind: type, **arguments: object) -> Iterator[Returned]:
        """Yield what each extension lists for a hook: things of a `kind`, as a tuple; anything else is a fault."""
        for one in self.results(hook, **arguments):
            if one.fault:
                yield one
                continue
            listed = () if one.value is None else (one.value,) if isinstance(one.value, kind) else one.value
            if not isinstance(listed, Iterable):
                yield Returned(one.package, (), f"it returns {type(listed).__name__}, and no list of {kind.__name__}")
                continue
            things, fault = attempt(partial(tuple, listed))
            others = [type(thing).__name__ for thing in things or () if not isinstance(thing, kind)]
            yield Returned(one.package, things, f"it lists {others[0]}, and no {kind.__name__}" if others else fault)

    def call(self, hook: str) -> Iterator[tuple[str, Any]]:
        """Yield what each extension returns for a hook without arguments, with its package; a fault leaves it out."""
        for one in self.results(hook):
            if one.fault:
                self.left_out.append(UnusedExtension(one.package, f"`{hook}` has a fault ({one.fault})"))
            else:
                yield one.package, one.value

    def first(self, hook: str, kind: type, **arguments: object) -> Any:
        """Return the first thing of a `kind` that an extension returns for a hook, None where none does.

        Raises RecallError for an implementation with a fault: to go on would be to guess what it says.
        """
        # pluggy calls the last one first.
        for implementation in reversed(getattr(self._manager.hook, hook).get_hookimpls()):
            values = [arguments[name] for name in implementation.argnames]
            returned, why = attempt(partial(implementation.function, *values))
            if not why and returned is not None and not isinstance(returned, kind):
                why = f"it returns {type(returned).__name__}, and no {kind.__name__}"
            if why:
                package = self._package_of(implementation)
                raise RecallError(f"the extension of {package}: `{hook}` has a fault ({why}); correct or uninstall it")
            if returned is not None:
                return returned
        return None

    def host(self, environ: Mapping[str, str], repo: str | None = None) -> Host | None:
        """Return the code host of a job, or of the repository `repo`; None where no extension knows it."""
        from pytest_recall.forge.host import Host

        host: Host | None = self.first("pytest_recall_host", Host, environ=environ, repo=repo)
        return host

    def _package_of(self, implementation: pluggy.HookImpl) -> str:
        """Return the distribution of an implementation; of a conftest file, or a plugin that pytest knows, its name."""
        if (package := self._packages.get(implementation.plugin)) is not None:
            return package
        file = getattr(implementation.plugin, "__file__", None)
        return relative(Path(file), Path.cwd()) if file else implementation.plugin_name


def attempt(call: Callable[[], Any], file: str = "") -> tuple[Any, str]:
    """Return what code of others returns, and what went wrong in words, else nothing.

    The words end with the line of it: in `file`, if it came through that.
    """
    try:
        return call(), ""
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # It may end the process, which is not for it to do.
        return None, fault_text(error, file)


@cache
def registry() -> Registry:
    """Return the extensions of this environment, without those of a pytest session; loaded once."""
    manager = pluggy.PluginManager("pytest")
    manager.add_hookspecs(hookspec)
    return Registry(manager)
