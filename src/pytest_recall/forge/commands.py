"""The commands `recall ci post` and `push`: what jobs of a code host do with a run."""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
from contextlib import closing
from pathlib import Path

from pytest_recall.cases.case_file import CaseFile
from pytest_recall.cases.settings_file import read_settings
from pytest_recall.cli.common import EXAMPLES, Commands, add_files, case_paths, command, place_of, placeless, whole
from pytest_recall.files import clock
from pytest_recall.files.disk import make_ignored, read_text
from pytest_recall.files.duration import read_duration
from pytest_recall.files.errors import RecallError
from pytest_recall.files.wording import listed, plural
from pytest_recall.forge import post
from pytest_recall.forge.client import ReadOnlyError, UnavailableError
from pytest_recall.forge.comment import Detail, Verdicts, marker
from pytest_recall.forge.host import Approvals, Host, HostClient, Statuses, Tracker
from pytest_recall.forge.push import Remote, drop_old_runs, push, push_recordings
from pytest_recall.registry import registry
from pytest_recall.results import regressions_text, scorecard_text
from pytest_recall.results.last_pass import on_record_at
from pytest_recall.results.regressions_text import suspects_line
from pytest_recall.results.scorecard import CaseResult, FailureKind, Scorecard, blocking, troubles, waivable
from pytest_recall.results.scorecard_markdown import refusal
from pytest_recall.runs import finish
from pytest_recall.runs.evidence import REFS, ref_of, runs_of
from pytest_recall.runs.job import NO_JOB, Job
from pytest_recall.schedule.commands import check_writes
from pytest_recall.schedule.state import current
from pytest_recall.trials.journal import Journal, read_journal
from pytest_recall.trials.record import Header, Record, Waiver
from pytest_recall.trials.trial import Outcome

POST_DETAILS = """\
  recall ci post comment    the scorecard as one comment on the pull request, which later runs update
  recall ci post issue      an issue for the cases that fail: opened, kept up to date, closed
  recall ci post status     a status for a commit that no workflow runs for

A post notifies no one: mentions, references and links in answers become plain text. The token is in
GITHUB_TOKEN or GH_TOKEN, on GitLab in GITLAB_TOKEN. On GitHub, a pull request from a fork has a token that may not
write: the page then goes into the summary of the job, and the exit code is 0.
"""
COMMENT = """\
The comment is known by a hidden first line and by who wrote it. The same text is not written again. Of several, which
runs at the same time may have left, the oldest stays.
"""
ISSUE = """\
A case is on the issue from a fail until it passes or is deleted; a night that did not ask it changes nothing, unless
the state of the branch says that it has passed since, in whichever run. A fail in quarantine, or by a judge that may
not block, is none.

A run of a pull request only adds the cases that passed before and failed outside of its change: what its change affects
is its own matter, and its passes are none of the default branch. What it has added goes with a pass in a run that began
later, or that the state has of a later day. A run from a fork may not write, and adds none.

  no case failed, no issue         nothing
  a case fails, no issue           an issue is opened
  a case fails that is not on it   a comment says which; a closed issue is opened again
  all have passed                  a comment says so, and the issue is closed
  anything else                    the text is brought up to date, without a notification

An issue that someone closed as not planned stays closed.
"""


def add_post(commands: Commands) -> None:
    """Add the command."""
    parser = placeless(
        commands, "post", "put a run's scorecard on a pull request, an issue or a commit", None, POST_DETAILS
    )
    kinds = parser.add_subparsers(dest="kind", metavar="KIND", title="what", required=True)
    one = command(kinds, "comment", "write or update one comment on the pull request", comment, COMMENT)
    one.add_argument("--file", type=Path, metavar="FILE", help="another page (default: the newest scorecard.md)")
    number = whole("a number of a pull request", 1)
    one.add_argument("--pr", type=number, metavar="N", help="the pull or merge request (default: the job's)")
    one.add_argument(
        "--name", default="scorecard", help="tells comments of one pull request apart (default: scorecard)"
    )
    one.add_argument(
        "--waits-for",
        default="",
        metavar="NAME",
        help="begin with the environment for whose reviewers the check waits (default: none)",
    )
    _add_shared(one)
    one = command(kinds, "issue", "open, update or close the issue about cases that fail", issue, ISSUE)
    one.add_argument("run_name", nargs="?", default="latest", metavar="RUN", help="a run's name (default: latest)")
    one.add_argument("--name", default="nightly", help="tells issues of one repository apart (default: nightly)")
    one.add_argument("--label", default="recall", help="the label by which it is found (default: recall)")
    one.add_argument("--title", default="Eval cases fail", help="its title (default: Eval cases fail)")
    add_files(one)
    _add_shared(one)
    one = placeless(kinds, "status", "give a commit a status", status)
    one.add_argument("--commit", required=True, metavar="SHA", help="the commit, all 40 digits")
    one.add_argument("--state", required=True, choices=("success", "failure", "pending"), help="what it is")
    one.add_argument("--context", default="recall", help="its name, as branch rules require it (default: recall)")
    _add_shared(one)


