"""Read a profile and the options beside it into the settings of one run."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from pydantic import ValidationError

from pytest_recall.files.disk import read_text
from pytest_recall.files.errors import RecallError, nearest
from pytest_recall.files.validation import explain, read_mapping
from pytest_recall.horizon.corpus import FERRY_OFFICE, PERSONA, Corpus, folders_in, persona_folder, shipped, story_name
from pytest_recall.horizon.persona import DateMap
from pytest_recall.horizon.profile import PersonaPart, Profile, RunPart
from pytest_recall.horizon.result import LEXICAL
from pytest_recall.memory.selector import DISPLAYED

_SCRIPT = re.compile(r"\.[cm]?[jt]sx?$", re.IGNORECASE)
_MODULE = re.compile(r"python:(?:[^:]*[/\\])?[^:/\\]+")
"""A selector of a module or a file without the name in it, which `harness.factory` is then."""
_CAPITAL = re.compile(r"[A-Z]")
_VARIABLE = re.compile(r"(?:export\s+)?([A-Za-z_]\w*)\s*=\s*(.*)")


@dataclass(frozen=True, kw_only=True)
class BenchSettings:
    """One run; models and the memory are selectors, whose relative paths are those from `root`."""

    corpus: Corpus
    persona: PersonaPart
    memory: str
    run: RunPart
    root: Path
    judge: str | None = None
    appellate: str | None = None
    answer: str | None = None
    model_timeout: int | None = None
    """How many milliseconds one attempt at a call of a model may take; None for as many as usual."""
    labels: Mapping[str, str] = field(default_factory=dict)
    config: Mapping[str, Any] = field(default_factory=dict)
    """What the memory is made with."""
    ignored: tuple[str, ...] = ()
    """The names of what has no effect of the profile."""

    @property
    def models(self) -> tuple[str, ...]:
        """The models that are asked."""
        judge = None if self.judge == LEXICAL else self.judge
        return tuple(one for one in (judge, self.appellate, self.answer) if one is not None)


@dataclass(frozen=True, kw_only=True)
class Given:
    """What the command line says; None for what it does not."""

    folder: Path | None = None
    """That of the persona."""
    data: Path | None = None
    """Without a `folder`, a folder with personas in it, or that of the one."""
    persona: str | None = None
    arcs: str | None = None
    dates: DateMap | None = None
    memory: str | None = None
    judge: str | None = None
    appellate: str | None = None
    answer: str | None = None
    model_timeout: int | None = None
    run: Mapping[str, Any] = field(default_factory=dict)
    """The fields of this part of the profile, by alias."""


def read_profile(path: Path, name: str, environ: MutableMapping[str, str], tell: Callable[[str], None]) -> Profile:
    """Return the profile at `path`, which messages call `name`, and take the variables of its `env.file` in.

    A file that is not there is told, and no more. Raises RecallError.
    """
    profile = read_mapping(path, name, Profile, "`persona`, `harness` and `run`")
    if profile.env is not None:
        file = path.absolute().parent / profile.env.file
        if file.exists():
            load_env(file, environ)
        else:
            # Elsewhere the variables are set in other ways; what is missing is said by what needs it.
            tell(f"{name}: env.file: {profile.env.file} is not there, and no variable is taken from it")
    return profile


def settings_of(profile: Profile | None, path: Path | None, given: Given, cwd: Path) -> BenchSettings:
    """Return the settings of a run: what is `given` comes before the profile at `path`. Raises RecallError."""
    root = cwd if path is None else path.absolute().parent
    part, folder = _persona(profile, root, given)
    models = None if profile is None else profile.models
    run = _run(RunPart() if profile is None else profile.run, given.run)
    memory = _memory(profile, given)

    def of(named: str | None, field_name: str) -> str | None:
        found: str | None = getattr(models, field_name, None)
        return named or found

    settings = BenchSettings(
        corpus=Corpus(
            folder,
            part.arcs,
            memories=_below(root, folder, part.memories_dir),
            qa=_below(root, folder, part.qa_dir),
            tools=_below(root, folder, part.tools_dir),
            conversations=_below(root, folder, part.conversations_dir),
            dates=given.dates or part.dates,
        ),
        persona=part,
        memory=memory.selector,
        run=run,
        root=root,
        judge=of(given.judge, "judge"),
        appellate=of(given.appellate, "appellate_judge"),
        answer=of(given.answer, "answer"),
        model_timeout=given.model_timeout or (None if models is None else models.timeout),
        labels=memory.labels,
        config=memory.config,
        ignored=memory.ignored,
    )
    if settings.judge in (None, LEXICAL) and settings.appellate is not None:
        if given.appellate is not None or given.judge is None:
            raise RecallError("an appellate judge has no effect where no model judges; name a judge, or remove it")
        return replace(settings, appellate=None)  # `--judge lexical` in the place of a profile's models.
    if settings.appellate is not None and settings.appellate == settings.judge:
        raise RecallError(f"the appellate judge `{settings.appellate}` is the judge as well; name another model")
    return settings


def _persona(profile: Profile | None, root: Path, given: Given) -> tuple[PersonaPart, Path]:
    """Return the part about the persona, and its folder."""
    folder = _folder(profile, root, given)
    if profile is not None:
        part = profile.persona
        if given.folder is not None:
            part = part.model_copy(update={"id": Corpus(folder).persona.id})
    else:
        # Who names no story means the only one, as with the commands that write it.
        part = PersonaPart(id=given.persona or Corpus(folder).persona.id, arcs=story_name(folder, given.arcs))
    return part.model_copy(
        update={name: value for name, value in (("id", given.persona), ("arcs", given.arcs)) if value is not None}
    ), folder


def _folder(profile: Profile | None, root: Path, given: Given) -> Path:
    """Return the persona's folder."""
    if given.folder is not None:
        if given.data is not None or given.persona is not None:
            raise RecallError("--persona: names the persona's folder already; remove --data and --personas")
        if not given.folder.is_dir():
            if (own := shipped(str(given.folder))) is not None:
                return own
            known = [one.name for one in folders_in(given.folder.parent)]
            if len(given.folder.parts) == 1:
                known += get_close_matches(given.folder.name, [FERRY_OFFICE])
            told = nearest(given.folder.name, known) if known else "; `recall bench create-persona` makes one"
            raise RecallError(f"{given.folder}: no such folder{told}")
        return given.folder
    if given.data is not None:
        id = given.persona or (None if profile is None else profile.persona.id)
        if (given.data / PERSONA).is_file() or id is None:
            return given.data
        return persona_folder(given.data, id)
    if profile is None:
        raise RecallError("no persona is named; give --persona DIR, or --profile FILE")
    if given.persona not in (None, profile.persona.id):
        raise RecallError(f"--personas {given.persona}: the profile is of {profile.persona.id}; give --persona DIR")
    return root if profile.persona.dir is None else root / profile.persona.dir


