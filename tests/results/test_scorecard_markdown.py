"""The scorecard as Markdown; and that an answer stays text in it."""

from __future__ import annotations

import re
from typing import Any

import pytest

from pytest_recall.replay.exchange import Call
from pytest_recall.results import sentences
from pytest_recall.results.scorecard import LastPass
from pytest_recall.results.scorecard_markdown import MAX_MARKDOWN, MAX_OPEN, markdown
from pytest_recall.trials.trial import Answer
from tests.helpers.samples import ERROR, FAILED, PASSED, row, trial
from tests.results.runs import A_RUN, again, graded, run


def cells(line: str) -> list[str]:
    """Return the cells of a table row, as a reader of GitHub's Markdown splits it."""
    # A backslash takes the next character along, be it a pipe or another backslash.
    return [cell.strip() for cell in re.findall(r"((?:\\.|[^|\\])*)\|", line.strip().removeprefix("|"))]


def live(cell: str) -> str:
    """Return the characters of a cell that Markdown may take for more than text."""
    return re.sub(r"`[^`]*`|\\.", "", cell)


def failed_row(page: str) -> str:
    """Return the table row of the case that did not pass."""
    (line,) = [line for line in page.splitlines() if line.startswith("| `late-fee`")]
    return line


def test_the_verdict_comes_first_then_what_fails_and_the_rest_is_folded() -> None:
    record, card = run(A_RUN, left=[("late", "new")], orphans=("gone",), not_due=34, next_due="2026-03-12")
    page = markdown(record, card)
    assert page.startswith(f"# {sentences.first_line(record.header, card)}\n\n**What to do:** ")
    opened, _, folded = page.partition("<details>")
    for text in ("**Partial: 1 of 6 chosen cases", "- **`worse`**"):
        assert text in opened
    for text in (
        "| `bad` | known failure |",
        "| `crash` | error |",
        "- `late` (new)",
        "| box 1 | 0 | 1 |",
        "skipped: gone",
    ):
        assert text in folded
    assert page.count("<details>") == page.count("</details>") == folded.count("<summary>")


def test_a_regression_says_what_it_is_put_down_to_and_what_was_answered_before() -> None:
    known = row(3, 3, passed_under="case=aaaaaa model=small-1")
    answer = Answer(text="We are open from 10:00 to 17:00 | *each* day.")
    one = graded(
        "worse", FAILED, "due", known, where="eval/cases.yaml:12", under="case=bbbbbb model=large_2", answer=answer
    )
    record, card = run([one])
    before = LastPass("We are open from 10:00 to 16:00 | *each* day.", run="2026-03-09T080000")
    page = markdown(record, card._replace(passes={"worse": before}), "https://github.com/a/b/blob/c0ffee").splitlines()
    start = page.index(
        "- **`worse`**, [eval/cases.yaml:12](https://github.com/a/b/blob/c0ffee/eval/cases.yaml#L12):"
        " contains: no “one pound”"
    )
    answered, since, cause, also = page[start + 1 : start + 5]
    assert answered == r"  - answered: We are open from 10:00 to 17:00 \| \*each\* day."
    assert since.endswith(r", and now: … open from 10:00 to ~~16:00~~ **17:00** \| \*each\* day.")
    assert "the run 2026-03-09T080000" in since
    assert cause.startswith("  - likely cause: the case was edited: ")
    assert also == r"  - also: the model changed: small-1 answered at the last pass, now large\_2"


def test_more_regressions_than_a_screen_holds_are_folded() -> None:
    page = markdown(*run([graded(f"c{n:02}", FAILED, "due", row(3, 3)) for n in range(MAX_OPEN + 2)]))
    opened, _, folded = page.partition("<summary>2 more regressions</summary>")
    assert opened.count("- **`c") == MAX_OPEN
    assert folded.count("- **`c") == 2


def test_markdown_of_nothing_due() -> None:
    page = markdown(*run([], exit_code=0))
    assert page.startswith("# No case was chosen")
    assert "##" not in page
    assert "\n- No case came to a verdict: this run shows nothing.\n" in page


def test_html_in_an_answer_stays_text() -> None:
    page = markdown(*run([again("<img src=x onerror=alert(1)> & <!-- hidden --> </td> &lt;b&gt;")]))
    assert cells(failed_row(page))[3] == (
        r"&lt;img src=x onerror=alert\(1\)&gt; &amp; &lt;\!-- hidden --&gt; &lt;/td&gt; &amp;lt;b&amp;gt;"
    )
    assert re.search(r"<(?!/?(?:br|details|summary)\b)", page) is None


def test_html_in_an_error_stays_text() -> None:
    page = markdown(*run([graded("crash", ERROR, "due", error="<script>alert(1)</script>")]))
    assert "&lt;script&gt;" in page
    assert "<script" not in page


