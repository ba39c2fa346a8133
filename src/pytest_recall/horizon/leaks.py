"""Find what is told in a session where it must not be, and dates that contradict the calendar."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from typing import Literal, NamedTuple

from pytest_recall.horizon.day import SessionPart
from pytest_recall.horizon.persona import PRINCIPAL, WEEKDAYS, Arc, Calendar, Persona, Story, dated

Severity = Literal["error", "warning"]
LeakSource = Literal["persona", "arcs", "memories"]


class Finding(NamedTuple):
    """One thing that is wrong."""

    severity: Severity
    rule: str
    """By name."""
    message: str
    """A sentence that ends with what to do."""
    source: LeakSource = "memories"
    path: tuple[str | int, ...] = ()
    """The keys of its place in the persona's file and the story's."""
    day: int | None = None
    """The day of whose text it is; `memories` without a day are the folder."""
    line: int = 1
    """Its place in the text of a day."""


_WORD = re.compile(r"[\w@$€£%][\w'’$€£%.,:-]*[\w%]|\w")
_FIGURE = re.compile(r"[$€£]?\d[\d.,:]*%?[A-Za-z]{0,3}")
_CUT = re.compile(r"\s+[-–—:]\s+|:\s+|\s*[(;,]")


_NEAR = 0.75
"""The share of a topic's words that a paragraph has to have."""


class Secret(NamedTuple):
    """A term of a confidential session, and the sessions in which it may be named."""

    term: str
    home: str
    allowed: frozenset[str]
    topic: bool


def secrets(persona: Persona, story: Story) -> list[Secret]:
    """Return what may not be told elsewhere: the topics of isolated sessions, and what their arcs are called.

    An arc's title may be named in the sessions that it references. What is no secret, since shared knowledge,
    the persona itself or an arc elsewhere says it, is left out.
    """
    isolated = {one.id: one for one in persona.sessions if one.isolated}
    open_text = "\n".join(
        [
            *(persona.name, persona.role, persona.domain, persona.profile, persona.communication_style),
            *(persona.principal.profile if persona.principal else "",),
            *persona.shared_knowledge,
            *(one.name for one in persona.cast),
            *(f"{arc.title}\n{arc.description}" for arc in story.arcs if arc.primary_session not in isolated),
            *(one.event for arc in story.arcs if arc.primary_session not in isolated for one in arc.directives),
        ]
    )
    found = [
        Secret(topic, home, frozenset({home}), True) for home, one in isolated.items() for topic in one.sensitive_topics
    ]
    for arc in story.arcs:
        if arc.primary_session in isolated:
            allowed = frozenset({arc.primary_session, *arc.referenced_sessions})
            found += [Secret(name, arc.primary_session, allowed, False) for name in names_of(arc)]
    told = [one for one in found if not _pattern(one.term).search(open_text)]
    # Who names “Project Heron” names “Heron”: the shorter term finds both.
    return [one for one in told if not any(_covers(other, one) for other in told)]


def _covers(one: Secret, other: Secret) -> bool:
    return one.term != other.term and one[1:] == other[1:] and bool(_pattern(one.term).search(other.term))


def names_of(arc: Arc) -> list[str]:
    """Return what an arc can be recognised by: its title, up to a dash or colon, if it has two words or a name."""
    short = _CUT.split(arc.title.strip(), maxsplit=1)[0]
    names = [short] if len(short.split()) > 1 else []
    # A capital within a title is a name, but for the first word, which has one anyway.
    names += [word for word in short.split()[1:] if word[0].isupper() and len(word) > 3 and word.isalpha()]
    return names


def leak_findings(secrets: Sequence[Secret], parts: Sequence[SessionPart]) -> Iterator[Finding]:
    """Yield where a secret is told outside of its session: the first place, and on how many days it is.

    A term is an error. A sensitive topic in other words, most of its own in one paragraph, is a warning.
    """
    patterns = [_pattern(secret.term) for secret in secrets]
    topics = [_words(secret.term) if secret.topic else set[str]() for secret in secrets]
    places: dict[tuple[int, str, Severity], list[tuple[SessionPart, int]]] = {}
    for part in parts:
        paragraphs = [(one.start(), _words(one[0])) for one in re.finditer(r"[^\n]+", part.text)]
        for number, secret in enumerate(secrets):
            if part.session in secret.allowed:
                continue
            topic = topics[number]
            if match := patterns[number].search(part.text):
                places.setdefault((number, part.session, "error"), []).append((part, match.start()))
            elif len(topic) >= 4:
                near = (start for start, words in paragraphs if len(topic & words) >= _NEAR * len(topic))
                if (offset := next(near, None)) is not None:
                    places.setdefault((number, part.session, "warning"), []).append((part, offset))
    for (number, session, severity), found in places.items():
        secret, (part, offset) = secrets[number], found[0]
        more = len(found) - 1
        days = f", and on {more} more day{'s' if more > 1 else ''}" if more else ""
        what = f"{'is a sensitive topic of' if secret.topic else 'is of'} the isolated session {secret.home!r}"
        how = "is told" if severity == "error" else "seems to be told"
        message = f"“{secret.term}” {what}, and {how} in {session!r}{days}; take it out"
        yield Finding(severity, "leak", message, day=part.day, line=part.line_of(offset))


