"""What two replays of one commit differ in is proposed to be ignored where it varies by itself, and only there."""

from __future__ import annotations

import json
import re
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pytest_recall.files import strict_yaml
from pytest_recall.files.errors import RecallError
from pytest_recall.replay.equality import seen_by
from pytest_recall.replay.exchange import Request
from pytest_recall.replay.matching import Rules, SeenRequest, Volatile, VolatileText
from pytest_recall.replay.varying import (
    IN_AGENT,
    MOST_PATTERNS,
    ORDER,
    Variation,
    from_lines,
    rubric_lines,
    to_line,
    variations,
    volatile_in,
)

URL = "https://api.example.com/v1/chat/completions"
CONTENT = "body.messages.*.content"
UUIDS = "0b1c2d3e-4f50-4617-8293-a4b5c6d7e8f9", "f1e2d3c4-b5a6-4978-8a9b-0c1d2e3f4051"


def chat(text: Any = "Hi there.", **more: Any) -> SeenRequest:
    """Return a chat request with one message."""
    return SeenRequest("POST", URL, {}, {"model": "m", "messages": [{"role": "user", "content": text}], **more})


def get(url: str, **headers: str) -> SeenRequest:
    """Return a request without a body."""
    return SeenRequest("GET", url, headers, b"")


def compared(one: SeenRequest, other: SeenRequest, rules: Rules | None = None) -> list[Variation]:
    """Return what varies between two replays of one case with one request."""
    return variations({"a": [one]}, {"a": [other]}, rules or Rules())


def together(found: list[Variation]) -> Volatile:
    """Return all that is proposed."""
    volatile = Volatile()
    for one in found:
        volatile = volatile.joined(one.ignored)
    return volatile


def of(volatile: Volatile) -> Rules:
    """Return the rules that ignore something."""
    return Rules(volatile.fields, query=volatile.query, texts=volatile.texts)


@pytest.mark.parametrize(
    ("one", "other", "pattern"),
    [
        (
            f"Session {UUIDS[0]} at noon",
            f"Session {UUIDS[1]} at noon",
            r"\bSession [0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12} at\b",
        ),
        ("Today is 2026-11-28, be kind.", "Today is 2028-01-02, be kind.", r"\bis \d{4}-\d\d-\d\d, be\b"),
        (
            "It is 2026-11-28T15:17:02.123Z now",
            "It is 2028-01-02T20:30:09.5Z now",
            r"\bis \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z now\b",
        ),
        ("It is 9:05 PM here.", "It is 2:18 AM here.", r"\bis \d\d?:\d\d [AaPp]M here\b"),
        ("It is 15:17:02 now", "It is 20:30 now", None),
        ("due 28.11.2026 at the latest", "due 2.1.2028 at the latest", r"\bdue \d\d?\.\d\d?\.\d{4} at\b"),
        ("the 28th day", "the 2nd day", r"\bthe \d\d?(?:st|nd|rd|th) day\b"),
        ("trace 9f86d081884c7d65 of us", "trace 60303ae22b998861 of us", r"\btrace [0-9a-f]{16} of\b"),
        ("trace 9f86d081 of us", "trace 60303122 of us", r"\btrace [0-9a-f]{8} of\b"),
        ("your id req_4kT9Z is new", "your id req_77Abq is new", r"\bid req_[\w-]+ is\b"),
        ("took 0.125 s for it", "took 12.5 s for it", r"\btook \d+\.\d+ s\b"),
        ("cost $1,250 in all", "cost $75 in all", r"\bcost \$\d[\d.,]* in\b"),
        ("You are kind. It is 2026-11-28", "You are kind. It is 2028-01-02", r"\bIt is \d{4}-\d\d-\d\d\b"),
        ("2026-11-28 is the day", "2028-01-02 is the day", r"\b\d{4}-\d\d-\d\d is the\b"),
        ("Berlin, 2026-11-28", "Berlin, 2028-01-02", r"\ABerlin, \d{4}-\d\d-\d\d\Z"),
        ("2026-11-28", "2028-01-02", r"\A\d{4}-\d\d-\d\d\Z"),
        ("a\n2026-11-28\nb", "a\n2028-01-02\nb", r"\ba\n\d{4}-\d\d-\d\d\nb\b"),
        ("now (2026-11-28)? yes", "now (2028-01-02)? yes", r"\bnow \(\d{4}-\d\d-\d\d\)\? yes\b"),
    ],
)
def test_a_text_is_ignored_with_the_words_beside_it(one: str, other: str, pattern: str | None) -> None:
    (found,) = compared(chat(one), chat(other))
    assert found.place == "messages[0].content"
    (text,) = found.ignored.texts
    assert text.place == CONTENT
    assert pattern is None or text.pattern == pattern
    assert compared(chat(one), chat(other), of(found.ignored)) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("17", "18"),
        ("9f86d081884c7d65", "60303ae22b998861"),
        ("item 17", "item 19 20"),
        ("Be kind today.", "Be brief today."),
        ("May I ask", "Can I ask"),
        ("on 2026-11-28 at noon", "on 17 at noon"),
    ],
    ids=["bare number", "bare id", "one more", "word", "month or word", "two kinds"],
)
def test_what_no_pattern_fits_is_for_the_agent(one: str, other: str) -> None:
    (found,) = compared(chat(one), chat(other))
    assert (found.ignored, found.why) == (Volatile(), IN_AGENT)


