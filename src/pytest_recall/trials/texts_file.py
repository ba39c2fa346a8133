"""Write `texts.jsonl` beside a journal: each text of passages, evidence and answers once, by its digest.

A memory returns the same texts for many questions. In the journal a passage or a text of evidence has `at`, a digest,
in place of `text`, a long answer `parts`, the digests of its paragraphs, and a long step `at` in place of `data`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import IO, Any

from pytest_recall.files.disk import check_link, naming, read_text
from pytest_recall.files.errors import RecallError
from pytest_recall.files.json_lines import line_problem

NAME = "texts.jsonl"
SHORT = 40
"""Characters up to which a text stays in the line itself."""
EVIDENCE = "evidence"
"""The kind of the step of a trial that has the texts of its question's evidence."""
_BETWEEN = "\n\n"
_DIGITS = 24
_LONG_STEP = 1000


def digest_of(text: str) -> str:
    """Return 96 bits of the SHA-256 of a text, in hexadecimal."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]


def read_texts(folder: Path) -> dict[str, str]:
    """Return the texts beside the journal in `folder` by digest, none where there is no such file. Raises RecallError.

    A last line that was cut off is left out: the line of the journal that names it was never written.
    """
    path = folder / NAME
    if not path.exists():
        return {}
    *lines, _ = read_text(path, whole_lines=True).split("\n")
    found: dict[str, str] = {}
    for number, line in enumerate(lines, start=1):
        try:
            record = json.loads(line)
            text = record["text"]
            if record["at"] != digest_of(text):
                raise ValueError("the text is not the one that its digest names")
            found[record["at"]] = text
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise RecallError(
                f"{path}:{number}: not a text ({line_problem(error)}); restore the file or delete the run"
            ) from None
    return found


class TextsFile:
    """The file of texts of a journal that is being written. Raises OSError."""

    def __init__(self, folder: Path, *, fresh: bool) -> None:
        path = folder / NAME
        check_link(folder, path)
        if fresh:
            path.unlink(missing_ok=True)
        self._path = path
        self._known = set(read_texts(folder))
        self._file: IO[bytes] = path.open("ab+")
        self._file.seek(0)
        self._file.truncate(self._file.read().rfind(b"\n") + 1)

    def close(self) -> None:
        """Let go of the file."""
        with naming(self._path):
            self._file.close()

    def kept(self, trial: dict[str, Any]) -> dict[str, Any]:
        """Return the trial, as plain JSON types, with digests in place of its texts, which are in the file then."""
        with naming(self._path):
            return self._kept(trial)

    def _kept(self, trial: dict[str, Any]) -> dict[str, Any]:
        answer = trial.get("answer")
        if answer is None:
            return trial
        plain = {**answer}
        if len(answer["text"]) > SHORT:
            del plain["text"]
            plain["parts"] = [self._at(part) for part in answer["text"].split(_BETWEEN)]
        if "passages" in answer:
            plain["passages"] = [self._passage(one) for one in answer["passages"]]
        found = {**trial, "answer": plain}
        if "steps" in trial:
            found["steps"] = [self._step(one) for one in trial["steps"]]
        self._file.flush()
        return found

    def _step(self, plain: dict[str, Any]) -> dict[str, Any]:
        if plain["kind"] == EVIDENCE and "texts" in plain["data"]:
            plain = {**plain, "data": {**plain["data"], "texts": [*map(self._passage, plain["data"]["texts"])]}}
        # A memory that returns all that it was told has the same long list for each question.
        data = json.dumps(plain["data"])
        return plain if len(data) <= _LONG_STEP else {"kind": plain["kind"], "at": self._at(data)}

    def _passage(self, plain: dict[str, Any]) -> dict[str, Any]:
        text = plain["text"]
        if len(text) <= SHORT:
            return plain
        return {"at": self._at(text), **{name: value for name, value in plain.items() if name != "text"}}

    def _at(self, text: str) -> str:
        digest = digest_of(text)
        if digest not in self._known:
            self._file.write(json.dumps({"at": digest, "text": text}).encode() + b"\n")
            self._known.add(digest)
        return digest


def restored(trial: dict[str, Any], texts: Mapping[str, str]) -> dict[str, Any]:
    """Return a line of a journal with the texts that its digests name. Raises ValueError for one that is not there."""
    answer = trial.get("answer")
    if not isinstance(answer, Mapping):
        return trial
    plain = dict(answer)
    if "parts" in plain:
        plain["text"] = _BETWEEN.join(_text(digest, texts) for digest in plain.pop("parts"))
    plain["passages"] = _with_texts(answer.get("passages", ()), texts)
    return {**trial, "answer": plain, "steps": [_restored_step(one, texts) for one in trial.get("steps", ())]}


def _restored_step(step: dict[str, Any], texts: Mapping[str, str]) -> dict[str, Any]:
    if "at" in step:
        step = {"kind": step["kind"], "data": json.loads(_text(step["at"], texts))}
    if step["kind"] == EVIDENCE and "texts" in step["data"]:
        step = {**step, "data": {**step["data"], "texts": _with_texts(step["data"]["texts"], texts)}}
    return step


def _with_texts(plain: Iterable[dict[str, Any]], texts: Mapping[str, str]) -> list[dict[str, Any]]:
    return [_with_text(one, texts) if "at" in one else one for one in plain]


def _with_text(plain: dict[str, Any], texts: Mapping[str, str]) -> dict[str, Any]:
    found = {**plain, "text": _text(plain["at"], texts)}
    del found["at"]
    return found


def _text(digest: Any, texts: Mapping[str, str]) -> str:
    if digest not in texts:
        raise ValueError(f"the text {digest!r} is not in {NAME}")
    return texts[digest]
