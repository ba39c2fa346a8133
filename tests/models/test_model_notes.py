"""What is kept of models that are code of the user, and when their answers are those of others."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_recall.files.errors import RecallError
from pytest_recall.models import inputs
from pytest_recall.models.input_log import watch
from pytest_recall.models.model import Ask, Message, Model
from pytest_recall.models.model_notes import NAME, ModelNotes, end_notes, made_of, read_notes, user_model
from pytest_recall.models.resolve import resolve

ASK = Ask(messages=(Message("user", "Who?"),))
OWN = "python:own.py:model"
READS = "from pathlib import Path\ndef model(prompt): return Path('word.txt').read_text()\n"


@pytest.fixture(autouse=True)
def _project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    inputs.digest_key.cache_clear()
    Path("own.py").write_text(READS)
    Path("word.txt").write_text("ONE")
    watch()


def notes(*models: Model, replayed: bool = False, resumes: bool = False) -> ModelNotes:
    roles = [("judge", one) for one in models or (resolve(OWN),)]
    return ModelNotes(Path(NAME), roles, replayed=replayed, resumes=resumes)


def asked() -> ModelNotes:
    """Ask the model, and return the notes, which are written."""
    model = resolve(OWN)
    found = notes(model)
    model.ask(ASK)
    found.write()
    return found


@pytest.mark.parametrize("selector", ["openai:gpt-5.4", "http://127.0.0.1:8080/v1#m", "claude", "anthropic:m"])
def test_a_model_of_a_vendor_is_known_by_its_name(selector: str) -> None:
    model = resolve(selector)
    assert user_model(model) is None
    assert made_of(model).digest == ""
    found = notes(model)
    found.write()
    assert (found.reason, found.identities, found.identity("judge", selector)) == ("", [], "")
    assert not Path(NAME).exists()


def test_a_program_is_code_of_the_user_where_it_is_run() -> None:
    model = resolve("command:sh own.py")
    assert user_model(model) is model
    assert user_model(model, replayed=True) is None
    assert user_model(resolve(OWN), replayed=True) is not None


def test_a_module_is_found_by_its_name_and_not_imported() -> None:
    Path("pack").mkdir()
    Path("pack/__init__.py").touch()
    Path("pack/breaks.py").write_text("raise SystemExit(1)\n")
    before = made_of(resolve("python:pack.breaks:model"))
    Path("pack/other.py").write_text("N = 1\n")
    assert before.code
    assert made_of(resolve("python:pack.breaks:model")) != before


def test_as_long_as_nothing_changes_the_answers_are_its_own() -> None:
    assert notes().reason == f"the judge {OWN}: it is not known of which code they are"
    first = asked()
    again = notes()
    assert (again.reason, again.identities) == ("", first.identities)
    end_notes(Path(NAME))
    assert notes().reason == ""


def test_what_it_reads_counts_and_so_it_is_another_one_also_when_that_is_taken_back() -> None:
    first = asked()
    Path("word.txt").write_text("TWO")
    second = notes()
    assert second.reason == f"the judge {OWN}: word.txt has changed"
    second.write()
    Path("word.txt").write_text("ONE")
    watch()
    identities = {*first.identities, *second.identities, *asked().identities}
    assert len(identities) >= 2
    assert read_notes(Path(NAME))[f"judge {OWN}"].edition >= 1


def test_its_code_counts() -> None:
    first = asked()
    Path("own.py").write_text(f"{READS}# edited\n")
    found = notes()
    assert found.reason == f"the judge {OWN}: its code has changed"
    assert found.identities != first.identities


def test_a_program_is_asked_again_after_the_end_and_not_after_a_stop() -> None:
    program = resolve("command:sh own.py")
    notes(program).write()
    assert notes(program).reason == ""
    end_notes(Path(NAME))
    assert notes(program).reason == (
        "the judge command:sh own.py: what it is made of cannot be known, since it is a program"
    )
    assert notes(program, resumes=True).reason == ""


def test_notes_on_other_models_stay() -> None:
    asked()
    notes(resolve("command:sh own.py")).write()
    assert set(read_notes(Path(NAME))) == {f"judge {OWN}", "judge command:sh own.py"}


def test_a_file_that_is_none_is_refused() -> None:
    Path(NAME).write_text("[1]")
    with pytest.raises(RecallError, match="is not what a run writes"):
        notes()
