"""Which programs a rubric names, by the words of a command."""

from __future__ import annotations

import re
import shlex
import sysconfig
from pathlib import Path
from typing import Any

import pytest

from pytest_recall.replay.programs import (
    INTERPRETERS,
    LOOK_UPS,
    MULTIPROCESSING,
    PREFIXES,
    RUNNERS,
    NamedPrograms,
    can_be_named,
    command_of,
    entry_of,
    is_look_up,
    of_multiprocessing,
    program_name,
    words_of,
)

ROOT = Path(__file__).resolve().parents[2]
HERE = "/home/a/project"
CODE = "import sys; print('/bin/rg')"


def command(line: str) -> tuple[str, ...]:
    return tuple(shlex.split(line))


@pytest.mark.parametrize(
    ("line", "entry"),
    [
        ("git log --oneline", "git"),
        ("/usr/bin/git log", "git"),
        ("/home/a/project/bin/cli.js x", "cli.js"),
        ("/opt/python/bin/python3.12 /home/a/project/server.py --port 5", "python server.py"),
        ("python /home/b/lib/site-packages/x/__main__.py", "python x/__main__.py"),
        ("python -m http.server 80", "python -m http.server"),
        (f"python -I -c {shlex.quote(CODE)} 1", f"python -I -c {shlex.quote(CODE)}"),
        ("node --import x server.js a", "node --import x server.js"),
        ("npx -y some-server --stdio", "npx -y some-server --stdio"),
        ("uv run server.py x", "uv run server.py"),
        ("docker run -i --rm -e TOKEN image:1 more", "docker run -i --rm -e TOKEN image:1"),
        ("env A=1 timeout 5 python -m x.y z", "env A=1 timeout 5 python -m x.y"),
        ("sudo -u bob git log", "sudo -u bob git"),
        ("bash -lc 'ls | wc'", "bash -lc 'ls | wc'"),
        ("sh -c 'git log; rg x'", "sh -c 'git log; rg x'"),
        ("bash run x", "bash run"),
        ("cmd.exe /c dir", "cmd /c dir"),
    ],
)
def test_the_entry_of_a_command_names_its_program_and_no_more(line: str, entry: str) -> None:
    started = command(line)
    assert entry_of(started, HERE) == entry
    assert NamedPrograms.of([entry]).has(started)
    assert not NamedPrograms.of([entry]).has((started[0] + "x", *started[1:]))


@pytest.mark.parametrize(
    ("entry", "line"),
    [
        ("git", "python git"),
        ("git log", "git"),
        ("python server.py", "python other.py"),
        ("python server.py", "python my-server.py"),
        ("python server.py", "python -u server.py"),
        ("python server.py", "node server.py"),
        ("python -c rg", "python -c bin/rg"),
        ("sh -c 'git log'", "sh -c 'git log; rg'"),
    ],
)
def test_another_command_is_not_named(entry: str, line: str) -> None:
    assert not NamedPrograms.of([entry]).has(command(line))


@pytest.mark.parametrize(
    ("entry", "line"),
    [
        ("python server.py", "/x/python3 /y/server.py --all"),
        ("python tools/server.py", r"python.exe C:\work\tools\server.py"),
        ("/usr/bin/git", "/opt/bin/git log"),
        ("git", r"C:\cmd\GIT.EXE log"),
        ("git.exe", "/usr/bin/git log"),
        (r"C:\cmd\git.exe", "git log"),
        ("'C:\\Program Files\\git.exe' log", "git log"),
        (r"python tools\server.py", "python /work/tools/server.py"),
        ("python tools/server.py", r"C:\py\Python.exe TOOLS\Server.py"),
        ("Rg", "RG x"),
        ("any", "whatever it is"),
    ],
)
def test_paths_and_versions_differ_between_machines(entry: str, line: str) -> None:
    assert NamedPrograms.of([entry], windows=True).has(tuple(line.split()))


@pytest.mark.parametrize(
    ("entry", "line"),
    [("Rg", "rg x"), ("python Server.py", "python server.py"), (r"python x\server.py", "python x/server.py")],
)
def test_only_on_windows_are_case_and_slashes_the_same(entry: str, line: str) -> None:
    found = [NamedPrograms.of([entry], windows=windows).has(command(line)) for windows in (True, False)]
    assert found == [True, False]


def test_options_differ_by_case_everywhere() -> None:
    assert not NamedPrograms.of(["git -c"], windows=True).has(("git", "-C"))


@pytest.mark.parametrize("name", sorted(INTERPRETERS | RUNNERS | PREFIXES))
def test_what_runs_any_program_names_none(name: str) -> None:
    for entry in (name, f"/usr/bin/{name}.exe", f"{name} -u", f"{name} 5", f"env A=1 {name}", f"{name} python"):
        with pytest.raises(ValueError, match=r"` names no program, since `.*` runs any; add what it runs, such as `"):
            words_of(entry)
        assert not can_be_named(command(entry))


@pytest.mark.parametrize(
    "entry", ["uv run", "npx -y", "docker run -i", "sh -c", "python -m", "timeout 5", "sudo -u bob"]
)
def test_neither_options_nor_subcommands_name_a_program(entry: str) -> None:
    with pytest.raises(ValueError, match="names no program"):
        words_of(entry)


