"""Load what packages add, by their entry points, and call their hooks; what has a fault is named with its package."""

from __future__ import annotations

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

    def listed(self, hook: str, kind: type[T], *, strict: bool = False) -> list[tuple[str, T]]:
        """Return what extensions list for a hook without arguments, each thing with its package.

        An extension with a fault is left out; RecallError is raised for it where one is `strict`.
        """
        found: list[tuple[str, T]] = []
        for implementation in getattr(self._manager.hook, hook).get_hookimpls():
            package = self._package_of(implementation)
            returned, why = attempt(implementation.function)
            several = [returned] if isinstance(returned, kind) else returned
            if not why and isinstance(several, Iterable):  # A generator runs now.
                several, why = attempt(partial(list, several))
            if not why and not isinstance(several, list):
                why = f"it returns {type(returned).__name__}, and no list of {kind.__name__}"
            if not why and (other := next((one for one in several if not isinstance(one, kind)), None)) is not None:
                why = f"it lists {type(other).__name__}, and not {kind.__name__} alone"
            if not why:
                found += [(package, one) for one in several]
            elif strict:
                raise _faulty(package, hook, why)
            else:
                self.leave_out(package, f"`{hook}` has a fault ({why})")
        return found

    def leave_out(self, package: str, why: str) -> None:
        """Note that the extension of a package is not used, once however often it is asked."""
        if (unused := UnusedExtension(package, why)) not in self.left_out:
            self.left_out.append(unused)

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
                raise _faulty(self._package_of(implementation), hook, why)
            if returned is not None:
                return returned
        return None

    def datasets(self) -> Mapping[str, DatasetLayout]:
        """Return the layouts of datasets, by name: those that are built in, and those of extensions.

        Raises RecallError where two have one name, and for an implementation with a fault.
        """
        from pytest_recall.datasets.file import LAYOUTS, DatasetLayout

        found = dict(LAYOUTS)
        homes = dict.fromkeys(LAYOUTS, PACKAGE)
        for package, layout in self.listed("pytest_recall_datasets", DatasetLayout, strict=True):
            if layout.name in found:
                names = f"{homes[layout.name]} and of {package}"
                raise RecallError(f"`{layout.name}` is a dataset of {names}; remove one of them")
            found[layout.name], homes[layout.name] = layout, package
        return found

    def case_checks(self) -> list[Callable[[Case], Iterator[str]]]:
        """Return what extensions check each case by: a function that yields what is wrong with it, in sentences.

        It raises RecallError where it has a fault of its own.
        """
        implementations = self._manager.hook.pytest_recall_check_case.get_hookimpls()
        return [partial(self._problems, implementation) for implementation in implementations]

    def _problems(self, implementation: pluggy.HookImpl, case: Case) -> Iterator[str]:
        returned, why = attempt(partial(implementation.function, *([case] if implementation.argnames else ())))
        sentences = [returned] if isinstance(returned, str) else () if returned is None else returned
        if not why and not (isinstance(sentences, list | tuple) and all(isinstance(one, str) for one in sentences)):
            why = f"it returns {type(returned).__name__}, and no list of sentences"
        if why:
            raise _faulty(self._package_of(implementation), "pytest_recall_check_case", why)
        yield from map(one_line, sentences)

    def host(self, environ: Mapping[str, str], repo: str | None = None) -> Host | None:
        """Return the code host of a job, or of the repository `repo`; None where no extension knows it."""
        from pytest_recall.forge.host import Host

        host: Host | None = self.first("pytest_recall_host", Host, environ=environ, repo=repo)
        return host

    def memories(self) -> MemoryKinds:
        """Return the kinds of memories that are built in, and those of all extensions.

        An extension with a fault is left out; a name that two packages have is refused once it is selected.
        """
        from pytest_recall.memory.built_in import BUILT_IN
        from pytest_recall.memory.kind import MemoryKind
        from pytest_recall.memory.selector import MemoryKinds

        kinds = [(PACKAGE, kind) for kind in BUILT_IN.all]
        kinds += self.listed("pytest_recall_memories", MemoryKind)
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


def _faulty(package: str, hook: str, why: str) -> RecallError:
    return RecallError(f"the extension of {package}: `{hook}` has a fault ({why}); correct or uninstall it")


def attempt(call: Callable[[], Any]) -> tuple[Any, str]:
    """Return what code of others returns, and what went wrong in words, with the line of it; empty if nothing did."""
    try:
        return call(), ""
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # It may end the process, which is not for it to do.
        return None, fault_text(error)


@cache
def registry() -> Registry:
    """Return the extensions of this environment, without those of a pytest session; loaded once."""
    manager = pluggy.PluginManager("pytest")
    manager.add_hookspecs(hookspec)
    return Registry(manager)
