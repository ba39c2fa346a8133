"""Programs as models: real executables that behave as the documented ones do, and some that do not."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import freezegun
import pytest

from pytest_recall.files.errors import MissError, RecallError
from pytest_recall.models import process
from pytest_recall.models.model import Ask, Message, ModelError
from pytest_recall.models.provider import ModelSettings, Provider
from pytest_recall.models.resolve import resolve
from pytest_recall.models.waiting import Breaks, Waiter
from pytest_recall.replay.exchange import Request, Response, Tokens
from tests.models.asking import SCHEMA, asks, model

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the programs are scripts with a first line that names Python")

Install = Callable[..., dict[str, str]]

HEAD = "import json, os, signal, subprocess, sys, time\n"


@pytest.fixture
def install(tmp_path: Path) -> Install:
    """Write an executable, and return the environment in which it is found and nothing else is."""

    def write(name: str, source: str, *, shell: bool = False) -> dict[str, str]:
        folder = tmp_path / "bin"
        folder.mkdir(exist_ok=True)
        path = folder / name
        head = "#!/bin/sh\n" if shell else f"#!{sys.executable}\n{HEAD}"  # A shell starts in no time.
        path.write_text(head + source, encoding="utf-8")
        path.chmod(0o755)
        return {"PATH": str(folder)}

    return write


def gone(pid: int) -> bool:
    """Wait until no one with this number runs any more; one that ended and was not asked for counts as gone."""
    for _ in range(500):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        status = Path(f"/proc/{pid}/stat")
        if status.exists() and status.read_text().rpartition(")")[2].split()[0] == "Z":
            return True
        time.sleep(0.02)
    return False


def pid_in(path: Path) -> int:
    """Wait for a program to write its number, and return it."""
    for _ in range(500):
        if path.exists() and (text := path.read_text()):
            return int(text)
        time.sleep(0.02)
    raise AssertionError(f"{path} was not written")


# The agents


CLAUDE = """
prompt = sys.stdin.read()
seen = {"argv": sys.argv[1:], "prompt": prompt, "cwd": os.getcwd(), "files": os.listdir(), "env": sorted(os.environ)}
usage = {"input_tokens": 3, "output_tokens": 5, "cache_read_input_tokens": 7, "cache_creation_input_tokens": 11}
print(json.dumps({"type": "result", "subtype": "success", "is_error": False, "result": json.dumps(seen),
    "stop_reason": "end_turn", "total_cost_usd": 0.1, "usage": usage, "modelUsage": {"claude-opus-5": {}}}))