@pytest.mark.parametrize(("entry", "why"), [("", "is empty"), ("sh -c 'x", "has a quote that is not closed")])
def test_what_is_no_command(entry: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        words_of(entry)


def test_the_line_to_add_has_what_is_named_already() -> None:
    named = NamedPrograms.of(["git", "python server.py"])
    assert named.with_entries(["rg", "git"]) == 'replay: {programs: [git, "python server.py", rg]}'
    assert NamedPrograms().with_entries(["true", "7z", "cli.py"]) == 'replay: {programs: ["true", "7z", cli.py]}'


def test_a_program_that_is_called_any_does_not_open_the_door_to_all() -> None:
    assert not can_be_named(("/bin/any",))


@pytest.mark.parametrize(
    ("event", "args", "found"),
    [
        ("os.system", (b"git log",), "sh -c 'git log'"),
        ("os.startfile", ("page.html",), "page.html"),
        ("pty.spawn", (["git", "log"],), "git log"),
        ("pty.spawn", ("git",), "git"),
        ("subprocess.Popen", ("/bin/git", ["git", b"log", Path("x")], None, None), "/bin/git log x"),
        ("subprocess.Popen", (None, 'git "a b" c', None, None), "git 'a b' c"),
        ("subprocess.Popen", ("cmd.exe", 'C:\\cmd.exe /c "git log"', None, None), "sh -c 'git log'"),
        ("os.posix_spawn", (b"/bin/git", ["git", "log"], {}), "/bin/git log"),
        ("os.exec", ("git", ("git", "log"), None), "git log"),
        ("ctypes.dlsym", (None, "system"), "ctypes system"),
        ("ctypes.dlsym", (None, "strlen"), ""),
    ],
)
def test_audit_events_say_what_they_start(event: str, args: tuple[Any, ...], found: str) -> None:
    assert command_of(event, args) == command(found)


def test_processes_of_multiprocessing_have_one_name() -> None:
    server = "from multiprocessing.forkserver import main; main(5, 6, ['__main__'])"
    assert of_multiprocessing(("python", "-c", "x", "--multiprocessing-fork")) == MULTIPROCESSING
    assert of_multiprocessing(("python", "-c", server)) == MULTIPROCESSING
    assert of_multiprocessing(("python", "-c", "x")) == ("python", "-c", "x")


def test_what_python_asks_of_the_machine_is_no_program() -> None:
    known = ["/usr/bin/uname -p", "/sbin/ldconfig -p", "gcc -Wl,-t -o '/tmp/x y' -lc", "ld -t -o /dev/null -lc"]
    known += ["git version", "fc-list '--format=%{file}\\n'"]
    known += ["ld -t -L /a -L '' -o /dev/null -lc", "sh -c 'cmd /c ver'", "/usr/bin/dump -X64 -H /usr/lib/libc.a"]
    trackers = ("multiprocessing.resource_tracker", "joblib.externals.loky.backend.resource_tracker")
    assert all(is_look_up(command(line)) for line in known)
    assert all(is_look_up(("python", "-c", f"from {module} import main;main(5)")) for module in trackers)
    others = ["uname -a", "gcc x.c", "git log", "git rev-parse HEAD~1", "sh -c 'uname -p'", "python -c 'main()'"]
    others += ["file -b", "file -b a b", "ifconfig -a up", "gcc -Wl,-t -o x -wrapper y -lc", "sh -c 'ver; id'"]
    others += ["python -c 'from multiprocessing.resource_tracker import main;main(5);main()'"]
    assert not any(is_look_up(command(line)) for line in others)


LOOKING = {
    *("_aix_support", "ctypes._aix", "ctypes.util", "multiprocessing.resource_tracker", "platform", "uuid"),
    "webbrowser",  # The default browser. To open one is no look-up.
}
"""The modules of Python that start a program to learn about the machine."""
STARTING = {
    *("asyncio.unix_events", "asyncio.windows_events", "asyncio.windows_utils", "os", "subprocess"),
    *("multiprocessing.context", "multiprocessing.forkserver", "multiprocessing.process", "multiprocessing.util"),
    *(f"multiprocessing.popen_{way}" for way in ("fork", "forkserver", "spawn_posix", "spawn_win32")),
    *("_pyrepl.pager", "http.server", "imaplib", "mailcap", "pipes", "pydoc"),  # What users and files name.
    *("_bootsubprocess", "_osx_support", "ensurepip", "venv"),  # To build extensions and environments.
    *("doctest", "pydoc_data.topics"),  # They do not start any: a word of theirs reads like it.
}
"""Those that start one for what they are told to do."""


def test_each_module_of_python_that_starts_programs_is_known() -> None:
    folder, found = Path(sysconfig.get_path("stdlib")), set()
    for file in folder.rglob("*.py"):
        *packages, name = file.relative_to(folder).with_suffix("").parts
        if {"test", "tests", "site-packages", "idlelib", "lib2to3", "distutils", "turtledemo"} & set(packages):
            continue
        if _STARTS.search(file.read_text(encoding="utf-8", errors="replace")):
            found.add(".".join([*packages, *([] if name == "__init__" else [name])]))
    assert found <= LOOKING | STARTING
    assert {"platform", "uuid"} <= found


_STARTS = re.compile(
    r"^(?! *#).*(?:Popen|check_output|check_call|os\.popen|os\.system|spawnv\w*|subprocess\.\w+)\(", re.M
)


def test_the_name_of_a_program() -> None:
    paths = ["/usr/bin/python3.12", r"C:\x\Git.EXE", "pypy3", "cli.js", "node20", "tool2", "pythonw.exe"]
    assert [*map(program_name, paths)] == ["python", "git", "pypy", "cli.js", "node", "tool2", "python"]


def test_the_docs_have_both_lists() -> None:
    text = " ".join((ROOT / "docs/reference/replay.md").read_text(encoding="utf-8").split())
    *others, last = sorted(INTERPRETERS | RUNNERS | PREFIXES)
    assert f"is refused when the rubric is read: {', '.join(others)} and {last}." in text
    assert ", ".join(LOOK_UPS) in text
