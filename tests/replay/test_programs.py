"""Command lines: which programs they start, through shells, wrappers and launchers."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.replay.programs import (
    ASKING,
    FETCHING,
    Started,
    arguments_of,
    base_name,
    mentioned,
    shell_started,
    split,
    started,
)


def decoded(word: object) -> str:
    return os.fsdecode(word)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("claude -p hi", "claude"),
        ("/opt/bin/claude -p hi", "claude"),
        ("/site-packages/claude_agent_sdk/_bundled/claude --output-format stream-json", "claude"),
        ("git log", "git"),
        # What runs the command behind its own options.
        ("env A=1 B=2 claude -p hi", "claude"),
        ("env -i -u HOME claude", "claude"),
        ("env -S 'A=1 claude -p' hi", "claude"),
        ("env -S 'not \"closed' claude", "claude"),
        ("busybox timeout 5 claude", "claude"),
        ("busybox --list", "busybox"),
        ("timeout -k 5 60 claude", "claude"),
        ("nice -n 5 nohup stdbuf -o L git log", "git"),
        ("sudo -u me A=1 codex exec", "codex"),
        ("xargs -n 1 curl https://a.example/", "curl"),
        ("setsid -- claude", "claude"),
        ("env", "env"),
        ("timeout 60", "timeout"),
        # Launchers: only what is known of what they run is named.
        ("node --no-warnings /x/node_modules/@anthropic-ai/claude-code/cli.js -p hi", "claude"),
        ("node /usr/local/bin/claude -p hi", "claude"),
        ("node server.js claude", "node"),
        ("npx -y @sourcegraph/amp -x hi", "amp"),
        ("npx -y @anthropic-ai/claude-code@2.1.0 -p hi", "claude"),
        ("npx --package @openai/codex codex", "codex"),
        ("npx -y @modelcontextprotocol/server-filesystem /tmp", "npx"),
        ("npm exec -- @google/gemini-cli", "gemini"),
        ("npm install @google/gemini-cli", "npm"),
        ("pnpm dlx opencode-ai", "opencode"),
        ("bunx @openai/codex", "codex"),
        ("uvx --from aider-chat aider", "aider"),
        ("uv tool run llm chat", "llm"),
        ("uv run python server.py", "uv"),
        ("uv run python -m llm hi", "llm"),
        ("pipx run shell-gpt", "sgpt"),
        ("python -m llm hi", "llm"),
        ("python3.12 -X dev -m aider", "aider"),
        ("python -m open_interpreter", "interpreter"),
        ("/venv/bin/python /venv/bin/aider", "aider"),
        ("python -m http.server", "python3 or so"),
        ("python server.py claude", "python3 or so"),
        # Shells: each simple command, but for what is the shell's own.
        ("sh -c 'claude -p hi'", "claude"),
        ("bash -lc 'cd /x && A=1 claude -p \"a; b\" 2>&1 | jq .result > out.txt'", "claude jq"),
        ("bash -o pipefail -e -c 'git log; ls'", "git ls"),
        ("zsh -c 'if true; then ollama run x; fi'", "ollama"),
        ("sh -c 'x=$(claude -p hi)'", "claude"),
        ("sh -c 'for f in a b; do wc $f; done'", "wc"),
        ("sh -c 'git log\n# claude\nls'", "git ls"),
        ("sh -c 'echo claude'", "sh"),
        ("sh -c 'echo \"not closed'", "sh"),
        ("sh -c 'exec timeout 5 claude'", "claude"),
        ("sh script.sh claude", "sh"),
        ("bash /usr/local/bin/claude -p", "claude"),
        ("sh", "sh"),
    ],
)
def test_names(line: str, names: str) -> None:
    found = [one.name for one in started(shlex.split(line))]
    assert mentioned().search(line) or not ASKING.union(FETCHING).intersection(found)
    assert found == (["python"] if names == "python3 or so" else names.split())


def test_names_of_windows() -> None:
    assert base_name(r"C:\Users\me\AppData\claude.EXE") == "claude"
    assert base_name("Claude.cmd") == "claude"
    assert mentioned().search("Claude.cmd")
    line = r'C:\Windows\system32\cmd.exe /c "claude -p hi"'
    for event in ("subprocess.Popen", "_winapi.CreateProcess"):
        assert [one.name for one in arguments_of(event, (None, line, None, None), decoded)] == ["claude"]
    assert split(r'"C:\Program Files\claude.exe" -p "say hi"') == [r"C:\Program Files\claude.exe", "-p", "say hi"]


def test_each_event_says_what_it_starts() -> None:
    claude = [Started("claude", ("-p",))]
    env: dict[str, str] = {}
    for event, args in {
        "subprocess.Popen": ("/bin/claude", ["claude", "-p"], None, env),
        "os.exec": ("/bin/claude", ["claude", "-p"], env),
        "os.posix_spawn": (b"/bin/claude", (b"claude", b"-p"), env),
        "os.spawn": (os.P_WAIT, Path("/bin/claude"), ["claude", "-p"], env),
        "os.system": (b"claude -p",),
        "pty.spawn": (["claude", "-p"],),
    }.items():
        assert arguments_of(event, args, decoded) == claude, event
    assert arguments_of("pty.spawn", ("claude",), decoded) == [Started("claude", ())]
    assert arguments_of("os.startfile", ("claude.exe", "open"), decoded) == [Started("claude", ())]


def test_a_version_is_told_without_a_model() -> None:
    asked = {line: started(line.split())[0].asks_models for line in ("claude --version", "claude -h", "git -p")}
    assert set(asked.values()) == {False}
    assert all(started(line.split())[0].asks_models for line in ("claude", "claude -p --version", "npx @openai/codex"))


def test_a_program_that_shares_its_name_is_told_by_its_command() -> None:
    told = {line: started(line.split())[0] for line in ("goose run -t hi", "goose -dir x postgres y up", "goose up")}
    assert [one.asks_models for one in told.values()] == [True, False, False]
    assert [one.title for one in told.values()][::2] == ["goose", "goose up"]


def test_urls_are_arguments_by_themselves() -> None:
    asked = Started("curl", ("-d", '{"url": "https://no.example"}', "https://a.example/x", "--url=HTTP://b.example"))
    assert asked.urls == ["https://a.example/x", "HTTP://b.example"]


WRAPPERS = (
    ["env", "A=1"],
    ["timeout", "5"],
    ["nice", "-n", "1"],
    ["nohup"],
    ["setsid"],
    ["sudo", "-u", "me"],
    ["npx", "-y"],
    ["uvx"],
    ["uv", "run"],
    ["xargs"],
)


@given(st.lists(st.sampled_from(WRAPPERS), max_size=6), st.sampled_from(sorted(ASKING | FETCHING)), st.booleans())
def test_a_known_program_is_found_behind_any_wrappers(wrappers: list[list[str]], name: str, in_a_shell: bool) -> None:
    argv = [*(word for words in wrappers for word in words), name, "--hello"]
    found = shell_started(" ".join(argv)) if in_a_shell else started(argv)
    assert found == [Started(name, ("--hello",))]


@given(
    st.lists(st.text(max_size=12) | st.sampled_from(("sh", "-c", "env", "npx", "node", "claude", "a;b")), min_size=1)
)
def test_anything_is_named(argv: list[str]) -> None:
    found = started(argv)
    assert found
    # So that a line which does not mention any of them need not be read.
    if any(one.name in ASKING | FETCHING for one in found):
        assert mentioned().search(str(argv))


@given(st.text(max_size=60))
def test_any_line_of_a_shell_names_something(line: str) -> None:
    assert shell_started(line)
