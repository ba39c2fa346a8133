"""Models of the user's own: functions and objects, sync and async, and what is wrong with some of them."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pytest_recall.models.model import ModelError
from pytest_recall.models.provider import Provider
from tests.models.asking import SCHEMA, Clock, asks, model

SOURCE = """\
from __future__ import annotations

import asyncio
import threading

from pytest_recall.models.model import Ask, ModelError, Reply

loops = set()


def shout(prompt):
    return prompt.upper()


def careful(ask: Ask) -> Reply:
    return Reply(text=f"{ask.messages[-1].content} {ask.temperature}", model="mine", ignored=("seed",))


async def later(prompt):
    loops.add(asyncio.get_running_loop())
    await asyncio.sleep(0)
    return f"{len(loops)} {threading.current_thread().name}"


async def never(prompt):
    await asyncio.sleep(60)


async def leaves(prompt):
    leaves.task = asyncio.create_task(asyncio.sleep(60))
    return "left"


async def late(prompt):
    raise TimeoutError("its own")


async def quits(prompt):
    if prompt == "quit":
        raise SystemExit(3)
    return "here"


class Bot:
    name = "mine"

    def __init__(self):
        self.asked = 0

    def ask(self, ask):
        self.asked += 1
        if self.asked == 1:
            raise ModelError("not yet", temporary=True, after=2.0)
        return Reply(text=f"asked {self.asked} times")


bot = Bot()


class Needy:
    def __init__(self, key):
        pass


def breaks(prompt):
    raise ValueError("boom\\nboom")


def counts(prompt):
    return 3


