#!/usr/bin/env python3
"""Change the code in small ways, one at a time, and print the changes that neither mypy nor a test notices.

    scripts/check-mutants.py src/pytest_recall/schedule/spread.py    each change of a file
    scripts/check-mutants.py src/pytest_recall/metrics --sample 300  300 changes, drawn from the modules of a folder
    scripts/check-mutants.py src/pytest_recall/replay/matching.py --tests tests/replay/test_matching.py

A changed copy of the code is a mutant: `<` has become `<=`, `+` is `-`, `and` is `or`, `not` is gone, a number is one
more, an argument is None or missing. mutmut makes them and runs those tests that call the changed function, in a
temporary copy of the project. A mutant that survives is printed as FILE:LINE with the line before and after:

    src/pytest_recall/schedule/spread.py:47
      - if price <= 0:
      + if price <= 1:

Each of them is one of three: a missing test, which belongs into the file that mirrors the module; code that is not
needed; or an equivalent mutant, which no test can tell from the code. The last are usual, so none at all is no aim.

Of a folder, the modules are changed that touch neither disk, clock, network nor processes, without its commands. Their
tests are those of the same folder below tests/, unless `--tests` names others. Not changed are strings, what stands
outside of functions, and decorated functions such as properties. Draws depend on `--seed` alone. Needs the extra `dev`,
and fork.

Exit code 1 says that more survive than `--most` allows, 2 that mutants were left without a verdict.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import subprocess
import sys
import tempfile
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import NamedTuple

from mutmut.mutation.file_mutation import mutate_file_contents

from pytest_recall.files.wording import plural

ROOT = Path(__file__).resolve().parent.parent
SURVIVORS = ("survived", "no tests")
NOTICED = {"caught by type check": "by mypy", "killed": "by tests", "timeout": "by the time limit"}


class Mutant(NamedTuple):
    """A function of a file before and after a change; `line` is where the change begins, counted from 1."""

    path: Path
    name: str
    line: int
    before: tuple[str, ...]
    after: tuple[str, ...]

    @property
    def function(self) -> str:
        """The name of the function, after that of its class if it is a method."""
        return self.name.rpartition(".")[2].partition("__mutmut_")[0].removeprefix("x").strip("_ǁ").replace("ǁ", ".")


def main(argv: Sequence[str] | None = None) -> int:
    """Read the command line, run the mutants and print those that survive."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="a module below src/, or a folder of them")
    parser.add_argument("--sample", type=int, metavar="N", help="draw N of the mutants; default: all of them")
    parser.add_argument("--seed", type=int, default=0, help="which mutants are drawn; default: 0")
    parser.add_argument(
        "--tests", type=Path, action="append", metavar="PATH", help="run these; may be given repeatedly"
    )
    parser.add_argument("--most", type=float, default=100, metavar="PERCENT", help="how many may survive; default: 100")
    parser.add_argument("--jobs", type=int, metavar="N", help="processes at once; default: one a core")
    given = parser.parse_args(argv)
    paths = [path.resolve() for path in given.paths]
    for path in (*paths, *(path.resolve() for path in given.tests or ())):
        if not path.exists() or not path.is_relative_to(ROOT):
            parser.error(f"{path} is no file or folder of this project")
    files = sorted({file.relative_to(ROOT) for path in paths for file in modules(path)})
    tests = given.tests or sorted({mirror(file) for file in files})
    mutants = [mutant for file in files for mutant in mutants_of(file, (ROOT / file).read_text(encoding="utf-8"))]
    if given.sample is not None and given.sample < len(mutants):
        mutants = random.Random(given.seed).sample(mutants, given.sample)
    if not mutants:
        parser.error("there is nothing to change in these paths; name modules with functions")
    print(f"{len(mutants)} mutants of {plural(len(files), 'module')}, for {', '.join(map(str, tests))}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        statuses = run(
            Path(folder), files, [str(path.resolve().relative_to(ROOT)) for path in tests], mutants, given.jobs
        )
    return report(mutants, statuses, given.most)


def modules(path: Path) -> Iterator[Path]:
    """Yield a file itself, and of a folder the modules that decide, without those that touch the world and commands."""
    if path.is_file():
        yield path
        return
    sys.path.insert(0, str(ROOT))
    from tests.test_architecture import touches_the_world

    for file in path.rglob("*.py"):
        if "commands" not in str(file.relative_to(path)) and not touches_the_world(file):
            yield file


def mirror(file: Path) -> Path:
    """Return the folder of the tests of src/PACKAGE/ROOM/..., relative to the project."""
    folder = Path("tests", *file.parts[2:3])
    return folder if (ROOT / folder).is_dir() else Path("tests")


def mutants_of(file: Path, source: str) -> list[Mutant]:
    """Return the mutants of a file, without those that differ in a string only."""
    made = mutate_file_contents(str(file), source)
    lines = made.code.splitlines()
    begins = dict(definitions(ast.parse(source)))
    module = ".".join(file.with_suffix("").parts[1:]).removesuffix(".__init__")

    def body(name: str) -> list[str]:
        span = made.line_span_by_function_name[name]
        found = lines[span.start - 1 : span.end]
        begin = next(at for at, line in enumerate(found) if line.lstrip().startswith(("def ", "async def ")))
        return [found[begin].replace(name, "function"), *found[begin + 1 :]]

    mutants = []
    for name in made.mutant_names:
        mangled = name.rpartition("__mutmut_")[0]
        before, after = body(f"{mangled}__mutmut_orig"), body(name)
        if not only_strings_differ(before, after):
            _, at, until, other, end = next(
                one for one in SequenceMatcher(a=before, b=after).get_opcodes() if one[0] != "equal"
            )
            mutants.append(
                Mutant(file, f"{module}.{name}", begins[mangled] + at, tuple(before[at:until]), tuple(after[other:end]))
            )
    return mutants


