"""Programs: the agents that are asked on the command line, how each is called, and what it prints."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from pytest_recall.core.errors import one_line
from pytest_recall.core.model import ModelError, Stop
from pytest_recall.core.retry import is_temporary

# Said in place of the system prompt of a coding agent, and always the same: a recorded call is
# found again by its prompt.
_ROLE = "Do what the message asks, and reply with nothing but what it asks for. You have no tools."


class ReportedError(ModelError):
    """What a program itself says went wrong, where others look for the reply."""


class Said(NamedTuple):
    """What a program has printed: the reply, and how it ended."""

    text: str
    stop: Stop = "end"


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """How a program is asked. The prompt always goes to its standard input.

    `read` turns what it printed into a reply, and raises ModelError if that is none; `media`
    is the media type of what it prints; `login` says what to do where it is not logged in.
    """

    argv: tuple[str, ...]
    model_option: str
    read: Callable[[bytes], Said]
    media: str
    login: str


def _claude(stdout: bytes) -> Said:
    """Read the one JSON object that `--output-format json` prints; with `verbose` it is the last of a list."""
    found = _json(stdout)
    objects = [one for one in (found if isinstance(found, list) else [found]) if isinstance(one, dict)]
    results = [one for one in objects if one.get("type") == "result"]
    if not results:
        raise ModelError(f"it printed no result, {_shown(stdout)}; update it")
    result = results[-1]
    text = result.get("result")
    if result.get("is_error") or not isinstance(text, str):
        said = one_line(text if isinstance(text, str) else str(result.get("subtype")), 160)
        status = result.get("api_error_status")
        temporary = isinstance(status, int) and is_temporary(status)
        raise ReportedError(f"it reports an error: {said}; ask it by hand", temporary=temporary)
    stops: dict[Any, Stop] = {"refusal": "refused", "max_tokens": "length"}
    return Said(text, stops.get(result.get("stop_reason"), "end"))


def _codex(stdout: bytes) -> Said:
    """Read the events that `--json` prints, one on each line; the last message is the reply."""
    text: str | None = None
    for event in _events(stdout):
        item = event.get("item")
        if event.get("type") == "item.completed" and isinstance(item, dict) and item.get("type") == "agent_message":
            text = item.get("text")
        if event.get("type") == "turn.failed":
            error = event.get("error")
            said = one_line(str(error.get("message") if isinstance(error, dict) else error), 160)
            raise ReportedError(f"it reports an error: {said}; ask it by hand")
    if not isinstance(text, str):
        raise ModelError(f"it printed no message, {_shown(stdout)}; update it")
    return Said(text)


def _copilot(stdout: bytes) -> Said:
    text = stdout.decode("utf-8", "replace").strip()
    if not text:
        raise ModelError("it printed no reply; ask it by hand")
    return Said(text)


def plain(stdout: bytes) -> Said:
    """Return all that was printed, but for the line's end."""
    return Said(stdout.decode("utf-8", "replace").removesuffix("\n").removesuffix("\r"))


PROGRAMS: dict[str, Program] = {
    # code.claude.com/docs/en/cli-reference. `-p` prints the reply and exits, and reads the prompt
    # from standard input; `--output-format json` adds usage; `--tools ""` leaves no built-in tool,
    # `--strict-mcp-config` without a config no MCP server, `--safe-mode` (2.1.169) no CLAUDE.md,
    # hook, skill or plugin, while the login works as usual (`--bare` would pass over it);
    # `--no-session-persistence` writes no transcript; `--system-prompt` replaces the agent's own.
    "claude": Program(
        argv=(
            *("claude", "-p", "--output-format", "json", "--tools", "", "--strict-mcp-config", "--safe-mode"),
            *("--no-session-persistence", "--system-prompt", _ROLE),
        ),
        model_option="--model",
        read=_claude,
        media="application/json",
        login="run `claude` once to log in",
    ),
    # developers.openai.com/codex/noninteractive and `codex exec --help`. `-` reads the prompt from
    # standard input; `--json` prints events with usage; the read-only sandbox lets commands read
    # and not write; the empty folder is no git repository; `--ephemeral` keeps no session;
    # `--ignore-user-config` leaves MCP servers out, and the login in. No flag turns its shell off.
    "codex": Program(
        argv=(
            *("codex", "exec", "--json", "--sandbox", "read-only", "--skip-git-repo-check", "--ephemeral"),
            *("--ignore-user-config", "-"),
        ),
        model_option="--model",
        read=_codex,
        media="application/x-ndjson",
        login="run `codex login`",
    ),
    # docs.github.com/en/copilot/reference/copilot-cli-reference. What is piped in is the prompt, and
    # is ignored if `-p` is given too; `-s` prints the reply alone, without usage; the kinds of tools
    # are denied one by one, and asking the user as well; no instructions of the user's are read.
    "copilot": Program(
        argv=(
            *("copilot", "-s", "--no-ask-user", "--no-custom-instructions", "--disable-builtin-mcps"),
            "--deny-tool=shell,write,read,url,memory",
        ),
        model_option="--model",
        read=_copilot,
        media="text/plain; charset=utf-8",
        login="run `copilot login`",
    ),
}
"""The agents by the kind of their selector."""


def argv_of(kind: str, model: str) -> tuple[str, ...]:
    """Return the command line of an agent, with the model if one is named."""
    program = PROGRAMS[kind]
    if not model:
        return program.argv
    # Before a `-`, which has to come last.
    end = len(program.argv) - (program.argv[-1] == "-")
    return (*program.argv[:end], program.model_option, model, *program.argv[end:])


def _events(stdout: bytes) -> Iterator[dict[str, Any]]:
    for line in stdout.splitlines():
        found = _json(line)
        if isinstance(found, dict):
            yield found


def _json(text: bytes) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _shown(stdout: bytes) -> str:
    return f"but {one_line(stdout[:4000].decode('utf-8', 'replace'), 100)!r}"
