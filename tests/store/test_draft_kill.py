"""Drafts of killed processes: what had ended is there, whatever the moment of the kill."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_recall.store.cassette import read_draft

CALLS = 60
POINTS = 50
# Says the number of a call once it is told to be written; the parent kills it after one of them.
RECORDER = f"""
import sys
from pathlib import Path
from pytest_recall.core.exchange import Exchange, Request, Response
from pytest_recall.core.matching import Rules, key_of
from pytest_recall.store.cassette import Draft

rules = Rules()
draft = Draft(Path(sys.argv[1]), {{"case": "a", "scenario": "s", "recorded_at": "2026-03-10"}}, rules)
for number in range({CALLS}):
    body = b'{{"messages": [{{"role": "user", "content": "' + b"x" * (number * 97 % 4000) + b'%d"}}]}}' % number
    request = Request("POST", "http://127.0.0.1/v1", (), body)
    answer = Response(200, "OK", (), (b"answer %d " % number * (number * 31 % 500),))
    at = "2026-03-10T00:00:00+00:00"
    draft.append(Exchange(key_of(request, rules), number, "agent", request, answer, None, at, 0.1))
    print(number, flush=True)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL here")
def test_a_kill_loses_no_call_that_had_ended(tmp_path: Path) -> None:
    for point in range(POINTS):
        path = tmp_path / f"{point}.ndjson"
        with subprocess.Popen(
            [sys.executable, "-c", RECORDER, str(path)], stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            for _ in range(point + 1):
                assert process.stdout.readline()
            process.send_signal(signal.SIGKILL)
            said = point + 1 + len(process.stdout.readlines())
        header, exchanges = read_draft(path, path.name)
        assert header["case"] == "a"
        # Those that were told of are there; one more may have ended before the kill came.
        assert said <= len(exchanges) <= said + 1
        assert [exchange.seq for exchange in exchanges] == list(range(len(exchanges)))
        assert all(exchange.request.body.endswith(b'%d"}]}' % exchange.seq) for exchange in exchanges)
