"""State file: rows survive the round trip, and a change touches its own rows only."""

from __future__ import annotations

import re
import subprocess
from datetime import date
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.files import strict_yaml
from pytest_recall.files.errors import RecallError
from pytest_recall.schedule.selection import Unanswered
from pytest_recall.schedule.state_file import parse_state, read_state, write_state
from pytest_recall.schedule.state_head import HEADER
from pytest_recall.trials.trial import Row
from tests.helpers.samples import case_ids, costly, cuts, dates, days, row, rows
from tests.schedule.state_samples import STATE_NAME as NAME
from tests.schedule.state_samples import many, written

DAY = date(2026, 1, 1)
EDITS = [("box: 1,", "box: 1,"), ("box: 1,", "box:  1,")]
COUNTED = HEADER.replace("cases:", "rows: 2\ncases:")


# Ids as the case files allow them, among them what YAML takes for words and numbers.
YAML_WORDS = ["No", "null", "true", "on", "Y", "Off", "NULL", "nan", "1", "007", "1e3", "6:30", "2026-01-31", "1.5"]
ID_WORDS = [*YAML_WORDS, "1_000", "12:30:45", "ü", "名前", "é/è", "_", "a:b", "a@b", "a=b", "a+b", "a.b-c", "x-"]
ids = st.text("aZ09_ü", min_size=1, max_size=4) | st.sampled_from(ID_WORDS)
MARKS = [*"}{'\"\\:-", '\\"', "a}, box: 5", ": ", " # no", "#1", "&a", "*a", "!tag", "[x]", "<<<<<<<"]
NOTES = [*MARKS, *YAML_WORDS, "", "a\nb", "\t", ", failure_pr: 9", "é😀", "\u2028", "\ufeff", "\x7f", "x y " * 150]
nasty = st.text(max_size=20) | st.sampled_from(NOTES)
nasty_rows = st.builds(
    Row,
    st.integers(1, 5),
    st.integers(0, 10**6),
    st.dates(date(1, 1, 1)),
    st.dates(date(1, 1, 1)),
    st.none() | nasty,
    st.none() | nasty,
    st.none() | nasty,
    st.none() | nasty,
    st.integers(0, 10**6),
    st.none() | st.dates(date(1, 1, 1)),
    st.none() | st.dates(date(1, 1, 1)),
    st.none() | nasty,
    st.sampled_from(["", ", team: anna", ", seen: 3", ', why: "a, b}"', ", seen: 3, at: 2026-01-31, on: true"]),
    st.none() | nasty | st.just("case=0a1b2c system=1f2e3d+77ab12 model=openai:gpt-5"),
    evidence=st.sampled_from([1.0, 1.01, 20.4, 10.0, 10**6]),
    failed=st.integers(0, 10**6),
    tried=st.integers(0, 10**6),
)
states = st.dictionaries(ids, nasty_rows | rows(), max_size=8)


# What is written


def test_two_lines_a_row_in_the_order_of_ids() -> None:
    noted = Row(1, 0, DAY, DAY + days(1), "12", "gpt-4o", 'contains: no "one pound"', "v2")
    assert written({"late-fee": noted, "007": Row(3, 3, DAY, DAY + days(7))}) == HEADER.replace(
        "cases:", "rows: 2\ncases:"
    ) + (
        '  "007":\n'
        "    {box: 3, pass_streak: 3, last_tested: 2026-01-01, next_due: 2026-01-08}\n"
        "  late-fee:\n"
        "    {box: 1, pass_streak: 0, last_tested: 2026-01-01, next_due: 2026-01-02,"
        ' last_pr: 12, last_model: gpt-4o, failure_note: "contains: no \\"one pound\\"", failure_pr: v2}\n'
    )


def test_header_says_what_the_file_is() -> None:
    assert HEADER.startswith("# ")
    assert HEADER.endswith("version: 1\ncases:\n")


@costly
@given(states)
def test_round_trip(state: dict[str, Row]) -> None:
    text = written(state)
    found = parse_state(text, NAME)
    assert found.rows == state
    assert list(found.rows) == sorted(state)
    assert found.updated({}) == text
    assert found.updated(found.rows) == text


@costly
@given(states)
def test_other_readers_of_yaml_see_the_same(state: dict[str, Row]) -> None:
    text = written(state)
    if not state:
        assert text == ""
        return
    plain = yaml.safe_load(text)
    assert plain["version"] == 1
    assert set(plain["cases"]) == set(state)
    assert strict_yaml.load(text, NAME)["cases"].keys() == state.keys()
    for case_id, expected in state.items():
        fields = plain["cases"][case_id]
        assert (fields["box"], fields["pass_streak"]) == (expected.box, expected.pass_streak)
        assert (fields["last_tested"], fields["next_due"]) == (expected.last_tested, expected.next_due)
        for name in ("last_pr", "last_model", "failure_note", "failure_pr"):
            # A number of a pull request is written as one; here it is always text.
            found = fields.get(name)
            assert (str(found) if type(found) is int else found) == getattr(expected, name)


