"""Selectors: every form is taken apart, and what is none is refused in one sentence."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.files.errors import RecallError
from pytest_recall.models.model import DEFAULTS, FORMS, KINDS, Selector, SelectorKind, parse, place_and_name

IDS = st.text("abcxyzABC0189-._:/@", min_size=1, max_size=30)
URLS = st.builds(
    "{}://{}{}{}".format,
    st.sampled_from(["http", "https"]),
    st.sampled_from(["127.0.0.1", "localhost", "example.org", "[::1]"]),
    st.sampled_from(["", ":8080", ":11434"]),
    st.sampled_from(["", "/", "/v1", "/a/b/v1"]),
)


@pytest.mark.parametrize(
    ("text", "kind", "target", "url"),
    [
        ("openai", "openai", DEFAULTS["openai"], None),
        ("openai:gpt-4o", "openai", "gpt-4o", None),
        ("openai:ft:gpt-4o:acme::1", "openai", "ft:gpt-4o:acme::1", None),
        ("openai:qwen3:8b;http://127.0.0.1:11434/v1", "openai", "qwen3:8b", "http://127.0.0.1:11434/v1"),
        ("http://127.0.0.1:8080/v1", "openai", "", "http://127.0.0.1:8080/v1"),
        ("https://host/v1#meta/llama:3", "openai", "meta/llama:3", "https://host/v1"),
        ("anthropic:claude-haiku-4-5", "anthropic", "claude-haiku-4-5", None),
        ("anthropic:m;http://[::1]:1", "anthropic", "m", "http://[::1]:1"),
        ("azure:mine", "azure", "mine", None),
        ("azure:mine;https://me.openai.azure.com", "azure", "mine", "https://me.openai.azure.com"),
        ("claude", "claude", "", None),
        ("claude:opus", "claude", "opus", None),
        ("codex:gpt-5", "codex", "gpt-5", None),
        ("copilot", "copilot", "", None),
        ("command:python bot.py --url http://x;y", "command", "python bot.py --url http://x;y", None),
        ("python:package.module:Bot.ask", "python", "package.module:Bot.ask", None),
        (r"python:C:\bots\mine.py:answer", "python", r"C:\bots\mine.py:answer", None),
        ("  openai:gpt-4o  ", "openai", "gpt-4o", None),
    ],
)
def test_forms(text: str, kind: str, target: str, url: str | None) -> None:
    found = parse(text)
    assert (found.text, found.kind, found.target, found.url) == (text.strip(), kind, target, url)


@given(kind=st.sampled_from(["openai", "anthropic", "azure"]), target=IDS, url=st.none() | URLS)
def test_what_is_put_together_is_taken_apart(kind: SelectorKind, target: str, url: str | None) -> None:
    found = parse(f"{kind}:{target}{f';{url}' if url else ''}")
    assert (found.kind, found.target, found.url) == (kind, target, url)
    assert parse(found.text) == found


@given(url=URLS, target=st.just("") | IDS)
def test_a_bare_endpoint_is_taken_apart(url: str, target: str) -> None:
    found = parse(f"{url}#{target}" if target else url)
    assert (found.kind, found.target, found.url) == ("openai", target, url)


@given(st.text(max_size=40) | st.builds("{}:{}".format, st.sampled_from(KINDS), st.text(max_size=30)))
def test_any_text_is_a_selector_or_one_sentence(text: str) -> None:
    found: Selector | RecallError
    try:
        found = parse(text)
    except RecallError as error:
        found = error
    if isinstance(found, RecallError):
        assert len(found.messages) == 1
        assert "\n" not in found.messages[0]
    else:
        assert found.kind in KINDS
        assert parse(found.text) == found


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "'': no model is selected like this; known: anthropic, azure, claude"),
        ("opnai:gpt", "'opnai:gpt': no model is selected like this; did you mean `openai`?"),
        ("Claude", "did you mean `claude`?"),
        ("gpt-4o", "'gpt-4o': no model is selected like this; known:"),
        ("openai:", "'openai:': there is nothing after the colon; write `openai:ID`"),
        ("claude:", "there is nothing after the colon; write `claude[:MODEL]`"),
        ("openai:;http://127.0.0.1/v1", "which one? write `openai:ID`"),
        ("openai:x;", "'openai:x;': '' is no URL; write one like http://127.0.0.1:8080/v1"),
        ("openai:x;127.0.0.1:8080", "'127.0.0.1:8080' is no URL"),
        ("openai:x;http://127.0.0.1:99999/v1", "is no URL"),
        ("openai:x;ftp://host/v1", "is no URL"),
        ("http://", "is no URL"),
        ("anthropic", "'anthropic': which one? write `anthropic:ID`"),
        ("azure", "'azure': which one? write `azure:DEPLOYMENT`"),
        ("command", "which one? write `command:PROGRAM ARGS`"),
        ("python:module", "which name of the module? write `python:MODULE:NAME`"),
        ("python:module:", "which name of the module?"),
    ],
)
def test_what_is_none_is_refused(text: str, sentence: str) -> None:
    with pytest.raises(RecallError) as caught:
        parse(text)
    assert sentence in str(caught.value)


def test_a_password_in_a_url_is_refused_and_not_repeated() -> None:
    with pytest.raises(RecallError, match="put the key into the environment") as caught:
        parse("openai:x;http://me:hunter2@127.0.0.1/v1")
    assert "hunter2" not in str(caught.value)


def test_place_and_name() -> None:
    assert place_and_name(parse("python:a.b:c").target) == ("a.b", "c")
    assert place_and_name(parse(r"python:C:\x.py:c").target) == (r"C:\x.py", "c")


def test_every_kind_has_a_form() -> None:
    assert {form.replace("[", ":").partition(":")[0] for form in FORMS} == {*KINDS, "http"}


def test_parsing_imports_no_sdk() -> None:
    program = (
        "import sys; from pytest_recall.models.model import parse; parse('openai'); parse('anthropic:x')\n"
        "from pytest_recall.models.resolve import resolve; resolve('openai'); resolve('anthropic:x')\n"
        "print(sorted({'openai', 'anthropic', 'httpx', 'httpx2', 'pydantic', 'asyncio'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
