"""Settings file: defaults where there is none, and sentences about mistakes."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_recall.cases.settings import DEFAULT_SETTINGS, Settings
from pytest_recall.cases.settings_fields import Quarantine
from pytest_recall.cases.settings_file import gates_in, place_of_setting, read_settings
from tests.schedule.state_samples import problem, problems

NAME = "eval/rubric.yaml"


def read(folder: Path, text: str) -> Settings:
    """Write a rubric file and read it."""
    path = folder / "rubric.yaml"
    path.write_text(text, encoding="utf-8")
    return read_settings(path, NAME)


def test_no_file_is_the_default(tmp_path: Path) -> None:
    found = read_settings(tmp_path / "rubric.yaml", NAME)
    assert found is DEFAULT_SETTINGS
    assert (found.mode, found.max_due_cases, found.new_traffic_sample, found.nightly_cases) == ("pr", 25, 5, None)


@pytest.mark.parametrize(("lapses", "found"), [("null", None), ("2", Quarantine(2, "me", 30))])
def test_no_number_of_lapses_is_no_quarantine(tmp_path: Path, lapses: str, found: Quarantine | None) -> None:
    assert read(tmp_path, f"owner: me\nquarantine_lapses: {lapses}\n").quarantine == found


@pytest.mark.parametrize("text", ["[", "- a\n", "owner: me\n", "gates: 3\n", "gates: [{odd: 1}]\n", "gates: null\n"])
def test_a_rubric_of_another_version_has_no_gates(text: str) -> None:
    assert gates_in(text) == ()


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("owner: me\n# hosts\nignore_hosts:\n- db\n", f"{NAME}:4"),
        ("owner: me\n", NAME),
        ("ignore_hosts: [", NAME),
        ("", NAME),
    ],
)
def test_where_a_setting_stands(tmp_path: Path, text: str, place: str) -> None:
    path = tmp_path / "rubric.yaml"
    assert place_of_setting(path, NAME, "ignore_hosts") == NAME
    path.write_text(text, encoding="utf-8")
    assert place_of_setting(path, NAME, "ignore_hosts") == place


def test_every_knob(tmp_path: Path) -> None:
    text = """\