def _below(root: Path, folder: Path, written: str | None) -> str | None:
    """Return a folder that is written from the profile's, or else from the persona's."""
    if written is None:
        return None
    return str(root / written) if (root / written).is_dir() and not (folder / written).is_dir() else written


class _NamedMemory(NamedTuple):
    """A memory's selector, labels for display, what it is made with, and what of the profile has no effect."""

    selector: str
    labels: Mapping[str, str] = MappingProxyType({})
    config: Mapping[str, Any] = MappingProxyType({})
    ignored: tuple[str, ...] = ()


def _memory(profile: Profile | None, given: Given) -> _NamedMemory:
    harness = None if profile is None else profile.harness
    if given.memory is None and harness is None:
        raise RecallError("no memory is named; give --memory SELECTOR, or `harness: {adapter: SELECTOR}`")
    selector = given.memory or (harness.adapter if harness else "")
    if _SCRIPT.search(selector):
        raise RecallError(
            f"{selector!r} is a JavaScript module, which is not loaded here; name the memory by a selector, such as"
            " sqlite-fts, grpc://HOST:PORT or python:FILE.py:NAME, in harness.adapter or with --memory"
        )
    if harness is None or given.memory is not None:
        return _NamedMemory(selector)
    labels = {name: str(harness.config[name]) for name in DISPLAYED if name in harness.config}
    ignored = []
    if harness.factory and _MODULE.fullmatch(selector):
        selector = f"{selector}:{harness.factory}"
    elif harness.factory:
        ignored = ["harness.factory"]
    if selector.startswith("python:"):
        return _NamedMemory(selector, labels, harness.config, tuple(ignored))
    ignored += [f"harness.config.{name}" for name in harness.config if name not in DISPLAYED]
    return _NamedMemory(selector, labels, ignored=tuple(ignored))


def _run(run: RunPart, given: Mapping[str, Any]) -> RunPart:
    """Return how the questions are asked: as given, else by the profile. Raises RecallError."""
    try:
        own = RunPart.model_validate(dict(given))
    except ValidationError as error:
        told = explain(error, RunPart, "", lambda path: 1)
        raise RecallError(*(_option(one.removeprefix(":1: ")) for one in told)) from None
    whole = run.model_copy(update={name: getattr(own, name) for name in own.model_fields_set})
    if whole.feed != "days" and whole.unit != "session":
        raise RecallError(f"unit: has no effect on {whole.feed}, each of which is told by itself; remove it")
    return whole


def _option(told: str) -> str:
    """Return what is told of a field as told of its option: judgeMemoryWindow is --judge-memory-window."""
    name, colon, rest = told.partition(":")
    if name == "parallelism":
        name = "concurrency"  # The published name of a field, and the option's everywhere.
    return "--" + _CAPITAL.sub(lambda match: f"-{match[0].lower()}", name) + colon + rest


def load_env(path: Path, environ: MutableMapping[str, str]) -> None:
    """Take in the variables of a file with lines `NAME=value`; those that are set stay. Raises RecallError."""
    for number, line in enumerate(read_text(path, str(path)).split("\n"), start=1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        match = _VARIABLE.fullmatch(text)
        if match is None:
            raise RecallError(f"{path}:{number}: is not a variable; write NAME=value")
        value = match[2].strip()
        if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'":
            value = value[1:-1]
        else:
            value = value.partition(" #")[0].rstrip()
        environ.setdefault(match[1], value)
