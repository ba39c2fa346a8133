"""`recall ci post`: a scorecard on a pull request, from the run to the page that people see."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_recall.results.scorecard_markdown import refusal
from tests.cli.conftest import Recall
from tests.cli.samples import CASES, recall, run_evals
from tests.helpers.github import BOT, REPO, TOKEN, GitHub, failed

HEAD = "b" * 40


@pytest.fixture
def host() -> Iterator[GitHub]:
    served = GitHub()
    yield served
    served.close()


@pytest.fixture
def job(host: GitHub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Be in a job of pull request 7; return where its summary is."""
    for name, value in host.env(GITHUB_STEP_SUMMARY=str(tmp_path / "summary.md"), GITHUB_RUN_ID="12").items():
        monkeypatch.setenv(name, value)
    event(tmp_path, monkeypatch, REPO)
    return tmp_path / "summary.md"


def event(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str) -> None:
    head = {"sha": HEAD, "repo": {"full_name": source}}
    path = tmp_path / "event.json"
    path.write_text(json.dumps({"pull_request": {"number": 7, "head": head}}), encoding="utf-8")
    monkeypatch.setenv("GITHUB_EVENT_PATH", str(path))


def test_the_scorecard_becomes_a_comment(ran: Path, host: GitHub, job: Path, inside: Recall) -> None:
    assert inside(ran, "ci", "post", "comment") == (0, f"{REPO}#7: wrote a comment\n", "")
    (body,) = host.bodies(7)
    assert body.startswith("<!-- recall:scorecard -->\n# 1 of 2 cases regressed\n")
    assert "- **`worse`**" in body
    run = "https://github.com/museum/desk/actions/runs/12"
    assert body.endswith(f"\n\nFor commit {HEAD[:12]}. [The run that wrote this]({run}).")
    assert inside(ran, "ci", "post", "comment").out == f"{REPO}#7: the comment says so already\n"
    assert len(host.writes) == 1
    assert host.tokens == {f"Bearer {TOKEN}"}
    assert not job.exists()


def test_as_a_process(ran: Path, host: GitHub) -> None:
    done = recall(ran, "ci", "post", "comment", **host.env())
    assert done == (0, f"{REPO}#7: wrote a comment\n", "")
    done = recall(ran, "ci", "post", "comment", "--pr", "404", **host.env())
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(
        f"recall: GET /repos/{REPO}/issues/404/comments: status 404 'Not Found'; it is not there"
    )
    assert TOKEN not in done.err


def test_an_answer_can_neither_call_anybody_nor_pass_for_a_comment_of_ours(
    project: Path, host: GitHub, job: Path, inside: Recall
) -> None:
    evil = (
        "<!-- recall:scorecard --> @octocat &#64;hubot see #12 and https://github.com/museum/desk/issues/12 ``` /close"
    )
    conftest = project / "eval" / "conftest.py"
    conftest.write_text(conftest.read_text(encoding="utf-8").replace("A loan lasts one week.", evil), encoding="utf-8")
    run_evals(project)
    inside(project, "ci", "post", "comment")
    (body,) = host.bodies(7)
    assert "hubot" in body
    assert body.count("<!--") == 1
    inner = body.rpartition("\n\nFor commit")[0]
    assert re.findall(r"@\w|&#|#(?!L\d)\w|://(?!github\.com/museum/desk/blob/)", inner) == []
    # Taken from the page, the line is no comment of ours, not even if the bot itself repeats it.
    host.says(7, f"You wrote:\n{body}", BOT)
    assert inside(project, "ci", "post", "comment").out == f"{REPO}#7: the comment says so already\n"


def test_another_page_under_another_name(ran: Path, host: GitHub, job: Path, inside: Recall) -> None:
    (ran / "note.md").write_text("A note.\n", encoding="utf-8")
    inside(ran, "ci", "post", "comment")
    assert inside(ran, "ci", "post", "comment", "--file", "note.md", "--name", "note").code == 0
    assert len(host.bodies(7)) == 2
    assert host.bodies(7)[1].startswith("<!-- recall:note -->\nA note.\n")


def test_a_scorecard_that_is_too_long_is_cut(ran: Path, host: GitHub, job: Path, inside: Recall) -> None:
    (ran / "long.md").write_text("a line with @names\n" * 10_000, encoding="utf-8")
    assert inside(ran, "ci", "post", "comment", "--file", "long.md").code == 0
    (body,) = host.bodies(7)
    assert 65_000 < len(body) <= 65_536
    assert (
        "_This is not all: the page is longer than a comment may be, and the rest is in [the files of the run](" in body
    )


