"""The host and the job that variables of an environment say, by the extensions that are shipped."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_recall.forge.host import Host
from pytest_recall.registry import registry
from pytest_recall.runs.job import NO_JOB, Job


def host_of(environ: Mapping[str, str], repo: str | None = None) -> Host:
    """Return the code host."""
    host = registry().host(environ, repo)
    assert host is not None
    return host


def job_of(environ: Mapping[str, str]) -> Job:
    """Return the job."""
    host = registry().host(environ)
    return NO_JOB if host is None else host.job