def _add_shared(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--repo", metavar="OWNER/NAME", help="the repository at GitHub (default: the job's)")
    parser.add_argument(
        "--max-wait",
        type=_max_wait,
        default=120.0,
        metavar="TIME",
        help="how long to wait for limits, like 90s or 2m; a number alone is in seconds (default: 120s)",
    )
    parser.add_argument("--dry-run", action="store_true", help="read, print what would be done, and change nothing")


def _max_wait(text: str) -> float:
    found = read_duration(text, "s")
    if found is None or found > 3600:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time up to 1h; write it like {EXAMPLES}")
    return found


def comment(args: argparse.Namespace) -> int:
    """Run the command."""
    marker(args.name)
    host = _host(args)
    job, number = host.job, args.pr or host.job.number
    if number is None:
        raise RecallError("post: this is not a job of a pull request; give its number with --pr")
    if args.file is None:
        place = place_of(args)
        path = place.artifacts.folder / "scorecard.md"
        text = _scorecard_page(path, place.name(path), job)
    else:
        text = read_text(args.file, str(args.file))
    text = f"{post.waiting(args.waits_for)}\n\n{text}" if args.waits_for else text
    sheet = post.Posting(args.name, text, job.commit, job.url, host.files_url)
    try:
        with closing(_client(args, host)) as client:
            done = post.comment(client, number, args.name, sheet.page(), dry=args.dry_run)
    except (ReadOnlyError, UnavailableError) as error:
        return _instead(job, sheet, error)
    print(f"{host.repo}{host.request_sign}{number}: {done}")
    return 0


def _scorecard_page(path: Path, name: str, job: Job) -> str:
    """Return the page of the newest run; in a job whose run has left none, a page that says so. Raises RecallError."""
    if path.exists():
        return read_text(path, name)
    if not job.run:
        raise RecallError(f"{name}: is not there; run `pytest -p recall` first")
    return refusal(["the run ended before it could write a scorecard, and its log says why"])


def issue(args: argparse.Namespace) -> int:
    """Run the command."""
    marker(args.name)
    host = _host(args)
    job = host.job
    if job.fork:
        print("a pull request from a fork may not write to the issue; nothing was posted")
        return 0
    place = place_of(args)
    page = place.artifacts.folder / "scorecard.md"
    if args.run_name == "latest" and job.number is not None and not place.artifacts.runs():
        print("the run asked no case, and what stopped it is the pull request's own matter; nothing was posted")
        return 0
    if args.run_name == "latest" and not place.artifacts.runs() and page.exists():
        # It was refused before it began.
        text = read_text(page, place.name(page))
        why = tuple(line.removeprefix("- ") for line in text.splitlines() if line.startswith("- "))
        why = why or ("the run was refused, and no case was asked",)
        sheet = post.Posting(args.name, text, job.commit, job.url, host.files_url)
        return _post_issue(args, host, sheet, Verdicts(frozenset(), frozenset(), troubles=why), f"refused-{job.run}")
    folder = place.artifacts.find(args.run_name)
    record = read_journal(folder)
    card = finish.scorecard(record, place, folder)
    if record.pushed:  # Who reads the issue has what came to the branch with the run.
        failures = (result.trial for result in card.with_outcome(Outcome.FAILED))
        card = card._replace(on_record=on_record_at(place, record.pushed, failures))
    links = finish.links(job, place.root)
    news = "".join(
        character for character in f"{folder.name}-{job.run}"[-40:] if character.isalnum() or character in "-_"
    )
    if record.header.pr is not None:
        sheet = post.Posting(args.name, "", job.commit, job.url, host.files_url)
        return _post_issue(args, host, sheet, _outside(record, card, links), news)
    known = {case_id for path in case_paths(place, args) for case_id in CaseFile(path, place.name(path)).lines}
    failed = {result.trial.case_id: result for result in card.with_outcome(Outcome.FAILED) if result.blocks}
    rows = current(place).rows
    verdicts = Verdicts(
        passed=frozenset(result.trial.case_id for result in card.with_outcome(Outcome.PASSED)),
        failed=frozenset(failed),
        gone=frozenset(record.header.orphans) - known,
        troubles=tuple(
            troubles(record, card, read_settings(place.rubric, place.name(place.rubric)).no_verdict_allowed)
        ),
        suspects={
            one.trial.case_id: suspects_line(card, one) for one in card.results if one.trial.case_id in card.suspects
        },
        stands={case_id: row.last_tested.isoformat() for case_id, row in rows.items() if not row.failing},
        day=record.header.date,
        started=record.header.started,
        details={case_id: _detail(record.header, card, one, links) for case_id, one in failed.items()},
        fell=frozenset(case_id for case_id, one in failed.items() if one.regression),
    )
    text = scorecard_text.markdown(record, card, links)
    sheet = post.Posting(args.name, text, job.commit, job.url, host.files_url)
    return _post_issue(args, host, sheet, verdicts, news)


def _detail(header: Header, card: Scorecard, result: CaseResult, links: str) -> Detail:
    *told, repeat = regressions_text.markdown(header, card, result, links)
    return Detail("\n".join(told), repeat)


def _outside(record: Record, card: Scorecard, links: str) -> Verdicts:
    """Return what a run of a pull request says of the cases that its change does not affect: which of them fail."""
    header = record.header
    failed = {result.trial.case_id: result for result in card.failures().get(FailureKind.OUTSIDE, ())}
    return Verdicts(
        passed=frozenset(),
        failed=frozenset(failed),
        suspects=dict.fromkeys(failed, f"failed in a run of #{header.pr}, whose change does not affect it"),
        day=header.date,
        started=header.started,
        details={case_id: _detail(header, card, one, links) for case_id, one in failed.items()},
        fell=frozenset(failed),
        only_adds=True,
    )


def _post_issue(args: argparse.Namespace, host: Host, sheet: post.Posting, verdicts: Verdicts, news: str) -> int:
    try:
        with closing(_client(args, host)) as client:
            if not isinstance(client, Tracker):
                raise _unsupported(host, "issues")
            done = post.issue(client, sheet, verdicts, args.label, args.title, news, args.dry_run)
    except (ReadOnlyError, UnavailableError) as error:
        return _instead(host.job, sheet, error)
    print(f"{host.repo}: {done}")
    return 0


def status(args: argparse.Namespace) -> int:
    """Run the command."""
    host = _host(args)
    if not 40 <= len(args.commit) <= 64 or not all(digit in "0123456789abcdef" for digit in args.commit):
        raise RecallError(f"--commit: {args.commit!r} is not a full commit hash; give all 40 digits")
    words = post.status_words(args.state)
    with closing(_client(args, host)) as client:
        if not isinstance(client, Statuses):
            raise _unsupported(host, "statuses")
        if client.status(args.commit, args.context) == (args.state, words):
            done = "says so already"
        elif args.dry_run:
            done = f"would be {args.state}"
        else:
            client.set_status(args.commit, args.context, args.state, words, host.job.url)
            done = f"is {args.state}"
    print(f"{host.repo}: `{args.context}` of {args.commit[:12]} {done}")
    return 0


def _host(args: argparse.Namespace) -> Host:
    """Return the host of the job, or of the repository that is named. Raises RecallError if it cannot be written to."""
    host = registry().host(os.environ, args.repo or None)
    if args.repo and host is None:
        raise RecallError(f"--repo: {args.repo!r} is not of the form owner/name; correct it")
    if host is None or not host.repo:
        raise RecallError("post: this is not a job of a code host with a repository; give --repo")
    if host.connect is None:
        raise RecallError(f"post: nothing can be written at {host.name}; publish scorecard.md by its own means")
    _ = host.job.intact
    if not host.token:
        raise RecallError(f"{host.token_variable}: is not set; give the step a token that may write comments")
    return host


def _client(args: argparse.Namespace, host: Host) -> HostClient:
    assert host.connect is not None
    return host.connect(args.max_wait)


def _unsupported(host: Host, what: str) -> RecallError:
    return RecallError(f"post: {host.name}: no {what} can be written there; write a comment")


def _instead(job: Job, sheet: post.Posting, error: RecallError) -> int:
    """Put the page into the job's summary; return 0 if the token is a fork's, which is not a mistake."""
    if job.summary is not None:
        with job.summary.open("a", encoding="utf-8") as file:
            file.write(sheet.page() + "\n")
    where = "; it is in the summary of the job" if job.summary is not None else ""
    if isinstance(error, ReadOnlyError) and job.fork:
        print(f"nothing was posted: the token of a pull request from a fork may not write{where}")
        return 0
    raise RecallError(*(f"{message}{where}" for message in error.messages))


PUSH_DETAILS = """\
Applies the run to the state at the newest commit of the branch and pushes that, in a commit of eval-bot. The files at
hand are neither read for it nor changed. If another job pushes first, it is applied to what that one pushed: both keep
their rows. A run is pushed once; if a push is refused for good, the exit code is 2, and it can be pushed later.

The branch is the job's: of a pull request its own. A pull request from a fork has none that can be written to, which is
said, and the exit code is 0. A GITHUB_TOKEN, GH_TOKEN or GITLAB_TOKEN is handed to git for the server of the job;
without one, git goes by its own settings. In a step of GitHub the commit becomes the output `commit`.
"""


def add_push(commands: Commands) -> None:
    """Add the command."""
    parser = command(
        commands, "push", "apply a run to the state of a branch, commit it and push it", run_push, PUSH_DETAILS
    )
    parser.add_argument("run_name", nargs="?", default="latest", metavar="RUN", help="a run's name (default: latest)")
    parser.add_argument("--branch", help="the branch (default: the job's, else the current one)")
    parser.add_argument("--remote", default="origin", help="where it is (default: origin)")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--once", action="store_true", help="not if the newest commit there is eval-bot's already")
    how.add_argument(
        "--recordings-only", action="store_true", help="keep what a pull request has recorded, and commit no state"
    )
    parser.add_argument("--dry-run", action="store_true", help="apply and commit, and push nothing")


def run_push(args: argparse.Namespace) -> int:
    """Run the command."""
    place = place_of(args)
    if args.run_name == "latest" and not place.artifacts.runs() and (place.artifacts.folder / "scorecard.md").exists():
        print("the run was refused, and no case was asked; nothing was pushed")
        return 0
    folder = place.artifacts.find(args.run_name)
    record = read_journal(folder)
    check_writes(record, folder, explicit=True)
    host = registry().host(os.environ)
    job = NO_JOB if host is None else host.job.intact
    if job.fork:
        print("a pull request from a fork has no branch that can be written to; nothing was pushed")
        return 0
    rubric = read_settings(place.rubric, place.name(place.rubric))
    publishes = not job.public or rubric.publish_answers
    if record.header.pr is not None and job.number is not None and not publishes:
        print("recordings are not kept: this repository is public; `publish_answers: true` in rubric.yaml allows it")
    elif record.header.pr is not None and job.number is not None:
        remote = Remote(place.eval_dir, args.remote, args.branch or job.branch, host)
        name = "-".join(filter(None, (folder.name, job.run)))
        with tempfile.TemporaryDirectory() as scratch:
            print(push_recordings(remote, place, record, name, job.number, Path(scratch), dry=args.dry_run))
    if args.recordings_only:
        return 0
    if not record.header.writes:
        print(f"{folder.name}: its cases were chosen by hand, so it moves no box; nothing was pushed")
        return 0
    remote = Remote(place.eval_dir, args.remote, args.branch or job.branch, host)
    done = push(remote, place, folder, record, job, once=args.once, publishes=publishes, dry=args.dry_run)
    if record.header.mode == "main" and not args.dry_run and (told := drop_old_runs(remote, clock.now())):
        print(told)
    if done.commit is not None and job.outputs is not None:
        with job.outputs.open("a", encoding="utf-8") as file:
            file.write(f"commit={done.commit}\n")
    print(done.said)
    return 0


WAIVE_DETAILS = """\
Lets a change pass without the verdicts of the affected cases that were not evaluated, on the word of somebody else: the
job has to be one of an environment of GitHub with required reviewers, and began when one of them had approved it. The
waiver is written into the run, its scorecard and comment name who gave it and what they wrote, and `recall ci push`
commits it with the run: the state names these cases as waived until they have a verdict. It holds for this run alone: a
further push asks what is missing again.

A run that blocks for another reason, such as a regression, is not waived: the exit code is 2.
"""


def add_waive(commands: Commands) -> None:
    """Add the command."""
    parser = command(commands, "waive", "let a change pass without verdicts that are missing", run_waive, WAIVE_DETAILS)
    parser.add_argument("run_name", nargs="?", default="latest", metavar="RUN", help="a run's name (default: latest)")
    parser.add_argument("--environment", required=True, metavar="NAME", help="the environment of the job")
    add_files(parser)
    _add_shared(parser)


def run_waive(args: argparse.Namespace) -> int:
    """Run the command."""
    host = _host(args)
    job = host.job
    if not job.run:
        raise RecallError("waive: this is not a job of a workflow, whose host says who has approved it")
    place = place_of(args)
    folder = place.artifacts.find(args.run_name)
    record = read_journal(folder)
    rubric = read_settings(place.rubric, place.name(place.rubric))
    gates = finish.gates_of_run(place, case_paths(place, args), record, rubric)
    card = finish.with_gates(finish.scorecard(record, place, folder), place, gates, rubric, record)
    blocks = finish.blocks_of(record, rubric)
    cases = waivable(record, card, blocks, record.header.allowed)
    if not cases:
        why = blocking(record, card, blocks, record.header.allowed) or ["it does not block"]
        raise RecallError(f"{folder.name}: there is nothing to waive: {'; '.join(why)}")
    with closing(_client(args, host)) as client:
        if not isinstance(client, Approvals):
            raise _unsupported(host, "approvals")
        approvals = client.approvals(job.run, args.environment)
    if not approvals:
        raise RecallError(
            f"--environment: nobody has approved this run for `{args.environment}`; give the environment required"
            " reviewers (Settings, Environments), and name it in the job"
        )
    by, reason = approvals[-1]
    waiver = Waiver(by, clock.now().isoformat(timespec="seconds"), cases, reason)
    names = f"{plural(len(cases), 'case')} ({listed(cases)})"
    if args.dry_run:
        print(f"{folder.name}: {by} would waive {names}")
        return 0
    with Journal.continued(folder) as journal:
        journal.waive(waiver)
    finish.write_scorecard(place, folder, record._replace(waiver=waiver), card._replace(waiver=waiver), job)
    print(f"{folder.name}: {by} has waived {names}")
    return 0


FETCH_DETAILS = """\
What earlier runs of a pull request have asked is in a ref of its own, `refs/recall/pull/N`, which no push to the branch
changes. A run that finds it there asks nothing twice; without it, all that the change affects is asked again.

With --to they are written into a folder, so that what CI has asked is repeated without a call of a model. Git passes
over a folder that the command makes:

  recall ci fetch --pr 7 --to recordings-7
  pytest -p recall 'eval/cases.yaml::late-fee' --replay=recordings-7

Outside of a pull request those of all are fetched: the default branch takes what fits its requests. A GITHUB_TOKEN,
GH_TOKEN or GITLAB_TOKEN that may read the repository is handed to git; the step that runs the cases needs none.
"""


def add_fetch(commands: Commands) -> None:
    """Add the command."""
    parser = command(
        commands, "fetch", "fetch what earlier runs of this pull request have recorded", run_fetch, FETCH_DETAILS
    )
    parser.add_argument("--pr", type=whole("a number of a pull request", 1), metavar="N", help="the pull request")
    parser.add_argument("--remote", default="origin", help="where it is (default: origin)")
    parser.add_argument("--to", type=Path, metavar="DIR", help="a folder for the recordings, which --replay=DIR reads")


def run_fetch(args: argparse.Namespace) -> int:
    """Run the command."""
    place, host = place_of(args), registry().host(os.environ)
    job = NO_JOB if host is None else host.job.intact
    number = args.pr or job.number
    remote = Remote(place.eval_dir, args.remote, job.branch or "HEAD", host)
    if number is None:
        print(f"{REFS}*: {plural(remote.fetch_all(REFS), 'pull request')} with recordings")
        return 0
    commit = remote.fetch_ref(ref_of(number))
    print(f"{ref_of(number)}: {f'fetched ({commit[:12]})' if commit else 'not there: nothing was recorded yet'}")
    if commit and args.to is not None:
        with tempfile.TemporaryDirectory() as scratch:
            # What a later run has recorded of a case takes the place of what an earlier one has.
            for folder in runs_of(place, number, Path(scratch)).recordings:
                if not args.to.exists():
                    make_ignored(args.to, f"# What `recall ci fetch` has copied from {ref_of(number)}.\n")
                shutil.copytree(folder, args.to, dirs_exist_ok=True)
    return 0