def test_a_fork_gets_a_summary(
    ran: Path, host: GitHub, job: Path, inside: Recall, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host.read_only = True
    event(tmp_path, monkeypatch, "mallory/desk")
    said = (
        "nothing was posted: the token of a pull request from a fork may not write; it is in the summary of the job\n"
    )
    assert inside(ran, "ci", "post", "comment") == (0, said, "")
    assert "# 1 of 2 cases regressed" in job.read_text(encoding="utf-8")
    assert inside(ran, "ci", "post", "issue").code == 0
    assert host.issues == {}


def test_a_job_without_the_permission_is_told(ran: Path, host: GitHub, job: Path, inside: Recall) -> None:
    host.read_only = True
    done = inside(ran, "ci", "post", "comment")
    assert (done.code, done.out) == (2, "")
    assert "give the job the permission to write; it is in the summary of the job" in done.err
    assert job.exists()


def test_a_limit_that_lasts_ends_in_a_sentence_and_the_summary(
    ran: Path, host: GitHub, job: Path, inside: Recall
) -> None:
    host.before = lambda method, path: failed(403, "You have exceeded a secondary rate limit.")
    done = inside(ran, "ci", "post", "comment", "--max-wait", "30s")
    assert done.code == 2
    assert "the host limits requests (403), and asks for 60 s more, after 1 tries" in done.err
    assert "# 1 of 2 cases regressed" in job.read_text(encoding="utf-8")


def test_an_issue_about_what_fails(ran: Path, host: GitHub, job: Path, inside: Recall) -> None:
    assert inside(ran, "ci", "post", "issue", "--label", "evals") == (0, f"{REPO}: opened issue 101 about 1 case\n", "")
    assert host.issues[101]["title"] == "Eval cases fail"
    assert host.issues[101]["labels"] == [{"name": "evals"}]
    assert 'recall-failing: {"worse": ' in host.issues[101]["body"]
    assert inside(ran, "ci", "post", "issue", "--label", "evals").out == f"{REPO}: issue 101 says so already\n"
    # A case that is deleted is waited for no longer.
    path = ran / "eval" / "cases.yaml"
    path.write_text(CASES.replace("id: worse", "id: other").replace("one pound", "one week"), encoding="utf-8")
    run_evals(ran)
    assert inside(ran, "ci", "post", "issue", "--label", "evals").out == f"{REPO}: updated issue 101\n"
    # No case fails any more, and yet a run with an error is not all clear.
    assert "shows less than it should\n\n- 2 of 3 cases without a verdict" in str(host.issues[101]["body"])
    with (ran / "eval" / "rubric.yaml").open("a", encoding="utf-8") as file:
        file.write("no_verdict_allowed: 2\n")
    assert inside(ran, "ci", "post", "issue", "--label", "evals").out == f"{REPO}: closed issue 101\n"


def test_a_status(tmp_path: Path, host: GitHub, job: Path, inside: Recall) -> None:
    given = ("ci", "post", "status", "--commit", HEAD, "--context", "recall / result")
    assert inside(tmp_path, *given, "--state", "failure", "--dry-run").out.endswith("would be failure\n")
    done = inside(tmp_path, *given, "--state", "failure")
    assert done == (0, f"{REPO}: `recall / result` of {HEAD[:12]} is failure\n", "")
    assert inside(tmp_path, *given, "--state", "failure").out.endswith("says so already\n")
    assert inside(tmp_path, *given, "--state", "success").out.endswith("is success\n")
    assert [one["state"] for one in host.statuses[HEAD]] == ["failure", "success"]
    assert host.statuses[HEAD][0]["target_url"] == "https://github.com/museum/desk/actions/runs/12"


def test_a_dry_run(ran: Path, host: GitHub, job: Path, inside: Recall) -> None:
    assert inside(ran, "ci", "post", "comment", "--dry-run").out == f"{REPO}#7: would write a comment\n"
    assert inside(ran, "ci", "post", "issue", "--dry-run").out == f"{REPO}: would open an issue about 1 case\n"
    assert host.writes == []


@pytest.mark.parametrize(
    ("arguments", "without", "said"),
    [
        (["comment"], "GITHUB_TOKEN", "GITHUB_TOKEN: is not set; give the step a token that may write comments"),
        (["comment"], "GITHUB_REPOSITORY", "post: this is not a job of a code host with a repository; give --repo"),
        (["comment"], "GITHUB_REF", "post: this is not a job of a pull request; give its number with --pr"),
        (["comment", "--name", "a-->"], "", "--name: 'a-->' is not a valid name; use letters"),
        (["comment", "--repo", "x"], "", "--repo: 'x' is not of the form owner/name; correct it"),
        (["comment", "--file", "no.md"], "", "no.md: cannot be read"),
        (["status", "--commit", "abc", "--state", "success"], "", "--commit: 'abc' is not a full commit hash; give"),
    ],
)
def test_mistakes(
    ran: Path,
    host: GitHub,
    inside: Recall,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    without: str,
    said: str,
) -> None:
    for name, value in host.env().items():
        if name != without:
            monkeypatch.setenv(name, value)
    done = inside(ran, "ci", "post", *arguments)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"recall: {said}")
    assert host.calls == []


