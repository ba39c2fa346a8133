"""Tell by the words of its command whether the rubric names a program, and write the entry that does.

An entry is the beginning of a command: `git`, `python server.py`, `npx -y some-server`. No shell and no script is read.
What an interpreter or a launcher starts stands behind it, so that its name alone names no program.
"""

from __future__ import annotations

import json
import ntpath
import re
import shlex
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, Literal, NamedTuple

ANY = "any"
"""What a rubric says under which a replay starts every program."""
MULTIPROCESSING = ("multiprocessing",)
"""The command by which a process is known that `multiprocessing` begins by `spawn` or `forkserver`."""

INTERPRETERS = frozenset(
    (
        *("ash", "bash", "busybox", "cmd", "dash", "fish", "java", "ksh", "lua", "node", "perl", "php", "powershell"),
        *("pwsh", "py", "pypy", "python", "rscript", "ruby", "sh", "ts-node", "tsx", "zsh"),
    )
)
"""Programs that run a script, or code."""
RUNNERS = frozenset(
    (
        *("bun", "bunx", "conda", "deno", "docker", "dotnet", "go", "hatch", "mamba", "npm", "npx", "pdm", "pipx"),
        *("pixi", "pnpm", "pnpx", "podman", "poetry", "rye", "uv", "uvx", "yarn"),
    )
)
"""Programs that run what a package or an image has, some of them by a subcommand."""
PREFIXES = frozenset(
    (
        *("caffeinate", "chronic", "command", "doas", "env", "exec", "ionice", "nice", "nohup", "parallel", "setsid"),
        *("ssh", "stdbuf", "strace", "sudo", "time", "timeout", "unbuffer", "watch", "wsl", "xargs"),
    )
)
"""Programs that run the command behind them."""
_CODED = INTERPRETERS | {"npx"}
_LAUNCHERS = INTERPRETERS | RUNNERS | PREFIXES
_SUBCOMMANDS = frozenset(("container", "dlx", "exec", "run", "tool", "x"))
_BEFORE_CODE = frozenset(("-c", "-e", "-m", "/c", "/C"))
_SAYS_NOTHING = re.compile(r"-.*|/[a-zA-Z]|\d+(?:\.\d+)?[smhd]?|[A-Za-z_]\w*=.*", re.DOTALL)
"""An option, a number such as that of seconds, and an assignment."""
_VERSIONED = re.compile(r"([a-z-]+?)[\d.]+w?|(python)w", re.IGNORECASE)
_ENDINGS = (".exe", ".cmd", ".bat", ".ps1", ".com")
_PLAIN = re.compile(r"(?!(?:true|false|yes|no|on|off|null|y|n)\Z)[A-Za-z][\w./@-]*", re.IGNORECASE)
"""What YAML takes for this very text without quotes."""
_OF_WINDOWS = re.compile(r'.*? /c "(.*)"', re.DOTALL)
"""What `subprocess` makes of `shell=True` on Windows."""

Command = tuple[str, ...]


class NamedPrograms(NamedTuple):
    """The programs that a replay starts, as the rubric names them."""

    commands: tuple[Command, ...] = ()
    every: bool = False
    """Whether the rubric says `any`."""
    windows: bool = False
    """Whether neither case nor the kind of slash makes another path."""

    @classmethod
    def of(cls, named: Sequence[str], *, windows: bool = False) -> NamedPrograms:
        """Return those of the setting. Raises ValueError for an entry that names no program."""
        return cls(tuple(words_of(entry) for entry in named if entry != ANY), ANY in named, windows)

    def has(self, command: Command) -> bool:
        """Whether a replay starts the program that this command runs."""
        return self.every or any(_begins_with(command, words, self.windows) for words in self.commands)

    def with_entries(self, entries: Sequence[str]) -> str:
        """Return the line of a rubric that names these as well."""
        known = [shlex.join(words) for words in self.commands]
        shown = (one if _PLAIN.fullmatch(one) else json.dumps(one, ensure_ascii=False) for one in (*known, *entries))
        return f"replay: {{programs: [{', '.join(dict.fromkeys(shown))}]}}"