def test_words_in_another_order_are_to_be_sorted() -> None:
    (found,) = compared(chat("red green blue"), chat("blue red green"))
    assert found.why == ORDER
    (found,) = compared(chat(tools=["a", "b", "c"]), chat(tools=["c", "a", "b"]))
    assert (found.place, found.why) == ("tools", ORDER)


@pytest.mark.parametrize(
    ("one", "other", "places"),
    [
        (chat(seed=4), chat(seed=5), ["body.seed"]),
        (chat(run={"id": UUIDS[0]}), chat(run={"id": UUIDS[1]}), ["body.run.id"]),
        (chat(user=UUIDS[0]), chat(user=UUIDS[1]), ["body.user"]),
        (chat(metadata={"run": UUIDS[0]}), chat(metadata={"run": UUIDS[1]}), ["body.metadata.run"]),
        (chat(ids=[UUIDS[0]]), chat(ids=[UUIDS[1]]), ["body.ids.*"]),
        (get(f"{URL}?a=b&ts=17"), get(f"{URL}?a=b&ts=18"), ["query.ts"]),
        (get(f"{URL}?day=2026%2D11-28"), get(f"{URL}?day=2028-01-02"), ["query.day"]),
        (
            get(URL, prefer=f"for={UUIDS[0]}"),
            get(URL, prefer=f"for={UUIDS[1]}"),
            ["header.prefer"],
        ),
        (
            get("https://a.com/sessions/17/steps"),
            get("https://a.com/sessions/18/steps"),
            [{"url": r"\bsessions/\d+/steps\b"}],
        ),
        (
            get("https://a.com/find?q=storms+of+2026-11-28+in+May"),
            get("https://a.com/find?q=storms+of+2028-01-02+in+May"),
            [{"url": r"\bof\+\d{4}-\d\d-\d\d\+in\b"}],
        ),
        (
            SeenRequest("POST", URL, {}, b"<at>2026-11-28</at>\xff"),
            SeenRequest("POST", URL, {}, b"<at>2028-01-02</at>\xff"),
            [{"body": r"\bat>\d{4}-\d\d-\d\d</at\b"}],
        ),
    ],
    ids=[
        "number",
        "uuid",
        "caller",
        "in metadata",
        "in a list",
        "parameter",
        "encoded",
        "header",
        "path",
        "words in a URL",
        "no JSON",
    ],
)
def test_what_varies_as_a_whole_is_named_by_its_place(one: SeenRequest, other: SeenRequest, places: list[Any]) -> None:
    (found,) = compared(one, other)
    assert found.ignored.places() == places
    assert strict_yaml.load("\n".join(rubric_lines(places)), "rubric.yaml") == {"volatile": places}


