"""What a regression is put down to: faults of every kind, made for real, and how many get their own name."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest

from pytest_recall.results.regressions import CauseLabel
from tests.helpers.loopback import Loopback
from tests.helpers.project import BARE, DAY, IN, Checkout, Project, case, cases_yaml
from tests.helpers.scripted import asks, judged

pytest.importorskip("httpx")

AGENT = """\
import json
import pathlib

import httpx
import pytest

URL = {url!r}


@pytest.fixture
def agent():
    def answer(question):
        faults = json.loads(pathlib.Path("faults.json").read_text())
        fault = faults.get(question.partition(" ")[0], "")
        body = dict(model="small-1", temperature=0, tools=[dict(name="search")])
        system = "Today is {day}. Answer from the manual."
        if fault == "model":
            body["model"] = "large-2"
        if fault == "system":
            system = "Answer from the manual, and curtly."
        if fault == "tools":
            body["tools"] = []
        if fault == "settings":
            body["temperature"] = 1.5
        wrapped = "Say it twice: " + question if fault == "wording" else "The guest asks: " + question
        messages = [dict(role="system", content=system), dict(role="user", content=wrapped)]
        with httpx.Client() as client:
            for _ in range(2 if fault == "busy" else 1):
                reply = client.post(URL, json=dict(body, messages=messages))
            if reply.status_code >= 400:
                return "sorry"
            first = reply.json()["choices"][0]["message"]["content"]
            messages += [dict(role="assistant", content=first), dict(role="user", content="Are you sure?")]
            reply = client.post(URL, json=dict(body, messages=messages))
        if reply.status_code >= 400:
            return "sorry"
        said = reply.json()["choices"][0]["message"]["content"]
        return said[::-1] if fault == "code" else said

    return answer
