#!/usr/bin/env python3
"""Record and replay an agent of each framework, as it comes by default, in an environment of its own.

    scripts/check-frameworks.py                         all of them, one after the other
    scripts/check-frameworks.py --only agno --only dspy these
    scripts/check-frameworks.py --keep DIR              in environments below DIR, which the next run takes again
    scripts/check-frameworks.py --list                  the names

Each agent (`scripts/frameworks/NAME.py`, or that of which it is a variant) has a tool and asks a scripted model on
loopback, for eight cases. It is recorded and replayed: alone, in the home of the recording, with two workers, and
eight cases at once, async, sync and streamed, as far as the framework has these. In a replay the model is dead. Then
its prompt, the description of its tool and the result of its tool are changed, one at a time: each has to be a visible
miss. Whatever would leave the machine, such as telemetry, ends in a sink that counts it; in a replay nothing may. All
of this is told by exit codes, the journal, the state, and what model and sink have counted. Two recordings are
compared; that they differ is a note, and with `--identical` an error. At last it is set up in each other way that it
offers, where no variable has the address of the model, and recorded and replayed.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple

from eval_runs import environment, journal, serving_mcp, trials
from scripted_model import Model, scripted_model
from telemetry_sink import WAY_OUT, Sink, telemetry_sink

ROOT = Path(__file__).resolve().parent.parent
AGENTS = ROOT / "scripts" / "frameworks"
WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight")
CONFTEST = """\
import os

import asked
import pytest


@pytest.fixture(scope="session")
def agent():
    return getattr(asked, os.environ["STYLE"])
"""
STYLES = {"ask": "async", "ask_sync": "sync", "ask_streamed": "streamed"}
"""The functions of an agent; each has at least one of them."""
CHANGES = {
    "prompt": {"PROMPT": "Answer with the page that the tool names, politely."},
    "description": {"DESCRIPTION": "Return the page of the index that has a term, or an error."},
    "result": {"RESULT": "Seen on"},
}
SETUPS = {"argument": "base_url= or api_base=", "client": "a client passed in"}
"""The ways to set up a framework besides variables, by what `given.SETUP` says to an agent."""
FAKED = {
    "OPENAI_API_KEY": "no-key-of-openai",
    "ANTHROPIC_API_KEY": "no-key-of-anthropic",
    "GOOGLE_API_KEY": "no-key-of-google",
}
PAUSE = 0.5
"""How many seconds the model takes for each answer of the first recording."""
AT_ONCE = "--recall-concurrency=8"
MCP_SERVER = """\
import sys

from mcp.server import MCPServer

server = MCPServer("index")


@server.tool()
def page_of(term: str, reason: str = "") -> str:
    "Return the page of the index that has a term."
    return f"Found on page 7 of {term}"


