"""Keep one comment up to date, and one issue about the cases that fail."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from pytest_recall.files.wording import cell, code, plural
from pytest_recall.forge.client import RefusedError
from pytest_recall.forge.comment import (
    LIMIT,
    Decision,
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
)
from pytest_recall.forge.host import Comment, HostClient, Issue, Tracker

SHOWN = 50
"""Cases that a list names at the most."""
DETAILED = 10
"""Cases of which an issue says all that is known."""
_Ours = TypeVar("_Ours", Comment, Issue)


class Posting(NamedTuple):
    """What is posted."""

    name: str
    """That of the marker."""
    text: str
    """Markdown that is not trusted."""
    commit: str | None = None
    url: str | None = None
    links: str = ""
    """An address; links to lines of files below it stay links."""

    def page(self, head: str = "", above: str = "") -> str:
        """Return the page, with a hidden line `head` below the marker; with text `above` it, the rest is folded."""
        foot = " ".join(
            part
            for part in (
                f"For commit {self.commit[:12]}." if self.commit else "",
                f"[The run that wrote this]({self.url})." if self.url else "",
            )
            if part
        )
        where = f"is in [the files of the run]({self.url})" if self.url else "is in `scorecard.md` of the run"
        rest = f"_This is not all: the page is longer than a comment may be, and the rest {where}._"
        first = marker(self.name) + (f"\n{head}" if head else "")
        text = self.text
        if above and not text:
            text = above
        elif above:
            text = f"{above}\n\n<details>\n<summary>The newest run</summary>\n\n{text}\n\n</details>"
        return page(first, text, foot, rest=rest, limit=LIMIT, links=self.links)


def comment(host: HostClient, number: int, name: str, body: str, *, dry: bool = False) -> str:
    """Make `body` the one comment called `name` on a pull request or an issue; return what was done.

    Of several, which runs at the same time may have written, the oldest stays. A comment of someone else is no
    comment of ours, whatever it begins with. Raises what the host does.
    """
    login = host.login()
    found = _ours(host.comments(number), name, login)
    if not found:
        if dry:
            return "would write a comment"
        host.add_comment(number, body)
        # Another run may have done the same since we looked.
        written = _ours(host.comments(number), name, login)
        if len(written) > 1:
            _keep_first(host, number, written, body)
        return "wrote a comment"
    if same(found[0].body, body) and len(found) == 1:
        return "the comment says so already"
    if dry:
        return f"would update comment {found[0].id}"
    return _keep_first(host, number, found, body)


def _keep_first(host: HostClient, number: int, found: Sequence[Comment], body: str) -> str:
    first, *others = found
    if not same(first.body, body):
        host.edit_comment(number, first.id, body)
    for other in others:
        try:
            host.delete_comment(number, other.id)
        except RefusedError as error:
            if error.status != 404:  # Another run was faster.
                raise
    return f"updated comment {first.id}" + (f" and deleted {plural(len(others), 'other')}" if others else "")


def _ours(found: Iterable[_Ours], name: str, login: str | None) -> list[_Ours]:
    """Return what has the marker and was written by us: by an app where the token's is not told."""
    return [
        one for one in found if is_marked(one.body, name) and (one.by_app if login is None else one.author == login)
    ]


def issue(host: Tracker, sheet: Posting, run: Verdicts, label: str, title: str, news: str, dry: bool = False) -> str:
    """Make the issue called `sheet.name` say what fails after a run; return what was done.

    `news` names the run, so that a comment about it is written once. Raises what the host does.
    """
    login = host.login()
    found = _one(host, _ours(host.issues(label), sheet.name, login), dry)
    known = None
    if found is not None:
        days = recollect(found.body, f"issue {found.number}")
        known = Known(found.is_open, found.declined, None if days is None else frozenset(days), days or {})
    told = decide(known, run)
    since = {**(known.since if known is not None else {}), **dict.fromkeys(run.failed, run.since)}
    run = run._replace(details=_details(told, run, {} if found is None else details_in(found.body)))
    body = sheet.page(f"{remembered(told.failing, since)}\n{carried(run.details)}", standing(told, run))
    if found is None:
        if told.move is Move.NOTHING:
            return "no case fails, and there is no issue"
        if dry:
            return f"would open an issue about {_about(told, run)}"
        number = host.open_issue(title, body, label)
        _one(host, _ours(host.issues(label), sheet.name, login), dry)
        return f"opened issue {number} about {_about(told, run)}"
    if told.move is Move.NOTHING and found.is_open:
        return f"issue {found.number} stays as it is: there is nothing to add"
    if told.move is Move.NOTHING:
        return f"issue {found.number} is closed" + (" as not planned, and stays so" if found.declined else "")
    return _changed(host, found, told, run, body, f"news.{news}", dry)