@costly
@given(states, states)
def test_the_text_does_not_depend_on_how_it_came_about(before: dict[str, Row], changed: dict[str, Row]) -> None:
    found = parse_state(written(before), NAME).updated(changed)
    assert parse_state(found, NAME).rows == parse_state(written({**before, **changed}), NAME).rows
    assert parse_state(found, NAME).updated(changed) == found


# What a change touches


@costly
@given(st.sets(st.integers(0, 399), max_size=10), st.sampled_from([*"abcxyz0", *ID_WORDS]) | st.just("case-0100-b"))
def test_spliced_is_what_rewriting_gives(old: set[int], new: str) -> None:
    state = many(400)
    changed = {f"case-{n:04}": row(5, 9, last_pr="new") for n in old} | {new: row()}
    text = parse_state(written(state), NAME).updated(changed)
    assert text == written({**state, **changed})


@pytest.mark.parametrize("new", [["refund", "refund-late"], ["x", "x1"], ["w", "w.z"], ["Na", "No"], ["z", "z:a"]])
def test_new_neighbours_are_spliced_in_the_order_of_their_ids(new: list[str]) -> None:
    changed = dict.fromkeys(new, row())
    assert parse_state(written(many(400)), NAME).updated(changed) == written({**many(400), **changed})


def diff_stat(folder: Path, before: str, after: str) -> str:
    """Return the added and deleted lines between two texts, as git counts them."""
    (folder / "before").write_text(before, encoding="utf-8")
    (folder / "after").write_text(after, encoding="utf-8")
    command = ["git", "diff", "--no-index", "--numstat", "before", "after"]
    output = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False).stdout
    return " ".join(output.split("\t")[:2])


@pytest.mark.parametrize("total", [30, 240, 800])
def test_twenty_five_cases_are_twenty_five_lines(tmp_path: Path, total: int) -> None:
    before = written(many(total))
    chosen = [f"case-{n * (total // 25):04}" for n in range(25)]
    after = parse_state(before, NAME).updated(dict.fromkeys(chosen, Row(2, 8, DAY, DAY + days(3), "77")))
    assert diff_stat(tmp_path, before, after) == "25 25"


