"""How a memory is named."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.files.errors import RecallError
from pytest_recall.memory.built_in import headers_of
from pytest_recall.memory.kind import MemoryForm, MemoryKind, MemorySelector
from pytest_recall.memory.selector import MemoryKinds
from pytest_recall.models.model import place_and_name
from pytest_recall.registry import registry

KINDS = registry().memories()
"""With those of the extensions that are shipped."""
parse, selected = KINDS.parse, KINDS.selected


@pytest.mark.parametrize(
    ("text", "kind", "target", "options"),
    [
        ("sqlite-fts", "sqlite-fts", "", {}),
        (" sqlite-fts:eval/memory.db;tokenizer=porter ", "sqlite-fts", "eval/memory.db", {"tokenizer": "porter"}),
        ("hybrid;tokenizer=trigram", "hybrid", "", {"tokenizer": "trigram"}),
        ("last-20", "last", "20", {}),
        ("full", "full", "", {}),
        ("command:my-memory --config a;b.toml", "command", "my-memory --config a;b.toml", {}),
        ("command:sh -c 'a; b';timeout=5", "command", "sh -c 'a; b'", {"timeout": "5"}),
        ("python:a.b:C", "python", "a.b:C", {}),
        ("mem0:openai:m;http://127.0.0.1:1/v1", "mem0", "openai:m;http://127.0.0.1:1/v1", {}),
        ("http://127.0.0.1:8080/api", "http", "http://127.0.0.1:8080/api", {}),
        ("https://h;timeout=0.5", "http", "https://h", {"timeout": "0.5"}),
        ("mcp:server;store=add;recall=find", "mcp", "server", {"store": "add", "recall": "find"}),
        ("grpc://localhost", "grpc", "localhost:50052", {}),
        ("grpc://[::1]:99;timeout=3", "grpc", "[::1]:99", {"timeout": "3"}),
    ],
)
def test_selectors_are_taken_apart(text: str, kind: str, target: str, options: dict[str, str]) -> None:
    assert parse(text) == MemorySelector(text=text.strip(), kind=kind, target=target, options=options)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no memory is selected like this; known: "),
        ("sqlite", r"did you mean `sqlite-fts`\?"),
        ("mem1", r"did you mean `mem0`"),
        ("last", "how many"),
        ("last-0", "how many"),
        ("last-x", "how many"),
        ("last-2;tokenizer=porter", "unknown option `tokenizer`; there are none"),
        ("full:x", "`full` takes nothing after a colon"),
        ("null:", "there is nothing after the colon; write `null`"),
        ("command", "which one"),
        ("command:", "nothing after the colon"),
        ("python:module", "which name of the module"),
        ("python::x", "which name of the module"),
        ("http://", "is no URL of a service"),
        ("http://h/a b", "is no URL of a service"),
        ("http://h:0", "is no URL of a service"),
        ("http://h?x=1", "is no URL of a service"),
        ("http://me:secret@h", "^'http://…@h': a URL with a user or a password"),
        ("grpc:h", "is not an address"),
        ("grpc://h:99999999", "is not an address"),
        ("http://[h", "is no URL of a service"),
        ("http://h;timout=3", r"unknown option `timout`; did you mean `timeout`\?"),
        ("http://h;timeout=0", "is not a number of seconds"),
        ("http://h;timeout=0s", "is not a number of seconds"),
        ("http://h;timeout=-1", "is not a number of seconds"),
        ("http://h;timeout=", "`timeout` has no value"),
        ("http://h;timeout=1;timeout=2", "`timeout` is set twice"),
        ("sqlite-fts;tokenizer=ascii", "is not a tokenizer"),
        ("sqlite-fts,nope", "^'nope': no memory is selected like this"),
        ("last-20,sqlite-ftz", r"^'sqlite-ftz': no memory is selected like this; did you mean `sqlite-fts`\?"),
        ("python:mine.py:A,nope", "^'nope': no memory is selected like this"),
        ("http://h,nope;timeout=3", "^'nope': no memory is selected like this"),
        ("sqlite-fts,last-20", "^'sqlite-fts,last-20': names several memories, and one is taken here; name one$"),
        ("http://h:1,null", "names several memories"),
        ("mcp:server;stroe=x", r"unknown option `stroe`; did you mean `store`\?"),
    ],
)
def test_what_selects_nothing_is_one_sentence(text: str, message: str) -> None:
    with pytest.raises(RecallError, match=message) as caught:
        parse(text)
    assert len(caught.value.messages) == 1


@pytest.mark.parametrize(
    "text",
    [
        *(
            "http://me:se,cret@h",
            "http://me:secret@h",
            "http://me:secret@h:bad",
            "http:me:secret@h",
            "htp://me:secret@h",
        ),
        *(
            "http://me:secret@h;timeout=1;timeout=2",
            "http://me:se/cret@h",
            "http://me:'secret@h",
            "grpc://me:secret@h:5",
        ),
    ],
)
def test_a_password_is_not_repeated(text: str) -> None:
    with pytest.raises(RecallError, match=r"^'[a-z]+:(//)?…@h.*': ") as caught:
        parse(text)
    assert "cret" not in str(caught.value)


@given(st.text(max_size=40))
def test_any_text_selects_something_or_is_one_sentence(text: str) -> None:
    with suppress(RecallError):
        assert parse(text).text == text.strip()


def test_files_on_windows_have_a_colon_of_their_own() -> None:
    assert place_and_name(parse(r"python:C:\memory.py:Client").target) == (r"C:\memory.py", "Client")


def test_the_timeout_is_a_number_where_it_is_given() -> None:
    assert parse("http://h;timeout=2.5").timeout == 2.5
    assert parse("http://h;timeout=500ms").timeout == 0.5
    assert parse("http://h").timeout is None


def test_a_selector_as_help_writes_it_is_of_its_form() -> None:
    for kind, form in KINDS.forms():
        if example := kind.example(form):
            parsed = parse(example)
            assert (KINDS.kind_of(parsed), kind.form(parsed.target)) == (kind, form)


def test_several_selectors_are_separated_before_a_known_kind() -> None:
    assert selected(["sqlite-fts, last-20,python:mine.py:A", "https://127.0.0.1:1"]) == [
        *("sqlite-fts", "last-20", "python:mine.py:A", "https://127.0.0.1:1")
    ]
    assert selected(["command:memory --tags a,b;timeout=3"]) == ["command:memory --tags a,b;timeout=3"]
    with pytest.raises(RecallError, match="'null' is named twice"):
        selected(["null,full", "null"])


def test_headers_are_named_with_their_variables() -> None:
    found = parse("https://127.0.0.1;header=X-API-Key:A,X-Org:B;bearer=TOKEN;timeout=3")
    assert headers_of(found.options) == {"X-API-Key": "A", "X-Org": "B", "authorization": "TOKEN"}
    assert headers_of({}) == {}


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("bearer=Bearer abc", "is not the name of an environment variable; the token stands there"),
        ("header=X-Key", "write it like ;header=X-API-Key:MY_KEY"),
        ("header=X-Key:A,", "write it like"),
        ("header=Authorization:A", "write it like"),
        ("header=X-Key:a b", "write it like"),
    ],
)
def test_a_token_does_not_stand_in_a_selector(option: str, said: str) -> None:
    with pytest.raises(RecallError, match=said):
        parse(f"http://127.0.0.1;{option}")


def separated(*targets: str) -> MemoryKinds:
    forms = tuple(MemoryForm(about="x", target=target) for target in targets)
    kind = MemoryKind(name="sep", aliases=("apart",), separator="=", forms=forms, make=KINDS.all[0].make)
    return MemoryKinds([kind])


def test_a_kind_has_a_separator_of_its_own() -> None:
    assert [separated("FILE").parse(text).target for text in ("sep=a:b", "apart=c")] == ["a:b", "c"]


@pytest.mark.parametrize(
    ("text", "targets", "message"),
    [
        ("sep:", ["FILE"], "^'sep:': no memory is selected like this; write `sep=FILE`$"),
        ("sep:x", [""], "^'sep:x': no memory is selected like this; write `sep`$"),
        ("sep=", ["FILE"], "there is nothing after `=`; write `sep=FILE`$"),
        ("sep=x", [""], "`sep` takes nothing after `=`; remove it$"),
    ],
)
def test_a_fault_names_the_separator_of_the_kind(text: str, targets: list[str], message: str) -> None:
    with pytest.raises(RecallError, match=message):
        separated(*targets).parse(text)