"""


class Model:
    """A model that says it right, unless what it is asked, or the fault of the case, has it say something else."""

    def __init__(self) -> None:
        self.faults: dict[str, str] = {}
        self.asked: Counter[str] = Counter()
        self._server = Loopback(self._handle)
        self.url = f"{self._server.url}/v1/chat/completions"

    def close(self) -> None:
        """Be gone."""
        self._server.close()

    def _handle(self, handler: BaseHTTPRequestHandler) -> None:
        body = json.loads(handler.rfile.read(int(handler.headers["content-length"])))
        question = body["messages"][1]["content"]
        name = next((word for word in question.split() if word[0] == "q"), "")
        fault = self.faults.get(name, "")
        self.asked[name] += 1
        text = f"right {name}"
        asked_as_before = (
            body["model"] == "small-1"
            and "curtly" not in body["messages"][0]["content"]
            and body["tools"]
            and body["temperature"] == 0
            and "twice" not in question
        )
        if not asked_as_before or fault in ("silent", "busy") or (fault == "flaky" and self.asked[name] % 4 in (3, 0)):
            text = "wrong"
        status, finish = 200, "stop"
        if fault in ("500", "429", "503"):
            status = int(fault)
        elif fault == "busy" and self.asked[name] == 1:
            status = 429
        elif fault in ("length", "content_filter"):
            finish, text = fault, text[:3]
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish}
        whole = {"id": "1", "model": f"{body['model']}-0101", "choices": [choice], "usage": {"prompt_tokens": 1}}
        data = json.dumps(whole if status == 200 else {"error": {"message": "no"}}).encode()
        handler.send_response(status)
        for header, value in {"content-type": "application/json", "content-length": str(len(data))}.items():
            handler.send_header(header, value)
        handler.end_headers()
        handler.wfile.write(data)


@pytest.fixture
def server() -> Iterator[Model]:
    """A scripted model."""
    found = Model()
    yield found
    found.close()


FAULTS: Mapping[str, CauseLabel] = {
    "expected": CauseLabel.CASE,
    "input": CauseLabel.CASE,
    "system": CauseLabel.PROMPT,
    "tools": CauseLabel.PROMPT,
    "settings": CauseLabel.PROMPT,
    "wording": CauseLabel.PROMPT,
    "model": CauseLabel.MODEL,
    "500": CauseLabel.UPSTREAM,
    "503": CauseLabel.UPSTREAM,
    "429": CauseLabel.UPSTREAM,
    "length": CauseLabel.UPSTREAM,
    "content_filter": CauseLabel.UPSTREAM,
    "busy": CauseLabel.RETRIED,
    "flaky": CauseLabel.COIN,
    "silent": CauseLabel.AGENT,
    "code": CauseLabel.AGENT,
}
"""Faults of an agent that is asked live, and what each is to be called."""
EACH = 1
"""How many cases get each fault."""
Found = list[tuple[str, str]]
"""The fault and the label of each regression."""


def labels(checkout: Checkout) -> dict[str, str]:
    """Return what each regression of the newest run is put down to."""
    return {one["id"]: one["cause"]["label"] for one in checkout.scorecard()["failed"] if one["regression"]}


def project(server: Model, *cases: Mapping[str, Any]) -> Project:
    """Return a project that asks the model, with these cases."""
    agent = AGENT.replace("{url!r}", repr(server.url)).replace("{day}", DAY)
    return BARE.with_files({"eval/conftest.py": agent, "faults.json": "{}"}).with_cases(*cases)


def question(name: str, **given: Any) -> dict[str, Any]:
    """Return a case that passes while nothing is at fault."""
    return case(f"c-{name}", **{"input": f"q{name} please", "expected": f"right q{name}", **given})


def live(pytester: pytest.Pytester, server: Model) -> Found:
    """Return what faults of an agent that is asked live are put down to."""
    names = {f"{fault}-{number}": fault for fault in FAULTS for number in range(EACH)}
    given = {name: {"trials": "2of2"} if fault == "flaky" else {} for name, fault in names.items()}
    checkout = project(server, *(question(name, **given[name]) for name in names)).at(pytester)
    checkout.run("eval", "--recall-mode=all").assert_outcomes(passed=len(names))
    edited: dict[str, dict[str, Any]] = {"expected": {"expected": "nothing"}, "input": {"input": "what else"}}
    faulty = [question(name, **given[name], **edited.get(fault, {})) for name, fault in names.items()]
    (checkout.path / "eval/cases.yaml").write_text(cases_yaml(*faulty))
    server.asked.clear()
    server.faults.update({f"q{name}": fault for name, fault in names.items()})
    # The agent gets its own faults from a file, and knows the case by the question.
    (checkout.path / "faults.json").write_text(json.dumps({f"q{name}": fault for name, fault in names.items()}))
    conftest = checkout.path / "eval/conftest.py"
    conftest.write_text(conftest.read_text().replace(DAY, IN[1]))
    done = checkout.run("eval", "--recall-mode=all", day=IN[1])
    done.assert_outcomes(failed=len(names))
    done.stdout.fnmatch_lines(["*likely cause: the case is flaky: 1 of 2 trials in this run passed*"])
    found = labels(checkout)
    return [(FAULTS[fault], found.get(f"c-{name}", "none")) for name, fault in names.items()]


def judging(pytester: pytest.Pytester) -> Found:
    """Return what it is put down to that other judges, or other bars, are held to the same answers."""
    scored = [case(f"s{number}", expected=f"s{number} and more", judges=["token_f1"]) for number in range(EACH)]
    cases = [*(asks(f"m{number}", f"wrong {number}") for number in range(EACH)), *scored]
    set_ = judged(*cases, judge="generous", preflight="off").at(pytester)
    set_.run("eval", "--recall-mode=all").assert_outcomes(passed=len(cases))
    rubric = set_.path / "eval/rubric.yaml"
    rubric.write_text(rubric.read_text().replace("generous", "oracle") + "thresholds: {token_f1: 0.9}\n")
    set_.run("eval", "--recall-mode=all", day=IN[1]).assert_outcomes(failed=len(cases))
    found = labels(set_)
    return [(CauseLabel.JUDGE, found.get(one["id"], "none")) for one in cases]


def replaying(pytester: pytest.Pytester, server: Model) -> Found:
    """Return what it is put down to that recorded answers fail: the recording is old, or the agent's code is new."""
    today = datetime.now(UTC).date()
    days = [(today + timedelta(days=count)).isoformat() for count in range(3)]
    names = {f"{fault}-{number}": fault for fault in ("stale", "code") for number in range(EACH)}
    checkout = project(server, *map(question, names)).at(pytester)
    checkout.run("eval", "--recall-mode=all", "--record", day=days[0]).assert_outcomes(passed=len(names))
    # The world goes on: what is right, and what the model says, is something else by now.
    server.faults.update({f"q{name}": "silent" for name, fault in names.items() if fault == "stale"})
    news = [question(name, **({"expected": "wrong"} if fault == "stale" else {})) for name, fault in names.items()]
    (checkout.path / "eval/cases.yaml").write_text(cases_yaml(*news))
    checkout.run("eval", "--recall-mode=all", day=days[1]).assert_outcomes(passed=len(names))
    (checkout.path / "faults.json").write_text(json.dumps({f"q{name}": "code" for name in names if "code" in name}))
    checkout.run("eval", "--recall-mode=all", "--replay", day=days[2]).assert_outcomes(failed=len(names))
    found = labels(checkout)
    return [
        (CauseLabel.CASSETTE if fault == "stale" else CauseLabel.CODE, found.get(f"c-{name}", "none"))
        for name, fault in names.items()
    ]


def test_nine_in_ten_regressions_are_put_down_to_what_caused_them(
    pytester: pytest.Pytester, server: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts: list[Callable[[], Found]] = [
        lambda: live(pytester, server),
        lambda: judging(pytester),
        lambda: replaying(pytester, server),
    ]
    found: Found = []
    for number, part in enumerate(parts):
        folder = pytester.mkdir(f"part{number}")
        monkeypatch.chdir(folder)
        monkeypatch.setattr(pytester, "_path", folder)
        found += part()
    table = Counter(found)
    shown = "\n".join(f"{count:>3}  {true} → {said}" for (true, said), count in sorted(table.items()))
    right = sum(count for (true, said), count in table.items() if true == said)
    assert len(found) == EACH * (len(FAULTS) + 4)
    assert right >= 0.9 * len(found), f"{right} of {len(found)} right:\n{shown}"
    print(f"{right} of {len(found)} right:\n{shown}")
