"""Names of files, and a day's text taken apart again."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_recall.horizon.day import FRONT, day_text, entry_of, parts_of
from pytest_recall.horizon.persona import day_file, day_of, folder, sessions_in

IDS = st.from_regex(r"[a-z][a-z0-9.-]{0,8}", fullmatch=True)
LINES = st.lists(
    st.sampled_from(["# session: deal", "# session: principal", "# A", "## B", "### C", "```", "---", "", " text", "x"])
    | st.text(st.characters(codec="utf-8", exclude_characters="\r"), max_size=12),
    max_size=8,
)
REPLIES = LINES.map("\n".join)


@settings(deadline=None, database=None)
@given(st.dictionaries(IDS, REPLIES, max_size=5))
def test_whatever_is_replied_each_session_finds_its_own_entry_again(replies: dict[str, str]) -> None:
    entries = {session: entry_of(reply, session) for session, reply in replies.items()}
    text = day_text(entries)
    assert text.startswith(FRONT)
    assert sessions_in(text) == entries
    assert [(one.session, one.text.strip()) for one in parts_of(1, text)] == list(entries.items())
    lines = text.split("\n")
    assert [lines[one.heading - 1] for one in parts_of(1, text)] == [f"# session: {id}" for id in entries]


@settings(deadline=None, database=None)
@given(REPLIES, IDS)
def test_an_entry_is_taken_out_of_a_reply_once_and_stays_what_it_is(reply: str, session: str) -> None:
    entry = entry_of(reply, session)
    assert entry == entry.strip()
    assert "# session:" not in [line[:10] for line in entry.split("\n")]


@pytest.mark.parametrize("reply", ["Sorry, I cannot help with that.", "{}", "# session: principal\n\n", ""])
def test_an_excuse_is_no_entry(reply: str) -> None:
    assert entry_of(reply, "principal") == ""
    assert entry_of(f"### Ada\n\n{reply}", "principal").startswith("### Ada")


def test_a_fence_and_front_matter_around_an_entry_go() -> None:
    reply = "```markdown\n---\ntype: daily\n---\n# session: principal\n\n### Ada\n\nIt rained.\n```\n"
    assert entry_of(reply, "principal") == "### Ada\n\nIt rained."


@settings(deadline=None, database=None)
@given(st.integers(1, 999_999))
def test_a_day_is_found_by_the_name_of_its_file(day: int) -> None:
    assert day_of(day_file(day)) == day


@pytest.mark.parametrize("name", ["day-0000.md", "day-12.md", "day-0001.yaml", "xday-0001.md", ".day-0001.md.x.tmp"])
def test_other_names_are_no_days(name: str) -> None:
    assert day_of(name) is None


@pytest.mark.parametrize(
    ("arcs", "name"), [("arcs-60d.yaml", "memories-60d"), ("arcs.yaml", "memories"), ("other-60d.yaml", "memories")]
)
def test_folders_take_the_suffix_of_the_story(arcs: str, name: str) -> None:
    assert folder("memories", arcs) == name
