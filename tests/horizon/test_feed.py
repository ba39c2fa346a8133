"""What a memory is told in place of the days: conversations, and calls of a memory tool."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.cli import main
from pytest_recall.horizon.day import session_of
from pytest_recall.horizon.day_forms import ROLES, DialogueTurn, calls_in, turns_in, written
from tests.helpers.persona import amount, order, write_project

RUN = ("bench", "run", "--profile", "clerk.profile.yaml", "--no-heatmap-png", "--ranges", "3d", "6d")
KEEPS = """
import json

class Keeps:
    private = True
    def reset(self): self.kept = []
    def store(self, content, metadata):
        self.kept.append({"text": content, "source": metadata["id"]})
        with open("told.jsonl", "a") as file:
            file.write(json.dumps({**metadata, "content": content}) + "\\n")
    def recall(self, query, limit, context):
        words = set(query.lower().split())
        return sorted(self.kept, key=lambda one: -len(words & set(one["text"].lower().split())))[:limit]
"""

RETELLS = """
import json

def retold(prompt):
    rows, session = [], ""
    for line in prompt.splitlines():
        if line.startswith("# session: "):
            session = line.removeprefix("# session: ")
        elif session and line.strip() and not line.startswith(("#", "END")):
            rows.append({"session": session, "tool": "memorySave", "content": line})
    if "memorySave" in prompt:
        return json.dumps({"calls": rows})
    notes = "\\n".join(row["content"] for row in rows)
    return json.dumps([{"role": "user", "content": "And?"}, {"role": "assistant", "content": notes}])
