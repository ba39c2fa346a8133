"""A recording of what is missing behind a token that is fetched, in processes of their own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.parse import parse_qs

import pytest

from tests.helpers.loopback import Loopback
from tests.helpers.project import Checkout, Project
from tests.helpers.talking import agent, asking, calls, cassette, finished, sources, talking, trial

SECRET = "h7Kx92mQpLw4Rt8Z"
FETCHING = """\
import os
import httpx2
with httpx2.Client() as client:
    asked = dict(grant_type="client_credentials", client_id="us", client_secret=os.environ["OUR_SECRET"])
    token = client.post(URL + "/token", data=asked).raise_for_status().json()["access_token"]
    said = []
    for word in [question, *os.environ["WORDS"].split()]:
        headers = dict(authorization="Bearer " + token)
        done = client.post(URL + "/any", json=dict(prompt=word), headers=headers)
        said.append(done.raise_for_status().json()["text"])
    return " ".join(said)"""
CACHED = """\
TOKENS = []


def fetched(client):
    import os
    if not TOKENS:
        asked = dict(grant_type="client_credentials", client_id="us", client_secret=os.environ["OUR_SECRET"])
        TOKENS.append(client.post(URL + "/token", data=asked).raise_for_status().json()["access_token"])
    return TOKENS[0]


"""


WHOSE = """\
import os
import httpx2
said = {}
with httpx2.Client() as client:
    for name in os.environ["NAMES"].split():
        asked = dict(grant_type="client_credentials", client_id=name, client_secret=os.environ["OUR_SECRET"])
        token = client.post(URL + "/token", data=asked).raise_for_status().json()["access_token"]
        done = client.post(URL + "/any", json=dict(prompt="me"), headers=dict(authorization="Bearer " + token))
        said[name] = str(done.raise_for_status().json()["number"])
