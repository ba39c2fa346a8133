"""Have pytest know the extensions of this environment, beside the hooks of its conftest files and plugins."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from pytest_recall.runs.job import NO_JOB

if TYPE_CHECKING:
    from pytest_recall.registry import Registry
    from pytest_recall.runs.job import Job

REGISTRY: pytest.StashKey[Registry] = pytest.StashKey()
JOB: pytest.StashKey[Job] = pytest.StashKey()


def registry_of(config: pytest.Config) -> Registry:
    """Return the extensions of this session, which are registered when they are first asked for."""
    if REGISTRY not in config.stash:
        from pytest_recall.registry import Registry

        config.stash[REGISTRY] = Registry(config.pluginmanager)
    return config.stash[REGISTRY]


def job_of(config: pytest.Config) -> Job:
    """Return the CI job that this session runs in, as it was when first asked for: tests may set its variables.

    Raises RecallError for an extension with a fault.
    """
    if JOB not in config.stash:
        host = registry_of(config).host(os.environ)
        config.stash[JOB] = NO_JOB if host is None else host.job
    return config.stash[JOB]