def definitions(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Yield each function and method, by the name that mutmut gives it, with its line."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"x_{node.name}", node.lineno
        elif isinstance(node, ast.ClassDef):
            for inner in node.body:
                if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef):
                    yield f"xǁ{node.name}ǁ{inner.name}", inner.lineno


def only_strings_differ(before: Sequence[str], after: Sequence[str]) -> bool:
    """Whether two versions of a function are the same but for the text of strings."""

    def shape(lines: Sequence[str]) -> str:
        tree = ast.parse(textwrap.dedent("\n".join(lines)))
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes):
                node.value = ""
        return ast.dump(tree)

    return shape(before) == shape(after)


def run(
    folder: Path, files: Sequence[Path], tests: Sequence[str], mutants: Sequence[Mutant], jobs: int | None
) -> dict[str, str]:
    """Let mutmut run the mutants in a copy of the project below `folder`; return what became of each, by its name."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    kept = sorted({name.split("/")[0] for name in listed.split("\0") if name})
    for name in kept:
        (folder / name).symlink_to(ROOT / name)
    settings = {
        "source_paths": ["src"],
        "only_mutate": files,
        "also_copy": [name for name in kept if name != "src"],
        "pytest_add_cli_args": ["-n", "0"],
        "pytest_add_cli_args_test_selection": tests,
        "type_check_command": ["mypy", *files, "--output", "json", "--disable-error-code", "unused-ignore"],
        # Each run of tests is the first of its process: hypothesis takes a second one for a mistake of the test.
        "process_isolation": ["forkserver"],
        # A minute, and fifteen times what its tests take, so that a busy machine is no endless loop.
        "timeout_constant": ["4"],
        "track_dependencies": ["false"],
        "use_git_change_detection": ["false"],
    }
    written = (f"{key} = " + "\n    ".join(map(str, values)) for key, values in settings.items())
    (folder / "setup.cfg").write_text("\n".join(("[mutmut]", *written)), encoding="utf-8")
    # mypy keeps what it knows of unchanged modules apart from what it knows of ours.
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", "")))
    variables = {
        **os.environ,
        "PATH": path,
        "MYPY_CACHE_DIR": str(ROOT / ".mypy_cache" / "mutants"),
        "HYPOTHESIS_PROFILE": "unshrunk",
    }
    mutmut = [sys.executable, "-m", "mutmut"]
    limit = [] if jobs is None else ["--max-children", str(jobs)]
    with (folder / "log.txt").open("w", encoding="utf-8") as log:
        call = [*mutmut, "run", *limit, *(mutant.name for mutant in mutants)]
        code = subprocess.run(
            call, cwd=folder, env=variables, stdout=log, stderr=subprocess.STDOUT, check=False
        ).returncode
    if code:
        lines = (folder / "log.txt").read_text(encoding="utf-8", errors="replace").replace("\r", "\n").splitlines()
        # Without the frames of its spinner, which are in braille.
        said = "\n".join([line for line in lines if not "\u2800" <= line[:1] <= "\u28ff"][-60:])
        sys.exit(
            f"{said}\ncheck-mutants.py: mutmut ended with exit code {code}; the tests have to pass without a change"
        )
    call = [*mutmut, "results", "--all", "true"]
    told = subprocess.run(call, cwd=folder, env=variables, capture_output=True, text=True, check=True).stdout
    return dict(line.strip().split(": ", 1) for line in told.splitlines() if ": " in line)


def report(mutants: Sequence[Mutant], statuses: dict[str, str], most: float) -> int:
    """Print the survivors and how many there are of each kind; return the exit code."""
    counts = Counter(statuses.get(mutant.name, "not checked") for mutant in mutants)
    never: Counter[tuple[Path, str]] = Counter()
    for mutant in sorted(mutants, key=lambda one: (one.path, one.line, one.name)):
        if statuses.get(mutant.name) == "no tests":
            never[mutant.path, mutant.function] += 1
        elif statuses.get(mutant.name) == "survived":
            print(f"\n{mutant.path}:{mutant.line}")
            print(
                *(f"  - {line.strip()}" for line in mutant.before),
                *(f"  + {line.strip()}" for line in mutant.after),
                sep="\n",
            )
    for (path, function), count in never.items():
        print(f"\n{path}: none of these tests calls `{function}` ({count} mutants)")
    survived = sum(counts[status] for status in SURVIVORS)
    noticed = ", ".join(f"{counts[status]} {how}" for status, how in NOTICED.items())
    share = 100 * survived / len(mutants)
    print(f"\n{len(mutants)} mutants: {survived} survived ({share:.1f}%), {counts['no tests']} of them without a test.")
    print(f"Noticed: {noticed}.")
    if unknown := {status: count for status, count in counts.items() if status not in (*SURVIVORS, *NOTICED)}:
        print("No verdict:", ", ".join(f"{count} {status}" for status, count in unknown.items()))
        return 2
    return int(share > most)


if __name__ == "__main__":
    sys.exit(main())