return " ".join(said[name] for name in sorted(said))"""


class Bank:
    """A server that hands out another token each time, and answers only who holds the newest."""

    def __init__(self) -> None:
        self.tokens: list[str] = []
        self.prompts: list[str] = []
        self._server = Loopback(self._handle)
        self.url = self._server.url

    def _handle(self, handler: BaseHTTPRequestHandler) -> None:
        body = handler.rfile.read(int(handler.headers.get("content-length", 0))).decode()
        status, said = 401, dict[str, object](error="who?")
        if handler.path == "/token":
            if parse_qs(body)["client_secret"] == [SECRET]:
                self.tokens.append(f"ya29.a0AfH6SMBx{len(self.tokens):02}qWvT3zYkLmN8rP")
                status, said = 200, {"access_token": self.tokens[-1], "token_type": "Bearer", "expires_in": 3599}
        elif self.tokens and handler.headers["authorization"] == f"Bearer {self.tokens[-1]}":
            self.prompts.append(json.loads(body)["prompt"])
            status, said = 200, {"text": f"{self.prompts[-1]}!", "number": len(self.tokens)}
        data = json.dumps(said).encode()
        handler.send_response(status)
        handler.send_header("content-type", "application/json")
        handler.send_header("content-length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data)

    def counted(self) -> tuple[int, list[str]]:
        """Return how many tokens were handed out and what was asked since this was last counted."""
        found = (len(self.tokens) - self._seen, self.prompts)
        self._seen, self.prompts = len(self.tokens), []
        return found

    _seen = 0

    def close(self) -> None:
        """Be gone."""
        self._server.close()


@pytest.fixture
def bank(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bank]:
    monkeypatch.setenv("OUR_SECRET", SECRET)
    monkeypatch.setenv("WORDS", "one two")
    made = Bank()
    yield made
    made.close()


def project(bank: Bank, body: str = FETCHING, more: str = "", rubric: str = "") -> Project:
    files = {"eval/rubric.yaml": f"owner: us\n{rubric}"}
    return talking(bank, more + agent(body)).with_files(files).with_cases(asking("a"), asking("b"))


def holds_secret(checkout: Checkout, bank: Bank) -> list[Path]:
    """Return the files in which a token or the secret stands."""
    secrets = [SECRET, *bank.tokens]
    files = (path for path in checkout.path.rglob("*") if path.is_file())
    return [path for path in files if any(one in path.read_text(errors="replace") for one in secrets)]


MISSING = ("eval", "--record=missing", "--recall-mode=all")
REPLAY = ("eval", "--replay", "--recall-mode=all")


def test_the_token_is_fetched_and_only_what_is_missing_is_asked(
    pytester: pytest.Pytester, bank: Bank, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout = project(bank).at(pytester)
    assert checkout.run_afresh("eval", "--record").ret == 0
    assert bank.counted() == (2, ["a", "one", "two", "b", "one", "two"])
    before = finished(checkout)
    assert checkout.run_afresh(*MISSING).ret == 0
    assert bank.counted() == (2, [])
    assert finished(checkout) == before
    assert set(sources(checkout).values()) == {"replayed"}
    monkeypatch.setenv("WORDS", "one three")
    assert checkout.run_afresh(*MISSING).ret == 0
    assert bank.counted() == (2, ["three", "three"])
    assert set(sources(checkout).values()) == {"mixed"}
    asked = [call.request.url.rpartition("/")[2] for call in calls(cassette(checkout, "a"))]
    assert asked == ["token", "any", "any", "any"]
    assert holds_secret(checkout, bank) == []
    bank.close()
    assert checkout.run_afresh(*REPLAY).ret == 0
    assert set(sources(checkout).values()) == {"replayed"}


@pytest.mark.parametrize("repeatable", [False, True])
def test_a_token_that_a_process_keeps_is_that_of_all_its_cases(
    pytester: pytest.Pytester, bank: Bank, monkeypatch: pytest.MonkeyPatch, repeatable: bool
) -> None:
    kept = FETCHING.splitlines()
    kept[3:5] = ["    token = fetched(client)"]
    rubric = f"calls: {{'{bank.url}/token': repeatable}}\n" if repeatable else ""
    checkout = project(bank, "\n".join(kept), CACHED, rubric).at(pytester)
    assert checkout.run_afresh("eval", "--record").ret == 0
    assert bank.counted() == (1, ["a", "one", "two", "b", "one", "two"])
    monkeypatch.setenv("WORDS", "one three")
    result = checkout.run_afresh(*MISSING)
    assert result.ret == 0
    assert bank.counted() == (1, ["three", "three"])
    assert holds_secret(checkout, bank) == []
    bank.close()
    assert checkout.run_afresh(*REPLAY).ret == 0


def test_a_placeholder_of_elsewhere_is_not_sent(
    pytester: pytest.Pytester, bank: Bank, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout = project(bank).at(pytester)
    assert checkout.run_afresh("eval", "--record").ret == 0
    [placeholder] = {
        json.loads(call.response.body)["access_token"]
        for call in calls(cassette(checkout, "a"))
        if call.request.url.endswith("/token") and call.response is not None
    }
    bank.counted()
    kept = FETCHING.splitlines()
    kept[3:5] = [f"    token = {placeholder!r}"]
    checkout = project(bank, "\n".join(kept)).at(pytester)
    monkeypatch.setenv("WORDS", "three")
    result = checkout.run_afresh(*MISSING)
    result.assert_outcomes(errors=2)
    assert bank.counted() == (0, [])


def test_the_calls_of_two_clients_are_told_apart_by_their_tokens(
    pytester: pytest.Pytester, bank: Bank, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NAMES", "alice bob")
    checkout = talking(bank, agent(WHOSE)).with_cases(asking("a")).at(pytester)
    assert checkout.run_afresh("eval", "--record").ret == 0
    recorded = trial(checkout, "a").answer
    assert recorded is not None
    assert recorded.text == "1 2"
    bank.close()
    monkeypatch.setenv("NAMES", "bob alice")
    assert checkout.run_afresh(*REPLAY).ret == 0
    assert trial(checkout, "a").answer == recorded
    monkeypatch.setenv("NAMES", "bob carol")
    result = checkout.run_afresh(*REPLAY)
    result.assert_outcomes(errors=1)