def words_of(entry: str) -> Command:
    """Return the words of an entry. Raises ValueError for one that names no program, with what to write."""
    try:
        words = _split(entry)
    except ValueError:
        raise ValueError(f"`{entry}` has a quote that is not closed; close it") from None
    if not words:
        raise ValueError("an entry is empty; write the first words of a command, such as `git`")
    if _place_of_program(words) is None:
        raise ValueError(
            f"`{entry}` names no program, since `{words[0]}` runs any; add what it runs, such as"
            f" `{entry.strip()} {_EXAMPLES.get(program_name(words[0]), 'NAME')}`"
        )
    return tuple(words)


def _split(line: str) -> list[str]:
    """Return the words of a line in which quotes hold a word together, and a backslash is what it is in a path."""
    lexer = shlex.shlex(line, posix=True)
    lexer.whitespace_split, lexer.commenters, lexer.escape = True, "", ""
    return list(lexer)


_EXAMPLES = {"python": "server.py", "node": "server.js", "npx": "some-server", "sh": "script.sh"}


def can_be_named(command: Command) -> bool:
    """Whether the words of a command say what runs: an interpreter may read that from elsewhere."""
    return program_name(command[0]) != ANY and _place_of_program(command) is not None


def entry_of(command: Command, folder: str) -> str:
    """Return the entry that names the program of a command and no more; paths are shown as those from `folder`."""
    at = _place_of_program(command, sure=True)
    words = command if at is None else command[: at + 1]
    code = _place_of_code(words)
    shown = (word if place == code else _portable(word, folder) for place, word in enumerate(words[1:], 1))
    return shlex.join([program_name(words[0]), *shown])


def program_name(path: str) -> str:
    """Return the name of a program: without its folder, `.exe` and the like, and the version of an interpreter."""
    name = re.split(r"[\\/]", path)[-1]
    ending = next((ending for ending in _ENDINGS if name.lower().endswith(ending)), "")
    name = (name[: -len(ending)].lower() if ending else name) or path
    match = _VERSIONED.fullmatch(name)
    plain = (match[1] or match[2]) if match else name
    return plain if plain.lower() in _LAUNCHERS else name


def _is_launcher(word: str) -> bool:
    return program_name(word).lower() in _LAUNCHERS


def _place_of_program(words: Sequence[str], *, sure: bool = False) -> int | None:
    """Return the place of the first word that says which program runs; None if none does.

    Behind an option may be its value. If that is to be `sure`, such a word does not say so.
    """
    if not _is_launcher(words[0]):
        return 0
    return next((at for at, kind in _telling(words) if not (sure and kind == "behind an option")), None)


def _place_of_code(words: Sequence[str]) -> int | None:
    """Return where the code or the module stands that an interpreter is given."""
    return next((at for at, kind in _telling(words) if kind == "code"), None) if _is_launcher(words[0]) else None


def _telling(words: Sequence[str]) -> Iterator[tuple[int, Literal["code", "behind an option", "program"]]]:
    """Yield the places of the words that may say what a launcher runs, up to the first that surely does."""
    launcher = program_name(words[0]).lower()
    for at, word in enumerate(words[1:], 1):
        if launcher in _CODED and words[at - 1] in _BEFORE_CODE:
            yield at, "code"
            return
        if _SAYS_NOTHING.fullmatch(word) or (launcher in RUNNERS and word in _SUBCOMMANDS):
            continue
        if _is_launcher(word):
            launcher = program_name(word).lower()
        elif not words[at - 1].startswith("-"):
            yield at, "program"
            return
        elif launcher not in PREFIXES:
            yield at, "behind an option"


def _begins_with(command: Command, words: Command, windows: bool) -> bool:
    if len(command) < len(words):
        return False
    code = _place_of_code(words)
    first, *others = ((program_name(command[0]), program_name(words[0])), *zip(command[1:], words[1:], strict=False))
    return _is_same(*first, windows) and all(
        mine == named or (at != code and not named.startswith("-") and _is_same(mine, named, windows))
        for at, (mine, named) in enumerate(others, 1)
    )


def _is_same(path: str, named: str, windows: bool) -> bool:
    """Whether a path is the one that is named by its end."""
    if windows:
        path, named = (ntpath.normcase(one).replace("\\", "/") for one in (path, named))
    return path == named or path.endswith(f"/{named}")


def _portable(word: str, folder: str) -> str:
    """Return the end of a path that other machines have too; every other word as it is."""
    if not _ABSOLUTE.match(word) or _SAYS_NOTHING.fullmatch(word):
        return word
    path, inside = word.replace("\\", "/"), folder.replace("\\", "/").rstrip("/") + "/"
    return path[len(inside) :] if path.startswith(inside) else "/".join(path.split("/")[1:][-2:]) or word


