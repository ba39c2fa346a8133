"""Comment: what is posted calls no one, passes for nothing of ours, and fits."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pytest_recall.files.errors import RecallError
from pytest_recall.forge.comment import (
    LIMIT,
    Detail,
    Known,
    Move,
    Verdicts,
    carried,
    decide,
    details_in,
    is_marked,
    marker,
    page,
    quiet,
    recollect,
    remembered,
    same,
    size,
)

TEXT = st.text(st.one_of(st.characters(), st.sampled_from("@#<!-`~>/&\n|[]():😀")), max_size=400)
REST = "_The rest is elsewhere._"


@pytest.mark.parametrize("name", ["", "a b", "a-->", "-a", "x" * 61, "ä", "a\n"])
def test_a_name_that_could_end_the_marker_is_refused(name: str) -> None:
    with pytest.raises(RecallError, match=r"^--name: "):
        marker(name)


def test_only_a_page_that_begins_with_the_marker_has_it() -> None:
    mark = marker("scorecard")
    assert mark == "<!-- recall:scorecard -->"
    assert is_marked(f"{mark}\ntext", "scorecard")
    assert is_marked(f"{mark}\r\ntext", "scorecard")
    assert not is_marked(f"text\n{mark}\n", "scorecard")
    assert not is_marked(f"{mark}\ntext", "nightly")
    assert not is_marked(f"{mark} text", "scorecard")


def test_line_ends_make_no_other_page() -> None:
    assert same("a\r\nb\n", "a\nb")
    assert not same("a\nb", "a\n b")


@pytest.mark.parametrize(
    "loud",
    [
        "@octocat",
        "\\@octocat",
        "ask @museum/admins",
        "&#64;octocat",
        "&#x40;octocat",
        "&commat;octocat",
        "fixes #12",
        "fixes \\#12",
        "museum/desk#12",
        "GH-12",
        "gh\\-12",
        "museum/desk!12",
        "https://github.com/museum/desk/issues/12",
        "www.example.org",
        "[a](//example.org/x)",
        "![a](//example.org/x.png)",
        "[a]: //example.org/x",
        "<img src=x>",
        "<!-- recall:scorecard -->",
        "<a href=x>",
        "/close",
        "  /assign me",
        "> /close",
    ],
)
def test_text_of_others_calls_nobody(loud: str) -> None:
    said = quiet(loud)
    assert said != loud
    for pattern in (
        r"@\w",
        r"[#!]\\?\w",
        r"(?i)\bgh\\?-\d",
        r"://",
        r"www\.",
        r"\]\(|\]:",
        r"<[!a-z]",
        r"(?m)^[> ]*/",
        r"&#|&commat",
    ):
        assert not re.search(pattern, said), pattern
    assert said.replace("\u200b", "").replace("&lt;", "<") == loud


def test_what_a_scorecard_has_stays_as_it_is() -> None:
    card = (
        "# Recall scorecard: 1 passed\n\n| case | why |\n| --- | ---: |\n| `a/b` | 50 % of $1.20 |\n\n- **new** ~~x~~\n"
    )
    assert quiet(card) == card
    folded = "<details>\n<summary>more</summary>\n\na &lt; b &amp; c\n\n</details>\n"
    assert quiet(folded) == folded


BLOB = "https://github.com/museum/desk/blob/"
OURS = f"[eval/cases.yaml:7]({BLOB}c0ffee/eval/cases.yaml#L7)"


@pytest.mark.parametrize("around", ["{}", "- **`a`**, {}: no", "| {} | x |", "@octocat {} #12"])
def test_a_link_to_a_line_of_the_repository_works(around: str) -> None:
    said = quiet(around.format(OURS), BLOB)
    assert OURS in said
    assert not re.search(r"@\w|#1", said)
    assert quiet(said, BLOB) == said
    assert OURS not in quiet(around.format(OURS))


@pytest.mark.parametrize(
    "link",
    [
        f"[a]({BLOB}c0ffee/eval/cases.yaml)",
        "[a](https://github.com/museum/desk/issues/12#L7)",
        "[a](https://github.com/mallory/desk/blob/c0ffee/x#L7)",
        f"[a](x{BLOB}c0ffee/x#L7)",
        f"[a]({BLOB}@octocat#L7)",
        f"[a]({BLOB}x#L7 'title')",
        f"![a]({BLOB}x.png#L7)",
        f"{BLOB}c0ffee/eval/cases.yaml#L7",
    ],
)
def test_any_other_link_is_text(link: str) -> None:
    assert "://" not in quiet(link, BLOB)


def test_the_name_of_a_link_calls_nobody() -> None:
    assert "@octocat" not in quiet(OURS.replace("eval/cases.yaml:7", "@octocat #12"), BLOB)


@given(TEXT)
def test_quiet_text_with_links_is_quiet_already(text: str) -> None:
    assert quiet(quiet(text + OURS, BLOB), BLOB) == quiet(text + OURS, BLOB)


@given(TEXT)
def test_quiet_text_is_quiet_already(text: str) -> None:
    assert quiet(quiet(text)) == quiet(text)


@given(TEXT)
@example("-->\n<!-- recall:scorecard -->\n")
def test_no_text_has_a_hidden_line(text: str) -> None:
    body = page(marker("scorecard"), text, "", rest=REST)
    assert is_marked(body, "scorecard")
    assert body.count("<!--") == 1
    assert body.encode()


@given(TEXT, st.integers(150, 400), st.sampled_from(["", "For commit abc."]))
@example("<details>" * 20, 200, "")
@example("~~~~\n" + "x\n" * 200, 200, "")
@example("😀" * 300, 150, "")
def test_a_page_fits_and_is_cut_after_a_line(text: str, limit: int, foot: str) -> None:
    head = marker("scorecard")
    body = page(head, text, foot, rest=REST, limit=limit)
    assert len(body) <= size(body) <= limit
    assert is_marked(body, "scorecard")
    assert body.endswith(foot)
    if REST not in body:
        assert quiet(text).strip("\n") in body
        return
    kept = body.removeprefix(f"{head}\n").partition(f"\n\n{REST}")[0]
    assert size(page(head, text, foot, rest=REST, limit=10**6)) > limit, "it was cut, and would have fitted"
    lines = kept.split("\n")
    whole = quiet(text).strip("\n").split("\n")
    while lines and lines[-1] in ("</details>", *(f * n for f in "`~" for n in range(3, 400))) and lines != whole:
        lines.pop()
    same_lines = lines == whole[: len(lines)]
    assert same_lines or (len(lines) == 1 and whole[0].startswith(lines[0]))


def test_what_a_cut_leaves_open_is_closed() -> None:
    text = "<details>\n<summary>all</summary>\n\n````text\n" + "line\n" * 400
    body = page(marker("a"), text, "", rest=REST, limit=600)
    assert f"line\n````\n</details>\n\n{REST}" in body


def test_what_is_closed_before_a_cut_is_not_closed_again() -> None:
    text = "<details>\n\n```text\n<details>\n~~~\n```\n\n</details>\n\n" + "line\n" * 400
    body = page(marker("a"), text, "", rest=REST, limit=600)
    assert "</details>\n\nline\n" in body
    assert body.endswith(f"\nline\n\n{REST}")


def test_a_long_scorecard_fits_into_a_comment() -> None:
    text = "# Scorecard\n" + "".join(f"| `case-{n}` | said @somebody and 😀 |\n" for n in range(5_000))
    body = page(marker("a"), text, "For commit abc.", rest=REST)
    assert LIMIT - 100 < size(body) <= LIMIT
    assert body.endswith(f"|\n\n{REST}\n\nFor commit abc.")


# Tracking: an issue says what is known, and tells people what is news


IDS = st.frozensets(st.sampled_from("abcd"))


def run(passed: str = "", failed: str = "", gone: str = "", *troubles: str) -> Verdicts:
    return Verdicts(frozenset(passed), frozenset(failed), frozenset(gone), troubles)


def known(failing: str, *, is_open: bool = True, declined: bool = False) -> Known:
    return Known(is_open, declined, frozenset(failing))


@pytest.mark.parametrize(
    ("issue", "verdicts", "move", "failing", "news"),
    [
        (None, run("ab"), Move.NOTHING, "", ""),
        (None, run("a", "cb"), Move.OPEN, "bc", "bc"),
        (known("b"), run("", "b"), Move.UPDATE, "b", ""),
        (known("b"), run("", "bc"), Move.UPDATE, "bc", "c"),
        (known("b"), run("b", "c"), Move.UPDATE, "c", "c"),
        (known("b"), run("b"), Move.CLOSE, "", ""),
        (known("bc"), run("b"), Move.UPDATE, "c", ""),
        (known("b"), run("a"), Move.UPDATE, "b", ""),
        (known("bc"), run("b", "", "c"), Move.CLOSE, "", ""),
        (known("", is_open=False), run("a"), Move.NOTHING, "", ""),
        (known("", is_open=False), run("", "b"), Move.REOPEN, "b", "b"),
        (known("b", is_open=False), run("", "b"), Move.NOTHING, "b", ""),
        (known("b", is_open=False), run("b"), Move.UPDATE, "", ""),
        # A run that shows less than it should is not all clear.
        (None, run("ab", "", "", "an outage"), Move.OPEN, "", ""),
        (known("b"), run("b", "", "", "an outage"), Move.UPDATE, "", ""),
        (known("", is_open=False), run("a", "", "", "an outage"), Move.REOPEN, "", ""),
        (known("b", is_open=False, declined=True), run("a", "", "", "an outage"), Move.NOTHING, "b", ""),
        (known("b", is_open=False, declined=True), run("", "bc"), Move.NOTHING, "b", ""),
    ],
)
def test_the_rule(issue: Known | None, verdicts: Verdicts, move: Move, failing: str, news: str) -> None:
    told = decide(issue, verdicts)
    assert (told.move, told.failing, told.news) == (move, frozenset(failing), tuple(news))


def test_where_names_are_not_kept_nothing_is_news_and_nothing_is_closed() -> None:
    assert decide(Known(True, False, None), run("ab", "c")).move is Move.UPDATE
    assert decide(Known(True, False, None), run("ab")).failing is None
    assert decide(Known(False, False, None), run("", "c")).move is Move.NOTHING


@given(IDS, IDS, IDS, st.booleans())
def test_a_second_look_at_the_same_run_changes_nothing(
    before: frozenset[str], passed: frozenset[str], failed: frozenset[str], is_open: bool
) -> None:
    verdicts = Verdicts(passed - failed, failed)
    told = decide(Known(is_open, False, before), verdicts)
    now_open = {Move.CLOSE: False, Move.REOPEN: True}.get(told.move, is_open)
    again = decide(Known(now_open, False, told.failing), verdicts)
    assert again.failing == told.failing
    assert again.news == ()
    assert again.move in (Move.NOTHING, Move.UPDATE)


@given(st.dictionaries(st.text(min_size=1, max_size=30), st.sampled_from(["", "2026-03-10"]), max_size=10))
def test_what_is_remembered_comes_back_and_ends_nothing(ids: dict[str, str]) -> None:
    line = remembered(ids, ids)
    assert line.count("-->") == 1
    assert "\n" not in line
    for end in ("\n", "\r\n"):
        assert recollect(f"<!-- recall:nightly -->{end}{line}{end}text", "issue 3") == ids


def test_an_issue_of_an_earlier_version_knows_no_days() -> None:
    assert recollect('x\n<!-- recall-failing: ["a", "b"] -->\n', "issue 3") == {"a": "", "b": ""}


@pytest.mark.parametrize(
    ("failed", "stands", "move"),
    [
        ("2026-03-10", "2026-03-09", Move.UPDATE),
        ("2026-03-10", "2026-03-10", Move.CLOSE),
        ("2026-03-10", "2026-03-12", Move.CLOSE),
        ("", "2026-03-12", Move.UPDATE),
        ("2026-03-10", "", Move.UPDATE),
    ],
)
def test_a_pass_in_another_run_that_the_branch_knows_of_closes_the_issue(failed: str, stands: str, move: Move) -> None:
    before = known("b")._replace(since={"b": failed})
    assert decide(before, run("a")._replace(stands={"b": stands} if stands else {})).move is move
    # What fails in this run fails, whatever the row said before it.
    assert decide(before, run("a", "b")._replace(stands={"b": stands})).failing == frozenset("b")


EARLY, LATE = "2026-03-10T09:00:00+00:00", "2026-03-10T11:00:00+00:00"


@pytest.mark.parametrize(
    ("only_adds", "day", "started", "stands", "move"),
    [
        (True, "2026-03-10", LATE, "", Move.CLOSE),
        (True, "2026-03-10", EARLY, "", Move.UPDATE),
        (True, "2026-03-11", EARLY, "", Move.CLOSE),
        (True, "", "", "2026-03-10", Move.UPDATE),
        (True, "", "", "2026-03-11", Move.CLOSE),
        (False, "", "", "2026-03-10", Move.CLOSE),
        (False, "2026-03-09", LATE, "", Move.UPDATE),
    ],
)
def test_a_pass_that_was_asked_before_the_fail_closes_nothing(
    only_adds: bool, day: str, started: str, stands: str, move: Move
) -> None:
    """Of a run of a pull request, whose fail is not in the rows of the branch, the time of day counts."""
    failed = Verdicts(frozenset(), frozenset("b"), day="2026-03-10", started="2026-03-10T10:00:00+00:00")
    before = known("b")._replace(since={"b": failed._replace(only_adds=only_adds).since})
    after = run("b") if day else run("a")
    after = after._replace(day=day, started=started, stands={"b": stands} if stands else {})
    assert decide(before, after).move is move


def test_too_many_names_are_not_kept() -> None:
    line = remembered(f"case-{number}" for number in range(5_000))
    assert line == "<!-- recall-failing: null -->"
    assert recollect(f"x\n{line}\n", "issue 3") is None


@pytest.mark.parametrize("line", ["", "text", "<!-- recall-failing: [1] -->", "<!-- recall-failing: [ -->"])
def test_a_line_that_was_edited_is_refused(line: str) -> None:
    with pytest.raises(RecallError, match=r"^issue 3: its second line, which is hidden, was edited; "):
        recollect(f"x\n{line}\n<!-- recall-failing: [] -->", "issue 3")


@given(st.dictionaries(st.text(), st.tuples(st.text(), st.text()), max_size=4))
def test_what_is_known_of_a_case_comes_back_and_ends_nothing(known: dict[str, tuple[str, str]]) -> None:
    details = {case_id: Detail(*one) for case_id, one in known.items()}
    line = carried(details)
    assert line.count("-->") == 1
    assert "@" not in line
    assert details_in(f"marker\nfailing\n{line}\ntext") == details
    assert details_in(f"marker\nfailing\n{line[:-5]}") == {}
    assert details_in("marker\nfailing") == {}


def test_of_more_than_an_issue_holds_the_first_are_known() -> None:
    details = {name: Detail(9_000 * "x") for name in "abc"}
    assert list(details_in(f"marker\nfailing\n{carried(details)}\n")) == ["a", "b"]


def test_a_run_that_only_adds_takes_nothing_off_and_closes_nothing() -> None:
    known = Known(True, False, frozenset("ab"))
    adds = run("a")._replace(only_adds=True)
    assert decide(None, adds).move is Move.NOTHING
    assert decide(known, adds).move is Move.NOTHING
    assert decide(known._replace(failing=frozenset()), adds).move is Move.NOTHING
    assert decide(known, run("a", "b")._replace(only_adds=True)).move is Move.NOTHING
    told = decide(known, run("ab", "c")._replace(passed=frozenset(), only_adds=True))
    assert (told.move, told.failing, told.news) == (Move.UPDATE, frozenset("abc"), ("c",))