def test_neighbours_do_not_conflict(tmp_path: Path) -> None:
    base = many(3)
    texts = {
        "ours": written({**base, "case-0000": row(5, 5)}),
        "base": written(base),
        "theirs": written({**base, "case-0001": row(5, 5), "case-0002": row(4, 4)}),
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    merged = subprocess.run(
        ["git", "merge-file", "-p", *texts], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert merged.returncode == 0
    both = {"case-0000": row(5, 5), "case-0001": row(5, 5), "case-0002": row(4, 4)}
    assert parse_state(merged.stdout, NAME).rows == both


@pytest.mark.parametrize("total", [1, 500])
def test_nothing_changed_is_the_same_bytes(total: int) -> None:
    text = written(many(total)).replace("# What", "# My own words. What")
    state = parse_state(text, NAME)
    assert state.updated({}) is text
    assert state.updated(dict(list(state.rows.items())[:3])) is text


def test_digest_is_that_of_the_bytes() -> None:
    text = written(many(2))
    assert parse_state(text, NAME).digest != parse_state(text + "\n", NAME).digest
    assert parse_state("", NAME).digest == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


# On disk


def test_no_file_is_an_empty_state(tmp_path: Path) -> None:
    assert read_state(tmp_path / "recall.yaml", NAME).rows == {}


def test_written_and_read(tmp_path: Path) -> None:
    path = tmp_path / "recall.yaml"
    text = written({"名前": row(failure_note="„nein“")})
    write_state(path, text)
    assert path.read_bytes() == text.encode()
    assert read_state(path, NAME).rows == {"名前": row(failure_note="„nein“")}


def test_windows_line_ends_and_bom_are_read(tmp_path: Path) -> None:
    path = tmp_path / "recall.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + written(many(3)).replace("\n", "\r\n").encode())
    state = read_state(path, NAME)
    assert state.rows == many(3)
    assert state.updated({}) == state.text


# How many rows there are


def test_a_file_that_was_cut_at_any_row_is_noticed() -> None:
    text = written(many(6))
    whole = len(parse_state(text, NAME).rows)
    for at in [found.end() for found in re.finditer(r"}\n", text)][:-1]:
        with pytest.raises(RecallError, match=f"rows where it says {whole}, so some are lost; restore the file"):
            parse_state(text[:at], NAME)


ONE = "2026-03-{:02}-nightly-2026-03-{:02}T120000-3-9975ad"
NAMES = [ONE.format(day, day) for day in range(1, 10)]
WAITING = {"case-0001": Unanswered(DAY, 2), "x": Unanswered(DAY, 1), "y": Unanswered(DAY, 0, "null: “ann” for #7")}
# As runs write it, and as someone has edited it, which is read as YAML.
WHOLE = [(count, waiting, old, new) for count in (40, 1, 0) for waiting in ({}, WAITING) for old, new in EDITS]


@pytest.mark.parametrize(("count", "waiting", "old", "new"), WHOLE)
def test_a_file_that_was_cut_at_any_byte_is_noticed_or_holds_all(
    count: int, waiting: dict[str, Unanswered], old: str, new: str, tmp_path: Path
) -> None:
    text = parse_state("", NAME).updated(many(count), folded=NAMES, unanswered=waiting).replace(old, new)
    path = tmp_path / "recall.yaml"
    data = text.encode()
    whole: list[int] = []
    said: list[str] = []
    every = (count, waiting, old) == (40, WAITING, new)
    for at in range(len(data)) if every else cuts(data, every=40):
        path.write_bytes(data[:at])
        try:
            found = read_state(path, NAME)
        except RecallError as error:
            said += error.messages
            continue
        assert (found.rows, found.folded, found.unanswered) == (many(count), tuple(NAMES), waiting), at
        whole.append(at)
    assert [message for message in said if " from git" not in message] == []
    assert len(data) - 1 in whole, "what lacks its last line end alone is whole"


def test_rows_that_git_has_joined_are_more_than_either_side_says() -> None:
    text = written(many(6)).replace("rows: 6", "rows: 5")
    assert len(parse_state(text, NAME).rows) == 6
    assert "rows: 7\n" in parse_state(text, NAME).updated({"new": row()})


def test_a_file_of_an_earlier_version_gets_its_count() -> None:
    text = written(many(6)).replace("rows: 6\n", "")
    assert parse_state(text, NAME).updated({}) == text
    assert "rows: 6\n" in parse_state(text, NAME).updated({"case-0001": row(5)})


def test_an_empty_file_is_no_state(tmp_path: Path) -> None:
    path = tmp_path / "recall.yaml"
    assert read_state(path, NAME).rows == {}
    for text in ("", "\n", " \n\n"):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(
            RecallError, match="is empty, and no run writes an empty one; restore it from git, or delete it"
        ):
            read_state(path, NAME)


@given(st.lists(nasty.filter(bool), max_size=4, unique=True))
def test_names_of_folded_runs_are_read_again(names: list[str]) -> None:
    text = parse_state(written(many(3)), NAME).updated({}, folded=names)
    assert parse_state(text, NAME).folded == tuple(names)
    assert parse_state(text, NAME).updated({}, folded=()) == written(many(3))


@given(st.dictionaries(case_ids, st.builds(Unanswered, dates, st.integers(1, 99)), max_size=5))
def test_what_came_to_no_verdict_is_read_again(waiting: dict[str, Unanswered]) -> None:
    text = parse_state(written(many(3)), NAME).updated({}, unanswered=waiting)
    assert parse_state(text, NAME).unanswered == waiting
    assert parse_state(text, NAME).updated({}, unanswered={}) == written(many(3))
    # A file that someone has edited is read as YAML.
    assert parse_state(text.replace("box: 1,", "box:  1,"), NAME).unanswered == waiting


@given(st.dictionaries(case_ids, nasty.filter(bool), max_size=5))
def test_what_is_behind_is_read_again(behind: dict[str, str]) -> None:
    text = parse_state(written(many(3)), NAME).updated({}, unanswered=WAITING, behind=behind, folded=NAMES)
    found = parse_state(text, NAME)
    assert (found.behind, found.unanswered, found.folded) == (behind, WAITING, tuple(NAMES))
    assert found.updated({}, unanswered={}, behind={}, folded=()) == written(many(3))
    # A file that someone has edited is read as YAML.
    assert parse_state(text.replace("box: 1,", "box:  1,"), NAME).behind == behind


@pytest.mark.parametrize("wrong", ["7", "{a: 7}", "{a: ''}", "[a]"])
def test_a_case_behind_that_no_run_has_written(wrong: str) -> None:
    text = written(many(3)).replace("cases:\n", f"behind: {wrong}\ncases:\n")
    with pytest.raises(RecallError, match=r"recall.yaml:5: behind: .*; restore the file from git"):
        parse_state(text, NAME)


@pytest.mark.parametrize("wrong", ["7", "{a: {days: 1}}", "{a: {last_asked: 2026-03-01, days: x}}", "{a: 3}"])
def test_a_case_without_a_verdict_that_no_run_has_written(wrong: str) -> None:
    text = written(many(3)).replace("cases:\n", f"unanswered: {wrong}\ncases:\n")
    with pytest.raises(RecallError, match=r"recall.yaml:5: unanswered: .*; restore the file from git"):
        parse_state(text, NAME)
