"""`recall memory`: what a person sees of a memory that keeps what it is given, and of one that does not."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from pytest_recall.registry import registry
from tests.cli.conftest import Recall
from tests.cli.samples import recall
from tests.memory.services import Service, serving

FORMS = {kind.written(form): form.about for kind, form in registry().memories().forms()}
DROPPING = """
class Client:
    def __init__(self):
        self.kept = []

    def reset(self):
        self.kept.clear()

    async def store(self, content, metadata):
        if metadata["id"] != "boat":
            self.kept.append(content.upper() if metadata["id"] == "violin" else content)

    def recall(self, query, limit, context):
        if query.startswith("Our") and hasattr(self, "fails"):
            raise ConnectionError("gone")
        return self.kept

    def answer(self, query, limit, context):
        return "yes"


class Failing(Client):
    fails = True
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "client.py").write_text(DROPPING, encoding="utf-8")
    return tmp_path


def test_a_memory_that_keeps_what_it_is_given(tmp_path: Path) -> None:
    done = recall(tmp_path, "memory", "check", "sqlite-fts")
    assert (done.code, done.err) == (0, "")
    assert re.sub(r"\d\.\d\ds", "0.00s", done.out).splitlines() == [
        "sqlite-fts stored 3 units; of 3 asked back, 3 came as they were, 0 changed, 0 not at all, in 0.00s",
        "answers  with its passages",
        "count    3",
    ]


def test_one_that_drops_and_rewrites(root: Path, inside: Recall) -> None:
    done = inside(root, "memory", "check", "python:client.py:Client", "--yes", "--json")
    assert done.code == 1
    found = json.loads(done.out)
    assert found.pop("seconds") >= 0
    assert found == {
        "version": 1,
        "selector": "python:client.py:Client",
        "ok": False,
        "stored": 3,
        "asked": 3,
        "same": 1,
        "changed": 0,
        "missing": 2,
        "held": None,
        "answers": True,
    }


def test_one_that_fails(root: Path, inside: Recall) -> None:
    done = inside(root, "memory", "check", "python:client.py:Failing", "--yes")
    assert (done.code, done.out) == (1, "")
    assert done.err == "recall: python:client.py:Failing: memory probe: ConnectionError: gone\n"
    done = inside(root, "memory", "check", "python:client.py:Failing", "--yes", "--json")
    assert json.loads(done.out) == {
        "version": 1,
        "selector": "python:client.py:Failing",
        "ok": False,
        "stage": "memory probe",
        "error": "memory probe: ConnectionError: gone",
    }


def test_what_may_hold_something_is_not_reset(root: Path, inside: Recall) -> None:
    pytest.importorskip("httpx")
    with serving(Service()) as service:
        done = inside(root, "memory", "check", service.url)
        assert done.code == 2
        assert "deletes everything that it holds; add --yes" in done.err
        assert service.asked == []
        done = inside(root, "memory", "check", service.url, "--yes")
        assert (done.code, done.err) == (0, "")
        assert service.kept == []


@pytest.mark.parametrize("selector", ["python:client.py:Kept", "python:nowhere.py:Kept", "sqlite"])
def test_a_memory_that_is_not_there_is_one_sentence(root: Path, inside: Recall, selector: str) -> None:
    done = inside(root, "memory", "check", selector, "--yes")
    assert done.code in (1, 2)
    assert done.out == ""
    assert len(done.err.splitlines()) == 1


def test_the_list_has_every_form_and_asks_nobody(tmp_path: Path) -> None:
    done = recall(tmp_path, "memory", "list")
    assert done.code == 0
    for form, about in FORMS.items():
        assert re.search(rf"^{re.escape(form)} +{re.escape(about)}$", done.out, re.MULTILINE)
    assert ";tokenizer=" in done.out


def test_the_list_says_how_each_is_named_and_what_it_lacks(
    tmp_path: Path, inside: Recall, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tantivy", None)
    done = inside(tmp_path, "memory", "list")
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert [line.split("  ")[0] for line in lines if not line.startswith(" ")] == list(FORMS)
    below = lines[next(at for at, line in enumerate(lines) if line.startswith("tantivy ")) + 1]
    assert below.strip() == "not ready here: needs tantivy; run `pip install 'pytest-recall[memory-tantivy]'`"
    assert {line.strip() for line in lines} >= {"options: ;tokenizer=", "options: ;timeout=, ;bearer=, ;header="}
