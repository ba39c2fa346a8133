"""Bundles of runs for tests: one that is here, more by the script that writes them, and changes to them."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path

from pytest_recall.datasets.bundle import MANIFEST
from tests.helpers.scripts import loaded

TABLE = Path(__file__).with_name("table.zip")
"""`sqlite-fts` and `last-20` over `files.few`, by `recall memory run mine.json --memory sqlite-fts,last-20 --out o`."""
SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "write_bundle.py"
_script = loaded(SCRIPT)


def write_bundle(path: Path, *folders: Path, texts: bool = False) -> None:
    """Write the runs in `folders` into a bundle."""
    _script.write_bundle(path, folders, texts=texts)


def rewritten(path: Path, name: str, change: Callable[[str], str], *, hashed: bool) -> None:
    """Change a file of the bundle, with a manifest that fits or not."""
    with zipfile.ZipFile(path) as archive:
        contents = {one: archive.read(one) for one in archive.namelist()}
    changed = change(contents[name].decode())
    assert changed != contents[name].decode()
    contents[name] = changed.encode()
    if hashed:
        del contents[MANIFEST]
        contents[MANIFEST] = _script.manifest_of(contents).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for one, data in contents.items():
            archive.writestr(one, data)