"""


def test_claude_is_asked_without_tools_in_an_empty_folder(install: Install) -> None:
    environ = install("claude", CLAUDE) | {"PYTEST_CURRENT_TEST": "the answer", "RECALL_X": "1", "HOME": "/home/me"}
    reply = model("claude:opus", environ=environ).ask(
        asks("2 + 2?", system="Be brief.", temperature=0.0, schema=SCHEMA)
    )
    seen = json.loads(reply.text)
    assert reply.tokens == Tokens(3, 5, 7, 11)
    assert (reply.model, reply.stop) == ("claude-opus-5", "end")
    assert reply.ignored == ("temperature", "max_tokens", "schema")
    assert seen["prompt"].startswith("Be brief.\n\nReply with a JSON object")
    assert seen["prompt"].endswith("\n\n2 + 2?")
    argv = seen["argv"]
    assert argv[0] == "-p"
    assert argv[argv.index("--tools") + 1] == ""
    assert argv[argv.index("--model") + 1] == "opus"
    assert seen["files"] == []
    assert not Path(seen["cwd"]).exists()
    assert "HOME" in seen["env"]
    assert not {"PYTEST_CURRENT_TEST", "RECALL_X"} & set(seen["env"])


CODEX = """
print("progress", file=sys.stderr)
def say(**event): print(json.dumps(event))
say(type="thread.started", thread_id="1")
say(type="item.completed", item={"id": "1", "type": "reasoning", "text": "hm"})
text = json.dumps([sys.argv[1:], sys.stdin.read()])
say(type="item.completed", item={"id": "2", "type": "agent_message", "text": text})
say(type="turn.completed", usage={"input_tokens": 30, "cached_input_tokens": 10, "output_tokens": 4})
"""


def test_codex_is_asked_in_a_read_only_sandbox(install: Install) -> None:
    reply = model("codex:gpt-5", environ=install("codex", CODEX)).ask(asks("2 + 2?"))
    argv, prompt = json.loads(reply.text)
    assert argv[0] == "exec"
    assert argv[-3:] == ["--model", "gpt-5", "-"]
    assert argv[argv.index("--sandbox") + 1] == "read-only"
    assert "--skip-git-repo-check" in argv
    assert prompt == "2 + 2?"
    assert reply.tokens == Tokens(20, 4, 10)


def test_copilot_is_asked_with_every_tool_denied(install: Install) -> None:
    environ = install("copilot", "print(json.dumps([sys.argv[1:], sys.stdin.read()]))\n")
    reply = model("copilot", environ=environ).ask(asks("2 + 2?"))
    argv, prompt = json.loads(reply.text)
    assert "-p" not in argv
    assert "--deny-tool=shell,write,read,url,memory" in argv
    assert (prompt, reply.tokens, reply.model) == ("2 + 2?", None, None)


def test_a_conversation_is_written_out(install: Install) -> None:
    ask = Ask(messages=(Message("user", "a"), Message("assistant", "b"), Message("user", "c")), system="s")
    reply = model("command:cat", environ=dict(os.environ)).ask(ask)
    assert reply.text == "s\n\nUser: a\n\nAssistant: b\n\nUser: c"


@pytest.mark.parametrize(
    ("name", "source", "sentence"),
    [
        ("claude", "echo not JSON", "claude: it printed no result, but 'not JSON'; update it"),
        (
            "claude",
            """echo '{"type": "result", "is_error": true, "result": "Not logged in"}'; exit 1""",
            "claude: it reports an error: Not logged in; ask it by hand",
        ),
        ("claude", """echo '{"type": "result"}'""", "it reports an error: None"),
        ("claude", "echo oops >&2; exit 2", "claude: exit code 2: oops, having printed nothing; run"),
        ("codex", """echo '{"type": "turn.started"}'""", "codex: it printed no message"),
        (
            "codex",
            """echo '{"type": "turn.failed", "error": {"message": "quota"}}'; exit 1""",
            "codex: it reports an error: quota",
        ),
        ("copilot", "echo", "copilot: it printed no reply"),
        ("copilot", "echo half a; kill -9 $$", "ended by signal 9, having printed 'half a'"),
    ],
)
def test_what_an_agent_prints_and_is_no_reply(install: Install, name: str, source: str, sentence: str) -> None:
    with pytest.raises(ModelError) as caught:
        model(name, environ=install(name, source, shell=True)).ask(asks())
    assert sentence in str(caught.value)
    assert not caught.value.temporary


def test_an_agent_that_is_told_to_slow_down_is_asked_again(install: Install, tmp_path: Path) -> None:
    mark = tmp_path / "asked"
    source = (
        f"""if [ -e '{mark}' ]; then echo '{{"type": "result", "result": "ready"}}'; exit 0; fi; : > '{mark}'; """
        """echo '{"type": "result", "result": "ready", "is_error": true, "api_error_status": 529}'; exit 1"""
    )
    reply = model("claude", environ=install("claude", source, shell=True)).ask(asks())
    assert (reply.text, reply.attempts, reply.tokens) == ("ready", 2, None)


def test_a_program_that_is_not_there_is_found_before_it_is_asked(tmp_path: Path) -> None:
    empty = {"PATH": str(tmp_path)}
    for selector, sentence in {
        "claude": "claude: there is no program `claude` on PATH; install it, or correct the selector",
        "command:./bot.sh --fast": "there is no program `./bot.sh` at that path; install it, or",
    }.items():
        one = model(selector, environ=empty, root=tmp_path)
        for check in (one.ready, lambda one=one: one.ask(asks())):
            with pytest.raises(ModelError) as caught:
                check()
            assert sentence in str(caught.value)


# Programs of the user's


def command(source: str, tmp_path: Path, **more: Any) -> Provider:
    """Return the model of a Python program in the user's folder."""
    (tmp_path / "bot.py").write_text(HEAD + source, encoding="utf-8")
    return model(f"command:{sys.executable} bot.py 'two words'", root=tmp_path, environ=dict(os.environ), **more)


