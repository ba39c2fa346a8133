"""What is kept of what a memory was made of, and when it is another one."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_recall.files.errors import RecallError
from pytest_recall.memory.client import MemoryAdapter
from pytest_recall.models import inputs
from pytest_recall.models.inputs import Inputs, InputsNote, end, file_digest, read_inputs, rerun_reason, write_inputs


@pytest.fixture(autouse=True)
def _own_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    inputs.digest_key.cache_clear()
    yield
    inputs.digest_key.cache_clear()


def client(elsewhere: str = "", *, observable: bool = False) -> MemoryAdapter:
    made = MemoryAdapter("mine")
    made.elsewhere, made.observable = elsewhere, observable
    return made


def of_variable(name: str) -> Inputs:
    key = inputs.digest_key()
    return Inputs(variables={name: inputs.variable_digest(name, key)}, key=inputs.key_id(key))


def test_a_file_that_is_another_is_gone_or_is_new_is_told(tmp_path: Path) -> None:
    path = tmp_path / "prompt.txt"
    absent = Inputs(files={"prompt.txt": file_digest("prompt.txt")})
    assert absent.changed == ""
    path.write_text("one")
    there = Inputs(files={"prompt.txt": file_digest("prompt.txt")})
    assert (absent.changed, there.changed) == ("prompt.txt is there now", "")
    path.write_text("two")
    assert there.changed == "prompt.txt has changed"
    path.unlink()
    assert there.changed == "prompt.txt is gone"


def test_of_a_folder_the_names_count_but_for_its_own(tmp_path: Path) -> None:
    (tmp_path / "prompts").mkdir()
    found = Inputs(folders={"prompts": inputs.names_digest([])}, outputs={"prompts": ("cache",)})
    (tmp_path / "prompts" / "cache").touch()
    assert found.changed == ""
    (tmp_path / "prompts" / "more.md").touch()
    assert found.changed == "the files in prompts are others"


def test_a_value_is_kept_by_a_digest_that_no_one_without_the_key_can_guess(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIN", "1234")
    found = of_variable("PIN")
    path = tmp_path / "state" / "pytest-recall" / "key"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert found.changed == found.unknowable == ""
    monkeypatch.setenv("PIN", "1235")
    assert found.changed == "the variable PIN has changed"
    monkeypatch.delenv("PIN")
    assert found.changed == "the variable PIN has changed"
    # Another user, or machine, has another key: what the value was is not known there, which stops no stopped run.
    path.unlink()
    inputs.digest_key.cache_clear()
    assert of_variable("PIN").variables["PIN"] == inputs.ABSENT
    assert (found.changed, found.unknowable != "") == ("", True)


def test_what_was_stopped_goes_on_and_what_came_to_its_end_is_asked_again_where_nothing_is_known(
    tmp_path: Path,
) -> None:
    path = tmp_path / "settings.json"
    path.write_text("1")
    write_inputs(tmp_path, Inputs(files={"settings.json": file_digest("settings.json")}), ended=False)
    for elsewhere in ("", "it is a service"):
        assert rerun_reason(tmp_path, client(elsewhere), ended=True) == ""
    end(tmp_path)
    assert rerun_reason(tmp_path, client(), ended=True) == ""
    assert rerun_reason(tmp_path, client("it is a service"), ended=False) == ""
    assert rerun_reason(tmp_path, client("it is a service"), ended=True).endswith("it is a service")
    path.write_text("2")
    for ended in (True, False):
        assert rerun_reason(tmp_path, client("it is a service"), ended=ended) == "settings.json has changed"


@pytest.mark.parametrize("ended", [True, False])
def test_of_a_run_of_an_earlier_version_the_journal_says_whether_it_ended(tmp_path: Path, ended: bool) -> None:
    assert bool(rerun_reason(tmp_path, client("it is a service"), ended=ended)) == ended
    assert bool(rerun_reason(tmp_path, client(observable=True), ended=ended)) == ended
    assert rerun_reason(tmp_path, client(), ended=ended) == ""


def test_what_was_noted_first_holds_and_what_is_seen_later_comes_to_it(tmp_path: Path) -> None:
    seen = [Inputs(files={"a": "1"}, unknown=("it starts sh",))]
    note = InputsNote(tmp_path, lambda: seen[-1], resumes=False)
    note.write()
    seen.append(Inputs(files={"a": "2", "b": "3"}))
    InputsNote(tmp_path, lambda: seen[-1], resumes=True).write()
    found = read_inputs(tmp_path)
    assert found is not None
    assert (dict(found.inputs.files), found.inputs.unknown, found.ended) == (
        {"a": "1", "b": "3"},
        ("it starts sh",),
        False,
    )
    # A run that begins anew has nothing of what was there.
    InputsNote(tmp_path, lambda: seen[-1], resumes=False).write()
    assert read_inputs(tmp_path) == inputs.InputsRecord(seen[-1]._replace(unknown=()), ended=False)


def test_a_note_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / inputs.NAME).write_text("[]")
    with pytest.raises(RecallError, match=r"memory-inputs\.json: "):
        read_inputs(tmp_path)
