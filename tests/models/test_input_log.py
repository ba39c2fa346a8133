"""What a memory in this process reads is noted while it is at work, and nothing else."""

from __future__ import annotations

import json
import os
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_recall.models import input_log, inputs
from pytest_recall.models.inputs import Inputs


@pytest.fixture(autouse=True)
def _watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    inputs.digest_key.cache_clear()
    input_log.watch()


def seen(work: Callable[[], object], *, models: input_log.Places = ()) -> Inputs:
    with input_log.observed("mine"):
        work()
    return input_log.inputs_of("mine", tuple, models)


def test_files_folders_and_variables_are_noted_within_a_call_and_nowhere_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "top.txt").write_text("1")
    (tmp_path / "before.txt").write_text("1")
    monkeypatch.setenv("TOP", "1")

    def work() -> None:
        Path("prompts/top.txt").read_text()
        list(Path("prompts").iterdir())
        os.environ.get("TOP")
        os.getenv("NOT_SET")
        with pytest.raises(FileNotFoundError):
            Path("settings.json").read_text()

    Path("before.txt").read_text()
    found = seen(work)
    Path("before.txt").read_text()
    os.environ.get("HOME")
    assert input_log.inputs_of("mine", tuple, ()) == found
    assert set(found.files) == {"prompts/top.txt", "settings.json"}
    assert found.files["settings.json"] == inputs.ABSENT
    assert set(found.folders) == {"prompts"}
    assert set(found.variables) == {"TOP", "NOT_SET"}
    assert (found.changed, found.unknowable) == ("", "")
    assert type(os.environ).__name__ == "_Environ"


def test_another_thread_may_be_reading_the_environment_as_a_call_ends(tmp_path: Path) -> None:
    with input_log.observed("mine"):
        # Where a thread is that was interrupted between the look-up of the method and its first line.
        get, names = os.environ.__getitem__, os.environ.__iter__
    assert get("PATH") == os.environ["PATH"]
    assert "PATH" in names()


def test_a_thread_of_the_memory_counts_and_one_that_asks_another_does_not(tmp_path: Path) -> None:
    for name in ("own.txt", "asker.txt"):
        (tmp_path / name).write_text("1")
    asked, ended = threading.Event(), threading.Event()

    def asker() -> None:
        with input_log.observed("mine"):
            pass
        asked.wait()
        Path("asker.txt").read_text()
        ended.set()

    other = threading.Thread(target=asker)
    other.start()

    def work() -> None:
        own = threading.Thread(target=Path("own.txt").read_text)
        own.start()
        own.join()
        asked.set()
        ended.wait()

    assert set(seen(work).files) == {"own.txt"}
    other.join()


def test_what_it_makes_itself_is_no_input(tmp_path: Path) -> None:
    def work() -> None:
        Path("store.json").write_text("[1]")
        json.loads(Path("store.json").read_text())
        with tempfile.TemporaryFile("w+") as file:
            file.write("x")
        os.environ["SET_BY_IT"] = "1"
        os.environ.get("SET_BY_IT")
        sqlite3.connect(":memory:").close()
        sqlite3.connect("own.sqlite").close()
        Path("store.json").unlink()

    found = seen(work)
    del os.environ["SET_BY_IT"]
    assert not found.files
    assert "SET_BY_IT" not in found.variables
    assert found.unknown == ()


def test_what_it_reads_and_then_changes_cannot_be_known(tmp_path: Path) -> None:
    (tmp_path / "state.json").write_text("1")

    def work() -> None:
        text = Path("state.json").read_text()
        Path("state.json").write_text(text + "1")

    found = seen(work)
    assert found.unknowable == "it changes state.json, which it reads"
    assert found.changed == ""


