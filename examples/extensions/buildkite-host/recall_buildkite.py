"""Buildkite as a host of pytest-recall: what a job is of, by the variables that its agent sets."""

from __future__ import annotations

from pytest_recall.ext import Host, Job, hookimpl


@hookimpl
def pytest_recall_host(environ, repo):
    """Return the host of a job of Buildkite (buildkite.com/docs, "Environment variables")."""
    if repo is not None or environ.get("BUILDKITE") != "true":
        return None
    number = environ.get("BUILDKITE_PULL_REQUEST", "false")
    base = environ.get("BUILDKITE_PULL_REQUEST_BASE_BRANCH")
    job = Job(
        number=int(number) if number.isdecimal() else None,
        ref=environ.get("BUILDKITE_BRANCH", ""),
        default_branch=environ.get("BUILDKITE_PIPELINE_DEFAULT_BRANCH", ""),
        base_refs=(f"origin/{base}", base) if base else (),
        is_scheduled=environ.get("BUILDKITE_SOURCE") == "schedule",
        run=environ.get("BUILDKITE_BUILD_ID", ""),
        url=environ.get("BUILDKITE_BUILD_URL"),
    )
    return Host(name="Buildkite", job=job)
