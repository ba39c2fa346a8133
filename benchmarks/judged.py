"""Judged: the replay of all recorded cases with their agents and judges, before a pull request runs."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from measure import Sample, alternate, best, environment_with, noise, run, tell
from report import Line
from suites import INSIDE, TODAY, expect, forget, judged_suite, pytest_command

NAME = "judged"
ABOUT = "5,000 recorded cases of three calls, replayed with an exact judge and one by a model, in two processes"

CASES, FEW = 5_000, 1_000
SECONDS = 15.0
COMPLETION = {
    "id": "c",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "usage": {"prompt_tokens": 16, "completion_tokens": 12, "total_tokens": 28},
}
"""What an answer of OpenAI has beside its choices; that of `inside/sdk_plain.py` has the same."""


class _Model(BaseHTTPRequestHandler):
    """Repeats the last message."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # The body comes after the head, and would wait for its receipt.

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        message = {"role": "assistant", "content": f"> {asked['messages'][0]['content']}"}
        choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
        body = json.dumps({**COMPLETION, "choices": choices}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def served() -> Iterator[str]:
    """Serve a model that repeats, at the address that is yielded."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Model) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()


def lines(folder: Path, quick: bool) -> Iterator[Line]:
    """Measure whole processes, from the start of Python to its end. The pull request asks one case that is drawn."""
    count, rounds = (FEW, 1) if quick else (CASES, 2)
    tell(f"judged: {count:,} cases, recording them ", end="")
    suite = judged_suite(folder / "judged", count)
    (suite / "eval" / "conftest.py").write_bytes((INSIDE / "judged_conftest.py").read_bytes())
    every = ("eval", f"--recall-date={TODAY}", "--recall-mode")
    state = folder / "recorded.yaml"
    with served() as address, environment_with(RECALL_BENCHMARK_MODEL=address):
        recorded = run(pytest_command(*every, "all", "--record", plugins=("recall",)), suite)
        expect(recorded.output, f"{count} passed")
        (suite / "eval" / "recall.yaml").rename(state)

        def judged() -> Sample:
            forget(suite, state)
            sample = run(pytest_command(*every, "pr", plugins=("recall",)), suite)
            expect(sample.output, "1 passed")
            card = (suite / "eval" / "_artifacts" / "scorecard.md").read_text(encoding="utf-8")
            expect(card, f"0 of {count:,} cases affected", f"{count} as recorded")
            return sample

        def replayed() -> Sample:
            forget(suite)
            sample = run(pytest_command(*every, "all", "--replay", plugins=("recall",)), suite)
            expect(sample.output, f"{count} passed")
            return sample

        tell(f"{rounds} rounds after a first ", end="")
        found = alternate({"judged": judged, "replayed": replayed}, rounds)
    walls = {name: [sample.wall for sample in samples] for name, samples in found.items()}
    yield Line(
        theme=NAME,
        what=f"a pull request that replays {count:,} cases, none of them affected, and asks one",
        unit="s",
        value=best(walls["judged"]),
        reference=best(walls["replayed"]),
        against="`--replay` of all, in one process",
        limit=None if quick else SECONDS,
        noise=noise(walls["judged"], walls["replayed"]),
    )
    yield Line(
        theme=NAME,
        what="of which peak memory of the largest process",
        unit="MB",
        value=max(sample.peak for sample in found["judged"]),
        reference=max(sample.peak for sample in found["replayed"]),
        against="the same",
    )
