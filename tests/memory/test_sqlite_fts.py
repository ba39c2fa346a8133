"""Full-text search: nothing that is stored is lost, and nothing that is asked is syntax."""

from __future__ import annotations

import sqlite3
import threading
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.cases.memory_part import MemoryFault, QueryContext
from pytest_recall.memory.sqlite_fts import LONG
from tests.helpers.samples import costly
from tests.memory.asking import NOW, filled, made, sources, texts

WRITTEN = st.text(st.characters(codec="utf-8"), max_size=60)
WORD = st.text(st.characters(categories=("Ll", "Lu", "Nd"), max_codepoint=0x24F), min_size=1, max_size=12)
TOKENIZERS = pytest.mark.parametrize("selector", ["sqlite-fts", "sqlite-fts;tokenizer=porter"])


def has_a_word(text: str) -> bool:
    return any(unicodedata.category(char)[0] in "LN" and char.isascii() for char in text)


def test_units_are_ranked_by_shared_words() -> None:
    client = filled(made("sqlite-fts"))
    found = client.recall("Is Bob's car in May's garden?", 2, NOW)
    assert sources(found) == ["car", "bees"]
    assert found[0].score > found[1].score > 0


def test_equal_scores_keep_the_order_of_storing() -> None:
    client = filled(made("sqlite-fts"), dict.fromkeys("cab", "the same words"))
    assert sources(client.recall("words", 5, NOW)) == ["c", "a", "b"]
    assert sources(client.recall("words", 2, NOW)) == ["c", "a"]


def test_accents_and_case_are_the_same() -> None:
    client = filled(made("sqlite-fts"), {"a": "Où est le CAFÉ?"})
    assert sources(client.recall("cafe", 1, NOW)) == ["a"]


@pytest.mark.parametrize("word", ["agreed", "agree", "agreement", "generalizations", "oscillators", "ponies"])
def test_stems_are_made_once(word: str) -> None:
    assert sources(filled(made("sqlite-fts;tokenizer=porter"), {"a": word}).recall(word, 1, NOW)) == ["a"]


def test_trigrams_find_parts_of_words() -> None:
    facts = {"a": "東京都に住んでいます", "b": "我喜欢咖啡因"}
    assert sources(filled(made("sqlite-fts;tokenizer=trigram"), facts).recall("京都に住", 1, NOW)) == ["a"]
    assert filled(made("sqlite-fts"), facts).recall("京都に住", 1, NOW) == []


@TOKENIZERS
@given(question=WRITTEN)
def test_no_question_breaks_the_query(selector: str, question: str) -> None:
    client = filled(made(selector))
    try:
        assert len(client.recall(question, 3, NOW)) <= 3
    finally:
        client.close()


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ('"', ()),
        ('""', ()),
        ("(", ()),
        ("AND", ("car",)),
        ("NOT car", ("car",)),
        ("NEAR(car bees)", ("bees", "car")),
        ("content:car", ("car",)),
        ("car*", ("car",)),
        ("ca*", ()),
        ("^keeps", ("bees",)),
        ("{car}: -bees", ("bees", "car")),
        ("car\0bees", ("bees", "car")),
    ],
)
def test_query_syntax_is_words(question: str, found: tuple[str, ...]) -> None:
    assert sorted(map(str, sources(filled(made("sqlite-fts")).recall(question, 5, NOW)))) == list(found)


@TOKENIZERS
@costly
@given(texts=st.lists(WRITTEN, max_size=6), words=st.lists(WORD, min_size=1, max_size=5))
def test_what_is_stored_is_found_by_its_own_words(selector: str, texts: list[str], words: list[str]) -> None:
    unique = " ".join(words) + " uniqueword"
    client = filled(made(selector), {str(n): text for n, text in enumerate(texts)} | {"unique": unique})
    try:
        best = client.recall(unique, len(texts) + 1, NOW)
        assert unique in [one.text for one in best]
        assert client.count() == len(texts) + 1
    finally:
        client.close()


@given(text=WRITTEN.filter(has_a_word))
def test_any_text_with_a_word_is_found_by_itself_as_it_was(text: str) -> None:
    client = filled(made("sqlite-fts"), {"a": text})
    try:
        assert texts(client.recall(text, 1, NOW)) == [text]
    finally:
        client.close()


