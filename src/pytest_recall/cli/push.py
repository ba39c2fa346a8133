"""`recall ci push`: what a run found out, committed to a branch by eval-bot."""

from __future__ import annotations

import argparse
import os

from pytest_recall.cli.apply import check_writes
from pytest_recall.cli.common import Commands, command, place_of
from pytest_recall.forge.push import Remote, push
from pytest_recall.runs.ci import job_of
from pytest_recall.trials.journal import read_journal

DETAILS = """\
Folds the run into the state at the newest commit of the branch and pushes that, in a commit of eval-bot. The files at
hand are neither read for it nor changed. If another job pushes first, it is folded into what that one pushed: both keep
their rows. A run is pushed once; if a push is refused for good, the exit code is 2, and it can be pushed later.

The branch is the job's: of a pull request its own. A pull request from a fork has none that can be written to, which is
said, and the exit code is 0. A GITHUB_TOKEN, GH_TOKEN or GITLAB_TOKEN is handed to git for the server of the job;
without one, git goes by its own settings. In a step of GitHub the commit becomes the output `commit`.
"""


def add(commands: Commands) -> None:
    """Add the command."""
    parser = command(commands, "push", "fold a run into the state of a branch, commit it and push it", run, DETAILS)
    parser.add_argument("run_name", nargs="?", default="latest", metavar="RUN", help="a run's name (default: latest)")
    parser.add_argument("--branch", help="the branch (default: the job's, else the current one)")
    parser.add_argument("--remote", default="origin", help="where it is (default: origin)")
    parser.add_argument("--once", action="store_true", help="not if the newest commit there is eval-bot's already")
    parser.add_argument("--dry-run", action="store_true", help="fold and commit, and push nothing")


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    place = place_of(args)
    folder = place.artifacts.find(args.run_name)
    record = read_journal(folder)
    check_writes(record, folder, explicit=True)
    job = job_of(os.environ)
    if job.fork:
        print("a pull request from a fork has no branch that can be written to; nothing was pushed")
        return 0
    if not record.header.writes:
        print(f"{folder.name}: its cases were chosen by hand, so that it moves no box; nothing was pushed")
        return 0
    user = "oauth2" if job.host == "gitlab" else "x-access-token"
    remote = Remote(place.eval_dir, args.remote, args.branch or job.branch, job.token, job.server, user)
    done = push(remote, place, folder, record, once=args.once, dry=args.dry_run)
    if done.commit is not None and job.outputs is not None:
        with job.outputs.open("a", encoding="utf-8") as file:
            file.write(f"commit={done.commit}\n")
    print(done.said)
    return 0
