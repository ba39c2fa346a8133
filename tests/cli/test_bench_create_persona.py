"""`recall bench create-persona`: a persona and its story, whole or not at all."""

from __future__ import annotations

import json
from pathlib import Path

from pytest_recall.files import strict_yaml
from tests.cli.conftest import Recall

MODEL = '''\
import json

import pathlib

from pytest_recall.files import strict_yaml
from pytest_recall.horizon.corpus import shipped
from pytest_recall.models.model import Reply


def plain(name):
    return strict_yaml.load((shipped("ferry-office") / name).read_text(encoding="utf-8"), name)


class Writer:
    """Gives a persona that lacks its cast first, and what is right when it is told so; never the last reply."""

    def __init__(self, last=True):
        self.last = last

    def ask(self, ask):
        asked = ask.messages[-1].content
        with pathlib.Path(__file__).with_name("asked.txt").open("a") as log:
            log.write(("story" if "The story has" in asked else "persona") + "\\n")
        if "The story has" in asked:
            told = plain("arcs-60d.yaml") | {"epoch": "2025-03-03"}
            return Reply(text=json.dumps(told if self.last else {}), model="writer-1")
        told = plain("persona.yaml")
        if "It cannot be taken" not in asked:
            del told["cast"]
        return Reply(text="```yaml\\n" + json.dumps(told) + "\\n```", model="writer-1")


good = Writer()
bad = Writer(last=False)
'''
ASKED = (
    "bench",
    "create-persona",
    "--days",
    "60",
    "--epoch",
    "2025-03-03",
    "--persona",
    "office",
    "--prompt",
    "ferries",
)
GOOD = ("--model", "python:writer.py:good")


def files(folder: Path) -> list[str]:
    """Return the files of the persona, but for kept replies."""
    return sorted(one.name for one in folder.iterdir() if not one.name.startswith(".")) if folder.exists() else []


def asked(folder: Path) -> list[str]:
    """Return what the model was asked for."""
    return (folder / "asked.txt").read_text().split()


def test_a_model_is_told_what_is_missing_and_what_it_says_is_written(tmp_path: Path, inside: Recall) -> None:
    (tmp_path / "writer.py").write_text(MODEL)
    done = inside(tmp_path, *ASKED, "--model", "python:writer.py:good", "--json")
    assert done.code == 0
    told = json.loads(done.out)
    assert (told["id"], told["epoch"], told["count"]) == ("ferry-office", "2025-03-03", 16)
    assert (told["calls"], told["usd"]) == (3, None)
    assert asked(tmp_path) == ["persona", "persona", "story"]
    story = strict_yaml.load((tmp_path / "office" / "arcs-60d.yaml").read_text(), "arcs")
    assert story["epoch"] == "2025-03-03"
    assert (tmp_path / "office" / ".recall-bench" / ".gitignore").read_text().endswith("*\n")
    done = inside(tmp_path, "bench", "check", "office")
    assert "0 errors" in done.out


def test_without_a_story_nothing_is_written_and_nothing_is_asked_twice(tmp_path: Path, inside: Recall) -> None:
    (tmp_path / "writer.py").write_text(MODEL)
    done = inside(tmp_path, *ASKED, "--model", "python:writer.py:bad")
    assert done.code == 2
    assert "recall: the story cannot be taken after 4 tries" in done.err
    assert "recall: the story, last try: arcs: there are none" in done.err
    assert files(tmp_path / "office") == []
    count = len(asked(tmp_path))
    assert inside(tmp_path, *ASKED, "--model", "python:writer.py:bad").code == 2
    assert len(asked(tmp_path)) == count


def test_another_story_for_a_persona_that_is_there(tmp_path: Path, inside: Recall) -> None:
    (tmp_path / "writer.py").write_text(MODEL)
    assert inside(tmp_path, *ASKED, *GOOD).code == 0
    before = (tmp_path / "office" / "persona.yaml").read_bytes()
    done = inside(tmp_path, *ASKED, *GOOD, "--arcs-only", "--arcs", "arcs-other.yaml")
    assert done.code == 0, done.err
    assert files(tmp_path / "office") == ["arcs-60d.yaml", "arcs-other.yaml", "persona.yaml"]
    assert (tmp_path / "office" / "persona.yaml").read_bytes() == before


def test_a_profile_says_who_writes_for_how_many_days_and_where(tmp_path: Path, inside: Recall) -> None:
    (tmp_path / "profiles").mkdir()
    (tmp_path / "profiles" / "writer.py").write_text(MODEL)
    path = tmp_path / "profiles" / "run.yaml"
    profile = {
        "persona": {"id": "ferries", "dir": "../office", "arcs": "arcs-60d.yaml"},
        "models": {"creation": "python:writer.py:good", "generation": "claude"},
        "generate": {"historyWindow": 2, "maxTokens": 99},
    }
    path.write_text(json.dumps(profile))
    create = ("bench", "create-persona", "--profile", "profiles/run.yaml")
    done = inside(tmp_path, *create, "--epoch", "2025-03-03", "--prompt", "ferries", "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["days"] == 60
    assert asked(tmp_path / "profiles") == ["persona", "persona", "story"]
    assert files(tmp_path / "office") == ["arcs-60d.yaml", "persona.yaml"]
    first, *_, last = done.err.splitlines()
    assert first == "recall: profiles/run.yaml: generate.historyWindow: no effect on `recall bench create-persona`"
    told = "persona.id: is 'ferries', and the persona's is 'ferry-office'; write that there"
    assert last == f"recall: profiles/run.yaml: {told}"
    path.write_text(json.dumps({**profile, "generate": {"days": 60}}))
    done = inside(tmp_path, *create, "--prompt", "ferries", "--persona", "third", "--json")
    assert (json.loads(done.out)["days"], files(tmp_path / "third")) == (60, ["arcs-60d.yaml", "persona.yaml"])


def test_nothing_that_is_there_is_written_over(tmp_path: Path, inside: Recall) -> None:
    (tmp_path / "writer.py").write_text(MODEL)
    assert inside(tmp_path, *ASKED, *GOOD).code == 0
    done = inside(tmp_path, *ASKED, *GOOD)
    assert (done.code, done.err) == (2, "recall: office/arcs-60d.yaml: is there already; name another with --arcs\n")
    done = inside(tmp_path, *ASKED, *GOOD, "--arcs", "arcs-other.yaml")
    assert "recall: office/persona.yaml: is there already; name another --persona" in done.err


def test_a_dry_run_asks_nobody(tmp_path: Path, inside: Recall) -> None:
    done = inside(tmp_path, *ASKED, "--model", "openai:gpt-5.4-mini", "--dry-run", "--json")
    told = json.loads(done.out)
    assert (done.code, told["calls"], told["output_tokens"]) == (0, 2, 12000)
    done = inside(tmp_path, *ASKED, "--model", "command:unknown", "--dry-run")
    assert done.out.startswith("a persona and its story: 2 calls or more, about ")
    assert "its price is not known" in done.out
    assert files(tmp_path / "office") == []
    (tmp_path / "writer.py").write_text(MODEL)
    assert inside(tmp_path, *ASKED, *GOOD).code == 0
    story = (*ASKED, "--model", "openai:gpt-5.4-mini", "--arcs-only", "--arcs", "other.yaml", "--dry-run", "--json")
    told = json.loads(inside(tmp_path, *story).out)
    assert (told["calls"], told["output_tokens"]) == (1, 8000)
