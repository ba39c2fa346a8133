"""Holes by the way in which the model is reached."""

from __future__ import annotations

from tests.gate.holes.hole import ALL, NONE, SAYS_3_DAYS, Hole
from tests.gate.project import AGENT, BREAKS_THREE, CONFTEST, NOTES, Change, Replaced, Written

CHILD = (
    Written("src/desk/cli.py", "import sys\n\nfrom desk.agent import answer\n\nprint(answer(sys.argv[1]))\n"),
    Written(
        CONFTEST,
        """\
import os
import subprocess
import sys

import pytest

SRC = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "src"))


@pytest.fixture(scope="session")
def agent():
    def answer(question):
        command = [sys.executable, "-m", "desk.cli", question]
        path = os.pathsep.join(filter(None, [SRC, os.environ.get("PYTHONPATH")]))
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path})
        if done.returncode:
            raise RuntimeError(done.stderr[-300:])
        return done.stdout.strip()

    return answer
""",
    ),
)


def by_program(*command: str) -> Change:
    """Return a change that has a program of another language ask: it reads the request, and prints the response."""
    return Replaced(
        AGENT,
        "    response = httpx.post(URL, json=body, headers=headers, timeout=20)\n"
        "    response.raise_for_status()\n"
        '    return response.json()["choices"][0]["message"]["content"]',
        "    import json\n    import subprocess\n\n"
        f"    command = [*{list(command)!r}, URL]\n"
        "    done = subprocess.run(command, input=json.dumps(body), capture_output=True, text=True)\n"
        '    return json.loads(done.stdout)["choices"][0]["message"]["content"]',
    )


NODE = """\
const chunks = [];
process.stdin.on("data", (chunk) => chunks.push(chunk));
process.stdin.on("end", async () => {
  const init = { method: "POST", body: Buffer.concat(chunks), headers: { "content-type": "application/json" } };
  process.stdout.write(await (await fetch(process.argv[1], init)).text());
});
"""
HTTP_CLIENT = """\
    import http.client
    import json
    from urllib.parse import urlsplit

    connection = http.client.HTTPConnection(urlsplit(URL).netloc)
    connection.request("POST", urlsplit(URL).path, json.dumps(body), {"content-type": "application/json"})
    return json.loads(connection.getresponse().read())["choices"][0]["message"]["content"]"""
SOCKET = """\
    import json
    import socket
    from urllib.parse import urlsplit

    address = urlsplit(URL)
    data = json.dumps(body).encode()
    line = socket.create_connection((address.hostname, address.port))
    head = [f"POST {address.path} HTTP/1.1", "host: x", "connection: close", f"content-length: {len(data)}", "", ""]
    line.sendall("\\r\\n".join(head).encode() + data)
    read = b""
    while b"usage" not in read:
        read += line.recv(65536)
    return json.loads(read.split(b"\\r\\n\\r\\n", 1)[1])["choices"][0]["message"]["content"]"""
_POST = (
    "    response = httpx.post(URL, json=body, headers=headers, timeout=20)\n"
    "    response.raise_for_status()\n"
    '    return response.json()["choices"][0]["message"]["content"]'
)
ODD_ONES_BY_A_CHILD = (
    Written("src/desk/cli.py", "import sys\n\nfrom desk.agent import direct\n\nprint(direct(sys.argv[1]))\n"),
    Replaced(
        AGENT,
        "def answer(question):\n",
        """\
def answer(question):
    import re

    return by_child(question) if int(re.findall(r"\\d+", question)[0]) % 2 else direct(question)


def by_child(question):
    import subprocess
    import sys

    src = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    path = os.pathsep.join(filter(None, [src, os.environ.get("PYTHONPATH")]))
    command = [sys.executable, "-m", "desk.cli", question]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path})
    if done.returncode:
        raise RuntimeError(done.stderr[-300:])
    return done.stdout.strip()


def direct(question):
""",
    ),
)
CLIENTS = [
    Hole("child-process", (SAYS_3_DAYS,), ALL, setup=CHILD, fresh=True),
    Hole("child-process-of-three", (BREAKS_THREE,), setup=CHILD, fresh=True),
    Hole("child-process-without-effect", (NOTES,), NONE, setup=CHILD, fresh=True),
    Hole("half-of-them-by-child-processes", (SAYS_3_DAYS,), ALL, setup=ODD_ONES_BY_A_CHILD, fresh=True),
    Hole("half-of-them-by-child-processes-without-effect", (NOTES,), NONE, setup=ODD_ONES_BY_A_CHILD, fresh=True),
    Hole("curl", (BREAKS_THREE,), setup=(by_program("curl", "-s", "-d", "@-"),)),
    Hole("node", (BREAKS_THREE,), setup=(by_program("node", "-e", NODE),)),
    Hole("http-client", (BREAKS_THREE,), setup=(Replaced(AGENT, _POST, HTTP_CLIENT),)),
    Hole("socket", (BREAKS_THREE,), setup=(Replaced(AGENT, _POST, SOCKET),)),
    Hole(
        "threads",
        (Replaced(AGENT, "Classify.", "Classify. Refuse items 7 to 9."),),
        setup=(
            Replaced(
                AGENT,
                'return parse(ask([{"role": "system", "content": SYSTEM}, {"role": "user", "content": question}]))',
                """from concurrent.futures import ThreadPoolExecutor

    prompts = [SYSTEM, "Classify."]
    asks = [[{"role": "system", "content": one}, {"role": "user", "content": question}] for one in prompts]
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(ask, asks)
    return parse(second)""",
            ),
        ),
    ),
]
