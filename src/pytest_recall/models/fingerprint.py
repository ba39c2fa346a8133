"""Find the code that a memory system or a model is made of, so that a run can tell whether it has changed since."""

from __future__ import annotations

import ast
import inspect
import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from hashlib import sha256
from importlib import metadata
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

MOST_FILES = 2000
"""Files that are read of one memory or model."""
_OURS = "pytest_recall"


class Fingerprint(NamedTuple):
    """What a memory or a model was made of."""

    code: str = ""
    """A digest of its code; empty where no file of it is here, as of a service."""
    packages: tuple[str, ...] = ()
    """The versions of the packages that the code imports."""

    @property
    def digest(self) -> str:
        """Return one digest of all of it; empty where nothing is known."""
        if not self.code and not self.packages:
            return ""
        return sha256("\n".join((self.code, *self.packages)).encode()).hexdigest()

    def changed_since(self, before: Fingerprint) -> str:
        """Return in words what is another one than `before`; empty if nothing is, or that is not known."""
        was, now = set(before.packages), set(self.packages)
        if changed := [f"{one} is here now" for one in sorted(now - was)] or [
            f"{one} is gone" for one in sorted(was - now)
        ]:
            return ", ".join(changed)
        if before.code == self.code or not self.code:
            return ""
        return "its code has changed" if before.code else "it is not known of which code they are"


def fingerprint(files: Iterable[Path]) -> Fingerprint:
    """Return the fingerprint of `files`, of the packages that they are in, and of what these import.

    Modules outside the folders of installed packages count by their content, with all code of the package that they are
    in; so does a package that is installed in editable mode. Installed packages count by their version. Files that
    cannot be parsed, such as programs, count by their bytes.
    """
    contents, imported = _gathered(files)
    if not contents and not imported:
        return Fingerprint()
    # By content alone: where the files are is another matter on each machine.
    digests = sorted(f"{path.name} {sha256(content).hexdigest()}" for path, content in contents.items())
    return Fingerprint(sha256("\n".join(digests).encode()).hexdigest()[:16], tuple(_versions(imported)))


def code_of(files: Iterable[Path]) -> Iterable[Path]:
    """Return the files whose content counts in the fingerprint of `files`."""
    return _gathered(files)[0]


def _gathered(files: Iterable[Path]) -> tuple[dict[Path, bytes], set[str]]:
    """Return the files that count by their content, with that, and the modules that count by their version."""
    contents: dict[Path, bytes] = {}
    imported: set[str] = set()
    packages: set[Path] = set()
    elsewhere = cache(_elsewhere)  # For this call: the path of modules may be another one at the next.
    left = [path.resolve() for path in files]
    while left and len(contents) < MOST_FILES:
        path = left.pop()
        if installed := _installed(path):
            imported.add(installed)
            continue
        if path in contents or not path.is_file():
            continue
        contents[path] = path.read_bytes()
        root = _package(path)
        if root is not None and root not in packages:
            packages.add(root)
            left += sorted(root.rglob("*.py"))[:MOST_FILES]
        for name in _imports(contents[path]) if path.suffix == ".py" else ():
            found = _local(name, path) or elsewhere(name)
            left += found
            if not found:
                imported.add(name.partition(".")[0])
    return contents, imported


def program_files(argv: Sequence[str], root: Path, environ: Mapping[str, str]) -> list[Path]:
    """Return the files that a command line in `root` names: the program on the path, files, and the module of `-m`."""
    program = shutil.which(_placed(argv[0], root), path=environ.get("PATH"))
    files = [] if program is None else [Path(program)]
    parts = (part for given in argv for part in (given, given.partition("=")[2]) if part)
    files += [path for part in parts if (path := root / part).is_file()]
    for flag, name in pairwise(argv):
        if flag == "-m":
            places = [root, *map(Path, filter(None, environ.get("PYTHONPATH", "").split(os.pathsep)))]
            modules = (_run_as_module(root / place, name) for place in places)
            files += next(filter(None, modules), [])
    return files


def _placed(program: str, root: Path) -> str:
    return program if Path(program).name == program else str(root / program)


def _run_as_module(folder: Path, name: str) -> list[Path]:
    """Return the files that `python -m NAME` runs, if the module is below a folder."""
    parts = name.split(".")
    return [*_modules(folder, [*parts, "__main__"]), *_modules(folder, parts)]


def files_of(found: object) -> list[Path]:
    """Return the files of the classes that an object is of."""
    paths: list[Path] = []
    for kind in type(found).__mro__:
        try:
            paths.append(Path(inspect.getfile(kind)))
        except (TypeError, OSError):  # Built in, or made as it runs.
            continue
    return paths