def test_a_module_counts_by_its_source_and_what_is_installed_or_pythons_own_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "helper_of_mine.py").write_text("x = 1")
    monkeypatch.syspath_prepend(str(tmp_path))
    for _ in range(2):  # The second time from what was compiled.
        input_log.watch()
        found = seen(lambda: __import__("helper_of_mine"))
        assert set(found.files) == {"helper_of_mine.py"}
        assert not found.folders
        del sys.modules["helper_of_mine"]
    input_log.watch()
    assert not seen(lambda: Path(pytest.__file__).read_bytes() and Path(json.__file__).read_bytes()).files


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no /proc")
def test_what_is_made_as_it_is_read_does_not_count() -> None:
    assert not seen(lambda: Path("/proc/self/stat").read_bytes() and Path("/dev/null").read_bytes()).files


def test_programs_and_services_cannot_be_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(input_log, "_names", {})  # Other tests have looked this machine up by its address.
    found = seen(lambda: subprocess.run([sys.executable, "-c", ""], check=True))
    assert found.unknowable.startswith("it starts python")
    input_log.watch()
    look_up = socket.getaddrinfo
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        found = seen(lambda: socket.create_connection(("localhost", port)).close())
        assert found.unknowable == f"it connects to localhost:{port}"
        assert socket.getaddrinfo is look_up
        assert input_log.inputs_of("mine", tuple, {("localhost", port)}).unknowable == ""


def test_a_database_that_was_there_cannot_be_known(tmp_path: Path) -> None:
    (tmp_path / "index.sqlite").write_bytes(b"x")
    found = seen(lambda: sqlite3.connect("index.sqlite").close())
    assert found.unknowable == "it opens the database index.sqlite"


@pytest.mark.parametrize("is_known", [True, False])
def test_who_looks_for_proxies_reads_the_variables_that_name_them(
    monkeypatch: pytest.MonkeyPatch, is_known: bool
) -> None:
    monkeypatch.setenv("https_proxy", "http://one:3128")
    if not is_known:
        monkeypatch.delitem(sys.modules, "urllib.request")
    looked: list[dict[str, str]] = []

    def look() -> None:
        from urllib.request import getproxies

        looked.append(getproxies())

    found = seen(look)
    assert looked[0]["https"] == "http://one:3128"
    assert {"https_proxy", "HTTPS_PROXY", "no_proxy"} <= set(found.variables)
    assert not {"PATH", "SHLVL"} & set(found.variables)
    assert found.changed == ""
    monkeypatch.setenv("TERMINAL", "another one")
    assert found.changed == ""
    monkeypatch.setenv("https_proxy", "http://other:3128")
    assert found.changed == "the variable https_proxy has changed"
    assert type(os.environ).__name__ == "_Environ"


def test_where_programs_are_looked_for_is_no_input(monkeypatch: pytest.MonkeyPatch) -> None:
    found = seen(lambda: subprocess.run(["uname"], check=False, capture_output=True))
    assert "PATH" not in found.variables
    assert os.get_exec_path() == os.environ["PATH"].split(os.pathsep)


def test_who_reads_all_variables_reads_those_to_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOP", "1")
    found = seen(lambda: dict(os.environ))
    assert "TOP" in found.variables
    monkeypatch.setenv("ANOTHER_ONE", "1")
    assert found.changed == "the environment has other variables"


def test_a_module_that_another_memory_has_loaded_counts_with_all_that_this_one_read(tmp_path: Path) -> None:
    shared = tmp_path / "shared.py"
    shared.write_text("x = 1")
    (tmp_path / "prompt.txt").write_text("1")

    def work() -> None:
        Path("shared.py").read_text()
        Path("prompt.txt").read_text()

    with input_log.observed("other"):
        work()
    with input_log.observed("mine"):
        pass
    assert set(input_log.inputs_of("mine", lambda: [shared], ()).files) == {"shared.py", "prompt.txt"}
    assert not input_log.inputs_of("apart", tuple, ()).files


def test_nothing_is_noted_where_no_one_watches(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("1")
    monkeypatch.setattr(input_log, "_logs", None)
    assert seen(Path("a.txt").read_text) == Inputs()
