"""Post: one comment and one issue, no matter who else writes at the same time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from pytest_recall.extensions.hosts import github_client as github
from pytest_recall.extensions.hosts import gitlab_client as gitlab
from pytest_recall.files.errors import RecallError
from pytest_recall.forge import post
from pytest_recall.forge.client import RefusedError
from pytest_recall.forge.comment import Detail, Verdicts, marker
from tests.helpers.github import BOT, REPO, TOKEN, GitHub, failed, first

MARK = marker("scorecard")
STRANGER = {"login": "mallory", "type": "User"}
RUNS = 4
URL = "https://github.com/museum/desk/actions/runs/5"


@pytest.fixture
def host() -> Iterator[GitHub]:
    served = GitHub()
    yield served
    served.close()


def connect(host: GitHub) -> github.GitHub:
    return github.GitHub(host.url, REPO, TOKEN, patience=5)


@pytest.fixture
def api(host: GitHub) -> Iterator[github.GitHub]:
    made = connect(host)
    yield made
    made.close()


def at_once(host: GitHub, kind: str, call: Callable[[github.GitHub, int], object]) -> None:
    """Make the call from several runs, none of which sees what the others write before it has written itself."""
    host.meet(RUNS, kind)

    def run(number: int) -> None:
        with closing(connect(host)) as api:
            call(api, number)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(RUNS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)


def say(api: github.GitHub, text: str, *, dry: bool = False) -> str:
    return post.comment(api, 7, "scorecard", f"{MARK}\n{text}", dry=dry)


@pytest.mark.parametrize("reply", [None, [], {}, "x"])
def test_what_is_no_api_of_this_kind_is_one_sentence(host: GitHub, api: github.GitHub, reply: object) -> None:
    host.before = lambda method, path: (200, reply, {})
    with closing(gitlab.GitLab(host.url, "3", TOKEN, patience=5)) as other:
        for asked, said in ((api, "`login`; correct GITHUB_API_URL"), (other, "`username`; correct CI_API_V4_URL")):
            with pytest.raises(RecallError, match=f"^GET /user: the reply has no {said}$"):
                asked.login()


@pytest.mark.parametrize(
    ("ask", "reply", "place", "why"),
    [
        (lambda one: one.comments(7), [{"id": 1}], "GET .*/issues/7/comments", "KeyError: 'body'"),
        (lambda one: one.comments(7), [{"id": "x", "body": ""}], "GET .*/issues/7/comments", "ValueError: .*'x'"),
        (lambda one: one.comments(7), [{"id": 1, "body": "", "user": "me"}], "GET .*/comments", "AttributeError: .*"),
        (lambda one: one.issues("l"), [{"number": 1, "body": None}], "GET .*/issues", "KeyError: 'state'"),
        (lambda one: one.open_issue("t", "b", "l"), [], "POST .*/issues", "TypeError: .*"),
        (lambda one: one.open_issue("t", "b", "l"), {"number": None}, "POST .*/issues", "TypeError: .*"),
        (
            lambda one: one.approvals("5", "e"),
            [{"state": "approved"}],
            "GET .*/actions/runs/5/approvals",
            "KeyError: .*",
        ),
        (lambda one: one.status("abc", "c"), [{"context": "c"}], "GET .*/commits/abc/statuses", "KeyError: 'state'"),
    ],
)
def test_a_reply_that_is_not_as_documented_is_one_sentence(
    host: GitHub, api: github.GitHub, ask: Callable[[github.GitHub], object], reply: object, place: str, why: str
) -> None:
    host.before = lambda method, path: (200, reply, {})
    said = rf"^{place}: the reply is not as the API documents it \({why}\); correct GITHUB_API_URL$"
    with pytest.raises(RecallError, match=said):
        ask(api)


def test_so_it_is_of_gitlab(host: GitHub) -> None:
    host.before = lambda method, path: (200, [{"id": 1, "system": False}], {})
    with (
        closing(gitlab.GitLab(host.url, "3", TOKEN, patience=5)) as other,
        pytest.raises(RecallError, match=r"^GET /projects/3/merge_requests/7/notes: .*\(KeyError: 'body'\)"),
    ):
        other.comments(7)


# Comments


def test_the_comment_is_written_once_and_then_updated(host: GitHub, api: github.GitHub) -> None:
    for number in range(3):
        host.says(7, f"talk {number}", STRANGER)
    assert say(api, "one") == "wrote a comment"
    written = max(host.comments[7])
    assert say(api, "two") == f"updated comment {written}"
    assert host.bodies(7) == ["talk 0", "talk 1", "talk 2", f"{MARK}\ntwo"]


def test_the_same_text_is_not_written_again(host: GitHub, api: github.GitHub) -> None:
    host.says(7, f"{MARK}\r\ntext\r\n")
    assert say(api, "text") == "the comment says so already"
    assert host.writes == []


def test_what_somebody_else_wrote_is_not_ours_whatever_it_begins_with(host: GitHub, api: github.GitHub) -> None:
    host.says(7, f"{MARK}\nall green, trust me", STRANGER)
    host.says(7, f"look: {MARK}\n")
    assert say(api, "text") == "wrote a comment"
    assert host.bodies(7)[:2] == [f"{MARK}\nall green, trust me", f"look: {MARK}\n"]


def test_a_token_of_a_person_knows_its_comments_by_the_login(host: GitHub, api: github.GitHub) -> None:
    host.user = {"login": "curator", "type": "User"}
    host.says(7, f"{MARK}\nof a program", BOT)
    assert say(api, "one") == "wrote a comment"
    assert say(api, "two").startswith("updated comment ")
    assert host.bodies(7) == [f"{MARK}\nof a program", f"{MARK}\ntwo"]


def test_an_account_that_is_gone_wrote_nothing_of_ours(host: GitHub, api: github.GitHub) -> None:
    host.says(7, f"{MARK}\nold", None)  # type: ignore[arg-type]
    assert say(api, "text") == "wrote a comment"


def test_of_several_the_oldest_stays(host: GitHub, api: github.GitHub) -> None:
    kept = host.says(7, f"{MARK}\none")
    host.says(7, f"{MARK}\ntwo")
    host.says(7, f"{MARK}\nthree")
    assert say(api, "one") == f"updated comment {kept} and deleted 2 others"
    assert host.bodies(7) == [f"{MARK}\none"]
    assert [method for method, _ in host.writes] == ["DELETE", "DELETE"]


def test_a_comment_that_may_not_be_deleted_is_said(host: GitHub, api: github.GitHub) -> None:
    host.says(7, f"{MARK}\none")
    host.says(7, f"{MARK}\ntwo")
    host.before = lambda method, path: failed(422, "Locked") if method == "DELETE" else None
    with pytest.raises(RefusedError, match=r"^DELETE /repos/museum/desk/issues/comments/102: .*Locked"):
        say(api, "one")


def test_a_token_that_has_run_out_writes_nothing(host: GitHub, api: github.GitHub) -> None:
    host.before = lambda method, path: failed(401, "Bad credentials")
    with pytest.raises(RefusedError, match=r"^GET /user: .*Bad credentials"):
        say(api, "one")
    assert host.writes == []


def test_runs_at_the_same_time_leave_one_comment(host: GitHub) -> None:
    at_once(host, "comments", lambda api, number: say(api, f"run {number}"))
    assert len(host.bodies(7)) == 1
    assert host.bodies(7)[0] in {f"{MARK}\nrun {number}" for number in range(RUNS)}


def test_a_comment_that_arrived_though_the_answer_did_not(host: GitHub, api: github.GitHub) -> None:
    def lost(method: str, path: str) -> tuple[int, object, dict[str, str]] | None:
        if method == "POST" and not host.comments:
            host.says(7, f"{MARK}\ntext")
            return failed(502, "Bad Gateway", retry_after="0")
        return None

    host.before = lost
    assert say(api, "text").startswith("wrote")
    assert host.bodies(7) == [f"{MARK}\ntext"]


def test_a_dry_run_writes_nothing(host: GitHub, api: github.GitHub) -> None:
    assert say(api, "text", dry=True) == "would write a comment"
    written = host.says(7, f"{MARK}\none")
    host.says(7, f"{MARK}\ntwo")
    assert say(api, "text", dry=True) == f"would update comment {written}"
    assert host.writes == []


def test_only_approvals_of_the_run_and_the_environment_count(host: GitHub, api: github.GitHub) -> None:
    host.approve("5", "deploy", "mallory", "go")
    host.approve("5", "waivers", "mallory", "no", state="rejected")
    host.approve("6", "waivers", "mallory", "another run")
    assert api.approvals("5", "waivers") == []
    host.approve("5", "waivers", "ann", "an outage")
    assert api.approvals("5", "waivers") == [("ann", "an outage")]


def test_a_limit_is_waited_for(host: GitHub, api: github.GitHub) -> None:
    host.before = first(failed(403, "You have exceeded a secondary rate limit.", retry_after="0"), 2)
    assert say(api, "text") == "wrote a comment"


# Issues


def track(
    api: github.GitHub, passed: str = "", failed: str = "", *, night: int = 1, dry: bool = False, gone: str = ""
) -> str:
    sheet = post.Posting("nightly", f"# Night {night}\n\nasked @octocat", "a" * 40, URL)
    verdicts = Verdicts(frozenset(passed), frozenset(failed), frozenset(gone))
    return post.issue(api, sheet, verdicts, "recall", "Eval cases fail", f"night-{night}", dry)


def only(host: GitHub) -> tuple[int, str, str]:
    """Return the number, the state and the text of the one issue."""
    ((number, one),) = host.issues.items()
    return number, one["state"], one["body"]


def test_a_green_night_opens_nothing(host: GitHub, api: github.GitHub) -> None:
    assert track(api, "abc") == "no case fails, and there is no issue"
    assert host.writes == []


def test_the_life_of_an_issue(host: GitHub, api: github.GitHub) -> None:
    assert track(api, "a", "b") == "opened issue 101 about 1 case"
    number, state, body = only(host)
    assert state == "open"
    assert body.startswith('<!-- recall:nightly -->\n<!-- recall-failing: {"b": ""} -->\n')
    opened, _, folded = body.partition("<details>")
    assert "\n- `b`\n" in opened
    assert "# Night 1\n\nasked @\u200boctocat\n\n</details>\n\nFor commit aaaaaaaaaaaa. [The run" in folded
    # The same run again
    writes = len(host.writes)
    assert track(api, "a", "b") == f"issue {number} says so already"
    assert len(host.writes) == writes
    # Another night with the same fails tells no one
    assert track(api, "a", "b", night=2) == f"updated issue {number}"
    assert host.bodies(number) == []
    # A new one
    assert track(api, "", "bc", night=3) == f"updated issue {number}"
    assert host.bodies(number) == ["<!-- recall:news.night-3 -->\n1 case that did not fail before:\n\n- `c`"]
    # One was not asked, the other one passes
    assert track(api, "c", night=4) == f"updated issue {number}"
    assert "- `b` (no verdict in the newest run)\n" in only(host)[2]
    # All clear
    assert track(api, "bc", night=5) == f"closed issue {number}"
    assert host.bodies(number)[1].endswith("\nAll clear: every case that failed has passed since.")
    assert (only(host)[1], host.issues[number]["state_reason"]) == ("closed", "completed")
    assert track(api, "bc", night=6) == f"issue {number} is closed"
    assert len(host.bodies(number)) == 2
    # And again
    assert track(api, "c", "b", night=7) == f"reopened issue {number}"
    assert only(host)[1] == "open"
    assert len(host.bodies(number)) == 3


def test_a_case_that_is_deleted_is_waited_for_no_longer(host: GitHub, api: github.GitHub) -> None:
    track(api, "", "b")
    assert track(api, "a", gone="b", night=2).startswith("closed issue")


def test_an_issue_that_was_closed_as_not_planned_stays_closed(host: GitHub, api: github.GitHub) -> None:
    track(api, "", "b")
    number, _, body = only(host)
    host.issues[number].update(state="closed", state_reason="not_planned")
    assert track(api, "", "bc", night=2) == f"issue {number} is closed as not planned, and stays so"
    assert only(host) == (number, "closed", body)


def test_whoever_dies_after_the_comment_says_it_once(host: GitHub, api: github.GitHub) -> None:
    track(api, "", "b")
    number, _, _ = only(host)
    host.before = lambda method, path: failed(404, "gone") if method == "PATCH" else None
    with pytest.raises(RecallError):
        track(api, "", "bc", night=2)
    host.before = lambda method, path: None
    assert track(api, "", "bc", night=2) == f"updated issue {number}"
    assert len(host.bodies(number)) == 1


def test_runs_at_the_same_time_leave_one_issue(host: GitHub, api: github.GitHub) -> None:
    at_once(host, "issues", lambda each, number: track(each, "", "b", night=number))
    (kept, *others) = sorted(host.issues)
    assert host.issues[kept]["state"] == "open"
    assert len(others) == RUNS - 1
    for other in others:
        assert (host.issues[other]["state"], host.issues[other]["state_reason"]) == ("closed", "not_planned")
        assert host.issues[other]["body"] == f"The same as #{kept}."
    assert track(api, "b", night=9) == f"closed issue {kept}"


def test_an_issue_of_a_stranger_is_left_alone(host: GitHub, api: github.GitHub) -> None:
    track(api, "", "b")
    number, _, body = only(host)
    host.issues[number]["user"] = STRANGER
    track(api, "", "b", night=2)
    assert len(host.issues) == 2
    assert host.issues[number]["body"] == body


def test_a_pull_request_is_no_issue(host: GitHub, api: github.GitHub) -> None:
    track(api, "", "b")
    host.issues[only(host)[0]]["pull_request"] = {}
    assert track(api, "", "b", night=2).startswith("opened issue 102")


def test_a_label_that_was_dropped_is_said(host: GitHub, api: github.GitHub) -> None:
    host.labels_written = False
    with pytest.raises(RecallError, match="issue 101: it has no label `recall`"):
        track(api, "", "b")


def test_a_dry_run_of_an_issue_writes_nothing(host: GitHub, api: github.GitHub) -> None:
    assert track(api, "", "b", dry=True) == "would open an issue about 1 case"
    assert host.writes == []
    track(api, "", "b")
    writes = len(host.writes)
    done = track(api, "b", "c", night=2, dry=True)
    assert done == "would have updated issue 101: 1 case that did not fail before:\n\n- `c`"
    assert track(api, "b", night=2, dry=True).startswith("would have closed issue 101: All clear")
    assert len(host.writes) == writes


def test_many_cases_are_named_in_part(host: GitHub, api: github.GitHub) -> None:
    ids = [f"case-{number:03}" for number in range(70)]
    sheet = post.Posting("nightly", "# Night")
    post.issue(api, sheet, Verdicts(frozenset(), frozenset(ids)), "recall", "t", "n")
    body = only(host)[2]
    assert "- `case-049`\n- and 20 more\n" in body
    assert "case-069" in body.split("\n")[1].replace("\\u002d", "-")


def test_more_cases_than_an_issue_can_hold_are_not_named(host: GitHub, api: github.GitHub) -> None:
    ids = frozenset(f"{number:04}".rjust(200, "x") for number in range(150))
    sheet = post.Posting("nightly", "# Night")
    assert post.issue(api, sheet, Verdicts(frozenset(), ids), "recall", "t", "n") == "opened issue 101 about 150 cases"
    assert track(api, failed="a", night=2) == "updated issue 101"
    told = "More cases fail than can be named here. Close this issue by hand when they no longer do."
    assert told in only(host)[2]


def test_what_was_known_when_a_case_fell_stays_on_the_issue(host: GitHub, api: github.GitHub) -> None:
    def fails(told: str, repeat: str, *, fell: bool = False) -> str:
        run = Verdicts(frozenset(), frozenset("a"), details={"a": Detail(told, repeat)})
        run = run._replace(fell=frozenset("a") if fell else frozenset())
        post.issue(api, post.Posting("nightly", "page"), run, "recall", "t", "n")
        ((_, issue),) = host.issues.items()
        return str(issue["body"]).partition("# 1 case fails")[2].partition("<details>")[0]

    first = fails("- a: fell", "  - live", fell=True)
    assert "- a: fell\n  - live" in first
    assert "- a: fell\n  - recorded" in fails("- a: fails", "  - recorded")
    assert "- a: fell again\n  - live" in fails("- a: fell again", "  - live", fell=True)
    post.issue(api, post.Posting("nightly", "page"), Verdicts(frozenset(), frozenset()), "recall", "t", "n")
    ((_, issue),) = host.issues.items()
    assert "- a: fell again\n  - live\n  - no verdict in the newest run" in issue["body"]
