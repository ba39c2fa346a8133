"""Describe the job of a CI system that a process runs in; the extension of a host reads it from the environment."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from pytest_recall.files.errors import RecallError


class Job(NamedTuple):
    """A job of a CI system; None and empty where the system does not say."""

    number: int | None = None
    """That of the pull or merge request which the job is of."""
    commit: str | None = None
    """The newest commit of that request, else the one that is built."""
    branch: str | None = None
    """What a state is committed to."""
    ref: str = ""
    """The branch or tag that it is of, which git does not say where a commit alone is checked out."""
    default_branch: str = ""
    """What changes are merged into."""
    base_refs: tuple[str, ...] = ()
    """What its change is to be merged into: the first of these refs that a clone has counts."""
    pushed: str = ""
    """The branch that a push has changed, if one has begun the job."""
    before: str = ""
    """The commit of that branch before the push; empty for a new one."""
    is_scheduled: bool = False
    """Whether a clock has begun it."""
    fork: bool = False
    """Whether the job may not write, since the pull request comes from another repository."""
    public: bool = False
    """Whether anyone may read the repository."""
    run: str = ""
    """What tells runs of the workflow apart."""
    url: str | None = None
    """Where this run is shown."""
    files_url: str = ""
    """The address below which the files of the checkout are shown, without a slash at its end."""
    commits_url: str = ""
    """The address below which commits are shown, without a slash at its end."""
    workspace: Path | None = None
    """The folder of the checkout."""
    keeps_recordings: bool = False
    """Whether what the job of a change records can be kept for its later jobs."""
    summary: Path | None = None
    """A file whose Markdown the host shows with the job."""
    outputs: Path | None = None
    """A file that takes `name=value` for later steps of the job."""
    annotates: bool = False
    """Whether lines of its log that are GitHub's commands become annotations."""
    fault: str = ""
    """What is wrong with the event of the job, so that it is not known what it is of; empty where nothing is."""

    @property
    def intact(self) -> Job:
        """The same, for who has to know what it is of. Raises RecallError for a job with a fault."""
        if self.fault:
            raise RecallError(self.fault)
        return self


NO_JOB = Job()
"""Outside of a job."""
SUMMARY_LIMIT = 2**20
"""Bytes that the summary of a step may have; GitHub shows nothing of a longer one."""
_REST = "\n\n… cut off: the whole of it is in `scorecard.md` of the run.\n"


def append_summary(path: Path, text: str) -> None:
    """Append `text` to the summary at `path`, or as much of it as there is room for. Raises OSError."""
    there = path.stat().st_size if path.exists() else 0
    room = SUMMARY_LIMIT - there - 1
    data = f"{text}\n".encode("utf-8", "replace")
    if len(data) > room:
        kept = data[: max(0, room - len(_REST.encode()))].decode("utf-8", "ignore")
        if not kept:
            return
        whole, _, _ = kept.rpartition("\n")
        # What was open is closed, so that the last sentence is seen.
        closing = "\n</details>" if whole.count("<details>") > whole.count("</details>") else ""
        data = f"{whole[: max(0, len(whole) - len(closing))]}{closing}{_REST}".encode()
    with path.open("ab") as file:
        file.write(data)
