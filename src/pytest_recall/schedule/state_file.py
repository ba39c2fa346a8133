"""Read and write `recall.yaml`, row by row, so that an edit changes the lines of its rows and no others.

git needs an unchanged line between two edits to merge them, so that every row stands on
two lines, sorted by id: neighbours do not conflict, and a run of 25 cases is a diff of 25
lines. The file is ours, so that a regular expression reads it (PyYAML takes 50 times as
long); a file that was edited into another shape of YAML is read as YAML.
"""

from __future__ import annotations

import hashlib
import json
import re
from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping
from datetime import date
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pytest_recall.files import strict_yaml
from pytest_recall.files.disk import read_text, write_text
from pytest_recall.files.errors import RecallError
from pytest_recall.schedule.boxes import LAST_BOX
from pytest_recall.schedule.selection import Unanswered
from pytest_recall.schedule.state_head import (
    HEADER,
    KEYS,
    PLAIN,
    RESTORE,
    VERSION,
    WORDS,
    behind_in,
    check_version,
    count_of,
    date_of,
    folded_in,
    quoted,
    unanswered_in,
    with_written,
    without_written,
)
from pytest_recall.trials.trial import Row

_ROWS = re.compile(r"^rows: ([0-9]{1,9})\n", re.MULTILINE)
_FOLDED = re.compile(r'^folded:\n(?:  - "[^"\\\n]*"\n)+', re.MULTILINE)
_NAMED = re.compile(r'^  - "(.*)"$', re.MULTILINE)
TEXT_FIELDS = ("last_pr", "last_model", "failure_note", "failure_pr")
FIELDS = frozenset(
    {
        *("box", "pass_streak", "last_tested", "next_due", *TEXT_FIELDS, "lapses"),
        *("quarantined", "until", "owner", "accepted", "touched", "evidence", "failed", "tried"),
        "passed_under",
    }
)
_TEXT = rf'(?:"(?:[^"\\\n]|\\.)*"|{PLAIN}|[0-9]+)'
_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_ROW = re.compile(
    rf"^  ({PLAIN}|\"[^\n]*\"):\n"
    rf"    {{box: ([1-{LAST_BOX}]), pass_streak: ([0-9]+), last_tested: ({_DATE}), next_due: ({_DATE})(.*)}}\n",
    re.MULTILINE,
)
_TAIL = re.compile(
    rf"(?:, last_pr: ({_TEXT}))?(?:, last_model: ({_TEXT}))?"
    rf"(?:, failure_note: ({_TEXT}))?(?:, failure_pr: ({_TEXT}))?"
    rf"(?:, lapses: ([0-9]{{1,9}}))?(?:, quarantined: ({_DATE}))?(?:, until: ({_DATE}))?"
    rf"(?:, owner: ({_TEXT}))?(?:, accepted: ({_TEXT}))?(?:, touched: \[({_TEXT}(?:, {_TEXT})*)\])?"
    r"(?:, evidence: ([1-9][0-9]{0,6}(?:\.[0-9]{1,2})?))?(?:, failed: ([0-9]{1,9}))?(?:, tried: ([0-9]{1,9}))?"
    rf"((?:, [A-Za-z_]\w*: (?:{_TEXT}|-?[0-9]+(?:\.[0-9]+)?|{_DATE}))*)"
)
_EACH = re.compile(_TEXT)
_NAME = re.compile(r", ([A-Za-z_]\w*): ")
# Stands last, and is another one in most rows: what comes before it recurs.
_UNDER = ', passed_under: "'
_ASIDE = re.compile(r"^ *(?:#.*)?\n", re.MULTILINE)
_COUNT = re.compile(r"[1-9][0-9]{0,17}")


def _written_alone(head: str) -> tuple[int, tuple[str, ...]] | None:
    """Return the count of rows and the names of folded runs in the text above the rows; None if it says more."""
    said, named = _ROWS.search(head), _FOLDED.search(head)
    if said is None:
        return None
    rest = head.replace(said[0], "", 1)
    if named is not None:
        rest = rest.replace(named[0], "", 1)
    return (int(said[1]), tuple(_NAMED.findall(named[0] if named else ""))) if rest == HEADER else None