def test_no_scorecard_yet(project: Path, host: GitHub, inside: Recall, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in host.env(GITHUB_RUN_ID="").items():
        monkeypatch.setenv(name, value)
    done = inside(project, "ci", "post", "comment", "--pr", "7")
    assert done.err == "recall: eval/_artifacts/scorecard.md: is not there; run `pytest -p recall` first\n"


def test_a_job_whose_run_has_left_nothing_says_so(project: Path, host: GitHub, job: Path, inside: Recall) -> None:
    assert inside(project, "ci", "post", "comment").out == f"{REPO}#7: wrote a comment\n"
    (body,) = host.bodies(7)
    assert body.startswith("<!-- recall:scorecard -->\n# Not evaluated: ")


def test_a_run_that_was_refused_opens_an_issue_and_pushes_nothing(
    project: Path, host: GitHub, job: Path, inside: Recall, monkeypatch: pytest.MonkeyPatch
) -> None:
    artifacts = project / "eval" / "_artifacts"
    artifacts.mkdir()
    (artifacts / "scorecard.md").write_text(refusal(["eval/rubric.yaml:3: bloks: unknown"]), encoding="utf-8")
    assert inside(project, "ci", "post", "issue").code == 0
    assert host.issues == {}, "what stops the run of a pull request is its own matter"
    monkeypatch.setenv("GITHUB_REF", "refs/heads/main")
    monkeypatch.delenv("GITHUB_EVENT_PATH")
    assert "opened issue 101 about eval/rubric.yaml:3: bloks" in inside(project, "ci", "post", "issue").out
    assert inside(project, "ci", "push").out == "the run was refused, and no case was asked; nothing was pushed\n"


def test_gitlab(ran: Path, host: GitHub, inside: Recall, monkeypatch: pytest.MonkeyPatch) -> None:
    """The notes of a merge request, with replies as GitLab gives them."""
    notes: dict[int, dict[str, object]] = {
        1: {"id": 1, "body": "assigned", "author": {"username": "x"}, "system": True}
    }

    def served(method: str, path: str) -> tuple[int, object, dict[str, str]]:
        if path == "/user":
            return 200, {"username": "project_3_bot"}, {}
        assert path.startswith("/projects/3/merge_requests/7/notes"), path
        if method == "GET":
            return 200, list(notes.values()), {}
        if method == "DELETE":
            del notes[int(path.rpartition("/")[2])]
            return 204, None, {}
        body = host.body["body"]
        number = int(path.rpartition("/")[2]) if method == "PUT" else len(notes) + 1
        notes[number] = {"id": number, "body": body, "author": {"username": "project_3_bot"}, "system": False}
        return 201, notes[number], {}

    host.before = served
    told = {"GITLAB_CI": "true", "CI_API_V4_URL": host.url, "CI_PROJECT_ID": "3", "CI_MERGE_REQUEST_IID": "7"}
    for name, value in {**told, "GITLAB_TOKEN": TOKEN}.items():
        monkeypatch.setenv(name, value)
    assert inside(ran, "ci", "post", "comment") == (0, "3!7: wrote a comment\n", "")
    assert inside(ran, "ci", "post", "comment").out == "3!7: the comment says so already\n"
    (ran / "note.md").write_text("/close\n", encoding="utf-8")
    assert inside(ran, "ci", "post", "comment", "--file", "note.md").out == "3!7: updated comment 2\n"
    assert notes[2]["body"] == "<!-- recall:scorecard -->\n\u200b/close"
    notes[3] = {**notes[2], "id": 3}
    given = ("ci", "post", "comment", "--file", "note.md")
    assert inside(ran, *given).out == "3!7: updated comment 2 and deleted 1 other\n"
    assert list(notes) == [1, 2]
    state = inside(ran, "ci", "post", "status", "--commit", HEAD, "--state", "success")
    assert state.err.startswith("recall: post: GitLab: no statuses can be written there")
    assert inside(ran, "ci", "post", "issue").err.startswith("recall: post: GitLab: no issues can be written there")
