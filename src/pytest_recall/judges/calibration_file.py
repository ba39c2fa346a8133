"""Read and write the files of a calibration: `calibration.yaml`, labelled answers, and replies that were paid for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from pytest_recall.files import strict_yaml
from pytest_recall.files.coerce import typed
from pytest_recall.files.disk import read_text, write_text
from pytest_recall.files.errors import RecallError
from pytest_recall.files.json_lines import Appended, as_lines, objects, read_appended
from pytest_recall.files.validation import MAX_PROBLEMS, LineOf, explain, read_mapping
from pytest_recall.judges.calibration import Calibration, JudgeKey, Label
from pytest_recall.metrics.agreement import Confusion
from pytest_recall.models.model import Reply
from pytest_recall.replay.exchange import Tokens


class LabelLine(NamedTuple):
    """A label and the line that it is on, counted from 1."""

    label: Label
    line: int


def read_labels(path: Path, name: str) -> list[LabelLine]:
    """Return the labels in the file, which messages call `name`, in its order.

    Raises RecallError with one sentence for each line that is not a label, or has the id of another.
    """
    labels: list[LabelLine] = []
    problems: list[str] = []
    seen: dict[str, int] = {}
    for line, value, problem in objects(read_text(path, name)):
        if problem:
            problems.append(f"{name}:{line}: {problem}")
            continue
        try:
            label = Label.model_validate(value)
        except ValidationError as error:
            problems += explain(error, Label, name, _on(line))
            continue
        if label.id in seen:
            problems.append(f"{name}:{line}: id: `{label.id}` is already on line {seen[label.id]}; choose another")
        seen.setdefault(label.id, line)
        labels.append(LabelLine(label, line))
    if problems:
        raise RecallError(*problems[:MAX_PROBLEMS])
    if not labels:
        raise RecallError(f"{name}:1: has no labels; write one object per line, such as `recall judges audit` makes")
    return labels


def _word(label: object) -> object:
    return ("fail", "pass")[label] if isinstance(label, bool) else label


def _on(line: int) -> LineOf:
    return lambda _: line


def append_labels(path: Path, name: str, labels: Sequence[Mapping[str, Any]]) -> int:
    """Append those labels whose ids the file does not have; return how many.

    Raises RecallError for one that says something else than the file, and OSError; nothing is changed then.
    """
    text = read_text(path, name) if path.exists() else ""
    known = {str(value.get("id")): (line, _word(value.get("label"))) for line, value, _ in objects(text)}
    news = [label for label in labels if label["id"] not in known]
    problems = [
        f"{name}:{line}: `{label['id']}` is labelled {said!r}, and was graded {label['label']!r}; correct one of them"
        for label in labels
        if (line := known.get(label["id"], (0, None))[0]) and (said := known[label["id"]][1]) != label["label"]
    ]
    if problems:
        raise RecallError(*problems[:MAX_PROBLEMS])
    if news:
        joint = "\n" if text and not text.endswith("\n") else ""
        lines = as_lines(news)
        write_text(path, f"{text}{joint}{lines}")
    return len(news)


_Text = Annotated[str, Field(min_length=1)]
_Times = Annotated[int, Field(strict=True, ge=0)]
_Kappa = Annotated[float, Field(strict=True, ge=-1, le=1)]
_HEAD = """\
# How far judging models agree with people. Written by `recall judges calibrate --write`.
"""


class _Row(BaseModel):
    # A program writes the file; what a later version of it adds is passed over.
    model_config = ConfigDict(extra="ignore", frozen=True, defer_build=True)

    judge: _Text
    model: _Text
    version: _Text
    kappa: _Kappa
    n: Annotated[int, Field(strict=True, ge=1)]
    interval: tuple[_Kappa, _Kappa] | None = None
    labelled_passes: _Times | None = None
    false_passes: _Times | None = None
    false_fails: _Times | None = None
    threshold: Annotated[float, Field(strict=True, ge=0, le=1)] | None = None

    @property
    def labels(self) -> Confusion | None:
        """Who said what; None where not all of it is written."""
        passes, wrongly_passed, wrongly_failed = self.labelled_passes, self.false_passes, self.false_fails
        if passes is None or wrongly_passed is None or wrongly_failed is None:
            return None
        return Confusion(passes - wrongly_failed, wrongly_passed, self.n - passes - wrongly_passed, wrongly_failed)

    @model_validator(mode="after")
    def _counts_what_there_is(self) -> _Row:
        if self.labels is not None and min(self.labels) < 0:
            raise ValueError(
                f"{self.n} labels, of which {self.labelled_passes} are passes, leave no room for {self.false_passes}"
                f" false passes and {self.false_fails} false fails; calibrate the judge again"
            )
        return self


class _File(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, defer_build=True)

    judges: tuple[_Row, ...] = ()


def read_calibrations(path: Path, name: str) -> dict[JudgeKey, Calibration]:
    """Return the calibrations in `path` by judge, none if there is no file. Raises RecallError."""
    if not path.exists():
        return {}
    file = read_mapping(path, name, _File, "`judges:` and a list")
    return {
        JudgeKey(row.judge, row.model, row.version): Calibration(
            kappa=row.kappa,
            n=row.n,
            low=None if row.interval is None else row.interval[0],
            labels=row.labels,
            threshold=row.threshold,
        )
        for row in file.judges
    }


def write_calibrations(path: Path, name: str, rows: Iterable[Mapping[str, Any]]) -> None:
    """Put these rows into the file, each in the place of one of the same judge, model and version.

    The others stay as they are; all are sorted. The caller holds the lock. Raises RecallError for
    a file that cannot be read, and OSError; nothing is changed then.
    """
    before: dict[str, Any] = {}
    if path.exists():
        read_calibrations(path, name)
        before = strict_yaml.load(read_text(path, name), name)
    every = {_key(row): row for row in (*before.get("judges", ()), *rows)}
    rest = "".join(f"{field}: {strict_yaml.flow(value)}\n" for field, value in before.items() if field != "judges")
    lines = "".join(f"  - {_line(every[key])}\n" for key in sorted(every))
    write_text(path, f"{_HEAD}{rest}judges:\n{lines}", durable=True)


def _key(row: Mapping[str, Any]) -> JudgeKey:
    return JudgeKey(row["judge"], row["model"], row["version"])


def _line(row: Mapping[str, Any]) -> str:
    return "{" + ", ".join(f"{field}: {strict_yaml.flow(value)}" for field, value in row.items()) + "}"


class Replies:
    """The replies in an append-only file, by who was asked what; `fresh` begins without them.

    Without a file they are kept as long as the process.

    A process that is killed loses none that it had: each is written through as it comes. What
    several processes wrote stands side by side, and the last one counts.
    """

    def __init__(self, path: Path | None, *, fresh: bool = False) -> None:
        self.path = path
        self._kept: dict[str, Reply] = {}
        for line in [] if fresh or path is None else read_appended(path):
            try:
                self._kept[line["key"]] = _reply(line["reply"])
            except (KeyError, TypeError):
                continue  # It is asked again, which is what a cache may do.

    def find(self, key: str) -> Reply | None:
        """Return the reply that is kept under `key`, or None."""
        return self._kept.get(key)

    def keep(self, key: str, reply: Reply) -> None:
        """Keep a reply, also on the disk. Raises OSError."""
        self._kept[key] = reply
        if self.path is not None:
            with Appended(self.path) as file:
                file.append({"key": key, "reply": _plain(reply)})


def _plain(reply: Reply) -> dict[str, Any]:
    plain = asdict(reply)
    return plain | {"tokens": None if reply.tokens is None else reply.tokens._asdict()}


def _reply(plain: dict[str, Any]) -> Reply:
    tokens, stop = plain.get("tokens"), plain.get("stop", "end")
    if stop not in ("end", "length", "refused"):
        raise TypeError(f"stop: {stop!r} is unknown")
    return Reply(**typed(Reply, plain), stop=stop, tokens=None if tokens is None else Tokens(**typed(Tokens, tokens)))
