"""Read which programs a command line starts, through the shells and wrappers that it names.

    claude -p hello                      claude
    env LANG=C timeout 60 claude -p hi   claude
    node …/@anthropic-ai/claude-code/cli.js, npx -y @anthropic-ai/claude-code     claude
    sh -c "cd /tmp && claude -p hi | jq .result"                                  claude, jq
    uvx --from aider-chat aider, python -m aider                                  aider
    sh script.sh, python server.py, npx some-server                               sh, python, npx

What stands behind `env`, `timeout` and the like, and each simple command of a shell's `-c`, is named itself. What a
launcher runs (node, npx, uvx, python …) is named if it is a program that is known to ask models, else the launcher is.
Quoted substitutions, variables and the contents of scripts are not read.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

ASKING = frozenset(
    (
        *("aichat", "aider", "amp", "claude", "codex", "copilot", "cursor-agent", "droid", "gemini", "goose", "grok"),
        *("interpreter", "kiro-cli", "llamafile", "llm", "ollama", "opencode", "openhands", "plandex", "qwen"),
        *("sgpt", "tgpt"),
    )
)
"""Programs that ask models themselves."""
_COMMANDS: Mapping[str, tuple[str, ...]] = {"goose": ("acp", "bench", "run", "s", "session", "web")}
"""The commands by which one of them does that another program of its name, here for migrations, has not."""
FETCHING = frozenset(("curl", "curlie", "http", "https", "wget", "wget2", "xh", "xhs"))
"""Programs that ask the hosts of the URLs on their command line."""

_PACKAGES: Mapping[str, str] = {
    "@anthropic-ai/claude-code": "claude",
    "@github/copilot": "copilot",
    "@google/gemini-cli": "gemini",
    "@openai/codex": "codex",
    "@qwen-code/qwen-code": "qwen",
    "@sourcegraph/amp": "amp",
    "aider-chat": "aider",
    "open-interpreter": "interpreter",
    "opencode-ai": "opencode",
    "openhands-ai": "openhands",
    "shell-gpt": "sgpt",
}
"""Packages by whose name a launcher finds one of these programs."""
_ENDINGS = (".exe", ".cmd", ".bat", ".ps1", ".com")
_SCRIPTS = (".js", ".mjs", ".cjs", ".ts", ".py", ".sh")
_SHELLS = frozenset(("ash", "bash", "busybox", "dash", "fish", "ksh", "sh", "zsh"))
_OTHER_SHELLS: Mapping[str, tuple[str, ...]] = {
    "cmd": ("/c", "/k"),
    "powershell": ("-c", "-command"),
    "pwsh": ("-c", "-command"),
}
# What runs the command behind its options; these options take a value of their own.
_PREFIXES: Mapping[str, str] = {
    "builtin": "",
    "caffeinate": "-t -w",
    "chronic": "",
    "command": "",
    "doas": "-C -u",
    "env": "-u -C --unset --chdir",
    "exec": "-a",
    "ionice": "-c -n -p",
    "nice": "-n --adjustment",
    "nohup": "",
    "setsid": "",
    "stdbuf": "-i -o -e --input --output --error",
    "sudo": "-C -D -R -T -U -g -h -p -r -t -u --user --group",
    "time": "-f -o --format --output",
    "timeout": "-k -s --kill-after --signal",
    "unbuffer": "",
    "xargs": "-E -I -L -P -a -d -n -s",
}
_BEFORE_THE_COMMAND = {"timeout": 1}
_LAUNCHERS: Mapping[str, str] = {
    "bun": "",
    "bunx": "-p --package",
    "deno": "",
    "node": "-r --require --import --loader -C --conditions",
    "npx": "-p --package -c --call",
    "pnpx": "",
    "tsx": "--tsconfig",
    "uvx": "--from --with -w --python -p --index --index-url --with-requirements --directory",
}
# The words between the launcher and what it launches.
_SUBCOMMANDS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "bun": (("x",), ("run",)),
    "deno": (("run",),),
    "npm": (("exec",), ("x",)),
    "pdm": (("run",),),
    "pipx": (("run",),),
    "pnpm": (("dlx",), ("exec",)),
    "poetry": (("run",),),
    "uv": (("tool", "run"), ("run",)),
    "yarn": (("dlx",), ("exec",), ("run",)),
}
_PYTHON = re.compile(r"(?:python|pypy)[\d.]*w?|py")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=.*", re.DOTALL)
_NAME = re.compile(r"[\w@.+][\w@.+:-]*")
_LEADING = frozenset(("if", "then", "else", "elif", "do", "while", "until", "!", "{"))
_WORDS_OF_THE_SHELL = frozenset(
    (
        *(".", ":", "[", "[[", "alias", "bg", "break", "case", "cd", "continue", "coproc", "declare", "done", "echo"),
        *("esac", "eval", "exit", "export", "false", "fg", "fi", "for", "function", "getopts", "hash", "in", "jobs"),
        *("kill", "let", "local", "popd", "printf", "pushd", "pwd", "read", "readonly", "return", "select", "set"),
        *("shift", "shopt", "source", "test", "trap", "true", "type", "typeset", "ulimit", "umask", "unalias"),
        *("unset", "wait", "}"),
    )
)
_DEEPEST = 8
_TOLD_AT_ONCE = frozenset(("--version", "--help", "-h"))


@cache
def mentioned() -> re.Pattern[str]:
    """Return what occurs in every command line that starts one of them: what it does not match need not be read."""
    names = sorted(ASKING | FETCHING | _PACKAGES.keys())
    return re.compile("|".join(re.escape(name).replace(r"\-", "[-_]") for name in names), re.IGNORECASE)


class Started(NamedTuple):
    """A program by its name, and the arguments that it is given."""

    name: str
    arguments: tuple[str, ...]

    @property
    def asks_models(self) -> bool:
        """Whether it is known to ask models, and is not just asked for its version or its help."""
        if self.name in _COMMANDS:
            return self._command in _COMMANDS[self.name]
        return self.name in ASKING and (not self.arguments or not _TOLD_AT_ONCE.issuperset(self.arguments))

    @property
    def title(self) -> str:
        """The name by which it is counted, with its command where that tells it from one that asks models."""
        if self.name in _COMMANDS and not self.asks_models:
            return f"{self.name} {self._command}".strip()
        return self.name

    @property
    def _command(self) -> str:
        return next((word for word in self.arguments if not word.startswith("-")), "")

    @property
    def urls(self) -> list[str]:
        """The URLs that are arguments by themselves, or the value of an option behind `=`."""
        found = (re.match(r"(?:--?[\w-]+=)?(https?://.*)", word, re.IGNORECASE) for word in self.arguments)
        return [match[1] for match in found if match]


def started(argv: Sequence[str]) -> list[Started]:
    """Return what the program `argv[0]` with its arguments starts; at least one, unless `argv` is empty."""
    return list(_read(list(argv), 0))


def shell_started(line: str) -> list[Started]:
    """Return what a shell starts of a line; the shell itself if nothing in it can be named."""
    return list(_of_shell("sh", line, 0))


def split(line: str) -> list[str]:
    """Return the words of a command line of Windows, where a backslash separates folders."""
    return [quoted or plain for quoted, plain in re.findall(r'"([^"]*)"|(\S+)', line)]


def base_name(path: str) -> str:
    """Return the name of a program: the last part of its path, without `.exe` and the like."""
    name = re.split(r"[\\/]", path)[-1]
    ending = next((ending for ending in _ENDINGS if name.lower().endswith(ending)), "")
    return (name[: -len(ending)].lower() if ending else name) or path


def _read(argv: list[str], depth: int) -> Iterator[Started]:
    if not argv:
        return
    name, rest = base_name(argv[0]), argv[1:]
    if depth < _DEEPEST:
        for reads in (_behind_shell, _behind_prefix, _behind_launcher, _behind_python):
            if found := list(reads(name, rest, depth + 1)):
                yield from found
                return
    yield Started(name, tuple(rest))


def _behind_shell(name: str, rest: list[str], depth: int) -> Iterator[Started]:
    if name == "busybox" and rest and not rest[0].startswith("-"):
        yield from _read(rest, depth)
    elif name in _SHELLS:
        at = 0
        while at < len(rest) and rest[at][:1] in ("-", "+"):
            if re.fullmatch(r"-[a-zA-Z]*c[a-zA-Z]*", rest[at]):
                line = next((word for word in rest[at + 1 :] if word[:1] not in ("-", "+")), "")
                yield from _of_shell(name, line, depth)
                return
            at += 2 if rest[at] in ("-o", "+o", "-O", "+O") else 1
        if at < len(rest) and (known := _known(rest[at])):
            yield Started(known, tuple(rest[at + 1 :]))
    elif name.lower() in _OTHER_SHELLS:
        options = _OTHER_SHELLS[name.lower()]
        for at, word in enumerate(rest):
            if word.lower() in options:
                yield from _of_shell(name, " ".join(rest[at + 1 :]).replace("\\", "/"), depth)
                return


def _behind_prefix(name: str, rest: list[str], depth: int) -> Iterator[Started]:
    if name not in _PREFIXES:
        return
    words = _behind_options(rest, _PREFIXES[name].split())[_BEFORE_THE_COMMAND.get(name, 0) :]
    if name == "env":
        string = next((at for at, word in enumerate(rest) if word in ("-S", "--split-string")), None)
        if string is not None and string + 1 < len(rest):
            words = [*_words(rest[string + 1]), *rest[string + 2 :]]
    while words and name in ("env", "sudo", "doas") and _ASSIGNMENT.fullmatch(words[0]):
        words = words[1:]
    yield from _read(words, depth)


def _behind_launcher(name: str, rest: list[str], depth: int) -> Iterator[Started]:
    for words in _SUBCOMMANDS.get(name, ()):
        if tuple(rest[: len(words)]) == words:
            options = _LAUNCHERS["uvx" if name == "uv" else "npx"]
            yield from _launched(_behind_options(rest[len(words) :], options.split()), depth)
            return
    if name in _LAUNCHERS:
        yield from _launched(_behind_options(rest, _LAUNCHERS[name].split()), depth)


def _behind_python(name: str, rest: list[str], depth: int) -> Iterator[Started]:
    if not _PYTHON.fullmatch(name):
        return
    words = _behind_options(rest, ["-W", "-X"], until="-m")
    if words[:1] in (["-m"], ["-c"]):
        words = words[1:] if words[0] == "-m" else []
    if words and (known := _known(words[0].replace("_", "-"))):
        yield Started(known, tuple(words[1:]))


def _launched(words: list[str], depth: int) -> Iterator[Started]:
    """Yield what a launcher runs, if that is known by its name or its package."""
    for one in _read(words, depth):
        known = one.name if one.name in ASKING | FETCHING else _known(words[0])
        if known:
            yield Started(known, one.arguments)


def _known(script: str) -> str:
    """Return which program that asks models is run by a path or a package; empty for any other."""
    path = script.replace("\\", "/")
    for package, name in _PACKAGES.items():
        if f"/{package}/" in f"/{path}/" or re.fullmatch(rf"{re.escape(package)}(?:\[.*\])?(?:(?:@|==).*)?", path):
            return name
    name = base_name(path)
    for ending in _SCRIPTS:
        name = name.removesuffix(ending)
    name = re.sub(r"(?<=.)@.*", "", name)
    return name if name in ASKING else ""


def _behind_options(words: list[str], valued: Sequence[str], until: str = "") -> list[str]:
    at = 0
    while at < len(words) and words[at].startswith("-") and words[at] not in ("-", until, "-c" if until else ""):
        if words[at] == "--":
            return words[at + 1 :]
        at += 2 if words[at] in valued else 1
    return words[at:]


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:
        return []


def _of_shell(shell: str, line: str, depth: int) -> Iterator[Started]:
    found = [one for command in _commands(line) for one in _read(command, depth)] if depth <= _DEEPEST else []
    yield from found or [Started(shell, ())]


def _commands(line: str) -> Iterator[list[str]]:
    """Yield the simple commands of a line of a shell: without assignments, redirections and what is the shell's own."""
    lexer = shlex.shlex(line.replace("\\\n", " ").replace("\n", " ; "), posix=True, punctuation_chars=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    try:
        tokens = list(lexer)
    except ValueError:
        return  # A quote is not closed.
    command: list[str] = []
    skips = False
    for token in [*tokens, ";"]:
        if skips:
            skips = False
        elif "<" in token or ">" in token:
            skips = set(token) <= set("<>&|")
        elif not set(token) <= set(";&|()"):
            command.append(token)
        else:
            if command := _without_the_shell(command):
                yield command
            command = []


def _without_the_shell(words: list[str]) -> list[str]:
    while words and (words[0] in _LEADING or words[0] == "$" or _ASSIGNMENT.fullmatch(words[0])):
        words = words[1:]
    name = base_name(words[0]) if words else ""
    return words if words and name not in _WORDS_OF_THE_SHELL and _NAME.fullmatch(name) else []


def arguments_of(event: str, args: Sequence[object], decoded: Callable[[object], str]) -> list[Started]:
    """Return what an audit event of the interpreter is about to start; nothing where it does not say.

    `decoded` makes text of a name or an argument, which may be bytes or a path.
    """
    if event == "os.system":
        return shell_started(decoded(args[0]))
    if event in ("os.startfile", "os.startfile/2"):
        return started([decoded(args[0])])
    program, given = (None, args[0]) if event == "pty.spawn" else (args[0], args[1])
    if event == "os.spawn":
        program, given = args[1], args[2]
    if isinstance(given, str) and event in ("subprocess.Popen", "_winapi.CreateProcess"):
        words = split(given)
    elif isinstance(given, Sequence) and not isinstance(given, str | bytes):
        words = [decoded(word) for word in given]
    else:
        words = [] if given is None else [decoded(given)]
    if program is None:
        return started(words)
    return started([decoded(program), *words[1:]])