def test_a_command_runs_in_the_folder_of_the_user(tmp_path: Path) -> None:
    one = command("print(sys.argv[1], sys.stdin.read(), os.listdir(), sep='|')", tmp_path)
    one.ready()
    reply = one.ask(asks("tell me"))
    assert reply.text == "two words|tell me|['bot.py']"
    assert (reply.tokens, reply.ignored) == (None, ("max_tokens",))


def test_a_path_to_a_program_is_one_from_the_folder(install: Install, tmp_path: Path) -> None:
    install("bot", "echo here", shell=True)
    assert model("command:bin/bot", root=tmp_path, environ={"PATH": ""}).ask(asks()).text == "here"


def test_a_reply_that_looks_like_a_count_of_tokens_is_only_a_reply(tmp_path: Path) -> None:
    printed = '{"usage": {"prompt_tokens": 1, "completion_tokens": 2}, "model": "gpt-4o"}'
    reply = command(f"print({printed!r})", tmp_path).ask(asks())
    assert (reply.text, reply.tokens, reply.model) == (printed, None, None)


def test_a_program_that_does_not_read_breaks_nothing(tmp_path: Path) -> None:
    assert command("sys.stdin.close(); print('ok')", tmp_path).ask(asks("x" * 2**21)).text == "ok"


def test_what_is_no_text_is_still_a_reply(tmp_path: Path) -> None:
    assert command(r"sys.stdout.buffer.write(b'a\xff\r\n')", tmp_path).ask(asks()).text == "a�"


@pytest.mark.parametrize(("selector", "sentence"), [("command:bot 'x", "close them"), ("command:''", "is empty")])
def test_a_command_line_that_is_none(selector: str, sentence: str) -> None:
    with pytest.raises(RecallError, match=sentence):
        model(selector)


def test_keys_are_not_repeated(tmp_path: Path) -> None:
    source = "print(os.environ['MY_API_KEY']); print('bad', os.environ['MY_API_KEY'], file=sys.stderr); sys.exit(3)"
    (tmp_path / "bot.py").write_text(HEAD + source, encoding="utf-8")
    environ = {**os.environ, "MY_API_KEY": "q8Zr4711kLmN0pXy"}
    with pytest.raises(ModelError) as caught:
        model(f"command:{sys.executable} bot.py", root=tmp_path, environ=environ).ask(asks())
    assert "exit code 3: bad [MY_API_KEY], having printed '[MY_API_KEY]'; run it by hand" in str(caught.value)


@pytest.mark.parametrize("ends", ["sys.exit(3)", "sys.stdout.flush(); time.sleep(60)"], ids=["fails", "does not end"])
def test_no_part_of_a_key_is_repeated_wherever_it_stands(tmp_path: Path, ends: str) -> None:
    """What is shown is the first line of all that was printed, however many blanks there are before the key."""
    (tmp_path / "bot.py").write_text(f"{HEAD}print(' ' * 3995 + os.environ['MY_API_KEY']); {ends}", encoding="utf-8")
    environ = {**os.environ, "MY_API_KEY": "q8Zr4711kLmN0pXy"}
    one = model(f"command:{sys.executable} bot.py", root=tmp_path, environ=environ, attempts=1, timeout=1.5)
    with pytest.raises(ModelError) as caught:
        one.ask(asks())
    assert "having printed '[MY_API_KEY]'" in str(caught.value)