owner: the tool library
model_primary: No
mode: nightly
max_due_cases: 7
new_traffic_sample: 0
nightly_cases: 100
recording: off
budget: 2.5
due_blocks: true
thresholds: {token_f1: 0.6, helpful: 1}
"""
    assert read(tmp_path, text) == Settings(
        owner="the tool library",
        model_primary="No",
        mode="nightly",
        max_due_cases=7,
        new_traffic_sample=0,
        nightly_cases=100,
        recording="off",
        budget=2.5,
        due_blocks=True,
        thresholds={"token_f1": 0.6, "helpful": 1.0},
    )


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("owner: me\nmax_due: 5\n", 2, "max_due: unknown field; did you mean `max_due_cases`?"),
        ("owner: me\n\nmode: night\n", 3, "mode: 'night' is unknown; did you mean `nightly`?"),
        (
            "owner: me\ncassette_kinds:\n  agent: live\n  foo: live\n",
            4,
            "cassette_kinds.foo: 'foo' is unknown; known: agent, judge, worker",
        ),
        (
            "owner: me\nvolatile_text: [{field: a, pattern: '\\d+'}, {field: a, pattern: '('}]\n",
            2,
            "volatile_text.1.pattern: '(' is not a regular expression (missing ), unterminated subpattern at position"
            " 0)",
        ),
        (
            "owner: me\nvolatile_text: [{field: a, pattern: '.+'}]\n",
            2,
            "volatile_text.0.pattern: '.+' fits any text, so that any answer would do; write what differs with the"
            " words beside it",
        ),
        ("owner: me\nvolatile_text: ['on .']\n", 2, "volatile_text.0: must be a mapping, not 'on .'"),
        (
            "owner: me\nmatch_headers: [x-tenant, 'x tenant']\n",
            2,
            "match_headers: 'x tenant' is not a name of a header; write one, such as x-tenant",
        ),
        (
            "owner: me\nkeep_headers: [Authorization]\n",
            2,
            "keep_headers: `Authorization` holds a credential, which is never written down; remove it",
        ),
        (
            "owner: me\nvolatile_fields: [id, 'messages.*']\n",
            2,
            "volatile_fields: `messages.*` is what is asked, and any answer would fit; name the part that differs,",
        ),
        ("owner: me\nvolatile_fields: [input]\n", 2, "volatile_fields: `input` is what is asked"),
        ("owner: me\nvolatile_fields: [prompt]\n", 2, "volatile_fields: `prompt` is what is asked"),
        ("owner: me\nignore_hosts: ['http://a/']\n", 2, "ignore_hosts: `http://a/` is not a host; write `a`"),
        *(
            (f"owner: me\nignore_hosts: ['{written}']\n", 2, f"ignore_hosts: `{written}` is not a host; write {right}")
            for written, right in (
                ("http://127.0.0.1:*/x", "`127.0.0.1`"),
                ("127.0.0.1:*", "`127.0.0.1`"),
                ("http://a:80?x=/", "`a:80`"),
                ("[::1]:*", "`::1`"),
                ("http://[::1]:80/x", "`::1:80`"),
                ("http:///x", "one like"),
                ("https://*.a.com/x", "one like"),
                ("https://me@a.com/x", "one like"),
            )
        ),
        *(
            (f"owner: me\ntelemetry_hosts: ['{host}']\n", 2, f"telemetry_hosts: `{host}` is not a host; write one like")
            for host in ("*.a.com", "a.com:x", "a.com:", "a.com:0", "a.com:65536", ":80", "a b", "me@a.com")
        ),
        (
            "owner: me\nrepeatable_urls: ['https://a/v?/x', 'https://a/x?y=*']\n",
            2,
            "repeatable_urls: `https://a/x?y=*` has a query, and URLs are compared without theirs; write `https://a/x`",
        ),
        (
            "owner: me\nreplay:\n  programs: [git, python]\n",
            3,
            "replay.programs.1: `python` names no program, since `python` runs any; add what it runs, such as `python",
        ),
        (
            "owner: me\nreplay:\n  program: git\n",
            3,
            "replay.program: unknown field; did you mean `programs`?",
        ),
        (
            "owner: me\nrate_limits:\n  opnai: {requests_per_minute: 5}\n",
            3,
            "rate_limits: `opnai` is not a provider, a program, or a host with its port; did you mean `openai`?",
        ),
        (
            "owner: me\nrate_limits:\n  claud: {requests_per_minute: 5}\n",
            3,
            "rate_limits: `claud` is not a provider, a program, or a host with its port; did you mean `claude`?",
        ),
        (
            "owner: me\nrate_limits:\n  codex: {requests_per_minute: 5, tokens_per_minute: 5}\n",
            3,
            "rate_limits: `codex` is a program, whose tokens are not known in advance;"
            " give it `requests_per_minute` alone",
        ),
        (
            "owner: me\nrate_limits:\n  http://a.b/v1: {requests_per_minute: 5}\n",
            3,
            "rate_limits: `http://a.b/v1` is not a host; write `a.b`",
        ),
        (
            "owner: me\nrate_limits:\n  a.b: {tokens_per_minute: 5}\n  A.b: {tokens_per_minute: 5}\n",
            3,
            "rate_limits: `A.b` is the same as `a.b`; give one of them",
        ),
        (
            "owner: me\nrate_limits:\n  openai: {request_per_minute: 5}\n",
            3,
            "rate_limits.openai.request_per_minute: unknown field; did you mean `requests_per_minute`",
        ),
        (
            "owner: me\nrate_limits:\n  openai: {}\n",
            3,
            "rate_limits.openai: limits nothing; give `requests_per_minute`, `tokens_per_minute` or both",
        ),
        (
            "owner: me\nrate_limits:\n  openai: {requests_per_minute: 0}\n",
            3,
            "rate_limits.openai.requests_per_minute: input should be greater than or equal to 1; got 0",
        ),
        (
            "owner: me\nrate_limits:\n  openai: {tokens_per_minute: many}\n",
            3,
            "rate_limits.openai.tokens_per_minute: must be a whole number, not 'many'",
        ),
        ("owner: 5\n", 1, "owner: 5 is not text; write it in quotes"),
        ("owner: me\nthresholds:\n  exact: 2\n", 3, "thresholds.exact: "),
        ("owner: me\nthresholds:\n  exact: 0.5\n  exact: 0.6\n", 4, "`exact` is written twice"),
        ("owner: me\nmax_due_cases: 1_000\n", 2, "max_due_cases: must be a whole number, not '1_000'"),
        ("- owner: me\n", 1, "must be a mapping; start with `owner: <who answers for it>`"),
        ("", 1, "must be a mapping; start with"),
        ("owner: me\n>>>>>>> theirs\n", 2, "merge-conflict marker"),
        ("owner: !!str me\n", 1, "the tag"),
    ],
)
def test_mistake(tmp_path: Path, text: str, line: int, words: str) -> None:
    assert problem(lambda: read(tmp_path, text)).startswith(f"{NAME}:{line}: {words}")


def test_every_mistake_at_once(tmp_path: Path) -> None:
    found = problems(lambda: read(tmp_path, "mode: 5\nmax_due_cases: x\n"))
    assert [message.split(": ")[:2] for message in found] == [
        [f"{NAME}:1", "mode"],
        [f"{NAME}:2", "max_due_cases"],
    ]


def test_not_readable(tmp_path: Path) -> None:
    assert problem(lambda: read_settings(tmp_path, NAME)).startswith(f"{NAME}: cannot be read (Is a directory)")
    (tmp_path / "rubric.yaml").write_bytes(b"owner: \xff")
    assert problem(lambda: read_settings(tmp_path / "rubric.yaml", NAME)).startswith(f"{NAME}:1: byte 7 is not UTF-8")