server.run("streamable-http", port=int(sys.argv[1]))
"""
_BLOCK = re.compile(r"^# /// script\n(.*?)^# ///$", re.MULTILINE | re.DOTALL)


class Framework(NamedTuple):
    """An agent: its file, what is installed for it, its functions, the changes that it shows, and variables.

    A variant is a file with a script block alone, which names its `agent` and what is other for it.
    Functions in `alone` break in several threads, without a recording too, because of a client that all of them share.
    One that is `cached` keeps answers in its home. `setups` are the ways besides the default in which a user sets it up
    (`SETUPS`). `fetches` are the URLs of what it fetches once for a process, which is recorded as well.
    """

    name: str
    file: Path
    requirements: list[str]
    styles: list[str]
    changes: list[str]
    alone: list[str]
    mcp: bool
    cached: bool
    setups: list[str]
    fetches: list[str]
    environment: dict[str, str]


class Found(NamedTuple):
    """What a run came to."""

    code: int
    printed: str
    trials: dict[str, list[dict[str, Any]]]
    also: str
    model: str
    fetches: list[str]
    requests: list[str]
    connections: int
    left: Counter[str]
    before: str
    state: str
    cassettes: dict[str, bytes]


class BrokenError(Exception):
    """Why a framework cannot be tried at all."""


def frameworks() -> dict[str, Framework]:
    """Return all of them, by name."""
    told = {file.stem: at_head(file) for file in sorted(AGENTS.glob("*.py"))}
    found = {}
    for name, own in told.items():
        if own is None:
            continue
        agent = own.get("agent", name)
        file = AGENTS / f"{agent}.py"
        told_of_agent = {**(told[agent] or {}), **own}
        text = file.read_text(encoding="utf-8")
        found[name] = Framework(
            name,
            file,
            told_of_agent["dependencies"],
            [style for style in STYLES if re.search(rf"^(async )?def {style}\(", text, re.MULTILINE)],
            told_of_agent.get("changes", [*CHANGES]),
            told_of_agent.get("alone", []),
            told_of_agent.get("mcp", False),
            told_of_agent.get("cached", False),
            told_of_agent.get("setups", []),
            told_of_agent.get("fetches", []),
            told_of_agent.get("environment", {}),
        )
    return found


def at_head(file: Path) -> dict[str, Any] | None:
    """Return what the script block at the head of a file says; None where there is none."""
    if (block := _BLOCK.search(file.read_text(encoding="utf-8"))) is None:
        return None
    told = tomllib.loads("".join(line.removeprefix("#").lstrip() + "\n" for line in block[1].splitlines()))
    own = told.get("tool", {}).get("check-frameworks", {})
    return {**own, **{name: told[name] for name in ("dependencies",) if name in told}}


def install(framework: Framework, folder: Path) -> Path:
    """Make an environment with a framework and the project, and return its Python. Raises BrokenError."""
    home = folder / re.sub(r"[^a-z0-9]+", "-", " ".join(framework.requirements).lower()).strip("-")
    python = home / "bin" / "python"
    commands = [] if python.exists() else [[sys.executable, "-m", "venv", str(home)]]
    wanted = [f"{ROOT}[replay,xdist]", *framework.requirements]
    # Most of what a framework brings is never imported: bytecode is compiled when it is.
    commands.append([str(python), "-m", "pip", "install", "-q", "--no-compile", "--prefer-binary", *wanted])
    for command in commands:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            why = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or [done.stderr[-500:]]
            raise BrokenError(f"cannot be installed: {why[-1]}")
    place = subprocess.check_output([python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], text=True)
    Path(place.strip(), "sitecustomize.py").write_text(WAY_OUT, encoding="utf-8")
    return python


class Project:
    """An eval set of eight cases with the agent of a framework, and the runs of it."""

    def __init__(self, framework: Framework, python: Path, folder: Path, model: Model, sink: Sink) -> None:
        self.framework, self.python, self.folder, self.model, self.sink = framework, python, folder, model, sink
        self.evals = folder / "eval"
        self.evals.mkdir(parents=True)
        cases = [
            f"- {{id: {word}, scenario: s, dimension: d, input: Where is term_{word}?,"
            f" judges: [{{contains: Found on page 7 of term_{word}}}]}}\n"
            for word in WORDS
        ]
        (folder / "pytest.ini").write_text("[pytest]\n")
        # That what leaves is led to the sink is seen by a hook for audit events as a connection of its own.
        rubric = f"owner: us\ncalls: {{'127.0.0.1:{sink.server_address[1]}': ignore}}\n"
        (self.evals / "rubric.yaml").write_text(rubric)
        (self.evals / "cases.yaml").write_text("".join(cases))
        (self.evals / "conftest.py").write_text(CONFTEST)
        shutil.copy(framework.file, self.evals / "asked.py")
        shutil.copy(AGENTS / "given.py", self.evals / "given.py")

    def run(
        self,
        style: str,
        cassettes: str,
        *options: str,
        home: Path | None = None,
        changed: dict[str, str] | None = None,
        setup: str = "",
    ) -> Found:
        """Run the set in a fresh process, against a model that a replay finds dead.

        Without a `home` it has an empty one, as on another machine: what a framework has cached there is not found.
        Without a `setup` the address of the model is in variables.
        """
        shutil.rmtree(self.evals / "_artifacts", ignore_errors=True)
        there = home or Path(tempfile.mkdtemp(prefix="home-", dir=self.folder))
        self.model.dead = any(option.startswith("--replay") for option in options)
        self.model.forget()
        state = self.evals / "recall.yaml"
        before = state.read_text(encoding="utf-8") if state.exists() else ""
        self.sink.had.clear()
        self.sink.noted()
        url = self.model.url
        told = {"HOME": str(there), "UPSTREAM": url, "STYLE": style, "NO_COLOR": "1", "COLUMNS": "200", **FAKED}
        if setup:
            told["SETUP"] = setup
        else:
            told |= {"OPENAI_BASE_URL": f"{url}/v1", "ANTHROPIC_BASE_URL": url, "GOOGLE_GEMINI_BASE_URL": url}
        command = [
            str(self.python),
            "-m",
            "pytest",
            "eval",
            "-p",
            "recall",
            "--recall-mode=all",
            "-p",
            "no:cacheprovider",
        ]
        done = subprocess.run(
            [*command, *(f"{option}={self.evals / cassettes}" if option in WAYS else option for option in options)],
            cwd=self.folder, capture_output=True, text=True, check=False, timeout=600,
            env=environment(**told, **self.sink.environment, **self.framework.environment, **(changed or {})),
        )  # fmt: skip
        if home is None:
            shutil.rmtree(there)
        ends = [row for row in journal(self.evals) if row.get("kind") == "end"]
        files = sorted((self.evals / cassettes).rglob("*.ndjson"))
        return Found(
            done.returncode,
            f"{done.stdout}\n{done.stderr}",
            trials(self.evals),
            str(ends[-1].get("also") or "") if ends else "the journal has no end",
            self.model.url.removeprefix("http://"),
            self.framework.fetches,
            self.model.requests,
            self.model.connections,
            Counter(self.sink.noted()),
            before,
            state.read_text(encoding="utf-8") if state.exists() else "",
            {path.relative_to(self.evals / cassettes).as_posix(): path.read_bytes() for path in files},
        )


WAYS = ("--record", "--replay")


def amiss(found: Found, outcome: str, source: str, code: int) -> Iterator[str]:
    """Yield what is not as wanted of any run."""
    if found.code != code:
        yield f"exit code {found.code}, not {code}"
    if "INTERNALERROR" in found.printed:
        yield "INTERNALERROR"
    if found.also:
        yield f"also: {found.also}"
    told = {word: [(row["outcome"], row.get("source", "")) for row in found.trials.get(word, [])] for word in WORDS}
    wrong = [
        rows for rows in told.values() if len(rows) != 1 or rows[0][0] != outcome or source not in ("", rows[0][1])
    ]
    if wrong:
        came = Counter(" and ".join(" ".join(row).strip() for row in rows) or "no trial" for rows in wrong)
        yield f"not {outcome} {source}".strip() + ": " + ", ".join(f"{number} {name}" for name, number in came.items())
    yield from told_at_the_end(found.printed)


def told_at_the_end(printed: str) -> Iterator[str]:
    """Yield what a run says in red of calls that it refused: an agent that has not changed must not be told so."""
    places = ("outside of any case", "after the session", "belongs to none of the cases", "ended after its test")
    for place in places:
        if line := re.search(rf"^.*{place}.*$", printed, re.MULTILINE):
            yield line[0].strip()


def amiss_recorded(found: Found) -> Iterator[str]:
    """Yield what is wrong with a run that recorded."""
    yield from amiss(found, "passed", "live", 0)
    if not found.requests:
        yield "the model was not asked"
    asked = {name: re.findall(r'"uri": ?"([^?"]+)', text.decode()) for name, text in found.cassettes.items()}
    model = f"http://{found.model}/"
    if others := {url for urls in asked.values() for url in urls if not url.startswith(model)} - {*found.fetches}:
        yield f"recorded what is not a call of the agent: {', '.join(sorted(others))}"
    # How often a session of MCP asks is not the agent's.
    of_cases = Counter(url for name, urls in asked.items() if name.startswith("s/") for url in urls)
    recorded = sum(number for url, number in of_cases.items() if url.startswith(model) and not url.endswith("/mcp"))
    counted = sum(not one.endswith("/mcp") for one in found.requests)
    if recorded != counted:
        yield f"recorded {recorded} calls, while the model had {counted}"
    names = {f"s/{word}.ndjson" for word in WORDS}
    if missing := names - set(found.cassettes):
        yield f"{len(missing)} cases without a cassette"
    if set(re.findall(r"^  (\w+):", found.state, re.MULTILINE)) != set(WORDS):
        yield "the state has not a row for each case"


def amiss_offline(found: Found, cassettes: dict[str, bytes]) -> Iterator[str]:
    """Yield what is wrong with a run that replayed, or missed: it sends nothing, and changes nothing."""
    if found.connections or found.requests:
        yield f"the dead model had {found.connections} connections"
    if found.left:
        yield f"left the machine: {dict(found.left)}"
    if found.state != found.before:
        yield "the state has changed"
    if found.cassettes != cassettes:
        yield "the cassettes have changed"


def amiss_missed(found: Found) -> Iterator[str]:
    """Yield what is wrong with a run in which each case has to miss."""
    yield from amiss(found, "error", "", 1)
    rows = [row for some in found.trials.values() for row in some]
    if stale := [row["case_id"] for row in rows if row.get("answer")]:
        yield f"{len(stale)} cases have an answer"
    if silent := [row["case_id"] for row in rows if "is not recorded" not in str(row.get("error"))]:
        yield f"{len(silent)} cases do not say what is not recorded"


def amiss_cached(found: Found) -> Iterator[str]:
    """Yield what is wrong with a replay in which a cache of the framework answers: the cases have to say so."""
    yield from amiss(found, "error", "", 1)
    rows = [row for some in found.trials.values() for row in some]
    if silent := [row["case_id"] for row in rows if "a cache of the agent's framework" not in str(row.get("error"))]:
        yield f"{len(silent)} cases do not say that a cache may have answered"


def at_once(found: Found) -> Iterator[str]:
    """Yield what says that cases did not run at once."""
    if "up to 8 cases at once" not in found.printed:
        yield "the header says nothing of cases at once"
    if alone := re.search(r"^.*ran alone.*$", found.printed, re.MULTILINE):
        yield alone[0]


class Checked:
    """What the steps of one framework came to, which is printed as it comes."""

    def __init__(self) -> None:
        self.cells: dict[str, str] = {}

    def cell(self, step: str, found: Found, *wrong: Iterator[str]) -> bool:
        """Keep what is wrong with a step, and return whether nothing is."""
        self.cells[step] = "; ".join(text for some in wrong for text in some) or "ok"
        print(f"  {step:24} {self.cells[step]}", flush=True)
        if self.cells[step] != "ok":
            print(f"{found.printed[-5000:]}\n", file=sys.stderr, flush=True)
        return self.cells[step] == "ok"


def check(project: Project, identical: bool) -> dict[str, str]:
    """Take all steps with a framework, and return what each came to."""
    checked = Checked()
    styles = project.framework.styles
    first = styles[0]
    # Slow enough that what a framework sends every few seconds is sent while a case is recorded.
    project.model.pause = PAUSE
    home = project.folder / "home"
    home.mkdir()
    recorded = project.run(first, "cassettes", "--record", home=home)
    project.model.pause = 0
    if recorded.left:
        note(f"{', '.join(f'{n} × {name}' for name, n in recorded.left.items())} would leave; {dict(project.sink.had)}")
    if not checked.cell("record", recorded, amiss_recorded(recorded)) and len(recorded.cassettes) < len(WORDS):
        return checked.cells
    for step, options in {"replay": (), "same home": (), "-n 2": ("-n2",), "at once": (AT_ONCE,)}.items():
        found = project.run(first, "cassettes", "--replay", *options, home=home if step == "same home" else None)
        simultaneous = at_once(found) if options == (AT_ONCE,) else iter(())
        cached = project.framework.cached and step == "same home"
        wrong = amiss_cached(found) if cached else amiss(found, "passed", "replayed", 0)
        checked.cell(step, found, wrong, amiss_offline(found, recorded.cassettes), simultaneous)
    for style in styles:
        name = STYLES[style]
        alone = style in project.framework.alone
        found = project.run(style, name, "--record", *(() if alone else (AT_ONCE,)))
        if style == first:
            compared(recorded, found, "one by one and at once")
        simultaneous = iter(()) if alone else at_once(found)
        step = f"{name}, record{'' if alone else ' at once'}"
        if checked.cell(step, found, amiss_recorded(found), simultaneous) or len(found.cassettes) >= len(WORDS):
            for step, options in {"replay": (), "replay at once": (AT_ONCE,)}.items():
                again = project.run(style, name, "--replay", *options)
                wrong = amiss(again, "passed", "replayed", 0)
                checked.cell(f"{name}, {step}", again, wrong, amiss_offline(again, found.cassettes))
    for change in project.framework.changes:
        found = project.run(first, "cassettes", "--replay", changed=CHANGES[change])
        checked.cell(change, found, amiss_missed(found), amiss_offline(found, recorded.cassettes))
    again = project.run(first, "again", "--record")
    difference = compared(recorded, again, "twice")
    checked.cell("record again", again, amiss_recorded(again), iter([difference] if difference and identical else []))
    for setup in project.framework.setups:
        for style in styles:
            place, name = f"{setup}-{STYLES[style]}", f"{setup}, {STYLES[style]}"
            found = project.run(style, place, "--record", setup=setup)
            if checked.cell(f"{name}, record", found, amiss_recorded(found)) or len(found.cassettes) >= len(WORDS):
                again = project.run(style, place, "--replay", setup=setup)
                wrong = amiss(again, "passed", "replayed", 0)
                checked.cell(f"{name}, replay", again, wrong, amiss_offline(again, found.cassettes))
    return checked.cells


def note(text: str) -> None:
    """Print what is no error."""
    print(f"  note: {text}", flush=True)


def compared(one: Found, other: Found, how: str) -> str:
    """Return how two recordings differ, apart from times, as a note that is printed; empty if they do not."""
    pairs = {name: (timeless(text), timeless(other.cassettes.get(name, b""))) for name, text in one.cassettes.items()}
    differ = [pair for pair in pairs.values() if pair[0] != pair[1]]
    if not differ:
        return ""
    lines = [(left, right) for left, right in zip(*differ[0], strict=False) if left != right]
    example = " / ".join(lines[0])[:600] if lines else "another number of lines"
    told = f"recorded {how}, {len(differ)} of {len(pairs)} cassettes differ: {example}"
    note(told)
    return told


def timeless(cassette: bytes) -> list[str]:
    """Return the lines of a cassette without the one that has the run and the times."""
    return [line for line in cassette.decode().splitlines() if "times" not in json.loads(line)]


@contextmanager
def servers(folder: Path) -> Iterator[tuple[Model, Sink]]:
    """Serve the model and the sink."""
    with ExitStack() as stack:
        yield stack.enter_context(scripted_model()), stack.enter_context(telemetry_sink(folder / "sink"))


def main(argv: Sequence[str] | None = None) -> int:
    """Try the frameworks that are named."""
    known = frameworks()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", metavar="NAME", choices=known, help="only this; can be repeated")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the environments in DIR, and take them again")
    parser.add_argument("--identical", action="store_true", help="two recordings that differ are an error")
    parser.add_argument("--list", action="store_true", help="print the names, and do nothing")
    args = parser.parse_args(argv)
    if args.list:
        print("\n".join(known))
        return 0
    table: dict[str, dict[str, str]] = {}
    for name in args.only or known:
        print(f"{name}: {', '.join(known[name].requirements)}", flush=True)
        with tempfile.TemporaryDirectory(prefix="recall-framework-") as made, servers(Path(made)) as (model, sink):
            try:
                python = install(known[name], args.keep.resolve() if args.keep else Path(made, "environments"))
            except BrokenError as broken:
                print(f"  {broken}", flush=True)
                table[name] = {"install": str(broken)}
                continue
            with serving_mcp(python, MCP_SERVER) if known[name].mcp else nullcontext("") as url:
                model.behind = url.removeprefix("http://")
                table[name] = check(Project(known[name], python, Path(made, "project"), model, sink), args.identical)
    return tell(table)


def tell(table: dict[str, dict[str, str]]) -> int:
    """Print a table of all that was tried, and return the exit code."""
    columns = (
        "install",
        "record",
        "replay",
        "same home",
        "-n 2",
        "at once",
        *STYLES.values(),
        *CHANGES,
        "record again",
        *SETUPS,
    )
    width = max(map(len, table))
    print("\n" + "  ".join([" " * width, *(f"{column:6}" for column in columns)]))
    for name, cells in table.items():
        row = []
        for column in columns:
            some = [told for step, told in cells.items() if step == column or step.startswith(f"{column}, ")]
            told = "-" if not some else "ok" if set(some) == {"ok"} else "BROKEN"
            row.append(f"{'ok' if column == 'install' and not some else told:{max(6, len(column))}}")
        print("  ".join([f"{name:{width}}", *row]).rstrip())
    broken = [name for name, cells in table.items() if set(cells.values()) != {"ok"}]
    print(f"{len(broken)} of {len(table)} are not as wanted{': ' if broken else ''}{', '.join(broken)}")
    return 1 if broken else 0


if __name__ == "__main__":
    raise SystemExit(main())
