"""Models by selector, as long as Python is the only way to one."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_recall.core.errors import RecallError
from pytest_recall.core.model import Ask, Message
from pytest_recall.plugin.models import model_of

SOURCE = """\
from pytest_recall.core.model import Reply


class Kind:
    def ask(self, ask):
        return Reply(text=ask.messages[0].content.upper())


kind = Kind()
other = "no model"
"""
ASK = Ask(messages=(Message("user", "hi"),))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "own_models.py").write_text(SOURCE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "selector", ["python:own_models.py:kind", "python:own_models:kind", "python:own_models.py:Kind"]
)
def test_an_object_or_a_class_of_ones_own(folder: Path, selector: str) -> None:
    found = model_of(selector)
    assert found.name == selector
    assert found.ask(ASK).text == "HI"


@pytest.mark.parametrize(
    ("selector", "problem"),
    [
        ("gpt", "the model 'gpt' is unknown; write `python:package.module:name` or `python:file.py:name`"),
        ("python:own_models.py", "is unknown; write `python:package.module:name` or"),
        ("python:other.py:kind", "other.py cannot be read"),
        ("python:no_such_module:kind", "no_such_module cannot be read"),
        ("python:own_models.py:other", "`other` has no method `ask`; name an object that has one"),
        ("python:own_models.py:kund", "`kund` has no method `ask`; name an object that has one"),
    ],
)
def test_what_leads_nowhere_is_one_sentence(folder: Path, selector: str, problem: str) -> None:
    with pytest.raises(RecallError) as caught:
        model_of(selector)
    assert problem in str(caught.value)
    assert len(caught.value.messages) == 1
