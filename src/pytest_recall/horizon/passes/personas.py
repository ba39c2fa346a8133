"""Personas: a persona and its story, asked for until they can be taken, and written whole."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from pytest_recall.core.errors import RecallError
from pytest_recall.core.horizon.demands import persona_problems, story_problems
from pytest_recall.core.horizon.persona import Persona
from pytest_recall.core.horizon.story import Story
from pytest_recall.horizon.passes.author import Attempt, Author, Wish
from pytest_recall.store import strictyaml
from pytest_recall.store.files import write_text
from pytest_recall.store.written import explain
from pytest_recall.store.yamltext import block

ATTEMPTS = 4
"""How often a persona or a story is asked for, at the most."""
_FENCE = re.compile(r"```[A-Za-z]*\n(.*?)\n?```", re.DOTALL)
Made = TypeVar("Made", bound=BaseModel)


def create_persona(author: Author, wish: Wish) -> Persona:
    """Return a persona that can be taken. Raises RecallError if none is among the attempts."""
    return _until("the persona", Persona, lambda last: author.persona(wish, last), persona_problems)


def create_story(author: Author, wish: Wish, persona: Persona) -> Story:
    """Return a story for a persona, on the dates of the wish. Raises RecallError if none is among the attempts."""
    story = _until(
        "the story",
        Story,
        lambda last: author.story(wish, persona, last),
        lambda story: story_problems(persona, story, wish.days),
    )
    return story.model_copy(update={"epoch": wish.epoch})


def write_persona(path: Path, persona: Persona) -> None:
    """Write a persona's file, whole or not at all. Raises OSError."""
    write_text(path, block(_plain(persona)), durable=True)


def write_story(path: Path, story: Story) -> None:
    """Write a story's file, whole or not at all. Raises OSError."""
    write_text(path, block(_plain(story)), durable=True)


def _until(
    what: str, model: type[Made], ask: Callable[[Attempt | None], str], problems_of: Callable[[Made], list[str]]
) -> Made:
    last: Attempt | None = None
    for number in range(1, ATTEMPTS + 1):
        reply = ask(last)
        made, problems = _read(reply, model)
        if made is not None:
            problems = problems_of(made)
            if not problems:
                return made
        last = Attempt(number, reply, problems)
    assert last is not None
    told = (
        f"{what} cannot be taken after {ATTEMPTS} tries; say more in --prompt, or take another --temperature or --model"
    )
    raise RecallError(told, *(f"{what}, last try: {problem}" for problem in last.problems))


def _read(reply: str, model: type[Made]) -> tuple[Made | None, list[str]]:
    """Return what a reply holds, or why it cannot be read. Lines are those of the reply's YAML."""
    text = reply.strip()
    if fenced := _FENCE.search(text):
        text = fenced[1]
    try:
        value = strictyaml.load(text, "reply")
        if not isinstance(value, dict):
            return None, ["reply:1: is no mapping; begin with a key at the margin"]
        return model.model_validate(value), []
    except RecallError as error:
        return None, list(error.messages)
    except ValidationError as error:
        lines = strictyaml.lines(text, "reply")

        def line_of(path: tuple[str | int, ...]) -> int:
            return next((lines[path[:end]] for end in range(len(path), -1, -1) if path[:end] in lines), 1)

        return None, explain(error, model, "reply", line_of)


def _plain(made: BaseModel) -> dict[str, Any]:
    """Return plain values by the names of the files, without what is empty."""
    plain: dict[str, Any] = _pruned(made.model_dump(mode="json", by_alias=True))
    return plain


def _pruned(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _pruned(inner) for key, inner in value.items() if inner not in (None, "", [], False)}
    return [_pruned(inner) for inner in value] if isinstance(value, list) else value