SAID = {"open": ("principal", None), "closed": ("payroll", "true"), "homeless": (None, "true"), "loose": (None, None)}


@pytest.mark.parametrize(
    ("selector", "session", "found"),
    [
        ("sessions", "payroll", ["open", "closed", "loose"]),
        ("sessions", "principal", ["open", "loose"]),
        ("sessions", None, ["open", "loose"]),
        ("sqlite-fts", "principal", ["open", "closed", "homeless", "loose"]),
    ],
)
def test_an_isolated_session_is_kept_apart_or_not(selector: str, session: str | None, found: list[str]) -> None:
    client = made(selector)
    for id, (home, isolated) in SAID.items():
        about = {"id": id, "session": home, "isolated": isolated}
        client.store("Ben earns 7,033", {name: value for name, value in about.items() if value is not None})
    assert sources(client.recall("What does Ben earn?", 9, QueryContext(session=session))) == found
    assert client.count() == 4, "all of it is kept"


def test_a_file_keeps_what_is_stored(tmp_path: Path) -> None:
    first = filled(made("sqlite-fts:kept.db", tmp_path))
    first.close()
    again = made("sqlite-fts:kept.db", tmp_path)
    assert not again.private
    assert again.count() == 3
    assert sources(again.recall("pump", 1, NOW)) == ["pump"]
    again.close()


@pytest.mark.parametrize("place", ["other.txt", "other.db", "no/such/folder.db"])
def test_a_file_that_is_none_of_ours_is_one_sentence(tmp_path: Path, place: str) -> None:
    (tmp_path / "other.txt").write_text("no database at all, but longer than a page is\n" * 200, encoding="utf-8")
    with sqlite3.connect(tmp_path / "other.db") as connection:
        connection.execute("CREATE TABLE units (name)")
    connection.close()
    with pytest.raises(MemoryFault, match=r"^SQLite, .*; name another file, or another memory$"):
        made(f"sqlite-fts:{place}", tmp_path).ready()


def test_threads_may_share_it() -> None:
    client = filled(made("sqlite-fts"), {})
    threads = [threading.Thread(target=client.store, args=(f"word{n} again", {"id": str(n)})) for n in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert client.count() == 20
    assert sources(client.recall("word7", 5, NOW)) == ["7"]


def test_common_words_of_a_large_memory_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_recall.memory.sqlite_fts.LARGE", 100)
    client = filled(made("sqlite-fts"), {f"u{n}": f"the boat number{n}" for n in range(100)})
    assert sources(client.recall("the boat, number42?", 5, NOW)) == ["u42"]
    assert len(client.recall("the boat", 5, NOW)) == 5, "there is nothing else to go by"
    client.reset()
    client.store("the boat", {"id": "one"})
    assert sources(client.recall("the tent", 5, NOW)) == ["one"], "a small memory has no common words"


def test_of_a_long_question_the_rare_words_are_looked_for() -> None:
    client = filled(made("sqlite-fts"), {f"u{n}": f"common{n % 2} all rare{n} end" for n in range(400)})
    many = " ".join(f"absent{n}" for n in range(LONG))
    # The words that no unit has are rare too: of a short question all words count, of a long one the first rare ones.
    assert sources(client.recall(f"common1 all rare7 {many}", 3, NOW)) == ["u7"]
    assert client.recall(f"common1 all {many} rare7", 3, NOW) == []
    assert len(client.recall(" ".join(["all", "common0", *(f"common1 end{n} all" for n in range(9))]), 3, NOW)) == 3
    client.close()


def test_what_breaks_later_is_one_sentence_as_well(tmp_path: Path) -> None:
    client = filled(made("sqlite-fts:kept.db", tmp_path))
    with sqlite3.connect(tmp_path / "kept.db") as other:
        other.execute("DROP TABLE units")
    other.close()
    for ask in (client.count, lambda: client.recall("pump", 1, NOW)):
        with pytest.raises(MemoryFault, match=r"^SQLite, .*kept\.db: no such table: units; name another file, "):
            ask()
    client.close()
