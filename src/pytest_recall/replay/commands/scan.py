"""The command `recall cassettes scan`: find secrets in recordings, and name their place but never their text."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterator, Mapping
from typing import Any

from pytest_recall.cases.settings_file import read_settings
from pytest_recall.cli.common import Commands, command, place_of
from pytest_recall.files.errors import RecallError
from pytest_recall.files.wording import plural
from pytest_recall.replay.cassette_file import read_lines
from pytest_recall.replay.commands.listing import add_folder, library_of
from pytest_recall.replay.recorded_parts import RecordedPart, looks_of, parts_of, secrets_in
from pytest_recall.replay.redaction import Redactor
from pytest_recall.replay.run_recordings import damaged
from pytest_recall.replay.secrets import secret_names

DETAILS = """\
Looks through every line of every cassette and draft, also of damaged ones and of files of others:
for the values of variables that hold secrets (well-known names, names such as *_KEY and *_TOKEN,
and those under `secrets` in the rubric) in any spelling, and for what looks like a key. Run it
where the variables are set. Exits with 1 if something is found, also if an answer cannot be
unpacked or a file cannot be read and so was not searched; the secret itself is not printed.
"""
_CREDENTIALS = frozenset(
    {"api-key", "authorization", "cookie", "proxy-authorization", "set-cookie", "x-api-key", "x-goog-api-key"}
)


class Detector:
    """Finds secrets in text: the values of `secrets` by name, and what looks like a key."""

    def __init__(self, secrets: Mapping[str, str]) -> None:
        self._none = Redactor({})
        self._all = Redactor(secrets)
        self._each = {name: Redactor({name: value}) for name, value in secrets.items()}

    def found(self, part: RecordedPart) -> list[str]:
        """Return what a part holds; nothing of it is the secret itself."""
        text = self._none.text(part.text)  # An address of an object is no secret.
        known: list[str] = []
        if self._all.text(text) != text:
            known = [f"the value of {name}" for name, one in self._each.items() if one.text(text) != text]
        # What is known goes first, so that it is not named a second time for its looks.
        rest = self._all.text(text)
        looks = looks_of(part._replace(text=rest))
        if part.is_url and not known and not looks and self._all.url(rest) != rest:
            looks = ["a credential among its parameters"]
        return [*known, *looks]


def add_scan(commands: Commands) -> None:
    """Add the command."""
    parser = command(commands, "scan", "look for secrets in the cassettes and drafts", run_scan, DETAILS)
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_folder(parser)


def run_scan(args: argparse.Namespace) -> int:
    """Run the command."""
    place = place_of(args)
    rubric = read_settings(place.rubric, place.name(place.rubric))
    broken = damaged(place) if args.cassettes is None else {}
    library = library_of(place, args, but=broken)
    secrets = secret_names(os.environ, rubric.secrets)
    detector = Detector(secrets)
    paths, drafts = library.files(), library.drafts()
    findings: list[dict[str, Any]] = []
    unread = list(broken.values())
    for path in (*paths, *drafts):
        name = library.name(path)
        try:
            lines = read_lines(path, name)
        except RecallError as error:
            unread.append(str(error))
            continue
        for number, line in enumerate(lines, 1):
            findings += ({"path": name, "line": number, **found} for found in _in_line(line, detector))
    if args.json:
        print(json.dumps({"variables": sorted(secrets), "findings": findings, "unread": unread}, indent=2))
        return int(bool(findings or unread))
    for one in findings:
        print(f"{one['path']}:{one['line']}: {one['part']} {one['what']}")
    for said in unread:
        print(said)
    if findings:
        print(f"{plural(len(findings), 'finding')}: revoke real secrets, delete the recording, and record it again")
    if unread:
        print(f"not searched: {plural(len(unread), 'file')}")
    if not (findings or unread):
        print(
            f"no secrets in {plural(len(paths), 'cassette')} and {plural(len(drafts), 'draft')};"
            f" looked for {plural(len(secrets), 'variable')}, and for what looks like a key"
        )
    return int(bool(findings or unread))


def _in_line(line: bytes, detector: Detector) -> Iterator[dict[str, str]]:
    """Yield what a line holds, and what of it is not there to be searched, or not there to be stored."""
    for found in secrets_in(line, detector.found):
        yield {"part": found.part, "what": f"holds {found.kind}"}
    for part in parts_of(line):
        if part.is_sealed:
            yield {"part": part.what, "what": "is compressed in a way that cannot be searched"}
        name = part.what.rpartition(" ")[2].lower()
        if " header " in part.what and name in _CREDENTIALS and "[" not in part.text:
            yield {"part": part.what, "what": "is stored, and is there to carry a credential"}
