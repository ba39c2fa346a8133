"""`recall view`: the page on this machine's own address, and that it follows the run."""

from __future__ import annotations

import http.client
import socket
import struct
import webbrowser
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_recall.cli import main
from pytest_recall.results.view_commands import HOST, Server
from tests.cli.conftest import Recall
from tests.cli.samples import DATE
from tests.cli.test_report import artifacts_names
from tests.cli.test_score import artifacts, run_of
from tests.helpers.horizon_runs import SMALL, write_run
from tests.helpers.persona import write_project
from tests.helpers.viewing import serving


@pytest.fixture
def server(ran: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A server of the newest run."""
    monkeypatch.chdir(ran)
    with serving(DATE) as made:
        yield made


def get(server: Server, path: str, **headers: str) -> tuple[int, str]:
    """Return the status and the body of an answer."""
    connection = http.client.HTTPConnection(HOST, server.server_port, timeout=30)
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    found = answer.status, answer.read().decode()
    connection.close()
    return found


def test_the_page_is_served_with_its_stamp(server: Server) -> None:
    status, html = get(server, "/")
    assert status == 200
    assert f'data-stamp="{get(server, "/stamp")[1]}"' in html
    assert "connect-src &#39;self&#39;" in html


def test_whoever_leaves_early_leaves_no_traceback(server: Server, capfd: pytest.CaptureFixture[str]) -> None:
    server.daemon_threads, server.block_on_close = False, True  # Then its end waits for what it still does.
    for _ in range(3):
        with socket.create_connection((HOST, server.server_port)) as line:
            line.sendall(f"GET / HTTP/1.1\r\nHost: {HOST}:{server.server_port}\r\n\r\n".encode())
            line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # Gone at once.
    assert get(server, "/stamp")[0] == 200  # They had their turn.
    server.shutdown()
    server.server_close()
    assert capfd.readouterr().err == ""


def test_a_run_that_goes_on_has_another_stamp_and_no_end(server: Server, ran: Path) -> None:
    before = get(server, "/stamp")
    journal = run_of(ran) / "trials.jsonl"
    lines = journal.read_text(encoding="utf-8").splitlines(keepends=True)
    journal.write_text("".join(lines[:2]), encoding="utf-8")
    assert get(server, "/stamp") != before
    _, html = get(server, "/")
    assert "No end yet: 3 of 4 chosen cases are to come, unless the run was cut off." in html
    assert "cut off before its end" not in html


def test_the_newest_run_is_the_newest_then(server: Server, ran: Path) -> None:
    later = artifacts(ran) / "2099-01-01T000000"
    later.mkdir()
    (later / "trials.jsonl").write_bytes((run_of(ran) / "trials.jsonl").read_bytes())
    assert get(server, "/stamp")[1].startswith(later.name)
    assert artifacts_names(ran)[-1] == later.name


def test_a_journal_that_cannot_be_read_is_one_sentence(server: Server, ran: Path) -> None:
    (run_of(ran) / "trials.jsonl").write_text("{", encoding="utf-8")
    status, text = get(server, "/")
    assert status == 503
    assert text.startswith("recall: ")
    assert "no whole line" in text


def test_a_long_horizon_run_is_followed_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = write_run(tmp_path / "run", SMALL)
    (run / "result.json").unlink()
    monkeypatch.chdir(tmp_path)
    with serving(None, "run") as server:
        before = get(server, "/stamp")[1]
        assert f'data-stamp="{before}"' in get(server, "/")[1]
        with (run / "questions.jsonl").open("a", encoding="utf-8") as lines:
            lines.write("\n")
        assert get(server, "/stamp")[1] != before


def test_there_is_one_page_and_for_this_machine_alone(server: Server) -> None:
    assert get(server, "/eval/cases.yaml")[0] == 404
    assert get(server, "/", Host="example.org")[0] == 403
    assert get(server, "/stamp", Host=f"localhost:{server.server_port}")[0] == 200


def test_a_port_that_is_taken_is_one_sentence(ran: Path, inside: Recall) -> None:
    with socket.create_server((HOST, 0)) as taken:
        port = str(taken.getsockname()[1])
        done = inside(ran, "view", "--port", port)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"recall: port {port}: ")
    assert "give another --port" in done.err


def test_once_prints_how_far_the_run_has_come_and_serves_nothing(ran: Path, inside: Recall) -> None:
    done = inside(ran, "view", "--once", "--date", DATE)
    head, rate, about, newest, *bad = done.out.splitlines()
    assert (done.code, done.err) == (0, "")
    assert head == f"{run_of(ran).name}: 1 regression, 1 error, 1 passed, 1 skipped"
    assert rate == "66 % of the last verdicts pass, which 3 of 5 cases have"
    assert about.startswith("began: ")
    assert newest == "newest: skipped skipped"
    assert [line.partition(": ")[::2] for line in bad] == [
        ("regression", "worse: contains: no “one pound” in “A loan lasts one week.”"),
        ("error", "crash: agent: TimeoutError: no answer"),
    ]
    journal = run_of(ran) / "trials.jsonl"
    lines = journal.read_text(encoding="utf-8").splitlines(keepends=True)
    journal.write_text("".join(lines[:2]), encoding="utf-8")
    head, far, *_ = inside(ran, "view", "--once").out.splitlines()
    assert head.endswith(": no regression, 1 passed, 3 not run")
    assert far == "no end yet: 3 of 4 chosen cases are to come, unless the run was cut off"
    told = "recall: --once serves no page, so it takes neither --open nor --port; remove the other option\n"
    assert inside(ran, "view", "--once", "--port", "8000") == (2, "", told)


def test_before_the_first_checkpoint_a_long_horizon_run_says_how_many_answers_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, inside: Recall
) -> None:
    monkeypatch.chdir(tmp_path)
    write_project(tmp_path)
    assert main(["bench", "run", "--profile", "clerk.profile.yaml", "--no-heatmap-png", "--out", "out"]) == 0
    (tmp_path / "out/result.json").unlink()
    for name, kept in (("progress.jsonl", 1), ("questions.jsonl", 2)):
        lines = (tmp_path / "out" / name).read_text(encoding="utf-8").splitlines(keepends=True)
        (tmp_path / "out" / name).write_text("".join(lines[:kept]), encoding="utf-8")
    told = "out: 2 of 40 questions answered, and the first checkpoint, 3d, is not whole yet; its figures come with that"
    assert inside(tmp_path, "view", "out", "--once") == (0, f"{told}\n", "")
    assert inside(tmp_path, "bench", "report", "out") == (2, "", f"recall: {told}\n")
    with serving(None, "out") as server:
        assert get(server, "/") == (503, f"recall: {told}")
        assert main(["bench", "run", "--profile", "clerk.profile.yaml", "--no-heatmap-png", "--out", "out"]) == 0
        assert get(server, "/")[0] == 200


def test_once_prints_each_checkpoint_of_a_long_horizon_run(tmp_path: Path, inside: Recall) -> None:
    run = write_run(tmp_path / "run", SMALL)
    (run / "result.json").unlink()
    progress = (run / "progress.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    (run / "progress.jsonl").write_text("".join(progress[:2]), encoding="utf-8")
    done = inside(tmp_path, "view", "run", "--once")
    lines = [" ".join(line.split()) for line in done.out.splitlines()]
    assert (done.code, done.err) == (0, "")
    assert lines[0] == "run, A memory, someone"
    assert lines[2] == "partial: 1 of 3 checkpoints were reached"
    assert [line.split()[:3] for line in lines[-2:]] == [["checkpoint", "days", "answers"], ["10d", "*", "10"]]
    write_run(tmp_path / "other", SMALL)
    assert "on 3 answers to 3 questions" in inside(tmp_path, "view", "other", "run", "--once").out


def test_it_serves_until_it_is_stopped_and_may_open_the_page(
    ran: Path, inside: Recall, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(server: Server) -> None:
        raise KeyboardInterrupt

    opened: list[str] = []
    monkeypatch.setattr(Server, "serve_forever", stopped)
    monkeypatch.setattr(webbrowser, "open", opened.append)
    done = inside(ran, "view", "--open")
    (address,) = opened
    assert done == (0, f"{address}  (Ctrl+C ends it)\n\n", "")
    assert address.startswith(f"http://{HOST}:")


def test_what_goes_wrong_here_is_told(server: Server, capfd: pytest.CaptureFixture[str]) -> None:
    for error in (ConnectionResetError("left"), ValueError("wrong here")):
        try:
            raise error
        except Exception:
            server.handle_error(None, ("127.0.0.1", 1))
    said = capfd.readouterr().err
    assert "ValueError: wrong here" in said
    assert "left" not in said
