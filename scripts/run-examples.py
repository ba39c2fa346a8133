#!/usr/bin/env python3
"""Install each example alone, run it offline on its recordings, and compare with what its README expects.

    scripts/run-examples.py                       all of examples/
    scripts/run-examples.py sdk-agent langgraph   these
    scripts/run-examples.py --jobs 2              two at once

The two commands are those of the example's README, run in a copy with an environment of its own. The second one has no
key and, where `unshare` may do it, no network; it is run again with `-n 2`. Both have to end as the README says, and
neither may change a file of the example. The exit code is 1 if an example does not, and 2 for a mistake.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ("pyproject.toml", "README.md", "LICENSE", "src")
"""What pytest-recall is installed from."""
LEFT = {".venv", "_artifacts", "__pycache__", ".pytest_cache"}
"""What runs leave behind, and git ignores."""
WRITTEN = shutil.ignore_patterns(*LEFT)
NO_NETWORK = ["unshare", "--map-root-user", "--net"]
_COMMANDS = re.compile(r"^```sh\n(python3 -m venv .*)\n(.*)\n```$", re.MULTILINE)
_EXPECTED = re.compile(r"^Expected: `([^`]+)`, exit code (\d)\.", re.MULTILINE)
_SUMMARY = re.compile(r"\b(\d+ [a-z]+(?:, \d+ [a-z]+)*) in [\d.]+s")


class Example(NamedTuple):
    """What the README of an example promises."""

    name: str
    install: str
    run: str
    expected: str
    code: int


class BrokenError(Exception):
    """An example that does not do what its README says; its text is what a person reads."""


def examples() -> list[str]:
    """Return the names of all examples."""
    return sorted(path.parent.name for path in (ROOT / "examples").glob("*/requirements.txt"))


def read(name: str) -> Example:
    """Return what the README of an example says. Raises BrokenError."""
    text = (ROOT / "examples" / name / "README.md").read_text(encoding="utf-8")
    commands, expected = _COMMANDS.search(text), _EXPECTED.search(text)
    if commands is None or expected is None:
        raise BrokenError(f"examples/{name}/README.md: needs a block `sh` with two commands, and a line `Expected: …`")
    return Example(name, commands[1], commands[2], expected[1], int(expected[2]))


def digests(folder: Path) -> dict[str, str]:
    """Return a digest of each file of an example, without what runs leave behind."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not LEFT & set(path.relative_to(folder).parts)
    }


def call(command: str, folder: Path, env: dict[str, str], *before: str) -> tuple[int, str]:
    """Run a command of a README; return its exit code and what it printed."""
    done = subprocess.run(
        [*before, "bash", "-c", command],
        cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, encoding="utf-8", check=False,
    )  # fmt: skip
    return done.returncode, done.stdout


def try_out(example: Example, folder: Path, before: list[str]) -> str:
    """Install and run an example in `folder`, and return what it took. Raises BrokenError."""
    started = time.monotonic()
    # Most of what a framework brings is never imported: bytecode is compiled when it is, and not by pip.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    online = {**os.environ, "PATH": path, "PIP_COMPILE": "0", "PIP_PREFER_BINARY": "1"}
    code, printed = call(example.install, folder, online)
    if code:
        raise BrokenError(f"`{example.install}` ended with {code}\n{printed}")
    size = sum(path.stat().st_size for path in (folder / ".venv").rglob("*") if path.is_file()) / 1e6
    installed, kept = time.monotonic() - started, digests(folder)
    # Nothing of this environment: no key, and no switch that only this machine has.
    offline = {"PATH": os.defpath, "HOME": str(folder / ".venv"), "LC_ALL": "C.UTF-8"}
    code, printed = call(".venv/bin/recall check", folder, offline, *before)
    if code:
        raise BrokenError(f"`recall check` ended with {code}\n{printed}")
    check(example, example.run, folder, offline, before)
    ran = time.monotonic() - started - installed
    code, printed = call(".venv/bin/pip install -q pytest-xdist", folder, online)
    if code:
        raise BrokenError(f"pytest-xdist could not be installed\n{printed}")
    check(example, f"{example.run} -n 2", folder, offline, before)
    if changed := sorted(name for name, _ in digests(folder).items() ^ kept.items()):
        raise BrokenError(f"the run has changed {', '.join(dict.fromkeys(changed))}")
    return f"{size:4.0f} MB  installed in {installed:4.1f} s  ran in {ran:4.1f} s  {example.expected}"


def check(example: Example, command: str, folder: Path, env: dict[str, str], before: list[str]) -> None:
    """Run a command offline, and compare how it ends. Raises BrokenError."""
    code, printed = call(command, folder, env, *before)
    found = _SUMMARY.findall(printed)
    counts = found[-1] if found else "nothing"
    if (code, counts) != (example.code, example.expected):
        expected = f"{example.expected} and exit code {example.code}"
        raise BrokenError(f"`{command}` came to {counts} and exit code {code}, not to {expected}\n{printed}")


def may_unshare() -> bool:
    """Whether a command can be run without network here."""
    if shutil.which(NO_NETWORK[0]) is None:
        return False
    return subprocess.call([*NO_NETWORK, "true"], stderr=subprocess.DEVNULL) == 0


def main(argv: Sequence[str] | None = None) -> int:
    """Run the examples that are named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", nargs="*", help="examples (default: all)")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="so many at once (default: 1)")
    args = parser.parse_args(argv)
    known = examples()
    if unknown := [name for name in args.name if name not in known]:
        parser.error(f"no example {unknown[0]!r}; there are {', '.join(known)}")
    names = args.name or known

    before = NO_NETWORK if may_unshare() else []
    if not before:
        print("the network cannot be taken away here; a replay refuses it by itself")
    with tempfile.TemporaryDirectory() as work:
        for part in PACKAGE:
            if (ROOT / part).is_dir():
                shutil.copytree(ROOT / part, Path(work, part), ignore=WRITTEN)
            else:
                shutil.copy(ROOT / part, Path(work, part))

        def one(name: str) -> bool:
            folder = Path(work, "examples", name)
            shutil.copytree(ROOT / "examples" / name, folder, ignore=WRITTEN)
            try:
                print(f"{name:<14} ok      {try_out(read(name), folder, before)}", flush=True)
            except BrokenError as broken:
                print(f"{name:<14} BROKEN  {broken}", flush=True)
                return False
            finally:
                shutil.rmtree(folder)
            return True

        with ThreadPoolExecutor(max(1, args.jobs)) as pool:
            fine = dict(zip(names, pool.map(one, names), strict=True))
    if broken := [name for name in names if not fine[name]]:
        print(f"{len(broken)} of {len(names)} examples do not do what their README says: {', '.join(broken)}")
        return 1
    print(f"{len(names)} examples do what their READMEs say")
    return 0


if __name__ == "__main__":
    sys.exit(main())
