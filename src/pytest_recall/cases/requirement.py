"""The requirement by which CI installs what is installed here, by the record of the distribution (PEP 610)."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from pytest_recall.files.errors import RecallError

NAME = "pytest-recall"
EXAMPLE = f"{NAME} @ git+https://HOST/OWNER/REPOSITORY@COMMIT"


@dataclass(frozen=True, kw_only=True)
class Requirement:
    """A release of pytest-recall, as pip takes it behind the name: `==VERSION`, or ` @ URL`."""

    release: str

    def with_extras(self, *extras: str) -> str:
        """Return the whole requirement."""
        return f"{NAME}[{','.join(extras)}]{self.release}"


def recorded(direct_url: str | None, version: str) -> Requirement | None:
    """Return what installs the same again, by `direct_url.json` of a distribution; None for what is on this machine.

    A distribution without that record is from an index.
    """
    if direct_url is None:
        return Requirement(release=f"=={version}")
    record: Mapping[str, Any] = json.loads(direct_url)
    url = record["url"]
    if urlsplit(url).scheme == "file":
        return None
    options = []
    if vcs := record.get("vcs_info"):
        url = f"{vcs['vcs']}+{url}@{vcs['commit_id']}"
    else:
        # Older installers write one digest, as `name=value`.
        archive = record.get("archive_info", {})
        digests = [f"{name}={value}" for name, value in archive.get("hashes", {}).items()]
        options += digests[:1] or ([archive["hash"]] if archive.get("hash") else [])
    if folder := record.get("subdirectory"):
        options.append(f"subdirectory={folder}")
    return Requirement(release=f" @ {url}{'#' * bool(options)}{'&'.join(options)}")


def read_requirement(text: str) -> Requirement:
    """Return a requirement that somebody has written. Raises RecallError for one that any release would meet."""
    found = re.fullmatch(r"pytest[-_.]+recall\s*(?:==\s*(?P<version>[\w.!+-]+)|@\s*(?P<url>\S+))", text.strip(), re.I)
    if found is None:
        raise RecallError(f"--requirement: {text!r} names no one release; write `{NAME}==VERSION` or `{EXAMPLE}`")
    if found["version"]:
        return Requirement(release=f"=={found['version']}")
    if not urlsplit(found["url"]).netloc or urlsplit(found["url"]).scheme.endswith("file"):
        raise RecallError(f"--requirement: {found['url']!r} is on this machine; write `{NAME}==VERSION` or `{EXAMPLE}`")
    return Requirement(release=f" @ {found['url']}")


def install_command(requirement: Requirement | None, extras: tuple[str, ...], project: tuple[str, ...] = ()) -> str:
    """Return the shell command that installs it, with the arguments of pip for the `project` under test.

    Without a requirement it is one that fails, and says what fills it.
    """
    if requirement is None:
        sentence = (
            f"{NAME}[{','.join(extras)}] was installed from a folder when `recall init` wrote this step;"
            " fill it with `recall init --requirement RELEASE`"
        )
        return f"echo {shlex.quote(sentence)} >&2; exit 1"
    return shlex.join(["pip", "install", requirement.with_extras(*extras), *project])
