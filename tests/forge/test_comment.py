"""Comment: what is posted calls no one, passes for nothing of ours, and fits."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pytest_recall.files.errors import RecallError
from pytest_recall.forge.comment import LIMIT, is_marked, marker, page, quiet, same, size

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


def test_a_long_scorecard_fits_into_a_comment() -> None:
    text = "# Scorecard\n" + "".join(f"| `case-{n}` | said @somebody and 😀 |\n" for n in range(5_000))
    body = page(marker("a"), text, "For commit abc.", rest=REST)
    assert LIMIT - 100 < size(body) <= LIMIT
    assert body.endswith(f"|\n\n{REST}\n\nFor commit abc.")