def test_the_last_line_of_long_errors_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "LIMIT", 2**10)
    source = "print('line\\n' * 204 + os.environ['MY_API_KEY'], file=sys.stderr); sys.exit(3)"
    (tmp_path / "bot.py").write_text(HEAD + source, encoding="utf-8")
    environ = {**os.environ, "MY_API_KEY": "q8Zr4711kLmN0pXy"}
    with pytest.raises(ModelError, match=r"exit code 3: \[MY_API_KEY\], having printed nothing"):
        model(f"command:{sys.executable} bot.py", root=tmp_path, environ=environ).ask(asks())


# Programs that do not end

CHILD = """
child = subprocess.Popen([sys.executable, "-c", "import signal, time; {ignore}; time.sleep(60)"])
print("partial", flush=True)
open("pid", "w").write(str(child.pid))
"""
STUBBORN = "signal.signal(signal.SIGTERM, signal.SIG_IGN)"


@pytest.mark.parametrize("ignore", ["0", STUBBORN])
def test_a_program_without_end_is_ended_with_all_that_it_started(
    tmp_path: Path, ignore: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "GRACE", 0.5)
    one = command(CHILD.format(ignore=ignore) + f"{ignore}; time.sleep(60)", tmp_path, attempts=1, timeout=1.5)
    with pytest.raises(ModelError) as caught:
        one.ask(asks())
    assert "it did not finish within 1.5 s, having printed 'partial'; allow more time" in str(caught.value)
    assert caught.value.temporary
    assert gone(pid_in(tmp_path / "pid"))


def test_what_a_program_leaves_behind_holds_nobody_up(tmp_path: Path) -> None:
    """The child has inherited standard output, and would keep a pipe open."""
    reply = command(CHILD.format(ignore="0"), tmp_path).ask(asks())
    assert reply.text == "partial"
    assert gone(pid_in(tmp_path / "pid"))


def test_a_program_that_escapes_its_group_holds_nobody_up_either(tmp_path: Path) -> None:
    source = CHILD.format(ignore="0").replace('time.sleep(60)"]', 'time.sleep(60)"], start_new_session=True')
    try:
        assert command(source, tmp_path).ask(asks()).text == "partial"
    finally:
        os.kill(pid_in(tmp_path / "pid"), signal.SIGKILL)


def test_a_program_that_prints_without_end_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "LIMIT", 2**20)
    with pytest.raises(ModelError, match="it printed more than 1 MB, having printed '…'"):
        command("while True: print('x' * 2**16, flush=True); time.sleep(0.0001)", tmp_path).ask(asks())
    with pytest.raises(ModelError, match="it printed more than 1 MB"):
        command("print('x' * 2**21)", tmp_path).ask(asks())


def test_a_run_that_is_given_up_ends_its_programs(tmp_path: Path) -> None:
    (tmp_path / "bot.py").write_text(HEAD + CHILD.format(ignore="0") + "time.sleep(60)", encoding="utf-8")
    waiting = Waiter()
    one = resolve(f"command:{sys.executable} bot.py", breaks=Breaks(waiting), root=tmp_path)
    caught: list[ModelError] = []

    def ask() -> None:
        with pytest.raises(ModelError, match="the run was given up") as error:
            one.ask(asks())
        caught.append(error.value)

    thread = threading.Thread(target=ask)
    thread.start()
    child = pid_in(tmp_path / "pid")
    waiting.stop()
    thread.join(20)
    assert caught
    assert gone(child)


def test_ctrl_c_ends_the_program_as_well(tmp_path: Path) -> None:
    (tmp_path / "bot.py").write_text(HEAD + CHILD.format(ignore="0") + "time.sleep(60)", encoding="utf-8")
    program = (
        "from pytest_recall.models.model import Ask, Message\n"
        "from pytest_recall.models.resolve import resolve\n"
        f"resolve('command:{sys.executable} bot.py').ask(Ask(messages=(Message('user', 'x'),)))\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", program], cwd=tmp_path, stderr=subprocess.PIPE)
    child = pid_in(tmp_path / "pid")
    parent.send_signal(signal.SIGINT)
    _, err = parent.communicate(timeout=30)
    assert b"KeyboardInterrupt" in err
    assert gone(child)