def _details(told: Decision, run: Verdicts, known: Mapping[str, Detail]) -> dict[str, Detail]:
    """Return what is known of the failing cases that are shown whole.

    What was known when a case fell stays until it falls again: of a later fail neither cause nor last pass is known.
    """
    found = {}
    for case_id in sorted(told.failing or ())[:DETAILED]:
        now, before = run.details.get(case_id), known.get(case_id)
        if before is None or case_id in told.news or case_id in run.fell:
            before = now or before
        if before is not None:
            found[case_id] = before if now is None else before._replace(repeat=now.repeat)
    return found


def _about(told: Decision, run: Verdicts) -> str:
    return plural(len(told.news), "case") if told.news or not run.troubles else run.troubles[0]


def _changed(host: Tracker, found: Issue, told: Decision, run: Verdicts, body: str, name: str, dry: bool) -> str:
    says = _news(told, run)
    done = {Move.CLOSE: "closed", Move.REOPEN: "reopened", Move.UPDATE: "updated"}[told.move]
    if told.move is Move.UPDATE and not says and same(found.body, body):
        return f"issue {found.number} says so already"
    if dry:
        return f"would have {done} issue {found.number}" + (f": {says}" if says else "")
    # The comment comes first: a process that dies between the two says it once, and not never.
    if says:
        comment(host, found.number, name, f"{marker(name)}\n{says}")
    state = {Move.CLOSE: "completed", Move.REOPEN: "open"}.get(told.move)
    host.edit_issue(found.number, body=body, state=state)
    return f"{done} issue {found.number}"


def _one(host: Tracker, found: list[Issue], dry: bool) -> Issue | None:
    """Return the oldest, and let go of the others, which runs at the same time may have opened."""
    for other in () if dry else found[1:]:
        host.edit_issue(other.number, body=f"The same as #{found[0].number}.", state="declined")
    return found[0] if found else None


def standing(told: Decision, run: Verdicts) -> str:
    """Return why the run shows less than it should, and the cases that fail, as the issue lists them."""
    if run.troubles:
        lines = [
            "# The newest run shows less than it should",
            "",
            *(f"- {quiet(trouble)}" for trouble in run.troubles),
        ]
        rest = standing(told, run._replace(troubles=())) if told.failing else ""
        return "\n".join([*lines, "", rest] if rest else lines)
    if told.failing is None:
        return "More cases fail than can be named here. Close this issue by hand when they no longer do."
    if not told.failing:
        return "Every case that failed has passed since."
    waiting = told.failing - run.failed
    fails = plural(len(told.failing), "case") + (" fails" if len(told.failing) == 1 else " fail")
    lines = [
        f"# {fails}",
        "",
        "**What to do:** see what is no longer as it was when these cases passed, and correct that; if a new answer is"
        " right, correct what its case expects. This issue closes when all of them pass on the default branch.",
        "",
    ]
    for number, case_id in enumerate(sorted(told.failing)[:SHOWN]):
        if number < DETAILED and case_id in run.details:
            lines += [*filter(None, run.details[case_id])]
            lines += ["  - no verdict in the newest run"] if case_id in waiting and not run.only_adds else []
        else:
            lines.append(_item(case_id, run) + (" (no verdict in the newest run)" if case_id in waiting else ""))
    return "\n".join([*lines, *_more(len(told.failing))])


def _item(case_id: str, run: Verdicts) -> str:
    """Return a case of a list, with the changes that may have broken it if it fell in this run."""
    touched = run.suspects.get(case_id, "")
    return f"- {code(case_id)}" + (f": {cell(touched)}" if touched else "")


def _news(told: Decision, run: Verdicts) -> str:
    """Return what changed, as a comment says it; empty if nothing did."""
    if told.move is Move.CLOSE:
        return "All clear: every case that failed has passed since."
    if not told.news:
        return ""
    lines = [f"{plural(len(told.news), 'case')} that did not fail before:", ""]
    lines += [_item(case_id, run) for case_id in told.news[:SHOWN]]
    return quiet("\n".join([*lines, *_more(len(told.news))]))


def _more(count: int) -> list[str]:
    return [f"- and {count - SHOWN} more"] if count > SHOWN else []


def waiting(environment: str) -> str:
    """Return that a check waits for a reviewer of an environment, and what their answer does, as Markdown."""
    return (
        f"**This check waits for a reviewer of {code(environment)}.** Who approves its job `waive` lets the change pass"
        " without the verdicts that are missing, whose cases are asked after the merge; who rejects it leaves the check"
        " red."
    )


def status_words(state: str) -> str:
    """Return what a commit's status says that is "success", "failure" or "pending"."""
    return {
        "success": "no regression",
        "failure": "a case failed, or the run was not finished",
        "pending": "cases were not evaluated, and a reviewer may waive them",
    }[state]
