"""The command line `recall` within the process of the tests, and modules in one of their own that starts at once."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from pytest_recall.cli import main
from tests.helpers import programs
from tests.helpers.autoload import nursery


class Done(NamedTuple):
    """What a command came to."""

    code: int
    out: str
    err: str


@contextlib.contextmanager
def _forgetting(folder: Path) -> Iterator[None]:
    """Forget what is imported from `folder`: another project may have modules of these names.

    What is installed stays: many packages cannot be loaded twice.
    """
    modules, path = set(sys.modules), sys.path[:]
    try:
        yield
    finally:
        sys.path[:] = path
        for name in sys.modules.keys() - modules:
            module = sys.modules[name]
            places = [getattr(module, "__file__", None), *getattr(module, "__path__", ())]
            if any(place and Path(place).is_relative_to(folder) for place in places):
                del sys.modules[name]


def run(folder: Path, *arguments: str, together: bool = False) -> Done:
    """Run `recall` in `folder`; its errors are among its output if both are to come `together`."""
    # With an encoding and a buffer below them, as a process has its streams.
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="\n") for _ in range(2))
    with (
        _forgetting(folder),
        programs.collecting(),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(out if together else err),
        contextlib.chdir(folder),
    ):
        try:
            code = main(arguments)
        except SystemExit as error:  # argparse's own way to refuse
            code = int(str(error.code))
    for stream in (out, err):
        stream.seek(0)
    return Done(code, out.read(), err.read())


def apart(
    folder: Path,
    module: str,
    *arguments: str,
    env: Mapping[str, str],
    together: bool = False,
    printed: Path | None = None,
) -> Done:
    """Run `python -m module` in `folder` in a process of its own, with no input and in this environment.

    What it prints can be read in the file `printed` meanwhile.
    """
    nursery.open_one()
    with (
        Path(os.devnull).open("rb") as none,
        printed.open("w+b") if printed else tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as err,
    ):
        streams = (none, out, out if together else err)
        told = {**env, nursery.ADDRESS: os.environ.get(nursery.ADDRESS, "")}
        code = nursery.run_module(module, *arguments, cwd=folder, env=told, files=[one.fileno() for one in streams])
        if code is None:
            command = [sys.executable, "-m", module, *arguments]
            code = subprocess.run(
                command, cwd=folder, env=env, stdin=none, stdout=out, stderr=streams[2], check=False
            ).returncode
        for stream in (out, err):
            stream.seek(0)
        return Done(code, out.read().decode("utf-8"), err.read().decode("utf-8"))