def _check_count(said: object, count: int, name: str) -> None:
    """Raise RecallError if there are fewer rows than the file says; more are those of two branches that git joined."""
    if said is None:
        return
    if type(said) is not int or said < 0:
        raise RecallError(f"{name}: rows: must be a count, not {said!r}; {RESTORE}")
    if count < said:
        raise RecallError(
            f"{name}: has {count:,} rows where it says {said:,}, so some are lost; {RESTORE}, or, if"
            f" you deleted rows, write `rows: {count}`"
        )


class State:
    """The rows of one state file, by case id, what came to no verdict, and the text that they were read from.

    `behind` are the cases of which the default branch asks something that is not recorded, with the key of that.
    `head` is the text above the rows, `comments` says that some stand between them. A file
    that is not in our own, sorted shape is written as a whole when something changes;
    else only the changed rows are.
    """

    def __init__(
        self,
        rows: dict[str, Row],
        text: str,
        *,
        head: str = HEADER,
        sorted_shape: bool = True,
        comments: bool = False,
        folded: tuple[str, ...] = (),
        unanswered: Mapping[str, Unanswered] = MappingProxyType({}),
        behind: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.rows = rows
        self.text = text
        self.folded = folded
        self.unanswered = unanswered
        self.behind = behind
        self.head = head
        self._sorted_shape = sorted_shape
        self._comments = comments

    @property
    def preamble(self) -> str:
        """The text above the rows without what runs write there: comments, and keys of other versions."""
        return without_written(self.head)

    @property
    def digest(self) -> str:
        """SHA-256 of the text, which names the state that a slice was chosen from."""
        return digest(self.text)

    def updated(
        self,
        changed: Mapping[str, Row],
        *,
        removed: Collection[str] = (),
        folded: Iterable[str] | None = None,
        unanswered: Mapping[str, Unanswered] | None = None,
        behind: Mapping[str, str] | None = None,
    ) -> str:
        """Return the text with `changed` rows replaced or inserted; other bytes stay as they are.

        Rows of `removed` cases are left out; `folded` takes the place of the names of folded runs, and
        `unanswered` that of the cases without a verdict, `behind` that of those. The text says how many rows it has.
        """
        news = {case_id: row for case_id, row in changed.items() if self.rows.get(case_id) != row}
        unanswered = self.unanswered if unanswered is None else unanswered
        behind = self.behind if behind is None else behind
        same = unanswered == self.unanswered and behind == self.behind
        if not news and not removed and same and (folded is None or tuple(folded) == self.folded):
            return self.text
        ids = list(self.rows)
        rows = {**self.rows, **news}
        count = len(rows) - len(rows.keys() & set(removed))
        head = with_written(
            self.head,
            count,
            unanswered,
            behind,
            self.folded if folded is None else folded,
        )
        spliced = self._sorted_shape and bool(ids) and not removed
        # Comments between rows only survive splicing; without any, a large change is faster written as a whole.
        if spliced and (self._comments or len(news) * 20 <= len(ids)):
            return head + self._spliced(news, ids)[len(self.head) :]
        return head + "".join(_row_text(case_id, rows[case_id]) for case_id in sorted(rows) if case_id not in removed)

    def to_text(self) -> str:
        """Return the text; of a state that no run has written, that of one without rows."""
        return self.text or with_written(self.head, 0, self.unanswered, self.behind, self.folded)

    def with_rows(
        self, changed: Mapping[str, Row], unanswered: Mapping[str, Unanswered], behind: Mapping[str, str]
    ) -> State:
        """Return the state whose text is `updated` with these rows, cases without a verdict, and those behind."""
        text = self.updated(changed, unanswered=unanswered, behind=behind)
        if text == self.text:
            return self
        rows = dict(sorted({**self.rows, **changed}.items()))
        head = text[: text.index("\ncases:\n") + len("\ncases:\n")]
        folded, comments = self.folded, self._comments
        return State(rows, text, head=head, comments=comments, folded=folded, unanswered=unanswered, behind=behind)

    def _spliced(self, news: Mapping[str, Row], ids: list[str]) -> str:
        pieces: list[str] = []
        position, place = 0, len(self.head) - 1
        # In the order of the file, so that all searches together pass over the text once.
        for case_id in sorted(news):
            following = bisect_left(ids, case_id)
            if following == len(ids):
                start = place = len(self.text)
            else:
                start = place = self._place(ids[following], place)
            if case_id in self.rows:
                end = self.text.index("\n", self.text.index("\n", start) + 1) + 1
            else:
                start = end = self._above_comments(start)
            pieces += (self.text[position:start], _row_text(case_id, news[case_id]))
            position = end
        return "".join((*pieces, self.text[position:]))

    def _place(self, case_id: str, after: int) -> int:
        """Return where the row of `case_id` begins, which is no earlier than `after`."""
        return self.text.index(f"\n  {quoted(case_id)}:\n    {{box: ", max(0, after - 1)) + 1

    def _above_comments(self, start: int) -> int:
        """Return the place above the comments that stand on the row at `start`."""
        while start < len(self.text):
            above = self.text.rfind("\n", 0, start - 1) + 1
            if above <= len(self.head) - 1 or not self.text[above:start].lstrip(" ").startswith("#"):
                break
            start = above
        return start


def digest(text: str) -> str:
    """Return the SHA-256 of a state's text, in hex."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def read_state(path: Path, name: str) -> State:
    """Return the state in `path`; no file is an empty state.

    Raises RecallError, in one sentence, for a file that is broken, cut short, conflicted or of
    another version: a run must not spend anything that it could not remember.
    """
    if not path.exists():
        return parse_state("", name)
    text = read_text(path, name, remedy=RESTORE)
    if not text.strip():
        raise RecallError(
            f"{name}: is empty, and no run writes an empty one; restore it from git, or delete it to begin"
        )
    return parse_state(text, name)


def parse_state(text: str, name: str) -> State:
    """Return the state in `text`, which is empty for none; raises RecallError."""
    if not text.strip():
        return State({}, text)
    if (line := strict_yaml.conflict_line(text)) is not None:
        raise RecallError(
            f"{name}:{line}: merge-conflict marker; take the file of the branch that is merged into, such as"
            f" `git checkout origin/main -- {name}`, then run `recall state apply`, which adds the verdicts that it"
            " lacks, and commit; in a rebase run that once it has ended"
        )
    given = text
    if not text.endswith("\n"):
        text += "\n"
    start = text.find("\ncases:\n") + len("\ncases:\n")
    if start < len("\ncases:\n") or strict_yaml.has_line_separators(text):
        return _parse_yaml(given, name)
    found = _ROW.findall(text, start)
    # Each row is two lines; what is left over must be comments and blank lines.
    over = text.count("\n", start) - 2 * len(found)
    if over and over != len(_ASIDE.findall(text, start)):
        return _parse_yaml(given, name)
    try:
        rows = _rows(found)
    except ValueError:
        return _parse_yaml(given, name)
    keys = [row[0] for row in found]
    if len(rows) != len(found) or not _as_ours(keys):
        return _parse_yaml(given, name)
    head = text[:start]
    folded: tuple[str, ...] = ()
    unanswered: dict[str, Unanswered] = {}
    behind: dict[str, str] = {}
    if (said := _written_alone(head)) is not None:
        count, folded = said
        _check_count(count, len(rows), name)
    elif head != HEADER:
        value = strict_yaml.load(head, name, remedy=RESTORE)
        check_version(value, head, name)
        folded = folded_in(value, head, name)
        unanswered = unanswered_in(value, head, name)
        behind = behind_in(value, head, name)
        _check_count(value.get("rows"), len(rows), name)
    ids = list(rows)
    ours = given == text and ids == sorted(ids)
    return State(
        rows,
        given,
        head=head,
        sorted_shape=ours,
        comments=over > 0,
        folded=folded,
        unanswered=unanswered,
        behind=behind,
    )


def _as_ours(keys: list[str]) -> bool:
    """Whether keys are quoted as we quote them: just where another reader would take one for something else."""
    return WORDS.isdisjoint(map(str.lower, keys)) and all(
        quoted(_unquoted(key)) == key for key in keys if key[0] == '"'
    )


def _unquoted(text: str) -> str:
    return json.loads(text) if text[0] == '"' else text


def _rows(found: list[tuple[str, ...]]) -> dict[str, Row]:
    """Return the rows that the expressions found. Dates and tails recur, and are read once."""
    dates: dict[str, date] = {}
    tails: dict[str, tuple[Any, ...]] = {}
    streaks: dict[str, int] = {}
    rows: dict[str, Row] = {}
    make = Row._make
    for key, box, streak, tested, due, tail in found:
        for day in (tested, due):
            if day not in dates:
                dates[day] = date.fromisoformat(day)
        under = None
        if tail[-1:] == '"' and (at := tail.rfind(_UNDER)) >= 0:
            under, tail = tail[at + len(_UNDER) : -1], tail[:at]
            if "\\" in under or '"' in under:
                under = _unquoted(f'"{under}"')
        if tail not in tails:
            tails[tail] = _tail(tail)
        if streak not in streaks:
            streaks[streak] = int(streak)
        case_id = _unquoted(key) if key[0] == '"' else key
        fields, behind = tails[tail]
        days = dates[tested], dates[due]
        rows[case_id] = make((int(box), streaks[streak], *days, *fields, under, *behind))
    return rows


def _tail(text: str) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Return the fields from `last_pr` to `extra`, and those that stand behind `passed_under` in a row."""
    match = _TAIL.fullmatch(text)
    if match is None:
        raise ValueError("fields in another order or of another kind")
    *texts, lapses, quarantined, until, owner, accepted, touched, evidence, failed, tried, extra = match.groups()
    names = _NAME.findall(extra)
    if len(set(names)) != len(names) or not FIELDS.isdisjoint(names):
        raise ValueError("a field twice")
    days = (day and date.fromisoformat(day) for day in (quarantined, until))
    fields = (*(t and _unquoted(t) for t in texts), int(lapses or 0), *days, owner and _unquoted(owner), extra)
    counts = float(evidence or 1), int(failed or 0), int(tried or 0)
    return fields, (tuple(map(_unquoted, _EACH.findall(touched or ""))), accepted and _unquoted(accepted), *counts)


def write_state(path: Path, text: str) -> None:
    """Replace the state file by `text`, atomically. Raises OSError."""
    write_text(path, text, durable=True)


def _row_text(case_id: str, row: Row) -> str:
    return f"  {quoted(case_id)}:\n    {row_fields(row)}\n"


def row_fields(row: Row) -> str:
    """Return a row as it is written: a mapping of YAML, on one line."""
    fields = [
        f"box: {row.box}",
        f"pass_streak: {row.pass_streak}",
        f"last_tested: {row.last_tested}",
        f"next_due: {row.next_due}",
    ]
    for key in TEXT_FIELDS:
        value = getattr(row, key)
        if value is not None:
            fields.append(f"{key}: {value if _COUNT.fullmatch(value) else quoted(value)}")
    if row.lapses:
        fields.append(f"lapses: {row.lapses}")
    if row.quarantined is not None:
        fields.append(f"quarantined: {row.quarantined}")
    if row.until is not None:
        fields.append(f"until: {row.until}")
    if row.owner is not None:
        fields.append(f"owner: {quoted(row.owner)}")
    if row.accepted is not None:
        fields.append(f"accepted: {quoted(row.accepted)}")
    if row.touched:
        changes = (one if _COUNT.fullmatch(one) else quoted(one) for one in row.touched)
        fields.append(f"touched: [{', '.join(changes)}]")
    if row.evidence != 1:
        fields.append(f"evidence: {row.evidence:.2f}".rstrip("0").rstrip("."))
    fields += (f"{key}: {count}" for key, count in (("failed", row.failed), ("tried", row.tried)) if count)
    under = "" if row.passed_under is None else f", passed_under: {strict_yaml.flow(row.passed_under)}"
    return f"{{{', '.join(fields)}{row.extra}{under}}}"


def _parse_yaml(text: str, name: str) -> State:
    """Read a state file that is YAML of another shape than ours: slowly, and with a line for each mistake."""
    value = strict_yaml.load(text, name, remedy=RESTORE)
    where = strict_yaml.lines(text, name)
    check_version(value, text, name)
    if "cases" not in value:  # It stands last above the rows, so that a file which was cut there says nothing of them.
        raise RecallError(
            f"{name}: was cut short, `cases:` is missing; {RESTORE}, or, if there are no rows yet,"
            " write `cases:` as its last line"
        )
    cases = value["cases"] or {}
    if not isinstance(cases, dict):
        raise RecallError(f"{name}:{where[('cases',)]}: cases: must map ids to rows; restore it from git")
    rows: dict[str, Row] = {}
    problems: list[str] = []
    for case_id, fields in cases.items():
        try:
            rows[case_id] = row_of(fields)
        except (ValueError, TypeError, KeyError) as error:
            problem = f"{error.args[0]} is missing" if isinstance(error, KeyError) else str(error)
            problems.append(f"{name}:{where[('cases', case_id)]}: {case_id}: {problem}; correct the row, or {RESTORE}")
    if problems:
        raise RecallError(*problems[:20])
    comments = "".join(line for line in text.splitlines(keepends=True)[: min(where.values()) - 1] if line[0] in "#\n")
    others = "".join(f"{quoted(key)}: {flow(v)}\n" for key, v in value.items() if key not in KEYS)
    folded, unanswered = folded_in(value, text, name), unanswered_in(value, text, name)
    behind = behind_in(value, text, name)
    _check_count(value.get("rows"), len(rows), name)
    head = (comments or HEADER[: HEADER.index("version:")]) + f"version: {VERSION}\n{others}cases:\n"
    head = with_written(head, len(rows), unanswered, behind, folded)
    return State(rows, text, head=head, sorted_shape=False, folded=folded, unanswered=unanswered, behind=behind)


def row_of(fields: Any) -> Row:
    """Return the row that a mapping of YAML is. Raises ValueError or KeyError."""
    if not isinstance(fields, dict):
        raise ValueError("must be a mapping in braces")
    known = dict(fields)
    box, streak = known.pop("box"), known.pop("pass_streak")
    if type(box) is not int or not 1 <= box <= LAST_BOX:
        raise ValueError(f"box: must be 1 to {LAST_BOX}, not {box!r}")
    streak, lapses = count_of(streak, "pass_streak"), count_of(known.pop("lapses", 0), "lapses")
    tested, due = (date_of(known.pop(key), key) for key in ("last_tested", "next_due"))
    pr, model, note, failure_pr = (_optional_text(known.pop(key, None), key) for key in TEXT_FIELDS)
    given = {key: known.pop(key, None) for key in ("quarantined", "until")}
    since, until = (None if day is None else date_of(day, key) for key, day in given.items())
    owner = _optional_text(known.pop("owner", None), "owner")
    under = _optional_text(known.pop("passed_under", None), "passed_under")
    accepted = _optional_text(known.pop("accepted", None), "accepted")
    touched = known.pop("touched", None) or []
    if not isinstance(touched, list) or not all(type(one) in (str, int) for one in touched):
        raise ValueError("touched: must be a list of pull requests or commits")
    failed, tried = (count_of(known.pop(key, 0), key) for key in ("failed", "tried"))
    evidence = known.pop("evidence", 1.0)
    if type(evidence) not in (int, float) or not 1 <= evidence < 10**7:
        raise ValueError(f"evidence: must be a number from 1 up, not {evidence!r}")
    extra = "".join(f", {quoted(key)}: {flow(value)}" for key, value in known.items())
    first = (box, streak, tested, due, pr, model, note, failure_pr, lapses, since, until, owner, extra, under)
    return Row(*first, tuple(map(str, touched)), accepted, round(float(evidence), 2), failed, tried)


def _optional_text(value: object, key: str) -> str | None:
    if isinstance(value, dict | list):
        raise ValueError(f"{key}: must be text")
    return None if value is None else str(value)


def flow(value: Any) -> str:
    """Return `value` as YAML on one line; text that reads as itself stays bare, such as a date."""
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, dict):
        return "{" + ", ".join(f"{quoted(key)}: {flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(flow(item) for item in value) + "]"
    if isinstance(value, str):
        return value if re.fullmatch(_DATE, value) else quoted(value)
    return json.dumps(value)
