"""The fingerprint of a memory's code: what changes it, and what does not."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from types import ModuleType

import pytest
import yaml

from pytest_recall.memory.built_in import BUILT_IN
from pytest_recall.memory.resolve import resolve
from pytest_recall.models.fingerprint import Fingerprint, fingerprint
from pytest_recall.registry import registry

MEMORY = """
{imports}
class Memory:
    def reset(self): ...
    def store(self, content, metadata): ...
    def recall(self, query, limit, context): return []
"""


@pytest.fixture(autouse=True)
def _own_modules() -> Iterator[None]:
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        del sys.modules[name]


def of(folder: Path, selector: str = "python:mine.py:Memory") -> Fingerprint:
    """Return the fingerprint of a memory, as a new process would see it."""
    return fingerprint(resolve(selector, registry().memories(), root=folder).code())


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_an_edit_changes_it_and_its_place_does_not(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        write(tmp_path / folder, {"mine": MEMORY.format(imports=""), "other": ""})
    first = of(tmp_path / "a")
    assert first.code
    assert of(tmp_path / "b") == first
    write(tmp_path / "a", {"other": "x = 1"})
    assert of(tmp_path / "a") == first
    write(tmp_path / "a", {"mine": MEMORY.format(imports="# new")})
    assert of(tmp_path / "a") != first


@pytest.mark.parametrize("imports", ["def later():\n    import helper", "def later():\n    from helper.deep import x"])
def test_an_edit_of_what_it_imports_from_beside_it_changes_it(tmp_path: Path, imports: str) -> None:
    name = "helper/deep" if "deep" in imports else "helper"
    write(tmp_path, {"mine": MEMORY.format(imports=imports), name: "x = 1"})
    if "deep" in imports:
        write(tmp_path, {"helper/__init__": ""})
    first = of(tmp_path)
    write(tmp_path, {name: "x = 2"})
    assert of(tmp_path) != first


def test_of_a_package_all_of_it_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    write(tmp_path, {"ours/__init__": "", "ours/memory/__init__": "", "ours/memory/client": MEMORY.format(imports="")})
    first = of(tmp_path, "python:ours.memory.client:Memory")
    write(tmp_path, {"ours/prompts": "PROMPT = 'x'"})
    assert of(tmp_path, "python:ours.memory.client:Memory") != first


def test_a_package_of_another_folder_counts_as_an_editable_install_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "src"
    monkeypatch.syspath_prepend(str(source))
    write(source, {"mymem/__init__": "from mymem.store import Memory", "mymem/store": MEMORY.format(imports="")})
    write(tmp_path, {"adapter": "def later():\n    import mymem\n" + MEMORY.format(imports="")})
    first = of(tmp_path, "python:adapter.py:Memory")
    write(source, {"mymem/store": MEMORY.format(imports="import further"), "further": ""})
    second = of(tmp_path, "python:adapter.py:Memory")
    write(source, {"further": "x = 1"})
    third = of(tmp_path, "python:adapter.py:Memory")
    assert len({first, second, third}) == 3


@pytest.mark.parametrize("beside", [True, False])
def test_a_package_without_an_init_file_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, beside: bool) -> None:
    source = tmp_path if beside else tmp_path / "src"
    monkeypatch.syspath_prepend(str(source))
    write(tmp_path, {"mine": MEMORY.format(imports="from spaced.rank import key")})
    write(source, {"spaced/rank": "key = len"})
    first = of(tmp_path)
    write(source, {"spaced/rank": "key = hash"})
    assert of(tmp_path) != first


@pytest.mark.parametrize("changed", ["spaced/deep", "spaced/more", "spaced/inner/last"])
def test_so_does_what_its_modules_import_from_beside_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: str
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    write(tmp_path, {"mine": MEMORY.format(imports="from spaced.rank import key")})
    write(tmp_path, {"spaced/rank": "from .deep import key\nfrom . import more\nfrom .inner.first import x"})
    write(tmp_path, {"spaced/deep": "key = len", "spaced/more": ""})
    write(tmp_path, {"spaced/inner/first": "from ..deep import key\nfrom .last import x", "spaced/inner/last": "x = 1"})
    first = of(tmp_path)
    write(tmp_path, {changed: "x = key = hash"})
    assert of(tmp_path) != first


def test_what_is_nowhere_counts_for_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "put_together", ModuleType("put_together"))
    later = "def later():\n    import put_together\n    import no_such_module"
    write(tmp_path, {"mine": MEMORY.format(imports=later)})
    assert of(tmp_path).packages == ()


def test_the_module_of_a_factory_counts_at_its_first_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    write(tmp_path, {"made": MEMORY.format(imports=""), "fact/__init__": ""})
    write(tmp_path, {"fact/mem": "from made import Memory\n\ndef make():\n    return Memory()\n"})
    memory = resolve("python:fact.mem:make", BUILT_IN, root=tmp_path)
    assert tmp_path / "fact" / "mem.py" in [path.resolve() for path in memory.code()]


def test_a_factory_counts_as_well_as_what_it_makes(tmp_path: Path) -> None:
    text = "def make():\n    import sys; sys.path.insert(0, {!r})\n    from made import Memory\n    return Memory()\n"
    write(tmp_path, {"made": MEMORY.format(imports=""), "mine": text.format(str(tmp_path))})
    first = of(tmp_path, "python:mine.py:make")
    sys.modules.pop("made", None)
    write(tmp_path, {"made": MEMORY.format(imports="# new")})
    assert of(tmp_path, "python:mine.py:make") != first


def test_versions_of_what_it_imports_are_there(tmp_path: Path) -> None:
    write(tmp_path, {"mine": MEMORY.format(imports="import json\nimport yaml\nimport pytest_recall")})
    version = f"PyYAML {metadata.version('pyyaml')}"
    assert of(tmp_path).packages == (version,)
    assert fingerprint([Path(yaml.__file__)]).packages == (version,)


def test_of_a_program_the_files_of_its_command_line_count(tmp_path: Path) -> None:
    (tmp_path / "memory.sh").write_text("echo\n")
    selector = "command:sh memory.sh"
    first = of(tmp_path, selector)
    (tmp_path / "memory.sh").write_text("echo 2\n")
    assert of(tmp_path, selector) != first


def test_a_program_on_the_path_a_module_and_a_file_after_an_option_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "my-memory"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    (tmp_path / "settings.json").write_text("{}")
    write(tmp_path, {"pkg/__init__": "", "pkg/__main__": "from pkg import rank", "pkg/rank": "", "flat": "import far"})
    write(tmp_path, {"lib/far": "x = 1", "far": "x = 1"})
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "lib"))
    selectors = {
        "command:my-memory": program,
        "command:sh -c true --config=settings.json": tmp_path / "settings.json",
        "command:python3 -m pkg": tmp_path / "pkg" / "rank.py",
        "mcp:python3 -m flat": tmp_path / "flat.py",
        "mcp:python3 -m far": tmp_path / "far.py",
    }
    for selector, path in selectors.items():
        first = of(tmp_path, selector)
        path.write_text(f"{path.read_text()}\n# another")
        assert of(tmp_path, selector) != first, selector


@pytest.mark.parametrize("selector", ["http://127.0.0.1:1", "grpc://127.0.0.1:1", "command:no-such-program x"])
def test_of_what_is_elsewhere_nothing_is_known(tmp_path: Path, selector: str) -> None:
    assert of(tmp_path, selector) == Fingerprint()


def test_ours_are_known_by_their_own_modules(tmp_path: Path) -> None:
    found = {name: of(tmp_path, name).code for name in ("sqlite-fts", "last-20", "null")}
    assert all(found.values())
    assert found["sqlite-fts"] != found["last-20"]


def test_what_cannot_be_parsed_counts_by_its_bytes(tmp_path: Path) -> None:
    broken = tmp_path / "broken.py"
    broken.write_bytes(b"def (\xff")
    first = fingerprint([broken, tmp_path / "not-there.py"])
    broken.write_bytes(b"def (\xfe")
    assert fingerprint([broken]) != first


def test_what_was_parsed_once_is_not_parsed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, {"mine": f"import helper\n# {tmp_path}\n", "helper": f"# {tmp_path}"})
    first = fingerprint([tmp_path / "mine.py"])
    monkeypatch.setattr("ast.parse", lambda content: pytest.fail(f"{content} is parsed again"))
    assert fingerprint([tmp_path / "mine.py"]) == first
