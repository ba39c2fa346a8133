"""Write the text of a comment and of an issue about a run, within the host's limits."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from enum import Enum
from types import MappingProxyType
from typing import NamedTuple

from pytest_recall.files.errors import RecallError

LIMIT = 65_536
"""The most characters that GitHub takes in a comment or an issue."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}")
_TAG = re.compile(r"<(?=[A-Za-z/!?])(?!/?(?:details|summary|br)\s*/?>)", re.IGNORECASE)
_LINE_START = re.compile(r"^([ \t>*+-]*)/", re.MULTILINE)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_LINK = r"(?<![\]!\\])\[((?:[^\[\]\\\n]|\\[^\n]){{1,400}})\]\(({links}[\w.~%/+-]{{1,600}}#L[0-9]{{1,9}})\)"
"""A link to a line of a file: its name and its address."""
_APART = "\u200b"
# What a host turns into a notice to someone, a backlink or a command, and between what it is taken apart.
_LOUD = (
    (re.compile(rf"@(?!{_APART})"), f"@{_APART}"),
    (re.compile(r"([#!])(?=\\?\w)"), rf"\1{_APART}"),
    (re.compile(r"\b(GH|GL)(\\?-)(?=\d)", re.IGNORECASE), rf"\1{_APART}\2"),
    (re.compile(r"://"), f":{_APART}//"),
    (re.compile(r"\](?=[(:\[])"), f"]{_APART}"),
    (re.compile(r"\bwww\.", re.IGNORECASE), f"www{_APART}."),
    (re.compile(r"&(?!(?:amp|lt|gt|quot);)(?=[#A-Za-z0-9])"), f"&{_APART}"),
)


def marker(name: str) -> str:
    """Return the first line of the pages called `name`, which no reader sees. Raises RecallError for a bad name."""
    if not _NAME.fullmatch(name):
        raise RecallError(f"--name: {name!r} is not a valid name; use letters, digits, dots, `-` and `_`, 60 at most")
    return f"<!-- recall:{name} -->"


def is_marked(body: str, name: str) -> bool:
    """Return whether a page begins with the marker of `name`; what stands further down is someone's text."""
    return body.partition("\n")[0].rstrip("\r") == marker(name)


def same(body: str, other: str) -> bool:
    """Return whether two pages are one to their readers: hosts change line ends, and what stands at the end."""
    return body.replace("\r\n", "\n").rstrip() == other.replace("\r\n", "\n").rstrip()


def quiet(text: str, links: str = "") -> str:
    """Return Markdown that calls no one: no mention, reference, link, HTML, hidden comment or command works in it.

    Looks as it did, but for HTML, which shows. `<details>`, `<summary>` and `<br>` stay what they are. So do links to
    the line of a file below the address `links`, whoever wrote them: they notify no one.
    """
    text = _CONTROL.sub("\ufffd", text.replace("\r\n", "\n"))
    if not links:
        return _quiet(text)
    # Every third part is the name of a link, and the next one its address.
    parts = re.split(_LINK.format(links=re.escape(links)), text)
    for number, part in enumerate(parts):
        name, address = number % 3 == 1, number % 3 == 2
        parts[number] = f"({part})" if address else f"[{_quiet(part)}]" if name else _quiet(part)
    return "".join(parts)


def _quiet(text: str) -> str:
    text = _TAG.sub("&lt;", text)
    for pattern, apart in _LOUD:
        text = pattern.sub(apart, text)
    return _LINE_START.sub(rf"\1{_APART}/", text)


def page(head: str, text: str, foot: str, *, rest: str, limit: int = LIMIT, links: str = "") -> str:
    """Return `head`, as much of `text` as fits, and `foot`, in at most `limit` characters.

    `text` is made quiet, but for `links`. It is cut after a line, and then `rest` says so and where the rest is.
    `head`, `foot` and `rest` are ours, and have to fit.
    """
    text = quiet(text, links).strip("\n")
    whole = _joined(head, text, foot)
    if size(whole) <= limit:
        return whole
    room = limit - size(_joined(head, "", rest, foot))
    lines = _head(text, room).split("\n")
    while lines:
        kept = "\n".join([*lines, *_closers(lines)])
        if size(kept) <= room:
            return _joined(head, kept, rest, foot)
        lines.pop()
    return _joined(head, "", rest, foot)


