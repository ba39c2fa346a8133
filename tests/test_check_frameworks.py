"""The script that records and replays agents of frameworks: what it tries, and what it does not let pass."""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

from tests.helpers import programs
from tests.helpers.autoload import nursery
from tests.helpers.scripts import loaded

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = ROOT / "scripts" / "check-frameworks.py"
AGENT = '''\
"""An agent."""
# /// script
# dependencies = []
# ///
import json
import os
import uuid

import httpx
from given import PROMPT, URL, page_of

TOOL = {"name": "page_of", "description": page_of.__doc__, "parameters": {"type": "object"}}


def said(messages):
    asked = {"model": "m", "messages": messages, "tools": [{"type": "function", "function": TOOL}]}
    message = httpx.post(URL + "/v1/chat/completions", json=asked).json()["choices"][0]["message"]
    messages.append(message)
    return message


def ask_sync(question):
    messages = [{"role": "system", "content": PROMPT}, {"role": "user", "content": question}]
    for call in said(messages)["tool_calls"]:
        result = page_of(**json.loads(call["function"]["arguments"]))
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})
    return said(messages)["content"]
'''
WAY_OUT = """\
import pathlib
import sys

text = pathlib.Path({path!r})
if sys.modules["sitecustomize"].__file__ != str(text):
    exec(text.read_text(), globals())
"""
"""What a conftest file begins with: a process that has its imports already has not started with the script's."""
TOLD = """\
    import urllib.request

    urllib.request.urlopen(urllib.request.Request("https://telemetry.crewai.com/v1/runs", b"{}")).read()
"""


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script, as a module."""
    monkeypatch.syspath_prepend(str(SCRIPT.parent))
    return loaded(SCRIPT)


@pytest.fixture
def agents(script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the agents, which are tried in the environment of the tests."""
    folder, start = tmp_path / "agents", tmp_path / "start"
    folder.mkdir()
    (folder / "given.py").write_text((ROOT / "scripts" / "frameworks" / "given.py").read_text())
    start.mkdir()
    (start / "sitecustomize.py").write_text(script.WAY_OUT)
    begin = WAY_OUT.format(path=str(start / "sitecustomize.py"))
    monkeypatch.setattr(script, "CONFTEST", begin + script.CONFTEST)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(start), str(Path(nursery.__file__).parent)]))
    monkeypatch.setattr(script, "AGENTS", folder)
    monkeypatch.setattr(script, "PAUSE", 0)
    # Two cases can be mixed up, and run at once, as well as eight.
    monkeypatch.setattr(script, "WORDS", script.WORDS[:2])
    # An environment that the script makes has no other plugins; to load all that the tests have is half of each run.
    # These also take the workers from the nursery.
    few = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_PLUGINS": "few_plugins"}
    all_of = script.environment
    monkeypatch.setattr(script, "environment", lambda **told: {**all_of(**told), **few})
    return folder


def cells(printed: str) -> dict[str, str]:
    """Return what each step came to."""
    rows = re.findall(
        r"^  (record again|[a-z]+, [a-z ]+|same home|-n 2|at once|[a-z]+)  +(\S.*)$", printed, re.MULTILINE
    )
    return {name.strip(): told for name, told in rows}


