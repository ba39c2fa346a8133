"""Ask models by running a program: how each program is called, and how its output is read."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from urllib.parse import quote

from pytest_recall.files.errors import RecallError
from pytest_recall.files.wording import one_line
from pytest_recall.models import process
from pytest_recall.models.fingerprint import program_files
from pytest_recall.models.model import Ask, ModelError, Reply, Selector, StopReason, prompt_of, unheeded
from pytest_recall.models.provider import ModelSettings, Provider
from pytest_recall.models.rate import is_temporary
from pytest_recall.models.waiting import Breaks, Channel, direct
from pytest_recall.replay.exchange import Request, Response
from pytest_recall.replay.wire_formats import usage_of

# Said in place of the system prompt of a coding agent, and always the same: a recorded call is
# found again by its prompt.
_ROLE = "Do what the message asks, and reply with nothing but what it asks for. You have no tools."


class ReportedError(ModelError):
    """What a program itself says went wrong, where others look for the reply."""


class ProgramOutput(NamedTuple):
    """What a program has printed: the reply, and how it ended."""

    text: str
    stop: StopReason = "end"


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """How a program is asked; the prompt always goes to its standard input."""

    argv: tuple[str, ...]
    model_option: str
    read: Callable[[bytes], ProgramOutput]
    """Turns what it printed into a reply, and raises ModelError if that is none."""
    media: str
    """The media type of what it prints."""
    login: str
    """What to do where it is not logged in."""


def _claude(stdout: bytes) -> ProgramOutput:
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
    stops: dict[Any, StopReason] = {"refusal": "refused", "max_tokens": "length"}
    return ProgramOutput(text, stops.get(result.get("stop_reason"), "end"))


def _codex(stdout: bytes) -> ProgramOutput:
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
    return ProgramOutput(text)


def _copilot(stdout: bytes) -> ProgramOutput:
    text = stdout.decode("utf-8", "replace").strip()
    if not text:
        raise ModelError("it printed no reply; ask it by hand")
    return ProgramOutput(text)


def plain(stdout: bytes) -> ProgramOutput:
    """Return all that was printed, but for the line's end."""
    return ProgramOutput(stdout.decode("utf-8", "replace").removesuffix("\n").removesuffix("\r"))


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
    return f"but {one_line(stdout.decode('utf-8', 'replace'), 100)!r}"


_OK, _FAILED = 200, 500