@pytest.mark.parametrize(
    ("one", "other", "place"),
    [
        (chat(stream=True), chat(stream=False), "stream"),
        (chat(tag="kind"), chat(), "tag"),
        (chat(**{"a.b": UUIDS[0]}), chat(**{"a.b": UUIDS[1]}), "a.b"),
        (chat(model="m-small"), chat(model="m-large"), "model"),
        (chat(stop=["a"]), chat(stop=["a", "b"]), "stop"),
        (get(URL), get(URL)._replace(method="HEAD"), "the method"),
        (get(URL, prefer="slow"), get(URL, prefer="fast"), "the header `prefer`"),
        (get(URL, prefer="slow"), get(URL), "the header `prefer`"),
        (get("https://a.com/kind"), get("https://a.com/brief"), "the URL"),
        (chat([1, 2]), chat([1, 3]), "messages[0].content[1]"),
    ],
)
def test_what_no_setting_fits_is_listed_with_its_place(one: SeenRequest, other: SeenRequest, place: str) -> None:
    (found,) = compared(one, other)
    assert (found.place, found.ignored, found.why) == (place, Volatile(), IN_AGENT)


def test_a_field_with_a_word_in_another_request_is_not_left_out_as_a_whole() -> None:
    first, second = ([chat(note=f"{day}"), chat(note="be kind")] for day in ("2026-11-28", "2028-01-02"))
    (found,) = variations({"a": first}, {"a": second}, Rules())
    assert found.ignored.texts == (VolatileText("body.note", r"\A\d{4}-\d\d-\d\d\Z"),)


def test_several_places_in_one_text_have_a_pattern_each() -> None:
    one, other = (
        f"Session {uuid} at {day} today. Be kind."
        for uuid, day in zip(UUIDS, ("2026-11-28 15:17:02.1", "2028-01-02 20:30:09.2"), strict=True)
    )
    found = compared(chat(one), chat(other))
    assert [variation.first for variation in found] == [f"Session {UUIDS[0]} at", "at 2026-11-28 15:17:02.1 today"]
    rules = of(together(found))
    assert compared(chat(one), chat(other), rules) == []
    for word in ("Session", "at", "today", "kind"):
        assert rules.masked(chat(one)) != rules.masked(chat(other.replace(word, "other")))


def test_cases_share_the_words_that_they_have_in_common() -> None:
    questions = {"a": "What does it cost?", "b": "May I return it?", "c": "Who are you?"}
    first, second = (
        {case_id: [chat(f"Today is {day}\n{question}")] for case_id, question in questions.items()}
        for day in ("2026-11-28", "2028-01-02")
    )
    (found,) = variations(first, second, Rules())
    assert found.cases == ("a", "b", "c")
    assert found.ignored.texts == (VolatileText(CONTENT, r"\bToday is \d{4}-\d\d-\d\d\b"),)


def test_a_field_that_needs_many_patterns_is_for_the_agent() -> None:
    words = [f"{chr(97 + n) * 3}" for n in range(MOST_PATTERNS + 1)]
    first, second = ({word: [chat(f"{word} 2{n} {word}")] for word in words} for n in range(2))
    assert {one.why for one in variations(first, second, Rules())} == {IN_AGENT}


def test_equal_calls_may_come_in_another_order_and_one_replay_may_end_before_the_other() -> None:
    calls = [chat("classify it"), chat("answer it"), chat("check it 4 times")]
    assert variations({"a": calls}, {"a": calls[::-1]}, Rules()) == []
    assert variations({"a": calls[:1], "b": calls}, {"a": calls, "b": calls[2:]}, Rules()) == []
    (found,) = variations({"a": calls}, {"a": [chat("check it 5 times"), *calls[:2]]}, Rules())
    assert found.first == "it 4 times"


def test_what_the_rubric_ignores_is_passed_over_and_the_rest_of_the_text_is_not() -> None:
    one, other = (f"It is {day} now, and {n} are left" for day, n in (("2026-11-28", 4), ("2028-01-02", 15)))
    known = VolatileText(CONTENT, r"is \d{4}-\d\d-\d\d now")
    (found,) = compared(chat(one), chat(other), Rules(texts=[known]))
    assert found.ignored.texts == (VolatileText(CONTENT, r"\band \d+ are\b"),)