def test_an_agent_of_a_client_that_is_recorded_passes_each_step_and_what_it_tells_others_is_counted(
    script: ModuleType, agents: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # Each change is a run like the others; that a prompt makes none is in the next test.
    changes = '# dependencies = []\n# [tool.check-frameworks]\n# changes = ["result"]\n'
    text = AGENT.replace("# dependencies = []\n", changes)
    (agents / "ours.py").write_text(text.replace("    return said(messages)[", f"{TOLD}    return said(messages)["))
    monkeypatch.setattr(script, "install", lambda framework, folder: programs.folder() / "python")
    code = script.main(["--only", "ours"])
    printed = capsys.readouterr().out
    found = cells(printed)
    assert {name: told for name, told in found.items() if told != "ok"} == {}
    assert {
        "record",
        "replay",
        "same home",
        "-n 2",
        "at once",
        "sync, replay at once",
        "result",
        "record again",
    } <= {*found}
    assert "2 × telemetry.crewai.com would leave; {'POST telemetry.crewai.com/v1/runs': 2}" in printed
    assert code == 0


def test_an_agent_that_hides_its_prompt_and_asks_at_random_is_seen(
    script: ModuleType, agents: Path, tmp_path: Path
) -> None:
    (agents / "ours.py").write_text(
        AGENT.replace('"content": PROMPT', '"content": "Be."').replace(
            '{"model": "m"', '{"model": os.environ.get("SHUFFLED") and uuid.uuid4().hex or "m"'
        )
    )
    framework = script.frameworks()["ours"]
    with script.servers(tmp_path) as (model, sink):
        project = script.Project(framework, programs.folder() / "python", tmp_path / "project", model, sink)
        recorded = project.run("ask_sync", "cassettes", "--record")
        same = project.run("ask_sync", "cassettes", "--replay", changed=script.CHANGES["prompt"])
        others = project.run("ask_sync", "cassettes", "--replay", changed={"SHUFFLED": "yes"})
    assert [*script.amiss_recorded(recorded)] == []
    elsewhere = {"s/one.ndjson": b'{"uri": "https://example.com/prices?v=1"}'}
    assert [*script.amiss_recorded(recorded._replace(cassettes=elsewhere))][:2] == [
        "recorded what is not a call of the agent: https://example.com/prices",
        "recorded 0 calls, while the model had 4",
    ]
    assert len(recorded.requests) == 4
    assert [*script.amiss_missed(same)][:2] == ["exit code 0, not 1", "not error: 2 passed replayed"]
    assert [*script.amiss(others, "passed", "replayed", 0)] == [
        "exit code 1, not 0",
        "not passed replayed: 2 error replayed",
    ]
    assert (
        [*script.amiss_offline(same, recorded.cassettes)] == [*script.amiss_offline(others, recorded.cassettes)] == []
    )
    live = others._replace(connections=1, left=Counter(["telemetry.example"]), state="")
    assert len([*script.amiss_offline(live, {})]) == 4


def test_a_framework_that_cannot_be_installed_is_an_error_with_that_name(
    script: ModuleType, agents: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (agents / "ours.py").write_text(AGENT.replace("[]", f'["{tmp_path}/nothing"]'))
    # The environment is there already, as from a run before: to make one takes longer than all else.
    python = tmp_path / "kept" / re.sub("[^a-z0-9]+", "-", f"{tmp_path}/nothing".lower()).strip("-") / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    assert script.main(["--only", "ours", "--keep", str(tmp_path / "kept")]) == 1
    printed = capsys.readouterr().out
    assert "  cannot be installed: ERROR" in printed
    assert f"{tmp_path}/nothing" in printed
    assert re.search(r"^ours +BROKEN +- ", printed, re.MULTILINE)


def test_a_variant_takes_what_it_does_not_say_from_its_agent(script: ModuleType, agents: Path) -> None:
    own = "# [tool.check-frameworks]\n# changes = ['prompt']\n# alone = ['ask_sync']\n"
    (agents / "ours.py").write_text(AGENT.replace("# dependencies = []\n", f"# dependencies = ['a']\n{own}"))
    (agents / "plain.py").write_text("# /// script\n# [tool.check-frameworks]\n# agent = 'ours'\n# ///\n")
    told = "# dependencies = ['b']\n# [tool.check-frameworks]\n# agent = 'ours'\n# environment = {MODEL = 'm'}\n"
    (agents / "other.py").write_text(f"# /// script\n{told}# ///\n")
    found = script.frameworks()
    assert found["plain"] == found["ours"]._replace(name="plain")
    assert found["other"] == found["ours"]._replace(name="other", requirements=["b"], environment={"MODEL": "m"})
    assert found["other"].file == agents / "ours.py"


def test_ci_tries_each_of_them_and_the_document_names_it(script: ModuleType) -> None:
    names = set(script.frameworks())
    text = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    jobs = text.partition("framework:\n")[2].partition("runs-on")[0]
    assert set(re.findall(r"- ([\w-]+)$", jobs, re.MULTILINE)) == names
    page = (ROOT / "docs" / "reference" / "frameworks.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `([\w-]+)` \|", page, re.MULTILINE)) == names