def test_nobody_is_mentioned_by_an_answer() -> None:
    assert re.search(r"@\w", markdown(*run([again("thanks @octocat and @org/team")]))) is None


def test_an_answer_of_several_lines_stays_in_its_row() -> None:
    page = markdown(*run([again("a\n\n# Heading\r\n- item\n```\ncode")]))
    assert "\n# Heading" not in page
    assert cells(failed_row(page))[3] == r"a \# Heading - item \`\`\` code"


def test_a_pipe_in_an_answer_stays_in_its_cell() -> None:
    line = failed_row(markdown(*run([again("a | b || c")])))
    assert cells(line)[3] == r"a \| b \|\| c"
    assert len(cells(line)) == 5


def test_an_escaped_pipe_in_an_answer_stays_in_its_cell() -> None:
    line = failed_row(markdown(*run([again(r"a \| b")])))
    assert cells(line)[3] == r"a \\\| b"
    assert len(cells(line)) == 5


@pytest.mark.parametrize(
    ("answer", "escaped"),
    [
        ("![seen](p.png)", r"\!\[seen\]\(p.png\)"),
        ("[click here](x)", r"\[click here\]\(x\)"),
        ("**Approved** by the owner", r"\*\*Approved\*\* by the owner"),
        ("__Approved__ _at last_", r"\_\_Approved\_\_ \_at last\_"),
        ("~~wrong~~ right", r"\~\~wrong\~\~ right"),
        ("`code`", r"\`code\`"),
        (r"a \* b", r"a \\\* b"),
        ("see #12", r"see \#12"),
    ],
)
def test_markdown_in_an_answer_stays_text(answer: str, escaped: str) -> None:
    crash = graded("late-fee", ERROR, "due", error=answer)
    assert cells(failed_row(markdown(*run([again(answer)]))))[3] == escaped
    assert cells(failed_row(markdown(*run([crash]))))[2] == escaped
    assert re.search(r"[\\`*_{}\[\]()#+!|~]", live(escaped)) is None


def test_an_id_is_code() -> None:
    crash = graded("a_b*c", ERROR, "due")
    page = markdown(*run([graded("a_b", FAILED, "due"), crash], left=[("a_b`c|d", "due")])).splitlines()
    assert "- **`a_b`**: contains: no “one pound”" in page
    assert "| `a_b*c` | error | agent: TimeoutError: no answer |" in page
    assert r"- `a_b'c\|d` (due)" in page


def test_scenarios_and_orphans_stay_text() -> None:
    one = trial("a", PASSED, reason="due", scenario="late_fees", dimension="tone_of_voice")
    other = trial("b", PASSED, reason="due", scenario="other", dimension="other")
    page = markdown(*run([one, other], orphans=("a_b_c",))).splitlines()
    assert r"| late\_fees | 1 |" in page
    assert r"| tone\_of\_voice | 1 |" in page
    assert r"- 1 row of the state without a case in the collected files, skipped: a\_b\_c" in page


@pytest.mark.parametrize(
    ("more", "title"),
    [
        ({"seed": "<b>7</b>"}, "pull request, 2026-03-10, seed &lt;b&gt;7&lt;/b&gt;."),
        ({"pr": "<b>7</b>"}, r"pull request for \#&lt;b&gt;7&lt;/b&gt;, 2026-03-10, seed 7."),
    ],
)
def test_markdown_and_html_in_the_title_stay_text(more: dict[str, Any], title: str) -> None:
    assert f"- {title}" in markdown(*run(A_RUN, **more)).splitlines()


def test_the_name_of_a_model_in_the_title_stays_text() -> None:
    one = graded("a", PASSED, "due", calls=(Call("agent", "live", "<b>m_1</b>"),))
    title = r"pull request, 2026-03-10, seed 7, model &lt;b&gt;m\_1&lt;/b&gt;."
    assert f"- {title}" in markdown(*run([one])).splitlines()


def test_markdown_tables_have_an_end() -> None:
    fails = [graded(f"fail-{number:04}", FAILED, "due") for number in range(MAX_MARKDOWN + 3)]
    crashes = [graded(f"crash-{number:04}", ERROR, "due") for number in range(MAX_MARKDOWN + 4)]
    left = [(f"left-{number:04}", "due") for number in range(MAX_MARKDOWN + 5)]
    page = markdown(*run(fails + crashes, left=left))
    assert [page.count(f"`{name}-") for name in ("fail", "crash", "left")] == [MAX_MARKDOWN] * 3
    for more in (3, 4, 5):
        assert f"\n\n… and {more} more in scorecard.json\n\n" in page
    assert "more in scorecard.json" not in markdown(*run(fails[:MAX_MARKDOWN]))