"""
"""A model that keeps each line of the notes, and tells them in a conversation."""


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_project(tmp_path, "python:keeps.py:Keeps")
    Path("keeps.py").write_text(KEEPS)


def told() -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path("told.jsonl").read_text().splitlines()]


def generated(*command: str) -> None:
    Path("retells.py").write_text(RETELLS)
    assert main(["bench", *command, "--model", "python:retells.py:retold", "--persona", "clerk"]) == 0


def test_the_calls_of_a_tool_are_told_one_by_one_in_their_sessions(capsys: pytest.CaptureFixture[str]) -> None:
    generated("generate-tool-calls")
    capsys.readouterr()
    assert main([*RUN, "--feed", "tool-calls", "--dry-run", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["feed"] == "tool-calls"
    assert main([*RUN, "--feed", "tool-calls", "--out", "out"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("python:keeps.py:Keeps on clerk (arcs-60d.yaml), told its tool calls, judged by lexical")
    first = told()[0]
    assert (first["id"], first["day"], first["date"], first["session"]) == (
        "day-0001/principal/1",
        "1",
        "2024-03-01",
        "principal",
    )
    assert any(one["session"] == "payroll" and one.get("isolated") == "true" for one in told())
    # The oracle returns the calls of a day: what was found is measured by these, and not by the days' texts.
    found = json.loads(Path("out/progress.jsonl").read_text().splitlines()[1])["newUnits"]
    assert [unit[0] for unit in found][:1] == ["day-0001/principal/1"]
    assert main([*RUN, "--out", "out"]) == 2
    assert "holds another run: `feed` was 'tool-calls' and is 'days'; the tool calls have changed" in (
        capsys.readouterr().err
    )


def test_the_calls_are_read_from_the_folder_that_the_profile_names() -> None:
    generated("generate-tool-calls", "--tools-dir", "calls")
    profile = json.loads(Path("clerk.profile.yaml").read_text())
    profile["persona"]["toolsDir"] = "calls"
    profile["run"]["feed"] = "tool-calls"
    Path("clerk.profile.yaml").write_text(json.dumps(profile))
    assert main([*RUN, "--out", "out"]) == 0
    assert told()[0]["id"] == "day-0001/principal/1"


@pytest.mark.parametrize("form", ["markdown", "json"])
def test_the_turns_of_a_conversation_are_told_one_by_one(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    generated("generate-conversations", "--format", form)
    profile = json.loads(Path("clerk.profile.yaml").read_text())
    profile["run"]["feed"] = "conversations"
    Path("clerk.profile.yaml").write_text(json.dumps(profile))
    capsys.readouterr()
    assert main([*RUN, "--out", "out"]) == 0
    output = capsys.readouterr()
    assert "told its conversations" in output.out
    first, second = told()[:2]
    assert (first["id"], second["id"], first.get("session")) == ("day-0001/1", "day-0001/2", None)
    assert {one["content"].split(":")[0] for one in told()} == {"User", "Assistant"}
    assert session_of(first["id"]) == ""
    lines = [json.loads(line) for line in Path("out/questions.jsonl").read_text().splitlines()]
    assert any(str(amount(1)) in one["systemAnswer"] for one in lines if order(1) in one["qa"]["question"])
    # They name no session, and so none is asked about.
    assert "conversations do not say in which session something was said, so that 4 questions are not" in output.err
    assert "boundaries" not in output.out
    assert {one["qa"]["category"] for one in lines} == {"factual-recall", "temporal-reasoning"}
    assert json.loads(Path("out/result.json").read_text())["metadata"]["feed"] == "conversations"


def test_what_is_not_there_or_is_none_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    here = Path("clerk").resolve()

    def said(*more: str, code: int = 2) -> str:
        capsys.readouterr()
        assert main([*RUN, "--feed", *more]) == code
        return capsys.readouterr().err

    folder = here / "conversations-60d"
    assert said("conversations") == (
        f"recall: {folder}: has no file of a day; `recall bench generate-conversations` writes them\n"
    )
    generated("generate-tool-calls")
    assert said("tool-calls", "--unit", "topic") == (
        "recall: unit: has no effect on tool-calls, each of which is told by itself; remove it\n"
    )
    (here / "tools-60d/day-0002.yaml").unlink()
    told = "recall: of 1 of 12 days there are no tool-calls, and nothing is told of them: 2\n"
    assert said("tool-calls", code=0).startswith(told)
    file = here / "tools-60d/day-0003.yaml"
    file.write_text("calls: [{session: principal}]\n")
    assert said("tool-calls", "--out", "b").endswith(
        f"recall: {file}: call 1 has no `session` or no `content`; correct it, or write it again\n"
    )


def test_files_that_are_dated_otherwise_than_the_days_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    generated("generate-tool-calls")
    file = Path("clerk/tools-60d/day-0003.yaml")
    file.write_text(file.read_text().replace("date: 2024-03-03", "date: 2024-03-04"))
    assert main([*RUN, "--feed", "tool-calls", "--out", "out"]) == 0
    assert "the files of 1 day, first of day 3, have another date than the day;" in capsys.readouterr().err
    assert {one["date"] for one in told() if one["day"] == "3"} == {"2024-03-03"}


SAID = st.text(st.characters(codec="utf-8", exclude_characters="*\r"), min_size=1).filter(str.strip).map(str.strip)


@given(
    st.lists(st.builds(DialogueTurn, st.sampled_from(ROLES), SAID), min_size=1), st.sampled_from(["markdown", "json"])
)
def test_a_conversation_is_read_as_it_was_written(turns: list[DialogueTurn], form: Literal["markdown", "json"]) -> None:
    assert list(turns_in(written(turns, form), form)) == turns


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("[]", "json"),
        ("{}", "json"),
        ("[{}]", "json"),
        ("[" * 100_000, "json"),
        ("Hello.\n", "markdown"),
        ("", "markdown"),
    ],
)
def test_what_is_no_conversation_is_refused(text: str, form: Literal["markdown", "json"]) -> None:
    with pytest.raises(ValueError):
        turns_in(text, form)


@pytest.mark.parametrize(
    "plain",
    [
        None,
        [],
        {},
        {"calls": {}},
        {"calls": [1]},
        {"calls": [{"session": "a", "content": " "}]},
        {"day": 2, "calls": []},
        {"calls": [{"session": "a", "content": "b", "tool": "c"}]},
    ],
)
def test_what_is_no_call_is_refused(plain: Any) -> None:
    with pytest.raises(ValueError, match=r"calls|call 1|day 1"):
        calls_in(plain, 1)