def size(text: str) -> int:
    """Return the length of a text as hosts may count it: UTF-16 units, never fewer than characters."""
    return len(text) + sum(character > "\uffff" for character in text)


def _joined(*parts: str) -> str:
    # An empty part in the middle still takes its place, which the text has to be reckoned with.
    return (f"{parts[0]}\n" + "\n\n".join(parts[1:])).rstrip("\n")


def _head(text: str, room: int) -> str:
    """Return the whole lines of a longer `text` that fit into `room`, or of a first line that does not a part."""
    room = max(0, room)
    kept = text[:room]
    while size(kept) > room:
        kept = kept[: len(kept) - (size(kept) - room + 1) // 2]
    return kept[: kept.rfind("\n")] if "\n" in kept else kept


def _closers(lines: list[str]) -> list[str]:
    """Return the lines that end what `lines` leave open: a fence, and folded parts."""
    fence, folded = "", 0
    for line in lines:
        found = re.match(r" {0,3}(`{3,}|~{3,})", line)
        if fence:
            if found and found[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
        elif found:
            fence = found[1]
        else:
            folded += len(re.findall("<details>", line, re.IGNORECASE))
            folded -= len(re.findall("</details>", line, re.IGNORECASE))
    return [*([fence] if fence else []), *["</details>"] * max(0, folded)]


MOST = 20_000
"""The most characters for the names that an issue keeps, hidden in its text."""
_DETAILS = re.compile(r"^<!-- recall-details: (.*) -->$")
_MEMORY = re.compile(r"^<!-- recall-failing: (.*) -->$", re.MULTILINE)


class Move(Enum):
    """What is done with the issue."""

    NOTHING = "nothing"
    OPEN = "open"
    UPDATE = "update"
    REOPEN = "reopen"
    CLOSE = "close"


class Known(NamedTuple):
    """An issue as it is."""

    is_open: bool
    declined: bool
    """Whether someone closed it as not planned."""
    failing: frozenset[str] | None
    """The cases that it says fail; None if they were too many to be kept."""
    since: Mapping[str, str] = MappingProxyType({})
    """When each of these failed last, as `Verdicts.since` says it, where it is known."""


class Detail(NamedTuple):
    """What is known of a case that fails, as an item of a list in Markdown."""

    told: str
    repeat: str = ""
    """Its line that says how to repeat it."""


class Verdicts(NamedTuple):
    """What a run knows of the cases: ids."""

    passed: frozenset[str]
    failed: frozenset[str]
    gone: frozenset[str] = frozenset()
    """Those that no case file has any more."""
    troubles: tuple[str, ...] = ()
    """Why the run shows less than it should, a phrase each: no case answers for them."""
    suspects: Mapping[str, str] = MappingProxyType({})
    """Which changes may have broken cases that fell, a phrase each."""
    stands: Mapping[str, str] = MappingProxyType({})
    """The day of the last verdict of each case whose row on the branch says that it passed, whichever run has asked
    it."""
    day: str = ""
    """That of the run, in ISO 8601."""
    started: str = ""
    """When the run began, in ISO 8601."""
    details: Mapping[str, Detail] = MappingProxyType({})
    """What is known of cases that fail."""
    fell: frozenset[str] = frozenset()
    """Those of the failed cases that passed before this run."""
    only_adds: bool = False
    """Whether the run is no news of any other case."""

    @property
    def when(self) -> str:
        """The day of the run and when it began: of two runs, the later one has the greater text."""
        return f"{self.day} {self.started}"

    @property
    def since(self) -> str:
        """Since when the cases fail that failed in this run.

        A fail in a run of the branch is in the rows of that, so that a row which passes on the same day has passed
        after it. One in a run that only adds is not, and no row says at what time of its day it has passed.
        """
        return self.when if self.only_adds else self.day


class Decision(NamedTuple):
    """What to do about an issue."""

    move: Move
    failing: frozenset[str] | None
    """The cases that fail now."""
    news: tuple[str, ...] = ()
    """Those of these cases that did not fail by the issue."""


def decide(known: Known | None, run: Verdicts) -> Decision:
    """Return what a run does to the issue, None if there is no issue yet.

    A case fails until it passes or is gone: a run that did not ask it, or came to no verdict, is no news of it, and
    neither is one that began before the case failed. It has passed as well where its row says so of a time at which it
    had failed: another run has asked it. An issue that was closed is opened again only by a case that it did not know
    to fail, and never if it was declined. Where the names were too many to be kept, a run does not know what is new,
    and closes nothing. A run that shows less than it should opens the issue and closes none. One that only adds leaves
    the issue as it is where it has nothing to add.
    """
    if known is None:
        news = tuple(sorted(run.failed))
        return Decision(Move.OPEN if news or run.troubles else Move.NOTHING, run.failed, news)
    if known.declined or (run.only_adds and (known.failing is None or run.failed <= known.failing)):
        return Decision(Move.NOTHING, known.failing)
    if known.failing is None:
        return Decision(Move.UPDATE if known.is_open else Move.NOTHING, None)
    failing = (known.failing - run.gone - _passed_since(known, run)) | run.failed
    news = tuple(sorted(failing - known.failing))
    if not known.is_open:
        if news or run.troubles:
            return Decision(Move.REOPEN, failing, news)
        # No one is told, but a case that has passed since and fails again is then news.
        return Decision(Move.NOTHING if failing == known.failing else Move.UPDATE, failing)
    return Decision(Move.UPDATE if failing or run.troubles else Move.CLOSE, failing, news)


def _passed_since(known: Known, run: Verdicts) -> frozenset[str]:
    """Return the cases that failed by the issue, and of which this run or the branch has a pass that is not older."""
    since = {case_id: known.since.get(case_id, "") for case_id in known.failing or ()}
    return frozenset(
        case_id
        for case_id, when in since.items()
        if (case_id in run.passed and run.when >= when) or (when and run.stands.get(case_id, "") >= when)
    )


def remembered(failing: Iterable[str] | None, since: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return the hidden line with the failing cases, and `since` when; no id in it can end it."""
    text = json.dumps(None if failing is None else {case_id: since.get(case_id, "") for case_id in sorted(failing)})
    if len(text) > MOST:
        text = "null"
    return f"<!-- recall-failing: {_hidden(text)} -->"


def _hidden(text: str) -> str:
    """Return JSON that can neither end a comment nor name anyone."""
    for character in "->@#":
        text = text.replace(character, f"{chr(92)}u{ord(character):04x}")
    return text


def carried(details: Mapping[str, Detail]) -> str:
    """Return the hidden line with what is known of failing cases, of as many as fit."""
    kept = dict(details)
    while len(text := _hidden(json.dumps(kept))) > MOST:
        kept.popitem()
    return f"<!-- recall-details: {text} -->"


def details_in(body: str) -> dict[str, Detail]:
    """Return what the text of an issue has of failing cases; nothing of one that was edited, or is older."""
    found = _DETAILS.fullmatch([*body.replace("\r\n", "\n").split("\n", 3), "", ""][2])
    try:
        plain = json.loads(found[1]) if found else {}
        return {str(case_id): Detail(str(told), str(repeat)) for case_id, (told, repeat) in plain.items()}
    except (ValueError, TypeError, AttributeError, RecursionError):
        return {}


def recollect(body: str, name: str) -> dict[str, str] | None:
    """Return the failing cases in the text of the issue `name`, each with when it failed last.

    Issues of earlier versions do not say when. Raises RecallError if someone has edited them.
    """
    line = [*body.replace("\r\n", "\n").split("\n", 2), ""][1]
    found = _MEMORY.fullmatch(line)
    try:
        ids = json.loads(found[1]) if found else 0
    except (ValueError, RecursionError):
        ids = 0
    if ids is None:
        return None
    days = ids.values() if isinstance(ids, dict) else ()
    if not isinstance(ids, list | dict) or not all(isinstance(text, str) for text in (*ids, *days)):
        raise RecallError(f"{name}: its second line, which is hidden, was edited; delete the text or close the issue")
    return dict(ids) if isinstance(ids, dict) else dict.fromkeys(ids, "")