def belief_findings(arc: Arc, parts: Iterable[SessionPart]) -> Iterator[Finding]:
    """Yield where a corrected belief is told before its day: its sentence, or its figures beside its words."""
    if arc.type != "correction" or arc.corrected_day is None or not arc.corrected_belief:
        return
    rooms = {arc.primary_session or PRINCIPAL, *arc.referenced_sessions}
    whole = _pattern(arc.corrected_belief.strip().rstrip("."))
    figures = set(_figures(arc.corrected_belief)) - set(_figures(arc.wrong_belief))
    words = _words(arc.corrected_belief)
    for part in parts:
        if part.day >= arc.corrected_day or part.session not in rooms:
            continue
        if match := whole.search(part.text):
            yield _early("error", arc, part, match.start())
            return
        for paragraph in re.finditer(r"[^\n]+", part.text):
            told = _words(paragraph[0])
            if figures and figures <= set(_figures(paragraph[0])) and len(words & told) * 2 >= len(words):
                yield _early("warning", arc, part, paragraph.start())
                return


def _early(severity: Severity, arc: Arc, part: SessionPart, offset: int) -> Finding:
    message = f"{arc.id}: {part.session!r} knows the corrected belief before day {arc.corrected_day}; write it again"
    return Finding(severity, "early-belief", message, day=part.day, line=part.line_of(offset))


def _pattern(term: str) -> re.Pattern[str]:
    words = r"\s+".join(map(re.escape, term.split()))
    return re.compile(rf"(?<!\w){words}(?!\w)", re.IGNORECASE)


def _figures(text: str) -> list[str]:
    return [one.rstrip(".,:") for one in _FIGURE.findall(text)]


def _words(text: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(text) if len(word) > 3 and not _FIGURE.fullmatch(word)}


FAR = 730
"""Days from its own date beyond which a date in a day's text is looked at."""
"""Days that make a rule."""
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_WEEKDAY = r"\b(Mon|Tues?|Wed(?:nes)?|Thu(?:rs?)?|Fri|Sat(?:ur)?|Sun)(?:day)?\b\.?"
_NAMED = rf"({'|'.join(_MONTHS)})\s+(\d{{1,2}})(?:st|nd|rd|th)?,?\s+(\d{{4}})\b"
_ISO = r"\b(\d{4})-(\d{2})-(\d{2})\b"
_PAIRS = (
    re.compile(rf"{_WEEKDAY},?\s+\(?(?:{_ISO}|{_NAMED})"),
    re.compile(rf"(?:{_ISO}|{_NAMED}),?\s+\(?{_WEEKDAY}"),
)
_TODAY = re.compile(rf"\btoday\b(?:\s+is|,)?\s+\(?(?:{_WEEKDAY},?\s+)?\(?{_ISO}", re.IGNORECASE)
_DATE = re.compile(_ISO)


def date_findings(calendar: Calendar, part: SessionPart) -> Iterator[Finding]:
    """Yield weekdays that are not those of their dates, other dates of today, and dates that are far away."""
    own = calendar.date_of(part.day)
    for pattern in _PAIRS:
        for match in pattern.finditer(part.text):
            told, found = _weekday(match.groups()), _date(match.groups())
            if found is not None and told is not None and told != WEEKDAYS[found.weekday()]:
                message = f"{_quoted(match[0])}: {found} is a {WEEKDAYS[found.weekday()]}; correct one of the two"
                yield _finding("error", "weekday", message, part, match.start())
    for match in _TODAY.finditer(part.text):
        found = _date(match.groups())
        if found is not None and found != own:
            message = f"{_quoted(match[0])}: this day is {own}; correct it{_other_map(calendar, part.day, found)}"
            yield _finding("error", "today", message, part, match.start())
    for match in _DATE.finditer(part.text):
        found = _date(match.groups())
        if found is None:
            message = f"{match[0]}: there is no such date; correct it"
            yield _finding("error", "date", message, part, match.start())
        elif abs((found - own).days) > FAR:
            message = f"{match[0]}: is {abs((found - own).days):,} days from {own}; check the year"
            yield _finding("warning", "far-date", message, part, match.start())


def _finding(severity: str, rule: str, message: str, part: SessionPart, offset: int) -> Finding:
    return Finding(
        "error" if severity == "error" else "warning", rule, message, day=part.day, line=part.line_of(offset)
    )


def _other_map(calendar: Calendar, day: int, found: date) -> str:
    """Return a hint where the other way to count gives the date in the text."""
    other = calendar.other
    return f", or take `--dates {other.dates}`" if other.date_of(day) == found else ""


def _date(groups: Sequence[str | None]) -> date | None:
    """Return the date in the groups of a match: of numbers, or with the name of a month; None if there is none."""
    numbers = [one for one in groups if one is not None and one.isdigit()]
    month = next((_MONTHS.index(one) + 1 for one in groups if one in _MONTHS), None)
    try:
        if month is not None:
            return date(int(numbers[1]), month, int(numbers[0]))
        return date(int(numbers[0]), int(numbers[1]), int(numbers[2]))
    except ValueError:
        return None


def _weekday(groups: Sequence[str | None]) -> str | None:
    words = [one for one in groups if one is not None and not one.isdigit() and one not in _MONTHS]
    return next((name for one in words for name in WEEKDAYS if name.startswith(one)), None)


def _quoted(text: str) -> str:
    return f"“{' '.join(text.split())}”"


def map_findings(calendar: Calendar, texts: Mapping[int, str]) -> Iterator[Finding]:
    """Yield whether the texts are dated by the other way to count."""
    told = dated(calendar, sorted(texts.items()))
    if told.is_other:
        days = f"{len(told.against)} of {told.decided} days"
        message = f"{days} name the dates of `--dates {calendar.other.dates}` from here on; take that"
        yield Finding("error", "calendar", message, day=told.against[0])
