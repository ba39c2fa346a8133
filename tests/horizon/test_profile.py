"""Profiles: what a file and the command line come to together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_recall.files.errors import RecallError
from pytest_recall.horizon.profile import Profile
from pytest_recall.horizon.profile_file import BenchSettings, Given, load_env, settings_of

HERE = Path("/here")
FILE = Path("/profiles/clerk.yaml")
PROFILE: dict[str, Any] = {
    "persona": {"id": "clerk", "dir": "../personas/clerk", "arcs": "arcs-60d.yaml"},
    "models": {"judge": "openai", "appellateJudge": "anthropic:x"},
    "harness": {"adapter": "sqlite-fts"},
    "run": {"ranges": [30], "sample": 5},
}


def settings(given: Given | None = None, **parts: Any) -> BenchSettings:
    profile = Profile.model_validate({**PROFILE, **parts})
    return settings_of(profile, FILE, given or Given(), HERE)


def test_paths_are_those_from_the_profile() -> None:
    found = settings()
    assert found.corpus.path == Path("/profiles/../personas/clerk")
    assert found.corpus.memories.name == "memories-60d"
    assert found.root == Path("/profiles")


def test_what_is_given_comes_before_the_profile() -> None:
    found = settings(
        Given(data=Path("/data"), persona="other", arcs="arcs-9d.yaml", memory="null", run={"sample": 0, "k": 3})
    )
    assert (found.corpus.path, found.corpus.qa.name) == (Path("/data/other"), "qa-9d")
    assert (found.memory, found.run.sample, found.run.k, found.run.ranges[0].days) == ("null", 0, 3, 30)


def test_without_a_profile_a_persona_and_a_memory_are_enough() -> None:
    found = settings_of(None, None, Given(data=Path("/data"), persona="clerk", memory="null"), HERE)
    assert (found.corpus.path, found.run.seed, found.judge) == (Path("/data/clerk"), 42, None)


def test_the_words_of_the_reference_take_the_place_of_both_models() -> None:
    found = settings(Given(judge="lexical"))
    assert (found.judge, found.appellate) == ("lexical", None)


def test_of_the_published_configuration_labels_are_kept_and_the_rest_is_told() -> None:
    config = {"synthesisModel": "x", "minScore": 0.1}
    found = settings(harness={"adapter": "sqlite-fts", "factory": "make", "config": config})
    assert found.labels == {"synthesisModel": "x"}
    assert found.ignored == ("harness.factory", "harness.config.minScore")
    assert settings(Given(memory="null"), harness={"adapter": "C:/a.js", "factory": "make"}).ignored == ()


def test_an_object_of_ones_own_is_made_with_the_configuration_by_the_factory() -> None:
    config = {"synthesisModel": "x", "minScore": 0.1}
    found = settings(harness={"adapter": "python:lib/mine.py", "factory": "make", "config": config})
    assert (found.memory, found.config, found.ignored) == ("python:lib/mine.py:make", config, ())
    assert found.labels == {"synthesisModel": "x"}
    found = settings(harness={"adapter": "python:mine:Memory", "factory": "make", "config": config})
    assert (found.memory, found.config, found.ignored) == ("python:mine:Memory", config, ("harness.factory",))


@pytest.mark.parametrize(
    ("given", "parts", "said"),
    [
        (Given(), {"harness": {"adapter": "dist/index.mjs"}}, "'dist/index.mjs' is a JavaScript module"),
        (Given(), {"harness": None}, "no memory is named; give --memory SELECTOR"),
        (Given(persona="other"), {}, "--personas other: the profile is of clerk; give --persona DIR"),
        (Given(judge="anthropic:x"), {}, "the appellate judge `anthropic:x` is the judge as well"),
        (Given(judge="lexical", appellate="openai"), {}, "an appellate judge has no effect where no model judges"),
        (Given(), {"models": {"appellateJudge": "openai"}}, "an appellate judge has no effect where no model judges"),
        (Given(run={"ranges": "30x"}), {}, "--ranges: '30x' is not a range"),
        (Given(run={"judgeMemoryWindow": 99}), {}, "--judge-memory-window: input should be less than or equal to 30"),
        (Given(folder=HERE, persona="clerk"), {}, "--persona: names the persona's folder already; remove"),
        (Given(folder=HERE), {}, "/here: no such folder; `recall bench create-persona` makes one"),
        (Given(folder=Path("fery-office")), {}, "fery-office: no such folder; did you mean `ferry-office`?"),
        (Given(run={"parallelism": 0}), {}, "--concurrency: input should be greater than or equal to 1; got 0"),
    ],
)
def test_mistakes_are_one_sentence(given: Given, parts: dict[str, Any], said: str) -> None:
    with pytest.raises(RecallError) as raised:
        settings(given, **parts)
    assert str(raised.value).startswith(said)
    assert len(raised.value.messages) == 1


def test_variables_of_a_file_come_after_those_that_are_set(tmp_path: Path) -> None:
    file = tmp_path / ".env"
    file.write_text("# keys\nexport A=1 # the first\n\nB=\"2 # 3\"\nC = '4'\nD=\nE=5\n")
    environ = {"E": "mine"}
    load_env(file, environ)
    assert environ == {"A": "1", "B": "2 # 3", "C": "4", "D": "", "E": "mine"}
    file.write_text("A=1\nnonsense\n")
    with pytest.raises(RecallError, match=r":2: is not a variable; write NAME=value$"):
        load_env(file, {})