# Words that are no kind of their own, and no part of the patterns.
WORDS = st.sampled_from(["kind", "noon", "session", "Ask", "the", "of", "you", "Straße", "it"])
GAPS = st.sampled_from([" ", ", ", ": ", "\n", " (", ". "])
DIGITS = st.text("0123456789", min_size=1, max_size=9)
LATER = timedelta(days=400, hours=5, minutes=13, seconds=7)
MOMENTS = st.datetimes(max_value=datetime(2100, 1, 1))
FORMS = st.sampled_from(["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S.%f", "%A, %d %B", "%H:%M", "%d.%m.%y"])
KINDS = st.one_of(
    st.builds(lambda at, form: (format(at, form), format(at + LATER, form)), MOMENTS, FORMS),
    *(
        st.tuples(values, values).filter(lambda pair: pair[0] != pair[1])
        for values in (st.uuids().map(str), st.uuids().map(lambda one: one.hex), DIGITS, DIGITS.map("req-{}x".format))
    ),
)


@st.composite
def varied(draw: st.DrawFn) -> tuple[list[str], list[str]]:
    """Return the pieces of two texts: words and gaps in turn, among which are some of a kind that vary."""
    one: list[str] = []
    other: list[str] = []
    for _ in range(draw(st.integers(1, 8))):
        mine, theirs = draw(KINDS | WORDS.map(lambda word: (word, word)))
        gap = draw(GAPS)
        one += [mine, gap]
        other += [theirs, gap]
    return one, other


@given(varied(), st.data())
def test_a_pattern_fits_both_texts_and_no_other_word_and_no_bare_number(
    texts: tuple[list[str], list[str]], data: st.DataObject
) -> None:
    one, other = map("".join, texts)
    found = compared(chat(one), chat(other))
    patterns = [text.pattern for variation in found for text in variation.ignored.texts]
    for pattern in patterns:
        assert re.search(pattern, one), pattern
        assert re.search(pattern, other), pattern
        assert not re.search(pattern, data.draw(DIGITS)), pattern
    assume(found and all(variation.ignored != Volatile() for variation in found))
    rules = of(together(found))
    assert rules.masked(chat(one)) == rules.masked(chat(other))
    words = [
        place for place, (mine, theirs) in enumerate(zip(*texts, strict=True)) if mine == theirs and mine.isalpha()
    ]
    if words:
        place = data.draw(st.sampled_from(words))
        changed = "".join([*texts[1][:place], "another", *texts[1][place + 1 :]])
        assert rules.masked(chat(one)) != rules.masked(chat(changed))


@given(st.binary(max_size=20) | st.dictionaries(st.text(max_size=3), st.integers() | st.text(max_size=3)))
def test_a_request_is_read_as_it_was_written(body: Any) -> None:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    seen = seen_by(Rules(), Request("POST", URL, (("Accept", "text/csv"),), data))
    assert from_lines([to_line("a", seen)], "it") == {"a": [seen]}


def test_what_may_differ_is_read_as_it_was_written() -> None:
    volatile = Volatile(("a.*",), ("ts",), ("prefer",), (VolatileText("body.m", r"at \d+ s"),))
    assert volatile_in(json.dumps(volatile.places()), "it") == volatile
    assert volatile.joined(volatile) == volatile


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"owner": "a", "base64": true, "body": 3}', "[" * 100_000])
def test_a_file_of_another_kind_is_refused_in_a_sentence(text: str) -> None:
    with pytest.raises(RecallError, match=r"^it: does not say what was asked$"):
        from_lines([text], "it")


@pytest.mark.parametrize("text", ["", "3", "[3]", '["run.id"]'])
def test_a_file_of_other_settings_is_refused_in_a_sentence(text: str) -> None:
    with pytest.raises(RecallError, match=r"^it: does not say what may differ$"):
        volatile_in(text, "it")
