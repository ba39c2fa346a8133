"""What the checks share: servers on loopback, runs in fresh processes, and arguments of those that draw by a seed."""

from __future__ import annotations

import argparse
import json
import os
import re
import socket
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

OURS = ("PYTEST_", "PYTHONDONTWRITEBYTECODE", "HTTP", "ALL_PROXY", "CI", "GITHUB")
"""The beginnings of variables that would change a run of pytest, slow it down, or lead its calls elsewhere."""

PROGRAM_FIXTURE = """\
import importlib.util
import pathlib

import pytest

AGENTS = pathlib.Path(__file__).with_name("agents")


@pytest.fixture
def program(request):
    spec = importlib.util.spec_from_file_location("program", AGENTS / f"{request.node.case.id}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
"""
"""The beginning of a conftest file of cases that each have an agent of their own: the module of its id."""


def drawn_arguments(
    description: str | None, arguments: Sequence[str] | None, what: str, default: int
) -> argparse.Namespace:
    """Return how many of `what` are drawn by which seed, and where they are kept; ends with 2 where that is wrong."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", nargs="?", type=int, default=default, help=f"how many {what} (default: {default})")
    parser.add_argument("--seed", type=int, default=1, help=f"another number makes other {what} (default: 1)")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="leave the projects in this new folder")
    args = parser.parse_args(arguments)
    if args.count < 1:
        parser.error(f"{args.count} is not a number of {what}; give 1 or more")
    if args.keep is not None and args.keep.exists():
        parser.error(f"{args.keep} is there already; name a new folder")
    return args


class JsonHandler(BaseHTTPRequestHandler):
    """Answers each POST with the JSON that `reply` makes of it."""

    protocol_version = "HTTP/1.1"

    def reply(self, asked: Any) -> Any:
        """Return the answer to a body."""
        raise NotImplementedError

    def do_POST(self) -> None:
        """Answer."""
        asked = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
        answer = json.dumps(self.reply(asked)).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: object) -> None:
        """Be silent."""


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """Serve on loopback, and yield the URL."""
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


@contextmanager
def serving_mcp(python: str | Path, source: str) -> Iterator[str]:
    """Run a server of MCP, which takes its port as an argument, in a process of its own, and yield the URL."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    quiet = subprocess.DEVNULL
    process = subprocess.Popen([str(python), "-c", source, str(port)], stdout=quiet, stderr=quiet)
    try:
        while process.poll() is None:
            with suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port), 5):
                break
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


def environment(**more: str) -> dict[str, str]:
    """Return the variables of a run: those of this process without `OURS`, and `more`."""
    kept = {name: value for name, value in os.environ.items() if not name.upper().startswith(OURS)}
    return kept | {"NO_PROXY": "127.0.0.1", **more}


def last_line(printed: str) -> str:
    """Return the last line of pytest, without its frame, its time and its warnings; "no end" if it has none."""
    found = re.findall(r"^=*\s*(\d+ (?:[a-z]+)[^\n]*?) in [0-9.]+s", printed, re.MULTILINE)
    return re.sub(r", \d+ warnings?", "", found[-1]) if found else "no end"


def trials(evals: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the trials of each case in the journals of an eval directory, in the order of their lines."""
    found: dict[str, list[dict[str, Any]]] = {}
    for row in journal(evals):
        if "case_id" in row:
            found.setdefault(row["case_id"], []).append(row)
    return dict(sorted(found.items()))


def journal(evals: Path) -> list[dict[str, Any]]:
    """Return the lines of the journals of an eval directory."""
    paths = sorted((evals / "_artifacts").glob("*/trials.jsonl"))
    return [json.loads(line) for path in paths for line in path.read_text(encoding="utf-8").splitlines()]
