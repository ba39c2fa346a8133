"""`recall judges models`: what a person sees of a model that replies, and of one that does not."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from pytest_recall.models.model import FORMS
from tests.cli.conftest import Recall
from tests.cli.samples import recall
from tests.models.endpoint import Answer, chat, endpoint, failure

pytest.importorskip("openai")
pytest.importorskip("anthropic")

NO_KEYS = dict.fromkeys(("OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "AZURE_OPENAI_API_KEY"), "")


def priced() -> Answer:
    answer = chat("ready")
    answer.body["model"] = "gpt-4o-mini-2024-07-18"
    return answer


def lines(text: str) -> list[str]:
    """Return the lines without the time that a reply took."""
    first, *rest = text.splitlines()
    head, _, tail = first.partition(" replied in ")
    return [head, tail.partition("s: ")[2], *rest]


def test_a_reply_with_its_tokens_and_price(tmp_path: Path) -> None:
    with endpoint(priced()) as server:
        done = recall(tmp_path, "judges", "check", f"openai:m;{server.url}/v1", **NO_KEYS)
    assert (done.code, done.err) == (0, "")
    assert lines(done.out) == [
        f"openai:m;{server.url}/v1",
        "'ready'",
        "model    gpt-4o-mini-2024-07-18",
        "tokens   6 input, 5 output, 4 cache read",
        "price    $0.0000042",
        "ignored  nothing",
    ]
    assert len(server.asked) == 1


def test_json(tmp_path: Path, inside: Recall) -> None:
    with endpoint(failure(400, "max_tokens: unknown field"), chat("rea", "length")) as server:
        done = inside(tmp_path, "judges", "check", "--json", f"openai:m;{server.url}/v1")
    assert done.code == 0
    found = json.loads(done.out)
    assert found.pop("seconds") >= 0
    assert found == {
        "version": 1,
        "selector": f"openai:m;{server.url}/v1",
        "ok": True,
        "text": "rea",
        "stop": "length",
        "model": "m-2026",
        "tokens": {"input": 6, "output": 5, "cache_read": 4},
        "usd": 0.0,
        "ignored": [],
        "notes": [],
    }


@pytest.mark.parametrize("as_json", [False, True])
def test_no_reply_is_one_sentence(tmp_path: Path, inside: Recall, as_json: bool) -> None:
    with endpoint(failure(503, "down")) as server:
        selector = f"openai:m;{server.url}/v1"
        done = inside(tmp_path, "judges", "check", selector, *(["--json"] if as_json else []))
    sentence = f"{selector}: {server.url}/v1 answered 503: down; try again later, or ask less at a time"
    assert done.code == 1
    assert len(server.asked) == 1
    if as_json:
        assert json.loads(done.out) == {"version": 1, "selector": selector, "ok": False, "error": sentence}
    else:
        assert (done.out, done.err) == ("", f"recall: {sentence}\n")


def test_a_missing_key_is_one_sentence(tmp_path: Path) -> None:
    done = recall(tmp_path, "judges", "check", "openai", **NO_KEYS)
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("recall: openai: there is no key; set OPENAI_API_KEY")


def test_a_missing_package_is_one_sentence(tmp_path: Path, inside: Recall, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    done = inside(tmp_path, "judges", "check", "openai")
    assert done.code == 1
    assert done.err == ("recall: openai: the package openai is not installed; run: pip install 'pytest-recall[llm]'\n")


def test_a_program_without_end(tmp_path: Path, inside: Recall) -> None:
    (tmp_path / "slow.py").write_text("import time; time.sleep(60)\n", encoding="utf-8")
    done = inside(tmp_path, "judges", "check", f"command:{sys.executable} slow.py", "--timeout", "300ms")
    assert done.code == 1
    assert "it did not finish within 0.3 s, having printed nothing; allow more time" in done.err


def test_list_names_every_form_and_what_is_missing(tmp_path: Path) -> None:
    done = recall(tmp_path, "judges", "models", **NO_KEYS, PATH=str(tmp_path))
    assert (done.code, done.err) == (0, "")
    starts = [line.split("  ")[0] for line in done.out.splitlines() if not line.startswith(" ")]
    assert starts == list(FORMS)
    assert done.out.count("not ready here: there is no key; set OPENAI_API_KEY") == 2
    for program in ("claude", "codex", "copilot"):
        assert f"not ready here: there is no program `{program}` on PATH; install it" in done.out


def test_a_form_whose_needs_are_met_lacks_nothing(
    tmp_path: Path, inside: Recall, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-anything")
    done = inside(tmp_path, "judges", "models")
    assert "set OPENAI_API_KEY" not in done.out


def test_help_teaches(tmp_path: Path, inside: Recall) -> None:
    done = inside(tmp_path, "judges", "check", "--help")
    assert done.out.startswith("usage: recall judges check ")
    assert "recall judges check http://127.0.0.1:8080/v1" in done.out
    assert inside(tmp_path, "judges").code == 2
