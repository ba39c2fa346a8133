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
    assert (found.max_due_cases, found.new_traffic_sample, found.nightly_cases) == (25, 5, None)


@pytest.mark.parametrize(("lapses", "found"), [("null", None), ("2", Quarantine(2, "me"))])
def test_no_number_of_lapses_is_no_quarantine(tmp_path: Path, lapses: str, found: Quarantine | None) -> None:
    assert read(tmp_path, f"owner: me\nquarantine_lapses: {lapses}\n").quarantine == found


@pytest.mark.parametrize("text", ["[", "- a\n", "owner: me\n", "gates: 3\n", "gates: [{odd: 1}]\n", "gates: null\n"])
def test_a_rubric_of_another_version_has_no_gates(text: str) -> None:
    assert gates_in(text) == ()


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("owner: me\n# hosts\ncalls:\n  db: ignore\n", f"{NAME}:4"),
        ("owner: me\n", NAME),
        ("calls: {", NAME),
        ("", NAME),
    ],
)
def test_where_a_setting_stands(tmp_path: Path, text: str, place: str) -> None:
    path = tmp_path / "rubric.yaml"
    assert place_of_setting(path, NAME, "calls") == NAME
    path.write_text(text, encoding="utf-8")
    assert place_of_setting(path, NAME, "calls") == place


def test_every_knob(tmp_path: Path) -> None:
    text = """\
owner: the tool library
model_primary: No
max_due_cases: 7
new_traffic_sample: 0
nightly_cases: 100
recording: off
budget: 2.5
thresholds: {token_f1: 0.6, helpful: 1}
"""
    assert read(tmp_path, text) == Settings(
        owner="the tool library",
        model_primary="No",
        max_due_cases=7,
        new_traffic_sample=0,
        nightly_cases=100,
        recording="off",
        budget=2.5,
        thresholds={"token_f1": 0.6, "helpful": 1.0},
    )


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("owner: me\nmax_due: 5\n", 2, "max_due: unknown field; did you mean `max_due_cases`?"),
        ("owner: me\n\nrecording: of\n", 3, "recording: 'of' is unknown; did you mean `off`?"),
        (
            "owner: me\nvolatile: [{body.a: '\\d+'}, {body.a: '('}]\n",
            2,
            "volatile.1: '(' is not a regular expression (missing ), unterminated subpattern at position 0)",
        ),
        (
            "owner: me\nvolatile: [{body.a: '.+'}]\n",
            2,
            "volatile.0: '.+' fits any text, so that any answer would do; write what differs with the words beside it",
        ),
        ("owner: me\nvolatile: [{query.ts: '\\d+'}]\n", 2, "volatile.0: `query.ts` has no pattern of its own; write"),
        (
            "owner: me\nvolatile: [{url: x1, body: x1}]\n",
            2,
            "volatile.0: {'url': 'x1', 'body': 'x1'} is neither a place",
        ),
        ("owner: me\nvolatile: [{body.a: 3}]\n", 2, "volatile.0: {'body.a': 3} is neither a place as text"),
        ("owner: me\nvolatile: [url]\n", 2, "volatile.0: `url` may differ by a pattern alone; write `url: <regular"),
        ("owner: me\nvolatile: [run.id]\n", 2, "volatile.0: `run.id` is no place of a request; write `body.run.id`,"),
        (
            "owner: me\nvolatile: [header.cookie]\n",
            2,
            "volatile.0: `cookie` holds a credential, which is never written",
        ),
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
            "owner: me\nvolatile: [body.id, 'body.messages.*']\n",
            2,
            "volatile.1: `body.messages.*` is what is asked, and any answer would fit; name the part that differs,",
        ),
        ("owner: me\nvolatile: [body.input]\n", 2, "volatile.0: `body.input` is what is asked"),
        ("owner: me\nvolatile: [body.prompt]\n", 2, "volatile.0: `body.prompt` is what is asked"),
        ("owner: me\ncalls:\n  db: ignored\n", 3, "calls.db: 'ignored' is unknown; did you mean `ignore`?"),
        ("owner: me\ncalls: {'http://a/': ignore}\n", 2, "calls: `http://a/` is not a host; write `a`"),
        *(
            (f"owner: me\ncalls: {{'{written}': ignore}}\n", 2, f"calls: `{written}` is not a host; write {right}")
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
            (f"owner: me\ncalls: {{'{host}': telemetry}}\n", 2, f"calls: `{host}` is not a host; write one like")
            for host in ("*.a.com", "a.com:x", "a.com:", "a.com:0", "a.com:65536", ":80", "a b", "me@a.com")
        ),
        (
            "owner: me\ncalls: {'https://a/v?/x': repeatable, 'https://a/x?y=*': repeatable}\n",
            2,
            "calls: `https://a/x?y=*` has a query, and URLs are compared without theirs; write `https://a/x`",
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
    found = problems(lambda: read(tmp_path, "max_due_cases: x\nrecording: 5\n"))
    assert [message.split(": ")[:2] for message in found] == [
        [f"{NAME}:1", "max_due_cases"],
        [f"{NAME}:2", "recording"],
    ]


def test_not_readable(tmp_path: Path) -> None:
    assert problem(lambda: read_settings(tmp_path, NAME)).startswith(f"{NAME}: cannot be read (Is a directory)")
    (tmp_path / "rubric.yaml").write_bytes(b"owner: \xff")
    assert problem(lambda: read_settings(tmp_path / "rubric.yaml", NAME)).startswith(f"{NAME}:1: byte 7 is not UTF-8")