class SubprocessModel(Provider):
    """A program that reads a prompt from standard input and prints a reply.

    The variables of pytest and of this package are kept from it: they name the case.
    """

    def __init__(
        self,
        selector: Selector,
        environ: Mapping[str, str],
        settings: ModelSettings,
        breaks: Breaks,
        root: Path,
        channel: Channel | None = None,
    ) -> None:
        kept = {name: value for name, value in environ.items() if not name.startswith(("PYTEST_", "RECALL_"))}
        super().__init__(selector, kept, settings, breaks)
        self._root = root
        self._channel = channel or direct
        self._argv = self._command()

    @abstractmethod
    def _command(self) -> Sequence[str]:
        """Return the command line. Raises RecallError if the selector holds none."""

    @abstractmethod
    def _run(self, argv: Sequence[str], prompt: bytes, timeout: float) -> process.Finished:
        """Run the program where it belongs."""

    @abstractmethod
    def _said(self, stdout: bytes) -> ProgramOutput:
        """Return what the program has said. Raises ModelError if that is not a reply."""

    _media = "text/plain; charset=utf-8"
    _advice = "run it by hand"

    def _check(self) -> None:
        self._program()

    def _program(self) -> str:
        """Return the absolute path of the program."""
        # A path is one from the project, wherever the program is run.
        return process.find(self._argv[0], self._root, self._environ)

    def _once(self, ask: Ask, timeout: float) -> Reply:
        prompt = prompt_of(ask).encode("utf-8", "replace")
        request = Request("RUN", self._url(), body=prompt)
        response = self._channel(request, lambda: self._call(prompt, timeout))
        said = self._reply(response)
        model, tokens = usage_of(request, response)
        return Reply(text=said.text, stop=said.stop, model=model, tokens=tokens, ignored=unheeded(ask))

    def _reply(self, response: Response) -> ProgramOutput:
        """Return what was said. Raises ModelError with what the program says went wrong, or else its exit code."""
        try:
            said = self._said(response.body)
        except ModelError as error:
            if response.status == _OK or isinstance(error, ReportedError):
                # The same again, from a text without keys.
                self._said(self._safe(response.body.decode("utf-8", "replace")).encode())
                raise
        if response.status != _OK:
            raise ModelError(f"{response.reason}, {self._printed(response.body)}; {self._advice}")
        return said

    def _printed(self, stdout: bytes) -> str:
        """Return in one line what was printed and is not a reply."""
        line = one_line(self._safe(stdout.decode("utf-8", "replace")), 100)
        return f"having printed {line!r}" if line else "having printed nothing"

    def _url(self) -> str:
        """Return by what a recorded call is known: the selector, as a URL."""
        kind, target = self._selector.kind, self._selector.target
        if kind == "command":
            return f"command:///{quote(target)}"
        return f"command:///{kind}{f'?model={quote(target)}' if target else ''}"

    def _call(self, prompt: bytes, timeout: float) -> Response:
        done = self._run((self._program(), *self._argv[1:]), prompt, timeout)
        if done.exceeded == "time":
            message = f"it did not finish within {timeout:g} s, {self._printed(done.stdout)}; allow more time"
            raise ModelError(message, temporary=True)
        if done.exceeded:
            message = (
                f"it printed more than {process.LIMIT // 2**20} MB, {self._printed(done.stdout)}; check the program"
            )
            raise ModelError(message)
        headers = (("content-type", self._media),)
        if not done.code:
            return Response(_OK, "OK", headers, (done.stdout,), (done.seconds,))
        ended = f"exit code {done.code}" if done.code > 0 else f"ended by signal {-done.code}"
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        reason = f"{ended}: {one_line(self._safe(lines[-1]))}" if lines else ended
        return Response(_FAILED, reason, headers, (done.stdout,), (done.seconds,))


class AgentModel(SubprocessModel):
    """`claude`, `codex` or `copilot`, in an empty folder that is gone afterwards."""

    def _command(self) -> Sequence[str]:
        program = PROGRAMS[self._selector.kind]
        self._media, self._advice = program.media, program.login
        return argv_of(self._selector.kind, self._selector.target)

    def _run(self, argv: Sequence[str], prompt: bytes, timeout: float) -> process.Finished:
        # On Windows a process that outlives the program would hold on to the folder.
        with TemporaryDirectory(prefix="recall-", ignore_cleanup_errors=True) as folder:
            return process.run(
                argv,
                prompt,
                folder=Path(folder),
                env={**self._environ, "PWD": folder},
                timeout=timeout,
                check=self._waiting.check,
            )

    def _said(self, stdout: bytes) -> ProgramOutput:
        return PROGRAMS[self._selector.kind].read(stdout)


class CommandModel(SubprocessModel):
    """A program of the user's, in the user's folder."""

    elsewhere = "it is a program"

    def code(self) -> Iterable[Path]:
        """Return the files that the command line names."""
        return program_files(self._argv, self._root, self._environ)

    def _command(self) -> Sequence[str]:
        try:
            return process.split(self._selector.target)
        except ModelError as error:
            raise RecallError(f"{self.name}: {error}") from error

    def _run(self, argv: Sequence[str], prompt: bytes, timeout: float) -> process.Finished:
        return process.run(
            argv, prompt, folder=self._root, env=self._environ, timeout=timeout, check=self._waiting.check
        )

    def _said(self, stdout: bytes) -> ProgramOutput:
        return plain(stdout)
