"""Examples: each is whole, its recordings are current and as its README says, and the script tells a broken one."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from pytest_recall.cases.case_file import CaseFile
from tests.helpers import command as recall
from tests.helpers.scripts import loaded

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples"
TABLE = EXAMPLES / "README.md"
NAMES = sorted(path.parent.name for path in EXAMPLES.glob("*/requirements.txt"))


SCRIPT: Any = loaded(ROOT / "scripts" / "run-examples.py")
PROXY: Any = loaded(EXAMPLES / "call-tools.py")


def recordings(name: str) -> list[list[dict[str, Any]]]:
    """Return the cassettes of an example, each as its lines."""
    paths = sorted((EXAMPLES / name / "eval" / "cassettes").rglob("*.ndjson"))
    return [[json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] for path in paths]


def counted(expected: str) -> Counter[str]:
    """Return what a summary of pytest counts."""
    return Counter({word: int(count) for count, word in re.findall(r"(\d+) (\w+)", expected)})


def test_there_are_the_seven() -> None:
    assert NAMES == [
        "http-service", "langgraph", "memory-system", "openai-agents", "pydantic-ai", "sdk-agent", "tool-loop",
    ]  # fmt: skip
    assert SCRIPT.examples() == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_an_example_is_whole(name: str) -> None:
    files = ("README.md", "pytest.ini", "eval/cases.yaml", "eval/conftest.py", "eval/rubric.yaml", "eval/recall.yaml")
    assert [file for file in files if not (EXAMPLES / name / file).is_file()] == []
    # Five to eight cases: enough to show something, few enough to be read.
    assert 5 <= len(CaseFile(EXAMPLES / name / "eval/cases.yaml", "cases.yaml").cases()) <= 8


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("cassettes verify", "all in order"),
        ("cassettes scan", "no secrets"),
        ("cassettes prune --dry-run", "nothing to delete"),
    ],
)
def test_its_files_are_in_order(name: str, command: str, says: str) -> None:
    done = recall.run(EXAMPLES / name, *command.split(), together=True)
    assert (done.code, says in done.out, "kept" in done.out) == (0, True, False), done.out


@pytest.mark.parametrize("name", NAMES)
def test_every_case_is_recorded_and_came_to_what_the_readme_says(name: str) -> None:
    cases = {case.id for case in CaseFile(EXAMPLES / name / "eval/cases.yaml", "cases.yaml").cases()}
    heads = [lines[0] for lines in recordings(name)]
    assert {head["case"] for head in heads} == cases
    example = SCRIPT.read(name)
    # What is known to fail is an expected failure to pytest, and turns no run red.
    assert Counter(head["outcome"] for head in heads) == counted(example.expected.replace("xfailed", "failed"))
    assert example.code == 0


@pytest.mark.parametrize("name", NAMES)
def test_its_readme_has_the_commands_of_all(name: str) -> None:
    example = SCRIPT.read(name)
    assert example.install == "python3 -m venv .venv && .venv/bin/pip install -q -r requirements.txt ../.."
    assert example.run == ".venv/bin/pytest -p recall eval --replay --recall-mode all"


@pytest.mark.parametrize("name", NAMES)
def test_the_table_counts_its_cases_and_calls(name: str) -> None:
    (row,) = re.findall(rf"^\| \[{name}\]\({name}/README\.md\) \|.*$", TABLE.read_text(encoding="utf-8"), re.MULTILINE)
    lines = recordings(name)
    calls = sum("call" in line for cassette in lines for line in cassette)
    assert [cell.strip() for cell in row.split("|")][4:6] == [str(len(lines)), str(calls)]


def test_the_pages_lead_to_all_of_them() -> None:
    linked = set(re.findall(r"\(([\w-]+)/README\.md\)", TABLE.read_text(encoding="utf-8")))
    assert linked == {*NAMES, "extensions"}
    assert "(../examples/README.md)" in (ROOT / "docs" / "index.md").read_text(encoding="utf-8")


def test_the_jobs_of_ci_are_the_examples() -> None:
    text = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    (found,) = re.findall(r"^ +example: \[(.*)\]$", text, re.MULTILINE)
    assert sorted(found.split(", ")) == NAMES


# The script


def scripted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *results: tuple[int, str], expected: str) -> list[str]:
    """Put one example into the place of all, whose commands come to `results`; return the commands as they are run."""
    (tmp_path / "examples" / "one" / "eval").mkdir(parents=True)
    for name in ("pyproject.toml", "README.md", "LICENSE", "examples/one/requirements.txt"):
        (tmp_path / name).touch()
    (tmp_path / "src").mkdir()
    (tmp_path / "examples/one/README.md").write_text(f"```sh\npython3 -m venv x\nrun it\n```\n\n{expected}\n")
    (tmp_path / "examples/one/eval/recall.yaml").write_text("before")
    left, made = list(results), []

    def call(command: str, folder: Path, env: dict[str, str], *before: str) -> tuple[int, str]:
        made.append(command)
        code, printed = left.pop(0)
        if printed.startswith("writes"):
            (folder / "eval" / "recall.yaml").write_text("after")
        assert ("OPENAI_API_KEY" in env) == ("pip" in command or "-m venv" in command)
        return code, printed

    monkeypatch.setenv("OPENAI_API_KEY", "sk")
    monkeypatch.setattr(SCRIPT, "ROOT", tmp_path)
    monkeypatch.setattr(SCRIPT, "call", call)
    return made


FAILS = "Expected: `1 failed, 2 passed`, exit code 1."


def test_an_example_that_fails_as_it_says_is_fine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plain, bars = (1, "FAILED\n1 failed, 2 passed in 0.1s\n"), (1, "= 1 failed, 2 passed in 2.00s =\n")
    made = scripted(tmp_path, monkeypatch, (0, ""), (0, ""), plain, (0, ""), bars, expected=FAILS)
    assert SCRIPT.main(["one"]) == 0
    check = ".venv/bin/recall check"
    assert made == ["python3 -m venv x", check, "run it", ".venv/bin/pip install -q pytest-xdist", "run it -n 2"]
    assert "one            ok" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("results", "says"),
    [
        ([(1, "no such package\n")], "`python3 -m venv x` ended with 1\nno such package"),
        (
            [(0, ""), (0, ""), (1, "2 failed, 1 passed in 0.1s\n")],
            "`run it` came to 2 failed, 1 passed and exit code 1, not to 1 failed, 2 passed and exit code 1",
        ),
        ([(0, ""), (2, "recall: no judge\n")], "`recall check` ended with 2\nrecall: no judge"),
        ([(0, ""), (0, ""), (4, "usage\n")], "`run it` came to nothing and exit code 4"),
        (
            [
                (0, ""),
                (0, ""),
                (1, "1 failed, 2 passed in 0.1s\n"),
                (0, ""),
                (1, "writes\n1 failed, 2 passed in 0.1s\n"),
            ],
            "the run has changed eval/recall.yaml",
        ),
    ],
    ids=["not-installed", "unchecked", "other-counts", "no-run", "not-left-alone"],
)
def test_a_broken_example_is_named(
    results: list[tuple[int, str]],
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    scripted(tmp_path, monkeypatch, *results, expected=FAILS)
    assert SCRIPT.main([]) == 1
    out = capsys.readouterr().out
    assert f"one            BROKEN  {says}" in out
    assert out.endswith("1 of 1 examples do not do what their README says: one\n")


def test_a_readme_without_an_expectation_is_broken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    scripted(tmp_path, monkeypatch, expected="It works.")
    assert SCRIPT.main([]) == 1
    assert "examples/one/README.md: needs a block `sh` with two commands" in capsys.readouterr().out


def test_an_example_that_is_not_there_is_a_mistake(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        SCRIPT.main(["sdk-agnet"])
    assert ended.value.code == 2
    assert "no example 'sdk-agnet'; there are http-service, langgraph" in capsys.readouterr().err


# What stands before a model without tool calls, for recordings

TOOL = {"name": "price", "description": "What it costs.", "parameters": {"type": "object", "properties": {}}}
ASKED = {"model": "m", "messages": [{"role": "user", "content": "How much?"}], "tools": [{"function": TOOL}]}


def completed(content: str) -> dict[str, Any]:
    return {"id": "c1", "choices": [{"finish_reason": "stop", "message": {"role": "assistant", "content": content}}]}


def test_tools_become_a_schema_with_a_branch_for_an_answer() -> None:
    sent = PROXY.translated({**ASKED, "parallel_tool_calls": False})
    branches = sent["response_format"]["json_schema"]["schema"]["anyOf"]
    assert [list(branch["properties"]) for branch in branches] == [["tool", "arguments"], ["answer"]]
    assert sent.keys() == {"model", "messages", "response_format"}
    # Who has to call a tool may not answer.
    only = PROXY.translated({**ASKED, "tool_choice": "required"})["response_format"]["json_schema"]["schema"]
    assert only["required"] == ["tool", "arguments"]


def test_a_step_becomes_a_tool_call_and_an_answer_becomes_text() -> None:
    step = PROXY.answered(completed('{"tool": "price", "arguments": {"of": "tube"}}'))["choices"][0]
    assert step["finish_reason"] == "tool_calls"
    assert step["message"]["content"] is None
    (call,) = step["message"]["tool_calls"]
    assert call["function"] == {"name": "price", "arguments": '{"of": "tube"}'}
    assert PROXY.answered(completed('{"answer": "15"}'))["choices"][0]["message"]["content"] == "15"
    assert PROXY.answered(completed('{"answer": "15'))["choices"][0]["message"]["content"] == '{"answer": "15'


def test_a_step_that_was_taken_before_is_noticed() -> None:
    again = PROXY.answered(completed('{"tool": "price", "arguments": {}}'))
    said = [*ASKED["messages"], again["choices"][0]["message"], {"role": "tool", "content": "15"}]
    assert not PROXY.repeats(ASKED, again)
    assert PROXY.repeats({**ASKED, "messages": said}, again)
    plain = PROXY.untooled({**ASKED, "messages": said})
    assert "tools" not in plain
    assert [m["content"] for m in plain["messages"][1:]] == ["How much?", "Result: 15"]
