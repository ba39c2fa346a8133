"""The command `recall cassettes scan`: find secrets in recordings, and name their place but never their text."""

from __future__ import annotations

import argparse
import json
import os
from base64 import b64decode
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from pytest_recall.cases.settings_file import read_settings
from pytest_recall.cli.common import Commands, command, place_of
from pytest_recall.files.errors import RecallError
from pytest_recall.files.wording import one_line, plural
from pytest_recall.replay.cassette_file import read_lines
from pytest_recall.replay.commands.listing import add_folder, library_of
from pytest_recall.replay.encodings import decoded, in_url, pairs, spelled
from pytest_recall.replay.redaction import Redactor, is_form
from pytest_recall.replay.run_recordings import damaged
from pytest_recall.replay.secrets import secret_names, suspicious

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


class RecordedPart(NamedTuple):
    """A stretch of recorded text: what it is, and whether it may hold URLs with parameters.

    One that `is_sealed` could not be unpacked; one that `is_joined` is what was there before in another form: what the
    events of a stream say together, or a form without its signs.
    """

    what: str
    text: str
    is_url: bool = False
    is_sealed: bool = False
    is_joined: bool = False


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
        looks = [f"what looks like {one}" for one in suspicious(in_url(rest) if part.is_url else rest)]
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
    """Yield what a line holds: by its parts, or else anywhere in it, which finds what is damaged or unknown."""
    count = 0
    known: list[str] = []
    for part in parts_of(line):
        found = detector.found(part)
        if part.is_joined:
            found = [what for what in found if what not in known]
        known += found
        for what in found:
            count += 1
            yield {"part": part.what, "what": f"holds {what}"}
        if part.is_sealed:
            count += 1
            yield {"part": part.what, "what": "is compressed in a way that cannot be searched"}
        name = part.what.rpartition(" ")[2].lower()
        if " header " in part.what and name in _CREDENTIALS and "[" not in part.text:
            count += 1
            yield {"part": part.what, "what": "is stored, and is there to carry a credential"}
    if not count:
        for what in detector.found(RecordedPart("line", line.decode("utf-8", "replace"))):
            yield {"part": "the line", "what": f"holds {what}"}


def parts_of(line: bytes) -> Iterator[RecordedPart]:
    """Yield the texts of a line of a cassette, bodies out of their encodings; none for what is no such line."""
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError):
        return
    if not isinstance(fields, dict):
        return
    if "item" in fields or "value" in fields:
        yield RecordedPart("a part of request bodies", _written({name: fields.get(name) for name in ("item", "value")}))
    yield from _side("request", fields.get("request"))
    yield from _side("response", fields.get("response"))
    if isinstance(failure := fields.get("failure"), dict):
        yield RecordedPart("the failure", str(failure.get("message", "")), is_url=True)


def _side(name: str, side: Any) -> Iterator[RecordedPart]:
    if not isinstance(side, dict):
        return
    if isinstance(uri := side.get("uri"), str):
        yield RecordedPart("the URL", uri, is_url=True)
    grouped = side.get("headers")
    headers: list[tuple[str, str]] = []
    for header, values in grouped.items() if isinstance(grouped, dict) else ():
        headers += ((header, str(value)) for value in (values if isinstance(values, list) else [values]))
    for header, value in headers:
        is_url = header.lower() in ("location", "operation-location")
        yield RecordedPart(f"the {name} header {one_line(header, 60)}", f"{header}: {value}", is_url=is_url)
    if isinstance(status := side.get("status"), dict):
        yield RecordedPart("the reason", str(status.get("message", "")))
    body = side.get("body")
    if not isinstance(body, dict):
        return
    if isinstance(encoded := body.get("base64"), str):
        try:
            data = b64decode(encoded)
        except ValueError:
            return
        plain = decoded(tuple(headers), (data,))
        yield from _text(
            name, (data if plain is None else plain[0]).decode("utf-8", "replace"), is_sealed=plain is None
        )
    elif isinstance(string := body.get("string"), str):
        yield from _text(name, string)
        if is_form(tuple(headers)):
            yield RecordedPart(f"the {name} body", pairs(string), is_joined=True)
    else:
        yield RecordedPart(f"the {name} body", _written(body))


def _text(name: str, text: str, *, is_sealed: bool = False) -> Iterator[RecordedPart]:
    yield RecordedPart(f"the {name} body", text, is_sealed=is_sealed)
    for joined in spelled(text):
        yield RecordedPart(f"the {name} body, put together,", joined, is_joined=True)


def _written(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
