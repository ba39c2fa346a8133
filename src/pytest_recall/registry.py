"""Load what packages add, by their entry points, and call their hooks; what has a fault is named with its package."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache, partial
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import pluggy

from pytest_recall import hookspec
from pytest_recall.files.errors import RecallError, fault_text, nearest
from pytest_recall.files.eval_directory import relative
from pytest_recall.files.wording import one_line

if TYPE_CHECKING:
    from pytest_recall.cases.case import Case
    from pytest_recall.datasets.file import DatasetLayout
    from pytest_recall.forge.host import Host
    from pytest_recall.memory.selector import MemoryKinds

PACKAGE = "pytest-recall"
"""The distribution of what is built in."""

T = TypeVar("T")


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
        if self._manager.is_registered(module):  # It is a plugin of pytest as well.
            self._packages[module] = package
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
            yield self._returned(implementation, arguments_of(self._package_of(implementation)))

    def _returned(self, implementation: pluggy.HookImpl, arguments: Mapping[str, object]) -> Returned:
        values = [arguments[name] for name in implementation.argnames]
        file = getattr(implementation.plugin, "__file__", None) or ""
        value, fault = attempt(partial(implementation.function, *values), file)
        return Returned(self._package_of(implementation), value, _without_secrets(fault) if fault else "")

    def listed(self, hook: str, kind: type, **arguments: object) -> Iterator[Returned]:
        """Yield what each extension lists for a hook: things of a `kind`, as a tuple; anything else is a fault."""
        for one in self.results(hook, **arguments):
            yield _as_listed(one, kind)

    def things(self, hook: str, kind: type[T], *, strict: bool = False) -> list[tuple[str, T]]:
        """Return what all extensions list for a hook, each thing with its package.

        An extension with a fault is left out; RecallError is raised for it where one is `strict`.
        """
        listed: list[tuple[str, T]] = []
        for one in self.listed(hook, kind):
            if not one.fault:
                listed += [(one.package, thing) for thing in one.value]
            elif strict:
                raise _faulty(one.package, hook, one.fault)
            else:
                self.leave_out(one.package, f"`{hook}` has a fault ({one.fault})")
        return listed

    def leave_out(self, package: str, why: str) -> None:
        """Note that the extension of a package is not used, once however often it is asked."""
        if (unused := UnusedExtension(package, why)) not in self.left_out:
            self.left_out.append(unused)

    def first(self, hook: str, kind: type, **arguments: object) -> Any:
        """Return the first thing of a `kind` that an extension returns for a hook, None where none does.

        Raises RecallError for an implementation with a fault: to go on would be to guess what it says.
        """
        # pluggy calls the one that was registered last first.
        for implementation in reversed(getattr(self._manager.hook, hook).get_hookimpls()):
            one = self._returned(implementation, arguments)
            fault = one.fault
            if not fault and one.value is not None and not isinstance(one.value, kind):
                fault = f"it returns {type(one.value).__name__}, and no {kind.__name__}"
            if fault:
                raise _faulty(one.package, hook, fault)
            if one.value is not None:
                return one.value
        return None

    def datasets(self) -> Mapping[str, DatasetLayout]:
        """Return the layouts of datasets, by name: those that are built in, and those of extensions.

        Raises RecallError where two have one name, and for an implementation with a fault.
        """
        from pytest_recall.datasets.file import LAYOUTS, DatasetLayout

        layouts = dict(LAYOUTS)
        homes = dict.fromkeys(LAYOUTS, PACKAGE)
        for package, layout in self.things("pytest_recall_datasets", DatasetLayout, strict=True):
            if layout.name in layouts:
                names = f"{homes[layout.name]} and of {package}"
                raise RecallError(f"`{layout.name}` is a dataset of {names}; remove one of them")
            layouts[layout.name], homes[layout.name] = layout, package
        return layouts

    def case_problems(self, case: Case, caller: pluggy.HookCaller) -> Iterator[str]:
        """Yield what extensions say is wrong with a case, of those that its hook `caller` knows.

        Raises RecallError for one with a fault.
        """
        for implementation in caller.get_hookimpls():
            one = _as_listed(self._returned(implementation, {"case": case}), str)
            if one.fault:
                raise _faulty(one.package, caller.name, one.fault)
            yield from map(one_line, one.value)

    def host(self, environ: Mapping[str, str], repo: str | None = None) -> Host | None:
        """Return the code host of a job, or of the repository `repo`; None where no extension knows it."""
        from pytest_recall.forge.host import Host, field_fault

        host: Host | None = self.first("pytest_recall_host", Host, environ=environ, repo=repo)
        if host is not None and (fault := field_fault(host)):
            raise RecallError(f"`pytest_recall_host` has a fault ({fault}); correct the extension")
        return host

    def memories(self) -> MemoryKinds:
        """Return the kinds of memories that are built in, and those of all extensions.

        An extension with a fault is left out; a name that two packages have is refused once it is selected.
        """
        from pytest_recall.memory.built_in import BUILT_IN
        from pytest_recall.memory.kind import MemoryKind
        from pytest_recall.memory.selector import MemoryKinds

        kinds = [(PACKAGE, kind) for kind in BUILT_IN.all]
        kinds += self.things("pytest_recall_memories", MemoryKind)
        homes: dict[str, list[str]] = {}
        for package, kind in kinds:
            for name in (kind.name, *kind.aliases):
                homes.setdefault(name, []).append(package)
        refused = {
            name: f"`{name}` is a memory of {' and of '.join(packages)}; remove one of them"
            for name, packages in homes.items()
            if len(packages) > 1
        }
        return MemoryKinds(
            (kind for _, kind in kinds),
            packages={kind.name: package for package, kind in kinds},
            refused=refused,
            left_out=[str(one) for one in self.left_out],
        )

    def _package_of(self, implementation: pluggy.HookImpl) -> str:
        """Return the distribution of an implementation; of a conftest file, or a plugin that pytest knows, its name."""
        if (package := self._packages.get(implementation.plugin)) is not None:
            return package
        file = getattr(implementation.plugin, "__file__", None)
        return relative(Path(file), Path.cwd()) if file else implementation.plugin_name


def _as_listed(one: Returned, kind: type) -> Returned:
    """Return what an extension lists: things of a `kind`, as a tuple; anything else is a fault."""
    if one.fault:
        return one
    listed = () if one.value is None else (one.value,) if isinstance(one.value, kind) else one.value
    if not isinstance(listed, Iterable):
        return Returned(one.package, (), f"it returns {type(listed).__name__}, and no list of {kind.__name__}")
    things, fault = attempt(partial(tuple, listed))
    others = [type(thing).__name__ for thing in things or () if not isinstance(thing, kind)]
    return Returned(one.package, things, f"it lists {others[0]}, and no {kind.__name__}" if others else fault)


def _without_secrets(text: str) -> str:
    """Return what an extension has raised without the values of variables that hold keys."""
    from pytest_recall.cases.settings import DEFAULT_SETTINGS

    return DEFAULT_SETTINGS.redactor(os.environ).redacted(text)


def _faulty(package: str, hook: str, why: str) -> RecallError:
    return RecallError(f"the extension of {package}: `{hook}` has a fault ({why}); correct or uninstall it")


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
