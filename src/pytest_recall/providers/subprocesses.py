"""Subprocesses: models that are asked by running a program on this machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote

from pytest_recall.core.errors import RecallError, one_line
from pytest_recall.core.exchange import Request, Response
from pytest_recall.core.model import Ask, ModelError, Reply
from pytest_recall.core.selector import Selector
from pytest_recall.core.usage import usage_of
from pytest_recall.providers import process
from pytest_recall.providers.breaks import Breaks
from pytest_recall.providers.channel import Channel, direct
from pytest_recall.providers.programs import PROGRAMS, ReportedError, Said, argv_of, plain
from pytest_recall.providers.provider import Provider, Settings
from pytest_recall.providers.wording import prompt_of, unheeded

_OK, _FAILED = 200, 500
_SHOWN = 4000


class SubprocessModel(Provider):
    """A program that reads a prompt from standard input and prints a reply.

    The variables of pytest and of this package are kept from it: they name the case.
    """

    def __init__(
        self,
        selector: Selector,
        environ: Mapping[str, str],
        settings: Settings,
        breaks: Breaks,
        root: Path,
        channel: Channel | None = None,
    ) -> None:
        kept = {name: value for name, value in environ.items() if not name.startswith(("PYTEST_", "RECALL_"))}
        super().__init__(selector, kept, settings, breaks)
        self._root = root
        self._channel = channel or direct
        self._argv = self._command()

    def _command(self) -> Sequence[str]:
        """Return the command line. Raises RecallError if the selector holds none."""
        raise NotImplementedError

    def _run(self, argv: Sequence[str], prompt: bytes, timeout: float) -> process.Finished:
        """Run the program where it belongs."""
        raise NotImplementedError

    def _said(self, stdout: bytes) -> Said:
        """Return what the program has said. Raises ModelError if that is no reply."""
        raise NotImplementedError

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

    def _reply(self, response: Response) -> Said:
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
        """Return in one line what was printed and is no reply."""
        line = one_line(self._safe(stdout[:_SHOWN].decode("utf-8", "replace")), 100)
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
            message = f"it came to no end in {timeout:g} s, {self._printed(done.stdout)}; allow more time"
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

    def _said(self, stdout: bytes) -> Said:
        return PROGRAMS[self._selector.kind].read(stdout)


class CommandModel(SubprocessModel):
    """A program of the user's, in the user's folder."""

    def _command(self) -> Sequence[str]:
        try:
            return process.split(self._selector.target)
        except ModelError as error:
            raise RecallError(f"{self.name}: {error}") from error

    def _run(self, argv: Sequence[str], prompt: bytes, timeout: float) -> process.Finished:
        return process.run(
            argv, prompt, folder=self._root, env=self._environ, timeout=timeout, check=self._waiting.check
        )

    def _said(self, stdout: bytes) -> Said:
        return plain(stdout)
