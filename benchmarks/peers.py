#!/usr/bin/env python3
"""Measure pytest-recall beside other harnesses: installed side by side, run in turns, on the same work.

Each is installed in an environment of its own, in its newest release, and asked three things: what it
takes on disk; what its being installed costs a suite of one test that has nothing to do with it; and how
long 1,000 cases take whose agent repeats its input, judged by equality, in the way its own documentation
shows first. The least of the rounds counts. They do not do the same work: what each writes is its own.

Needs Linux or macOS and the package registries; promptfoo needs npm as well, and 1.4 GB. Exit code 2 if one
could not be installed or did not run all cases; the others are printed all the same.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from measure import MeasureError, Sample, alternate, best, noise, run, tell
from suites import INSIDE, plain_suite, recall_suite

ROOT = Path(__file__).resolve().parent.parent
OURS = "pytest-recall"
PLAIN = "pytest alone"


@dataclass(frozen=True)
class Peer:
    """How one is installed, and how it runs `{cases}` cases; `says` is in what it prints when it has run them all."""

    package: str
    command: str = ""
    says: str = ""
    is_plugin: bool = True


_PYTEST = "pytest -q -p no:cacheprovider"
PEERS = {
    PLAIN: Peer("pytest"),
    OURS: Peer(str(ROOT), f"{_PYTEST} -p recall eval --recall-mode all", "No regression: {cases:,} cases pass"),
    "pytest-evals": Peer("pytest-evals", f"{_PYTEST} --run-eval test_pytest_evals_set.py", "{cases} passed"),
    "pydantic-evals": Peer("pydantic-evals", "python pydantic_evals_set.py {cases}", "{cases} passed", is_plugin=False),
    "deepeval": Peer("deepeval", f"{_PYTEST} test_deepeval_set.py", "{cases} passed"),
    "inspect_ai": Peer("inspect-ai", "python inspect_set.py {cases}", "{cases} passed, 1.0", is_plugin=False),
    "promptfoo": Peer(
        "promptfoo",
        "promptfoo eval -c promptfoo.json --no-cache --no-table --no-progress-bar",
        "{cases:,} passed",
        is_plugin=False,
    ),
}
QUIET = (
    "DEEPEVAL_TELEMETRY_OPT_OUT=YES",
    "PROMPTFOO_DISABLE_TELEMETRY=1",
    "PROMPTFOO_DISABLE_UPDATE=1",
    "PROMPTFOO_DISABLE_REMOTE_GENERATION=true",
)
"""Nothing is told to anybody, and no time goes into trying to."""


@dataclass
class Found:
    """What was measured of one: megabytes and packages installed, and the runs of both kinds."""

    megabytes: float
    packages: int
    version: str
    idle: list[Sample]
    cases: list[Sample]


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="benchmarks/peers.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="name", help=f"which ones (default: all): {', '.join(PEERS)}")
    parser.add_argument("--cases", type=int, default=1000, help="default: 1000")
    parser.add_argument("--rounds", type=int, default=3, help="of the cases; the one test runs five times as often")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="install here, and find it there the next time")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a Markdown table")
    args = parser.parse_args()
    if unknown := [name for name in args.names if name not in PEERS]:
        parser.error(f"unknown name {', '.join(unknown)}; known: {', '.join(PEERS)}")
    names = [name for name in PEERS if not args.names or name in args.names or name in (PLAIN, OURS)]

    missed: list[str] = []
    with tempfile.TemporaryDirectory(prefix="recall-peers-") as made:
        folder = Path(made).resolve()
        homes = args.keep.resolve() if args.keep else folder / "installed"
        runs: dict[str, Runs] = {}
        for name in names:
            tell(f"{name}: installing")
            try:
                runs[name] = Runs(
                    PEERS[name], _installed(PEERS[name], homes / name.replace(" ", "-")), folder / name, args.cases
                )
            except MeasureError as error:
                missed.append(f"{name}: {error}")
        tell("one unrelated test ", end="")
        idle = alternate({name: one.idle for name, one in runs.items() if one.peer.is_plugin}, args.rounds * 5)
        worked = {}
        for name, one in runs.items():
            if not one.peer.command:
                continue
            tell(f"{args.cases} cases: {name} ", end="")
            try:
                worked[name] = alternate({name: one.cases}, args.rounds)[name]
            except MeasureError as error:
                missed.append(f"{name}: {error}")
        found = {
            name: Found(*one.installed(), one.version(), idle.get(name, []), worked.get(name, []))
            for name, one in runs.items()
        }
    print(_as_json(found) if args.json else "\n".join(_table(found, args.cases)))
    for line in missed:
        tell(f"benchmarks/peers.py: {line}")
    return 2 if missed else 0


class Runs:
    """The two things that one is asked to do, each in a folder of its own."""

    def __init__(self, peer: Peer, programs: Path, folder: Path, cases: int) -> None:
        self.peer = peer
        self._programs = programs
        self._cases = cases
        self._idle = plain_suite(folder / "idle")
        self._work = folder / "work"
        if peer is PEERS[OURS]:
            recall_suite(self._work, cases)
        else:
            shutil.copytree(INSIDE / "peers", self._work)
            (self._work / "promptfoo.json").write_text(_promptfoo(cases), encoding="utf-8")

    def idle(self) -> Sample:
        """Run one test that has nothing to do with evals."""
        return run(self._command("pytest -q -p no:cacheprovider"), self._idle)

    def cases(self) -> Sample:
        """Run all cases. Raises MeasureError if the run says of fewer that they passed."""
        for left in ("eval/_artifacts", "eval/recall.yaml", ".deepeval", "logs"):  # No round builds on the one before.
            path = self._work / left
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        sample = run(self._command(self.peer.command), self._work)
        said = self.peer.says.format(cases=self._cases)
        if said not in sample.output:
            raise MeasureError(f"{said!r} is not in what it said:\n{sample.output[-2000:]}")
        return sample

    def installed(self) -> tuple[float, int]:
        """Return megabytes on disk, without bytecode, and how many packages these are."""
        home = self._programs.parent
        top = home if self._is_node else next(home.glob("lib/python*/site-packages"))
        files = (path for path in top.rglob("*") if path.is_file() and path.suffix != ".pyc")
        own = {"pip", "setuptools"}
        if self._is_node:
            packages = {
                path.parent
                for path in top.rglob("package.json")
                if path.parent.parent.name.startswith(("node_modules", "@"))
            }
        else:
            packages = {path for path in top.glob("*.dist-info") if path.name.split("-")[0] not in own}
        return sum(path.lstat().st_size for path in files) / 1e6, len(packages)

    def version(self) -> str:
        """Return which release it is."""
        if self._is_node:
            return str(json.loads((self._programs.parent / "promptfoo/package.json").read_text("utf-8"))["version"])
        name = OURS if self.peer is PEERS[OURS] else self.peer.package
        code = f"from importlib.metadata import version; print(version({name!r}))"
        return subprocess.run(
            [self._programs / "python", "-c", code], capture_output=True, text=True, check=True
        ).stdout.strip()

    @property
    def _is_node(self) -> bool:
        return self._programs.name == ".bin"

    def _command(self, text: str) -> list[str]:
        program, *rest = text.format(cases=self._cases).split()
        return ["env", *QUIET, f"CASES={self._cases}", str(self._programs / program), *rest]


def _installed(peer: Peer, home: Path) -> Path:
    """Install one into a folder of its own, unless it is there; return the folder of its programs."""
    is_node = peer is PEERS["promptfoo"]
    programs = home / ("node_modules/.bin" if is_node else "bin")
    if not (home / "done").exists():
        shutil.rmtree(home, ignore_errors=True)
        if is_node:
            home.mkdir(parents=True)
            steps = [["npm", "install", "--no-audit", "--no-fund", "--prefix", str(home), peer.package]]
        else:
            wanted = [peer.package, *(["pytest"] if peer.is_plugin else [])]
            steps = [[sys.executable, "-m", "venv", str(home)], [str(programs / "pip"), "install", "-q", *wanted]]
        for step in steps:
            done = subprocess.run(step, capture_output=True, text=True, check=False)
            if done.returncode:
                raise MeasureError(f"could not be installed: {(done.stderr or done.stdout).strip()[-500:]}")
        (home / "done").touch()
    return programs


def _promptfoo(cases: int) -> str:
    questions = [f"What is the answer to question number {number}?" for number in range(cases)]
    tests = [{"vars": {"question": text}, "assert": [{"type": "equals", "value": text}]} for text in questions]
    return json.dumps({"prompts": ["{{question}}"], "providers": ["echo"], "tests": tests})


def _table(found: Mapping[str, Found], cases: int) -> list[str]:
    plain = best(sample.wall for sample in found[PLAIN].idle) if PLAIN in found else None
    lines = [
        f"| | version | installed | packages | unrelated suite | {cases:,} cases | peak memory | noise |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, one in found.items():
        tax = "–" if not one.idle or plain is None else f"{(best(s.wall for s in one.idle) - plain) * 1000:+.0f} ms"
        took = f"{best(s.wall for s in one.cases):.2f} s" if one.cases else "–"
        peak = f"{best(s.peak for s in one.cases):.0f} MB" if one.cases else "–"
        noisy = f"{noise([s.wall for s in one.cases]):.0%}" if one.cases else "–"
        if name == PLAIN and plain is not None:
            tax = f"{plain * 1000:.0f} ms"
        lines.append(
            f"| {name} | {one.version} | {one.megabytes:.0f} MB | {one.packages} | {tax} | {took} | {peak} | {noisy} |"
        )
    return lines


def _as_json(found: Mapping[str, Found]) -> str:
    plain = {
        name: {
            "version": one.version,
            "megabytes": round(one.megabytes, 1),
            "packages": one.packages,
            "idle_seconds": [round(sample.wall, 4) for sample in one.idle],
            "cases_seconds": [round(sample.wall, 3) for sample in one.cases],
            "cases_megabytes": [round(sample.peak, 1) for sample in one.cases],
        }
        for name, one in found.items()
    }
    return json.dumps(plain, indent=2)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except MeasureError as error:
        tell(f"\nbenchmarks/peers.py: {error}")
        sys.exit(2)