_ABSOLUTE = re.compile(r"/|[A-Za-z]:[\\/]")


_OF_C = frozenset(
    (
        *("execl", "execle", "execlp", "execv", "execve", "execvp", "execvpe", "fexecve", "fork", "forkpty", "popen"),
        *("posix_spawn", "posix_spawnp", "system", "vfork"),
    )
)
"""The functions of C that start a program or a process. Calls of them raise no event, but to look one up does."""


def command_of(event: str, args: Sequence[Any]) -> Command:
    """Return the command that an audit event of the interpreter is about to run; empty where there is none."""
    if event == "ctypes.dlsym":
        return ("ctypes", args[1]) if args[1] in _OF_C else ()
    if event == "os.system":
        return ("sh", "-c", _text(args[0]))
    if event in ("os.startfile", "os.startfile/2"):
        return (_text(args[0]),)
    program, given = (None, args[0]) if event == "pty.spawn" else (args[0], args[1])
    if isinstance(given, str) and event != "pty.spawn":
        if match := _OF_WINDOWS.fullmatch(given):
            return ("sh", "-c", match[1])
        words = [quoted or plain for quoted, plain in re.findall(r'"([^"]*)"|(\S+)', given)]
    else:
        several = isinstance(given, Sequence) and not isinstance(given, str | bytes)
        words = [_text(word) for word in (given if several else [given])]
    return tuple(words) if program is None else (_text(program), *words[1:])


def of_multiprocessing(command: Command) -> Command:
    """Return the command by which a process of `multiprocessing` is known; every other one as it is."""
    own = "--multiprocessing-fork" in command or any(map(_SERVER.fullmatch, command))
    return MULTIPROCESSING if own else command


_SERVER = re.compile(r"from multiprocessing\.forkserver import main; ?main\(.*\)", re.DOTALL)

LOOK_UPS = (
    *("uname -p", "file -b *", "sh -c ver", "sh -c 'command /c ver'", "sh -c 'cmd /c ver'"),  # platform
    *("gcc -Wl,-t -o * -l*", "cc -Wl,-t -o * -l*", "ld -t ... -o /dev/null -l*", "objdump -p -j .dynamic *"),
    *("ldconfig -p", "ldconfig -r", "dump -Lpv *", "crle", "crle -64", "dump -X* -H *"),  # ctypes.util
    *("ifconfig", "ifconfig -a", "ifconfig -av", "ip link", "arp -an", "lanscan -ai", "netstat -ian"),  # uuid
    *("lslpp -Lqc bos.rte", "xdg-settings get default-web-browser"),  # sysconfig, webbrowser
    *("lsb_release -a", "uname -rs"),  # distro, for the SDKs of OpenAI and Anthropic
    *("git rev-parse HEAD", "git describe --tags --always --dirty"),  # sentry_sdk and langsmith, for what they report
    *("git version", "lscpu --parse=core", "fc-list --help", "fc-list --format=*"),  # GitPython, joblib, matplotlib
)
"""What is run to learn about the machine or the commit, with `*` for what varies in a word, and `...` for words."""
_TRACKER = re.compile(
    r"from (?:multiprocessing|(?:joblib\.externals\.)?loky\.backend)\.resource_tracker import main; ?main\([\w, ]*\)"
)


def is_look_up(command: Command) -> bool:
    """Whether Python itself runs this: to learn about the machine, or to clean up behind processes."""
    if command[-2:-1] == ("-c",) and _TRACKER.fullmatch(command[-1]):
        return True
    words = (program_name(command[0]), *command[1:])
    return _look_ups().fullmatch("".join(f"{word}\0" for word in words)) is not None


@cache
def _look_ups() -> re.Pattern[str]:
    """Return the expression of all look-ups, in which each word ends with a zero."""
    ways = ("".join(map(_of_word, shlex.split(pattern))) for pattern in LOOK_UPS)
    return re.compile("|".join(ways), re.DOTALL)


def _of_word(pattern: str) -> str:
    return r"(?:[^\0]*\0)*" if pattern == "..." else re.escape(pattern).replace(r"\*", r"[^\0]*") + r"\0"


def _text(word: Any) -> str:
    return word.decode("utf-8", "surrogateescape") if isinstance(word, bytes) else str(word)
