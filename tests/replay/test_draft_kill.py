"""Drafts of killed processes: what had ended is there, whatever the moment of the kill."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_recall.replay.cassette_file import read_draft

CALLS = 60
POINTS = range(0, 50, 2)
# For each path that it is told, a process of its own says its id, and then the number of each call once that is
# written; the parent kills it after one of them, and hears when it is over. They are forked: it is what they
# write that matters, and not how they come to be able to.
RECORDER = f"""
import os
import sys
import time
from pathlib import Path
from pytest_recall.replay.exchange import Exchange, Request, Response
from pytest_recall.replay.equality import key_of
from pytest_recall.replay.matching import Rules
from pytest_recall.replay.cassette_file import Draft

rules = Rules()

def say(text):
    os.write(1, f"{{text}}\\n".encode())  # A line is there whole or not at all, which `print` does not promise.

def record(path):
    draft = Draft(Path(path), {{"case": "a", "scenario": "s", "recorded_at": "2026-03-10"}}, rules)
    for number in range({CALLS}):
        body = b'{{"messages": [{{"role": "user", "content": "' + b"x" * (number * 97 % 4000) + b'%d"}}]}}' % number
        request = Request("POST", "http://127.0.0.1/v1", (), body)
        answer = Response(200, "OK", (), (b"answer %d " % number * (number * 31 % 500),))
        at = "2026-03-10T00:00:00+00:00"
        draft.append(Exchange(key_of(request, rules), number, "agent", request, answer, None, at, 0.1))
        say(number)

for line in sys.stdin:
    child = os.fork()
    if not child:
        say(os.getpid())
        record(line.rstrip())
        time.sleep(60)
        os._exit(0)
    os.waitpid(child, 0)
    say("over")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork and no SIGKILL here")
def test_a_kill_loses_no_call_that_had_ended(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", RECORDER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for point in POINTS:
            path = tmp_path / f"{point}.ndjson"
            process.stdin.write(f"{path}\n")
            child = int(process.stdout.readline())
            for _ in range(point + 1):
                assert process.stdout.readline()
            os.kill(child, signal.SIGKILL)
            said = point + 1
            while (line := process.stdout.readline()) != "over\n":
                assert line, "the recording process is gone"
                said += 1
            header, exchanges = read_draft(path, path.name)
            assert header["case"] == "a"
            # Those that were told of are there; one more may have ended before the kill came.
            assert said <= len(exchanges) <= said + 1
            assert [exchange.seq for exchange in exchanges] == list(range(len(exchanges)))
            assert all(exchange.request.body.endswith(b'%d"}]}' % exchange.seq) for exchange in exchanges)
