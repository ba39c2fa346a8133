"""The system under test: a service in a process of its own, which a replay does not start."""

from __future__ import annotations

import hashlib
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from pytest_recall import Verdict

PORT = 8765
SERVICE = Path(__file__).resolve().parent.parent / "service.py"
# It runs elsewhere, so nothing of it is seen in a replay. Its build goes into each request: of a service that has
# changed, nothing is recorded.
BUILD = hashlib.sha256(SERVICE.read_text(encoding="utf-8").encode()).hexdigest()[:12]


@pytest.fixture(scope="session")
def service(pytestconfig):
    """The address of the service."""
    url = f"http://127.0.0.1:{PORT}"
    if pytestconfig.getoption("recall_replay") is not None:
        yield url
        return
    upstream = os.environ.get("MODEL_URL", "http://127.0.0.1:18080") + "/v1"
    env = {"OPENAI_API_KEY": "none-needed"} | os.environ | {"OPENAI_BASE_URL": upstream}
    with socket.create_server(("127.0.0.1", PORT)) as listening:
        # The socket is open before the service is up: whoever comes early waits in line, and nobody has to ask.
        command = [sys.executable, "-m", "uvicorn", "service:app", "--fd", str(listening.fileno())]
        process = subprocess.Popen(
            [*command, "--log-level", "warning"], cwd=SERVICE.parent, env=env, pass_fds=[listening.fileno()]
        )
        yield url
        process.terminate()
        process.wait(timeout=10)


@pytest.fixture(scope="session")
def agent(service):
    """A client of the service. What it refuses is an answer as well; a service that breaks is none."""
    client = httpx.Client(base_url=service, params={"build": BUILD}, timeout=120)

    def answer(review):
        reply = client.post("/sort", json=review)
        if reply.status_code == 422:
            return f"refused: {reply.json()['detail']}"
        found = reply.raise_for_status().json()
        return {"usage": found.pop("usage"), "text": json.dumps(found)}

    yield answer
    client.close()


@pytest.fixture(scope="session")
def judge_topics():
    """Score the topics found by F1 with those of `expected`."""

    def judge(answer, case, *, expected=None):
        wanted, found = set(expected), set(json.loads(answer.text)["topics"])
        both = len(wanted & found)
        score = 2 * both / (len(wanted) + len(found))
        return Verdict(passed=None, score=score, reason=f"F1 {score:.2f}: {sorted(found)}, not {sorted(wanted)}")

    return judge
