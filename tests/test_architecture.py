"""The shape of the package: its layers, what they may import, and what everybody pays for it."""

from __future__ import annotations

import ast
import gc
import json
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

import pytest_recall
from pytest_recall import ext

PACKAGE = Path(pytest_recall.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))

# The rooms, from the shells down. A module imports from its own room and from those below it. What a room adds to the
# command line, its `commands`, is part of the shell: it may import every room but the plugin, and only `cli` loads it.
ROOMS = (
    "cli",
    "plugin",
    "registry",
    "extensions",
    "hookspec",
    "ext",
    "forge",
    "horizon",
    "runs",
    "results",
    "datasets",
    "memory",
    "schedule",
    "judges",
    "trials",
    "cases",
    "metrics",
    "models",
    "replay",
    "files",
)
RANK = {name: rank for rank, name in enumerate(ROOMS)}
# Two doors: `import pytest_recall` and `python -m pytest_recall`.
DOORS = {"__init__", "__main__"}
# What each room may import from outside, beside the standard library.
OUTSIDE = {
    "cli": {"pluggy", "pydantic"},
    "plugin": {"pytest"},
    "registry": {"pluggy"},
    "extensions": {"bm25s", "chromadb", "google", "grpc", "mem0", "qdrant_client", "tantivy"},
    "hookspec": {"pluggy"},
    "ext": {"pluggy"},
    "forge": {"httpx"},
    "horizon": {"pydantic"},
    "runs": set(),
    "results": {"jinja2", "pydantic", "yaml"},
    "datasets": {"ijson", "pydantic"},
    "memory": {"anyio", "httpx", "mcp", "numpy"},
    "schedule": {"pydantic"},
    "judges": {"jsonschema", "jsonschema_specifications", "pydantic", "referencing", "wordllama"},
    "trials": {"pydantic_core"},
    "cases": {"pydantic"},
    "metrics": {"nltk", "pydantic"},
    "models": {"filelock", "genai_prices", "pydantic"},
    "replay": {"pydantic_core", "time_machine", "yaml"},
    "files": {"filelock", "pydantic", "yaml"},
    "__init__": set(),
    "__main__": set(),
}


def room_of(parts: tuple[str, ...]) -> str:
    """Return the room of a module by its path within the package; the commands of each room belong to the shell."""
    commands = {"commands", "check_commands", "history_commands", "policy_commands", "report_commands", "view_commands"}
    shell = not commands.isdisjoint(parts)
    return "cli" if shell else parts[0]


@cache
def folder_of(path: Path) -> str:
    """Return the room that a module is in, or the name of one of the doors."""
    return room_of(path.relative_to(PACKAGE).with_suffix("").parts)


@cache
def name_of(path: Path) -> str:
    """Return the dotted name of a module."""
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")


@cache
def parsed(path: Path) -> ast.Module:
    """Return what a module says."""
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """Return all that a module says, with what is within it."""
    return tuple(ast.walk(parsed(path)))


@pytest.fixture(scope="module", autouse=True)
def _read() -> Iterator[None]:
    """Read all modules at once: what is read is walked over again and again while garbage is looked for."""
    gc.disable()
    for path in MODULES:
        nodes(path)
    gc.freeze()
    gc.enable()
    yield
    nodes.cache_clear()
    parsed.cache_clear()


@cache
def imports(path: Path) -> tuple[tuple[str, int], ...]:
    """Return the dotted names that a module imports, also within functions, with their lines."""
    found: list[tuple[str, int]] = []
    for node in nodes(path):
        if isinstance(node, ast.Import):
            found += ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: a relative import; write it out"
            assert node.module is not None
            # `from package import module` names a module only together with what it imports.
            found += ((f"{node.module}.{alias.name}", node.lineno) for alias in node.names)
    return tuple(found)


NAMES = {name_of(module) for module in MODULES}


def within(path: Path) -> Iterator[tuple[str, int]]:
    """Yield the folders of the package that a module imports from, with the lines."""
    for name, line in imports(path):
        parts = (name if name in NAMES else name.rpartition(".")[0]).split(".")
        if parts[0] == "pytest_recall":
            yield room_of(tuple(parts[1:])) if len(parts) > 1 else "__init__", line


