"""Texts beside a journal: each once, whatever is returned, and the same when they are read."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.files.disk import LinkError
from pytest_recall.files.errors import RecallError
from pytest_recall.trials.journal import Journal, read_journal, set_aside
from pytest_recall.trials.question_run import QuestionRun
from pytest_recall.trials.record import Header, QuestionRecord
from pytest_recall.trials.texts_file import NAME, SHORT, TextsFile, read_texts, restored
from pytest_recall.trials.trial import Answer, Outcome, Passage, Trial, TrialStep
from tests.helpers.samples import unhurried

HEADER = Header("r", "2026-03-01", "all", "", "2026-03-01T00:00:00+00:00", False, False, 1, (("q", "dataset"),))
LONG = "a text that is longer than its own digest would be in a line"
TEXTS = st.one_of(st.sampled_from(["", "\n\n", LONG, f"{LONG}\n\n{LONG}", f"\n\n{LONG}"]), st.text(max_size=3 * SHORT))


@contextmanager
def journal_of(folder: Path, header: Header) -> Iterator[Journal]:
    """Hand out the journal of a run that begins at once."""
    with QuestionRun(folder, header) as run:
        yield run.begin()


def trial(text: str, *passages: str, ids: tuple[str, ...] = ()) -> Trial:
    """Return a trial with this answer."""
    found = tuple(Passage(text=one, source=f"s{n}", score=0.5) for n, one in enumerate(passages))
    steps = (TrialStep("retrieved", {"ids": list(ids)}),) if ids else ()
    return Trial("q", Outcome.PASSED, answer=Answer(text=text, passages=found), steps=steps)


@unhurried
@given(st.lists(st.tuples(TEXTS, st.lists(TEXTS, max_size=3)), max_size=4))
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, given_texts: list[tuple[str, list[str]]]
) -> None:
    folder = tmp_path_factory.mktemp("run")
    wanted = [trial(text, *passages) for text, passages in given_texts]
    with journal_of(folder, HEADER) as journal:
        for one in wanted:
            journal.append(one)
    assert list(read_journal(folder).trials) == wanted


def test_a_text_is_there_once_and_short_ones_stay_in_their_line(tmp_path: Path) -> None:
    long_list = tuple(f"D{n}:1" for n in range(300))
    with journal_of(tmp_path, HEADER) as journal:
        for _ in range(3):
            journal.append(trial(f"{LONG}\n\n{LONG}", LONG, "short", ids=long_list))
    assert len((tmp_path / NAME).read_text().splitlines()) == 2
    lines = [json.loads(line) for line in (tmp_path / "trials.jsonl").read_text().splitlines()][1:]
    assert all("text" not in one["answer"] and "data" not in one["steps"][0] for one in lines)
    assert lines[0]["answer"]["passages"][1]["text"] == "short"
    assert read_journal(tmp_path).trials[2].steps == (TrialStep("retrieved", {"ids": list(long_list)}),)


def test_a_resumed_run_writes_no_text_twice_and_drops_one_that_was_cut_off(tmp_path: Path) -> None:
    with journal_of(tmp_path, HEADER) as journal:
        journal.append(trial("", LONG))
    with (tmp_path / NAME).open("a") as file:
        file.write('{"at": "0", "te')  # Killed while it wrote the next one.
    with journal_of(tmp_path, HEADER) as journal:
        journal.append(trial("", LONG, f"{LONG} too"))
    assert sorted(read_texts(tmp_path).values()) == [LONG, f"{LONG} too"]
    assert [len(one.answer.passages) for one in read_journal(tmp_path).trials if one.answer] == [1, 2]


def test_a_new_run_begins_with_no_texts(tmp_path: Path) -> None:
    (tmp_path / NAME).write_text("of another run")
    with journal_of(tmp_path, HEADER) as journal:
        journal.append(trial("x"))
    assert read_texts(tmp_path) == {}


def test_a_text_that_was_changed_or_is_gone_is_named(tmp_path: Path) -> None:
    with journal_of(tmp_path, HEADER) as journal:
        journal.append(trial("", LONG))
    path = tmp_path / NAME
    whole = path.read_text()
    path.write_text(whole.replace("longer", "shorter"))
    with pytest.raises(RecallError, match=r"texts.jsonl:1: not a text \(the text is not the one that its digest names"):
        read_journal(tmp_path)
    path.unlink()
    with pytest.raises(RecallError, match=r"trials.jsonl:2: not a journal line .* is not in texts.jsonl"):
        read_journal(tmp_path)


def test_lines_of_other_journals_are_as_they_are() -> None:
    plain = {"kind": "trial", "answer": {"text": LONG, "passages": [{"text": LONG}]}}
    assert restored(plain, {})["answer"] == plain["answer"]
    assert restored({"kind": "trial"}, {}) == {"kind": "trial"}


def test_questions_are_in_the_journal(tmp_path: Path) -> None:
    asked = [QuestionRecord("q", "?", "a", "b", ("e",), cluster="c"), QuestionRecord("r", "?", unanswerable=True)]
    with journal_of(tmp_path, HEADER) as journal:
        journal.asked(asked)
    assert list(read_journal(tmp_path).asked.values()) == asked


def test_a_journal_is_set_aside_with_its_texts_and_nothing_is_lost(tmp_path: Path) -> None:
    for number in (1, 2):
        with journal_of(tmp_path, HEADER) as journal:
            journal.append(trial(str(number), LONG))
        (tmp_path / "grades.jsonl").write_text(f"{number}\n")
        there = set_aside(tmp_path)
        assert there == tmp_path / f"earlier-{number}"
        assert (there / "grades.jsonl").read_text() == f"{number}\n"
        assert read_journal(there).trials == (trial(str(number), LONG),)
    assert not (tmp_path / "trials.jsonl").exists()
    assert not (tmp_path / "grades.jsonl").exists()
    shutil.rmtree(tmp_path / "earlier-1")
    with journal_of(tmp_path, HEADER):
        pass
    assert set_aside(tmp_path) == tmp_path / "earlier-3"
    with journal_of(tmp_path, HEADER), pytest.raises(RecallError, match="still runs"):
        set_aside(tmp_path)


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("theirs")
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / NAME).symlink_to(outside)
    with pytest.raises(LinkError):
        TextsFile(folder, fresh=True)
    assert outside.read_text() == "theirs"