def test_ctrl_c_while_a_program_starts_ends_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[subprocess.Popen[bytes]] = []

    class Interrupted(subprocess.Popen[bytes]):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            started.append(self)
            signal.raise_signal(signal.SIGINT)

    handler = signal.getsignal(signal.SIGINT)
    monkeypatch.setattr(subprocess, "Popen", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        command("import time; time.sleep(60)", tmp_path).ask(asks())
    assert started[0].returncode is not None
    assert signal.getsignal(signal.SIGINT) is handler


# The channel


def test_a_call_goes_through_the_channel_as_an_exchange(tmp_path: Path) -> None:
    met: list[tuple[Request, Response]] = []

    def recording(request: Request, call: Callable[[], Response]) -> Response:
        met.append((request, call()))
        return met[-1][1]

    one = command("print('live')", tmp_path, channel=recording)
    assert one.ask(asks("what?")).text == "live"
    ((request, response),) = met
    assert (request.method, request.headers, request.body) == ("RUN", (), b"what?")
    assert request.url.startswith("command:///")
    assert (response.status, response.body) == (200, b"live\n")
    assert response.header("content-type") == "text/plain; charset=utf-8"


def test_a_call_that_is_replayed_needs_no_program(tmp_path: Path) -> None:
    met: list[str] = []

    def replaying(request: Request, call: Callable[[], Response]) -> Response:
        met.append(request.url)
        result = {"type": "result", "result": "again", "usage": {"input_tokens": 1, "output_tokens": 2}}
        return Response(200, chunks=(json.dumps(result).encode(),))

    for selector in ("claude", "claude:opus 5"):
        reply = model(selector, environ={"PATH": str(tmp_path)}, channel=replaying).ask(asks())
        assert (reply.text, reply.tokens) == ("again", Tokens(1, 2))
    assert met == ["command:///claude", "command:///claude?model=opus%205"]


def test_a_failure_is_replayed_in_the_same_words(tmp_path: Path) -> None:
    kept: list[Response] = []

    def keeping(request: Request, call: Callable[[], Response]) -> Response:
        kept.append(call())
        return kept[-1]

    sentences = []
    for channel in (keeping, lambda request, call: kept[0]):
        with pytest.raises(ModelError) as caught:
            command("print('half'); print('bad', file=sys.stderr); sys.exit(4)", tmp_path, channel=channel).ask(asks())
        sentences.append(str(caught.value))
    assert kept[0].status == 500
    assert kept[0].reason == "exit code 4: bad"
    assert sentences[0] == sentences[1]


def test_a_call_that_is_forbidden_is_not_made(tmp_path: Path) -> None:
    def forbidding(request: Request, call: Callable[[], Response]) -> Response:
        raise MissError(f"{request.method} {request.url} is forbidden")

    with pytest.raises(MissError, match="RUN command:///"):
        command("open('made', 'w')", tmp_path, channel=forbidding).ask(asks())
    assert not (tmp_path / "made").exists()


def test_settings_are_the_default_ones() -> None:
    assert ModelSettings().timeout == 120


def test_a_program_is_ended_in_time_while_the_clock_of_a_test_stands(tmp_path: Path) -> None:
    stay = [sys.executable, "-c", "import time; time.sleep(600)"]
    # It looks through all modules for clocks, and those of the SDKs are most of them.
    with freezegun.freeze_time("2012-01-14", ignore=["openai", "anthropic", "genai_prices", "hypothesis"]):
        done = process.run(stay, b"", folder=tmp_path, env=dict(os.environ), timeout=0.1, check=lambda: None)
    assert done.exceeded == "time"
    assert 0.1 <= done.seconds < 300