def offenders(*folders: str, names: set[str]) -> list[str]:
    """Return where modules of these folders import one of these packages."""
    return [
        f"{name_of(path)}:{line} imports {name}"
        for path in MODULES
        if folder_of(path) in folders
        for name, line in imports(path)
        if name.partition(".")[0] in names
    ]


def test_every_folder_is_a_room() -> None:
    assert {folder_of(path) for path in MODULES} == RANK.keys() | DOORS
    assert OUTSIDE.keys() == RANK.keys() | DOORS


def test_imports_go_downwards() -> None:
    upwards = {
        (name_of(path), room)
        for path in MODULES
        if (own := folder_of(path)) not in DOORS
        for room, _ in within(path)
        if room in RANK and RANK[room] < RANK[own]
    }
    assert upwards == set()


def test_shells_do_not_know_each_other() -> None:
    assert [name_of(path) for path in MODULES if folder_of(path) == "cli" if "plugin" in dict(within(path))] == []


def test_an_extension_imports_the_public_interface_alone() -> None:
    """What it needs of the package is in `ext`; beside that it has its own modules."""
    others = [
        f"{name_of(path)}:{line} imports {name}"
        for path in MODULES
        if folder_of(path) == "extensions"
        for name, line in imports(path)
        if name.partition(".")[0] == "pytest_recall"
        if not (name == "pytest_recall.ext" or name.startswith(("pytest_recall.ext.", own_package(path))))
    ]
    assert others == []


def own_package(path: Path) -> str:
    """Return the dotted name of the extension that a module is of."""
    return f"pytest_recall.extensions.{path.relative_to(PACKAGE / 'extensions').parts[0].removesuffix('.py')}"


def test_the_core_names_no_extension() -> None:
    """Neither in an import nor in a text: what is shipped is found as what a stranger ships."""
    named = [
        f"{name_of(path)}:{getattr(node, 'lineno', 1)}"
        for path in MODULES
        if folder_of(path) not in ("extensions", "ext")
        for node in nodes(path)
        if (isinstance(node, ast.ImportFrom) and "pytest_recall.extensions" in (node.module or ""))
        or (isinstance(node, ast.Constant) and "pytest_recall.extensions" in str(node.value))
    ]
    assert named == []