number = 3
"""


@pytest.fixture
def own(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(SOURCE, encoding="utf-8")
    return tmp_path


def named(own: Path, name: str, **more: object) -> Provider:
    return model(f"python:mine.py:{name}", root=own, **more)  # type: ignore[arg-type]


def test_a_function_of_the_prompt(own: Path) -> None:
    reply = named(own, "shout").ask(asks("yes", system="please", schema=SCHEMA))
    assert reply.text.startswith("PLEASE\n\nREPLY WITH A JSON OBJECT")
    assert reply.text.endswith("YES")
    assert reply.ignored == ("max_tokens", "schema")


def test_a_function_of_the_ask(own: Path) -> None:
    reply = named(own, "careful").ask(asks("yes", temperature=0.5))
    assert (reply.text, reply.model, reply.ignored) == ("yes 0.5", "mine", ("seed",))


@pytest.mark.parametrize("name", ["Bot", "bot", "bot.ask"])
def test_an_object_a_class_and_a_method(own: Path, name: str) -> None:
    clock = Clock()
    reply = named(own, name, clock=clock).ask(asks())
    assert (reply.text, reply.attempts) == ("asked 2 times", 2)
    assert clock.slept == [2.25]


def test_async_functions_share_a_loop_whoever_asks(own: Path) -> None:
    with named(own, "later") as one, ThreadPoolExecutor(4) as pool:
        replies = set(pool.map(lambda _: one.ask(asks()).text, range(12)))

        async def inside() -> str:
            return one.ask(asks()).text

        assert asyncio.run(inside()) == "1 recall-model"
    assert replies == {"1 recall-model"}


def test_what_an_async_function_leaves_running_ends_with_the_model(own: Path) -> None:
    with named(own, "leaves") as one:
        assert one.ask(asks()).text == "left"
    assert not [thread for thread in threading.enumerate() if thread.name == "recall-model"]


def test_a_model_that_was_closed_can_be_asked_again(own: Path) -> None:
    one = named(own, "later")
    one.ask(asks())
    one.close()
    assert one.ask(asks()).text == "2 recall-model"
    one.close()


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("breaks", "python:mine.py:breaks: raised ValueError: boom boom; correct it"),
        ("late", "raised TimeoutError: its own; correct it"),
        ("counts", "it returned int; return text or a Reply"),
        ("number", "`number` is int; it has to be a function, or have a method `ask`"),
        ("Needy", "raised TypeError: "),
        ("shuot", "mine.py has no name `shuot`; did you mean `shout`?"),
        ("bot.aks", "mine.py has no name `bot.aks`; did you mean `ask`?"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(own: Path, name: str, sentence: str) -> None:
    with named(own, name) as one, pytest.raises(ModelError) as caught:
        one.ask(asks())
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_async_function_without_end(own: Path) -> None:
    with (
        named(own, "never", timeout=0.1, attempts=1) as one,
        pytest.raises(ModelError, match=r"no reply within 0\.1 s; allow more time") as caught,
    ):
        one.ask(asks())
    assert caught.value.temporary


def test_an_async_function_that_exits_can_be_asked_again(own: Path) -> None:
    with named(own, "quits") as one:
        with pytest.raises(ModelError, match="raised SystemExit: 3; correct it"):
            one.ask(asks("quit"))
        assert one.ask(asks()).text == "here"


def test_a_module(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.path", list(__import__("sys").path))
    (own / "models_of_mine").mkdir()
    (own / "models_of_mine" / "one.py").write_text("def answer(prompt): return 'here'\n", encoding="utf-8")
    one = model("python:models_of_mine.one:answer", root=own)
    one.ready()
    assert one.ask(asks()).text == "here"


def test_a_function_whose_parameters_are_not_known_gets_the_prompt(tmp_path: Path) -> None:
    assert model("python:builtins:max", root=tmp_path).ask(asks("abc")).text == "c"


def test_a_module_that_imports_what_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.path", list(sys.path))
    (tmp_path / "lacking_one.py").write_text("import no_such_thing\n", encoding="utf-8")
    with pytest.raises(ModelError, match="raised ModuleNotFoundError: No module named 'no_such_thing'"):
        model("python:lacking_one:x", root=tmp_path).ready()


@pytest.mark.parametrize(
    ("place", "source", "sentence"),
    [
        ("nowhere.py", None, "there is no Python file nowhere.py; correct the selector"),
        ("no_such_module.inner", None, "there is no module no_such_module; correct the selector, or install it"),
        (
            "bad.py",
            "import no_such_thing",
            "bad.py imports `no_such_thing`, which is not there; install it, or put it beside the file",
        ),
        ("bad.py", "def (", "raised SyntaxError: invalid syntax"),
    ],
)
def test_what_cannot_be_imported(tmp_path: Path, place: str, source: str | None, sentence: str) -> None:
    if source is not None:
        (tmp_path / place).write_text(source, encoding="utf-8")
    with pytest.raises(ModelError) as caught:
        model(f"python:{place}:x", root=tmp_path).ready()
    assert sentence in str(caught.value)


def says(folder: Path, *places: str) -> tuple[str, str]:
    """Return what files with a function `model` reply in a process of its own, and its sys.path beyond the usual."""
    code = f"""
import sys
from pathlib import Path
before = list(sys.path)
from pytest_recall.models.model import ModelError
from pytest_recall.models.python_model import load
try:
    print(*(load(place, "model", Path({str(folder)!r}))() for place in {places!r}), end="")
except ModelError as error:
    print(error, end="")
sys.stderr.write(" ".join(sorted(Path(one).name for one in sys.path if one not in before)))
assert sys.path[:len(before)] == before
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout, done.stderr


def beside(folder: Path, **files: str) -> None:
    folder.mkdir()
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)


HELPED = "from helper import word\ndef model():\n    import later\n    return word + later.word\n"


def test_a_file_imports_what_is_beside_it_also_later(tmp_path: Path) -> None:
    beside(tmp_path / "a", mine=HELPED, helper="word = 'one '", later="word = 'two'", json="raise SystemError")
    assert says(tmp_path, "a/mine.py") == ("one two", "")


def test_of_two_folders_no_file_gets_the_other_ones_module(tmp_path: Path) -> None:
    for name in ("a", "b"):
        beside(tmp_path / name, mine=HELPED, helper=f"word = '{name}'", later="word = ''")
    said, _ = says(tmp_path, "a/mine.py", "b/mine.py")
    assert said == f"b/mine.py imports `helper`, of which {tmp_path}/a/helper.py is loaded; rename one of them"


def test_what_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    beside(tmp_path / "a", mine=HELPED)
    said, _ = says(tmp_path, "a/mine.py")
    assert said == "a/mine.py imports `helper`, which is not there; install it, or put it beside the file"