def selected_files(place: str, root: Path) -> list[Path]:
    """Return the file that a `python` selector names, as a file from `root` or as a module; nothing is imported.

    Of a module that is below `root` or on the path it is the file; of an installed one, a file of its package.
    """
    if place.endswith(".py") or "/" in place or "\\" in place:
        return [root / place]
    named = getattr(sys.modules.get(place), "__file__", None)
    if named:
        return [Path(named)]
    parts = place.split(".")
    if found := _modules(root, parts):
        return found
    try:
        spec = find_spec(parts[0])  # Of a name without a dot, nothing is imported for it.
    except (ImportError, ValueError):
        return []
    if spec is None:
        return []
    folders = [Path(folder) for folder in spec.submodule_search_locations or ()]
    within = [one for folder in folders for one in _modules(folder, parts[1:])]
    return within or ([Path(spec.origin)] if spec.has_location and spec.origin else [])


def _installed(path: Path) -> str:
    """Return the name of the module that an installed file is of; empty for any other file, and one of ours."""
    parts = path.parts
    for folder in ("site-packages", "dist-packages"):
        if folder in parts[:-1]:
            name = parts[parts.index(folder) + 1].removesuffix(".py")
            return "" if name == _OURS else name
    return ""


def _package(path: Path) -> Path | None:
    """Return the folder of the outermost package that a Python file is in; None for none, and for ours."""
    folder = path.parent
    if path.suffix != ".py" or not (folder / "__init__.py").is_file():
        return None
    while (folder.parent / "__init__.py").is_file():
        folder = folder.parent
    return None if folder.name == _OURS else folder


# One command may need the fingerprint of several memories, and of each again with its floors; to parse takes longest.
@lru_cache(maxsize=512)
def _imports(content: bytes) -> tuple[str, ...]:
    """Return the dotted names that a Python file imports, relative ones with their dots; none if it cannot be read."""
    try:
        return tuple(_imported(ast.parse(content)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()


def _imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            yield base
            yield from (f"{base}{'' if base.endswith('.') else '.'}{alias.name}" for alias in node.names)


def _local(name: str, path: Path) -> list[Path]:
    """Return the files in the folder of `path` that an import names; none for what is elsewhere."""
    if name.startswith("."):
        folder = path.parent
        for _ in range(len(name) - len(name.lstrip(".")) - 1):
            folder = folder.parent
        parts = [part for part in name.lstrip(".").split(".") if part]
    else:
        # A module of our own package names its neighbours in full.
        prefix = f"{_OURS}.{path.parent.name}."
        folder, parts = path.parent, name.removeprefix(prefix).split(".")
        if not name.startswith(prefix) and not _stands_beside(parts[0], folder):
            return []
    return _modules(folder, parts)


def _modules(folder: Path, parts: Sequence[str]) -> list[Path]:
    """Return the file of the module or package that is called so below a folder, if there is one."""
    place = folder.joinpath(*parts)
    return [one for one in (place.with_suffix(".py"), place / "__init__.py") if parts and one.is_file()]


def _elsewhere(name: str) -> tuple[Path, ...]:
    """Return the files of a module on the path that is neither installed nor Python's own, if there are any."""
    first, *rest = name.split(".")
    if first in ("", _OURS) or first in sys.stdlib_module_names:
        return ()
    try:
        spec = find_spec(first)  # Of a name without a dot, nothing is imported for it.
    except (ImportError, ValueError):  # `__main__`, and modules that something else put together.
        return ()
    if spec is None:
        return ()
    if spec.has_location and spec.origin:
        found = [Path(spec.origin)]
    else:  # A package without `__init__.py`, which may have several folders.
        found = [one for folder in spec.submodule_search_locations or () for one in _modules(Path(folder), rest)]
    return tuple(path for path in map(Path.resolve, found) if path.suffix == ".py" and not _installed(path))


def _stands_beside(name: str, folder: Path) -> bool:
    return (folder / f"{name}.py").is_file() or (folder / name).is_dir()


@cache
def _distributions() -> dict[str, list[str]]:
    return dict(metadata.packages_distributions())


def _versions(names: Iterable[str]) -> list[str]:
    """Return the distributions that have these modules, with their versions; not what comes with Python, or is ours."""
    others = {name for name in names if name and name not in sys.stdlib_module_names and name != _OURS}
    if not others:
        return []
    known = _distributions()
    return sorted({f"{one} {metadata.version(one)}" for name in others for one in known.get(name, ())})