def test_the_public_interface_lists_its_names_and_each_is_documented() -> None:
    """What resolves at run time is what type checkers see, and what is listed, so that a stranger may rely on it."""
    checked = {
        alias.asname or alias.name: getattr(import_module(node.module), alias.name)
        for node in ast.walk(ast.parse((PACKAGE / "ext.py").read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("pytest_recall.")
        for alias in node.names
    }
    assert {*checked, "hookimpl"} == set(ext.__all__)
    assert [name for name, value in checked.items() if getattr(ext, name) is not value] == []
    classes = [value for value in checked.values() if isinstance(value, type)]
    assert [one.__name__ for one in classes if not (one.__doc__ or "").strip()] == []
    with pytest.raises(AttributeError, match=r"module 'pytest_recall.ext' has no attribute 'Nothing'"):
        _ = ext.Nothing  # type: ignore[attr-defined]


def test_nobody_imports_through_the_front_door() -> None:
    """Inside the package a name is imported from its home, which keeps the order of loading plain."""
    lazy = {"pytest_recall", *(f"pytest_recall.{name}" for name in pytest_recall.__all__ if name != "__version__")}
    assert [(name_of(path), line) for path in MODULES for name, line in imports(path) if name in lazy] == []


def test_packages_from_outside_stay_where_they_belong() -> None:
    strangers = [
        f"{name_of(path)}:{line} imports {name}"
        for path in MODULES
        for name, line in imports(path)
        if name.partition(".")[0] not in {"pytest_recall", *OUTSIDE[folder_of(path)], *sys.stdlib_module_names}
    ]
    assert strangers == []


def test_pytest_stays_in_the_plugin() -> None:
    others = {folder_of(path) for path in MODULES} - {"plugin"}
    assert offenders(*others, names={"pytest", "_pytest", "xdist"}) == []
    assert offenders("plugin", names={"_pytest"}) == [], "what pytest does not publish may go at any time"


# Modules that touch the disk, the clock, the network, processes or threads. All others, beside the shells, decide,
# render or define: they take the day, the seed and what files hold as arguments.
WORLD = {
    "registry": {""},
    "extensions": {
        *("hosts.github", "hosts.variables"),
        *("memories.chroma", "memories.grpc_service", "memories.mem0_memory"),
    },
    "hookspec": set(),
    "ext": {""},
    "cases": {"case_file", "foreign_file", "import_file", "settings_file"},
    "datasets": {
        *(
            "asking",
            "bundle_file",
            "cases",
            "file",
            "judged",
            "lanes",
            "membench_run",
        ),
        *("repeats", "rows", "verifying"),
    },
    "files": {
        *("clock", "context_values", "disk", "eval_directory", "event_loop", "git", "interruptible", "json_lines"),
        *("own_programs", "pace"),
        "validation",
    },
    "forge": {"client", "push"},
    "horizon": {
        *("ask", "check", "corpus", "items", "memory", "merging"),
        *("profile_file", "passes.daily", "passes.days", "passes.verify", "passes.work", "run", "run_file", "runs"),
    },
    "judges": {"audit_file", "built_in", "calibrate", "calibration_file", "model_judges"},
    "memory": {
        *("built_in", "client", "command", "filled", "http_service", "mcp_process", "mcp_server"),
        *("python_memory", "resolve", "session", "sqlite_fts"),
    },
    "metrics": set(),
    "models": {
        *("batch_apis", "batch_file", "batch_queue", "fingerprint", "input_log", "inputs", "model_notes", "prices"),
        *("process", "programs", "provider", "python_model", "rate_limiter", "resolve", "sdk", "waiting"),
    },
    "replay": {
        *(
            "audit",
            "budget",
            "call_recorder",
            "cassette_check",
            "cassette_file",
            "cassette_library",
            "clients.aiohttp_client",
            "clients.http_client",
            "clients.httpx_family",
            "clients.lm15_client",
            "clients.replayed",
            "record_option",
        ),
        *(
            "clients.tornado_client",
            "dry_runs",
            "encodings",
            "environment",
            "files_read",
            "formats.lore",
            "formats.vcrpy",
            "hooks",
            "forks",
            "interrupt",
            "left_behind",
            "origin",
        ),
        *(
            "open_tapes",
            "other_date",
            "player",
            "process_end",
            "run_recordings",
            "sockets",
            "tape",
            "unrecorded",
            "watch",
        ),
    },
    "results": {"gates", "last_pass", "report_page.frame"},
    "runs": {
        *("accept", "base", "checkout", "job", "collection", "evidence", "finish", "join", "plan", "report_files"),
    },
    "schedule": {"run_file", "state", "state_file"},
    "trials": {
        "command_cassette",
        "concurrency",
        "drive",
        "earlier_run",
        "journal",
        "memory_calls",
        "model_calls",
        "question_run",
        "repeat_folders",
        "texts_file",
    },
}
OUTER = {
    *("asyncio", "contextvars", "fcntl", "filelock", "httpx", "importlib", "io", "os", "pathlib", "queue", "random"),
    *("shutil", "signal", "socket", "sqlite3", "ssl", "subprocess", "sys", "tempfile", "threading", "time"),
    *("http", "multiprocessing", "secrets", "urllib", "uuid"),
}
DECIDES = {"urllib.parse"}
"""What only decides, in a package of which the rest touches the world."""
OWN_OUTER = {f"pytest_recall.files.{name}" for name in ("clock", "disk", "git", "json_lines")}
"""Modules through which the rest of the package reaches the world: who imports one of them touches it as well."""
CLOCKS = {"today", "now", "utcnow", "open", "print", "input"}


def touches_the_world(path: Path) -> bool:
    """Whether a module imports what touches the world when it runs, or asks a clock or a person."""
    typed = {
        id(inner)
        for node in nodes(path)
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in nodes(path):
        if id(node) in typed:
            continue
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            # A module may be named by what it is imported from, or by what is imported.
            names = [node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)]
            if node.module in DECIDES:
                continue
        if isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if called in CLOCKS:
                return True
        if OUTER & {name.partition(".")[0] for name in names if name not in DECIDES} or OWN_OUTER & set(names):
            return True
    return False


@pytest.mark.parametrize(
    ("line", "touches"),
    [
        ("from pytest_recall.files.disk import write_text", True),
        ("from pytest_recall.files import git", True),
        ("import pytest_recall.files.json_lines", True),
        ("from pytest_recall.files.clock import now", True),
        ("from uuid import uuid4", True),
        ("import secrets", True),
        ("from urllib import request", True),
        ("import urllib.request", True),
        ("from http.client import HTTPConnection", True),
        ("from multiprocessing import Pool", True),
        ("from urllib.parse import urlsplit", False),
        ("import urllib.parse", False),
        ("from pytest_recall.files.wording import plural", False),
    ],
)
def test_what_touches_the_world_is_seen(line: str, touches: bool, tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text(f"from __future__ import annotations\n\n{line}\n", encoding="utf-8")
    assert touches_the_world(module) is touches


@pytest.mark.parametrize("room", WORLD)
def test_decisions_touch_nothing(room: str) -> None:
    """The table is exact: what is not in it is pure, and what is in it has a reason to be there."""
    found = {
        name_of(path).removeprefix(f"pytest_recall.{room}").removeprefix(".")
        for path in MODULES
        if folder_of(path) == room and touches_the_world(path)
    }
    assert found == WORLD[room]


def test_every_room_says_what_touches_the_world() -> None:
    assert WORLD.keys() == set(ROOMS) - {"cli", "plugin"}


OTHER_CLOCKS = {
    *("datetime.now", "datetime.today", "datetime.utcnow", "date.today", "time.time", "time.time_ns", "time.monotonic"),
    *("time.monotonic_ns", "time.perf_counter", "time.perf_counter_ns", "time.localtime", "time.gmtime"),
}
_ASKED = {name.partition(".")[2] for name in OTHER_CLOCKS}


def test_one_module_asks_the_clock() -> None:
    """All others ask `files.clock`: what a run writes and measures is true also while a test fakes the time."""
    found = [
        f"{name_of(path)}:{node.lineno}"
        for path in MODULES
        if name_of(path) != "pytest_recall.files.clock"
        for node in nodes(path)
        if (isinstance(node, ast.Attribute) and node.attr in _ASKED and ast.unparse(node) in OTHER_CLOCKS)
        or (isinstance(node, ast.ImportFrom) and node.module == "time" and node.names[0].name != "sleep")
    ]
    assert found == []


OF_PATHS = {
    *("exists", "is_file", "is_symlink", "stat", "read_bytes", "read_text", "write_text", "write_bytes", "unlink"),
    *("mkdir", "glob", "iterdir", "touch", "rename", "chmod", "open"),
}


def test_what_records_and_replays_asks_one_module_for_files() -> None:
    """A `Path` reads and writes another file system while a test fakes it; `files.disk` does not."""
    kept = {"cassette_file", "cassette_library", "tape", "player", "budget", "cassettes", "json_lines", "disk"}
    found = [
        f"{name_of(path)}:{node.lineno} {ast.unparse(node.func)}"
        for path in MODULES
        if path.stem in kept and folder_of(path) in ("replay", "files", "plugin")
        for node in nodes(path)
        if isinstance(node, ast.Call)
        if (isinstance(node.func, ast.Attribute) and node.func.attr in OF_PATHS)
        or (isinstance(node.func, ast.Name) and node.func.id == "open")
        if not ast.unparse(node.func).startswith(("_os.", "self.open", "manager.open"))
    ]
    assert found == []


def rings(graph: dict[str, set[str]]) -> list[list[str]]:
    """Return the groups of modules each of which leads to itself, by Tarjan's algorithm."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(name: str) -> None:
        index[name] = low[name] = len(index)
        stack.append(name)
        for other in graph[name]:
            if other not in index:
                visit(other)
                low[name] = min(low[name], low[other])
            elif other in stack:
                low[name] = min(low[name], index[other])
        if low[name] == index[name]:
            ring = [stack.pop()]
            while ring[-1] != name:
                ring.append(stack.pop())
            if len(ring) > 1:
                found.append(sorted(ring))

    for name in graph:
        if name not in index:
            visit(name)
    return found


def test_no_ring_of_imports() -> None:
    """Those for type checking and those within functions are counted as well."""
    known = {name_of(path) for path in MODULES}
    graph = {
        name_of(path): {
            target
            for name, _ in imports(path)
            if (target := name if name in known else name.rpartition(".")[0]) in known and target != name_of(path)
        }
        for path in MODULES
    }
    assert rings(graph) == []


# One record


def makes_trials(path: Path) -> bool:
    """Whether a module calls `Trial`, by any name that it gives it."""
    called = {"Trial"} | {
        alias.asname
        for node in nodes(path)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.name == "Trial" and alias.asname
    }
    calls = [node.func for node in nodes(path) if isinstance(node, ast.Call)]
    return any(
        one.id in called if isinstance(one, ast.Name) else isinstance(one, ast.Attribute) and one.attr == "Trial"
        for one in calls
    )


def changes_trials(path: Path) -> bool:
    """Whether a module calls `_replace` of what is a trial by its name, by its annotation, or by how it was made."""
    known = {"trial"}
    for node in nodes(path):
        name = node.arg if isinstance(node, ast.arg) else None
        if isinstance(node, ast.AnnAssign):
            name = ast.unparse(node.target)
        annotation = node.annotation if isinstance(node, ast.arg | ast.AnnAssign) else None
        if name is not None and annotation is not None and "Trial" in ast.unparse(annotation).split():
            known.add(name)
    # An element of a list of trials is one.
    for node in nodes(path):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Subscript):
            listed = {one.id for one in ast.walk(node.value) if isinstance(one, ast.Name)}
            known |= {ast.unparse(one) for one in node.targets if listed & {"trial", "trials"}}
    changed = (
        node.func.value
        for node in nodes(path)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "_replace"
    )
    rewritten = any(
        isinstance(node, ast.Call)
        and ast.unparse(node.func) == "Trial.from_json"
        and any(isinstance(one, ast.Dict) for one in node.args)
        for node in nodes(path)
    )
    return rewritten or any(
        ast.unparse(one) in known
        or (isinstance(one, ast.Attribute) and one.attr == "trial")
        or (isinstance(one, ast.Call) and ast.unparse(one.func).startswith(("Trial.", "make_trial")))
        for one in changed
    )


def test_a_trial_is_put_together_in_one_place() -> None:
    """All trials are made and changed in `trials.execution`, also those of simulations that were never asked."""
    assert {name_of(path) for path in MODULES if makes_trials(path)} == {"pytest_recall.trials.execution"}
    assert {name_of(path) for path in MODULES if changes_trials(path)} == {"pytest_recall.trials.execution"}


@pytest.mark.parametrize(
    "line",
    [
        "trial._replace(reason='due')",
        "one.trial._replace(reason='due')",
        "Trial.from_json(plain)._replace(reason='due')",
        "def of(one: Trial): return one._replace(reason='due')",
        "def of(one: Trial | None): return one._replace(reason='due')",
        "last = trials[-1]\nlast._replace(reason='due')",
        "one = [trial for trial in trials if trial.outcome][-1]\none._replace(reason='due')",
        "Trial.from_json({**plain, 'reason': 'due'})",
    ],
)
def test_a_changed_trial_is_seen(line: str, tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text(line, encoding="utf-8")
    assert changes_trials(module)


@pytest.mark.parametrize("line", ["t.Trial('a')", "from pytest_recall.trials.trial import Trial as T\nT('a')"])
def test_a_made_trial_is_seen(line: str, tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text(line, encoding="utf-8")
    assert makes_trials(module)


# What pytest does not promise

INTERNALS = "pytest_internals"
REACHING = {"getattr", "setattr", "hasattr", "delattr"}
OWN = {"_asdict", "_replace", "_fields", "_make", "_field_defaults"}
"""Names with an underscore that a NamedTuple promises."""


def private_names(path: Path) -> set[str]:
    """Return the private names that a module reaches for, as attributes or by `getattr` and its like."""
    found = set[str]()
    for node in nodes(path):
        if isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in REACHING:
            found |= {
                one.value for one in node.args[1:2] if isinstance(one, ast.Constant) and isinstance(one.value, str)
            }
    return {name for name in found if name.startswith("_") and not name.startswith("__")} - OWN


def defined_names(path: Path) -> set[str]:
    """Return the names that a module defines: functions, and attributes that it gives its own objects."""
    found = set[str]()
    for node in nodes(path):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif (
            isinstance(node, ast.Attribute)
            and isinstance(node.ctx, ast.Store)
            and getattr(node.value, "id", "") == "self"
        ):
            found.add(node.attr)
        elif isinstance(node, ast.keyword) and node.arg is not None:
            found.add(node.arg)
    return found


@pytest.mark.parametrize("path", [path for path in MODULES if folder_of(path) == "plugin"], ids=name_of)
def test_one_module_reaches_for_what_pytest_does_not_promise(path: Path) -> None:
    reached = private_names(path) - defined_names(path)
    if path.stem == INTERNALS:
        assert {"_fixtureinfo", "_initrequest", "_setupstate", "_global_capturing"} <= reached
    else:
        assert reached == set()
        assert not any(name.partition(".")[0] == "_pytest" for name, _ in imports(path))


# What everybody pays

HEAVY = {"asyncio", "filelock", "httpx", "jsonschema", "pydantic", "yaml"}


def loaded_by(*modules: str) -> list[str]:
    """Return what importing these modules loads in a fresh process, beside pytest."""
    program = (
        "import json, sys, pytest; before = set(sys.modules)\n"
        f"import {', '.join(modules)}\n"
        "print(json.dumps(sorted(set(sys.modules) - before)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    loaded: list[str] = json.loads(done.stdout)
    assert set(modules) <= set(loaded)
    return loaded


def test_import_budget() -> None:
    """Every project of an environment loads the plugin, whether it has eval cases or not."""
    loaded = loaded_by("pytest_recall.plugin")
    assert {name.partition(".")[0] for name in loaded} & HEAVY == set()
    assert len(loaded) <= 12, loaded


def test_import_budget_of_a_session_without_cases() -> None:
    """Every session registers the fixtures and looks for case files."""
    loaded = loaded_by("pytest_recall.plugin", "pytest_recall.plugin.fixtures", "pytest_recall.plugin.start")
    assert {name.partition(".")[0] for name in loaded} & HEAVY == set()
    assert not any(name.startswith("pytest_recall.runs") for name in loaded)


def test_the_front_door_is_cheap() -> None:
    program = "import sys, pytest_recall; print(sorted(n for n in sys.modules if n.startswith('pytest_recall')))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "['pytest_recall']\n"


# What is public


def test_public_names() -> None:
    assert pytest_recall.__all__ == [
        *("Answer", "Case", "MemoryClient", "Passage", "QueryContext"),
        *("RecallError", "Trial", "Verdict", "__version__"),
    ]


@pytest.mark.parametrize("name", pytest_recall.__all__)
def test_public_names_resolve(name: str) -> None:
    found = getattr(pytest_recall, name)
    if name != "__version__":
        assert found.__name__ == name
        assert getattr(import_module(found.__module__), name) is found


def test_public_names_are_known_to_type_checkers() -> None:
    """What `__getattr__` resolves at run time is imported under TYPE_CHECKING from the same home."""
    written = {
        alias.asname: f"{node.module}.{alias.name}"
        for node in ast.walk(ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("pytest_recall.")
        for alias in node.names
    }
    assert written == {
        name: f"{getattr(pytest_recall, name).__module__}.{name}"
        for name in pytest_recall.__all__
        if name != "__version__"
    }


def test_other_names_are_refused() -> None:
    with pytest.raises(AttributeError, match="module 'pytest_recall' has no attribute 'Judge'"):
        pytest_recall.Judge  # noqa: B018


def test_types_are_shipped() -> None:
    assert (PACKAGE / "py.typed").is_file()


# Habits


def test_a_module_says_what_it_owns() -> None:
    silent = [
        name_of(path)
        for path in MODULES
        if not (ast.get_docstring(parsed(path)) or "").partition("\n")[0].endswith(".")
    ]
    assert silent == []


def test_annotations_stay_cheap() -> None:
    dear = []
    for path in MODULES:
        code = parsed(path).body[1:]  # after the docstring
        if code and ast.unparse(code[0]) != "from __future__ import annotations":
            dear.append(name_of(path))
    assert dear == []


def test_a_module_has_a_name_of_its_own() -> None:
    vague = {"utils", "util", "helpers", "helper", "misc", "tools", "lib"}
    assert [name_of(path) for path in MODULES if vague & set(path.relative_to(PACKAGE).with_suffix("").parts)] == []


def test_a_public_class_has_a_name_of_its_own() -> None:
    """A name that is read in an import says what it is without the module that it comes from."""
    homes: dict[str, set[str]] = {}
    for path in MODULES:
        for node in nodes(path):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault(node.name, set()).add(name_of(path))
    assert {name: sorted(modules) for name, modules in homes.items() if len(modules) > 1} == {}


def test_a_folder_is_a_package() -> None:
    assert [folder for folder in {path.parent for path in MODULES} if not (folder / "__init__.py").is_file()] == []
