"""The built-in judges that ask no model: on text, numbers, schemas, passages and similarity."""

from __future__ import annotations

import inspect
import logging
import math
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Context, Decimal
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, NamedTuple
from urllib.parse import urljoin

from pytest_recall.cases.case import Case
from pytest_recall.cases.memory_part import Unit
from pytest_recall.files.errors import ArgumentError, RecallError, nearest
from pytest_recall.files.look import looks
from pytest_recall.files.strict_json import strict_json
from pytest_recall.files.wording import one_line
from pytest_recall.judges.look_alikes import difference
from pytest_recall.judges.written_numbers import MAX_DIGITS, DecimalMark, WrittenNumber, other_mark, written_numbers
from pytest_recall.metrics.abstention import abstains
from pytest_recall.metrics.answers import CATEGORIES, f1, locomo_f1
from pytest_recall.models.model import without_thinking
from pytest_recall.trials.evidence import UNNAMED, ranked
from pytest_recall.trials.trial import ANSWERED, UNJUDGED, Answer, Passage, Verdict


def exact(answer: str, expected: Any, *, ignore_case: bool = False) -> Verdict:
    """Pass if the answer is `expected`, white space trimmed and collapsed.

    ignore_case: take `A` for `a`. `expected` may be a list; one of it is enough.
    """
    accepted = [folded(text, ignore_case) for text in texts(expected)]
    if folded(answer, ignore_case) in accepted:
        return Verdict(passed=True, score=1.0)
    alike = difference(answer, texts(expected), whole=True)
    return Verdict(passed=False, score=0.0, reason=f"expected {_shown(expected)}, got {_quoted(answer)}{alike}")


def contains(
    answer: str,
    expected: Any = None,
    *,
    any: bool = False,
    ignore_case: bool = True,
    absent: str | list[str] | None = None,
) -> Verdict:
    """Pass if the answer contains every text of `expected` (one text or a list), white space collapsed.

    any: one of them is enough. ignore_case: take `A` for `a`. absent: texts that must not occur.
    """
    wanted = [] if expected is None else texts(expected)
    unwanted = [] if absent is None or absent == [] else texts(absent)
    if not all(text.strip() for text in (*wanted, *unwanted)):
        raise ArgumentError("an empty text is in every answer; remove it")
    if not wanted and not unwanted:
        raise ArgumentError("has nothing to look for; give `expected` or `absent`")
    given = folded(answer, ignore_case)
    missing = [text for text in wanted if folded(text, ignore_case) not in given]
    present = [text for text in unwanted if folded(text, ignore_case) in given]
    found = len(wanted) - len(missing)
    enough = not missing or (any and found > 0)
    if enough and not present:
        return Verdict(passed=True, score=1.0)
    problems = [] if enough else ["no " + (" or " if any else ", no ").join(_quoted(text) for text in missing)]
    problems += [f"{_quoted(text)} must not occur" for text in present]
    alike = "" if enough else difference(answer, missing, whole=False)
    return Verdict(passed=False, score=0.0, reason=f"{'; '.join(problems)} in {_quoted(answer)}{alike}")


def regex(answer: str, expected: str, *, ignore_case: bool = False, full: bool = False) -> Verdict:
    """Pass if the regular expression `expected` (Python's `re`) is found in the answer.

    ignore_case: take `A` for `a`. full: the whole answer must fit.
    """
    if not isinstance(expected, str):
        raise ArgumentError(f"`expected` must be a regular expression as text, not {expected!r}")
    try:
        pattern = re.compile(expected, re.IGNORECASE if ignore_case else 0)
    except re.error as error:
        raise ArgumentError(f"{expected!r} is not a regular expression: {error}") from None
    if pattern.fullmatch(answer.strip()) if full else pattern.search(answer):
        return Verdict(passed=True, score=1.0)
    look = looks(answer)
    alike = pattern.fullmatch(look) if full else pattern.search(look)
    points = difference(answer, [look], whole=True) if alike else ""
    return Verdict(passed=False, score=0.0, reason=f"/{expected}/ does not fit {_quoted(answer)}{points}")


def token_f1(answer: str, expected: Any) -> Verdict:
    """Score the words that the answer shares with `expected` (the best of a list), as F1 in 0..1.

    The threshold decides: of the call, the case, or the rubric; 0.5 where none is given. A denial shares most of its
    words with what it denies.
    """
    from pytest_recall.judges.words import words  # its patterns of scripts take long to compile

    references = texts(expected)
    if not all(map(words, references)):
        raise ArgumentError("the reference has no word to compare; use another judge")
    given = words(answer)
    score, reference = max((f1(given, words(reference)), reference) for reference in references)
    return Verdict(passed=None, score=score, reason=f"F1 {score:.2f} with {_quoted(reference)}, got {_quoted(answer)}")


def texts(expected: Any) -> list[str]:
    """Return `expected` as a list of texts; whole numbers become text.

    Raises ArgumentError for anything else: what was written of another number is not known, as 3.10 and 3.1 are one.
    """
    values = list(expected) if isinstance(expected, list | tuple) else [expected]
    if not values:
        raise ArgumentError("`expected` is an empty list; give at least one text")
    for value in values:
        if isinstance(value, float):
            raise ArgumentError(
                f"compares texts, and `expected` is the number {value!r}, which may have been written otherwise, as"
                " 3.10 is 3.1; write it in quotes, or use `numeric`"
            )
        if isinstance(value, bool) or not isinstance(value, str | int):
            raise ArgumentError(f"`expected` must be text or a list of texts, not {value!r}")
    return [str(value) for value in values]


def folded(text: str, ignore_case: bool = True) -> str:
    """Return `text` with its white space collapsed, and without case if that is to be ignored."""
    collapsed = " ".join(text.split())
    return collapsed.casefold() if ignore_case else collapsed


def _quoted(text: str) -> str:
    return f"“{one_line(text, 120)}”"


def _shown(expected: Any) -> str:
    return " or ".join(_quoted(text) for text in texts(expected))


MODEL = "l2_supercat"
DIMENSIONS = 256
NEEDS = "needs wordllama; run `pip install 'pytest-recall[similarity]'`"
_LOADING = threading.Lock()


def similarity(answer: str, expected: Any) -> Verdict:
    """Score how near the answer is in meaning to `expected` (the best of a list): the cosine of embeddings, 0..1.

    A small model compares words, not facts: `$2` and `$20`, or a sentence and its denial, are near.
    Needs `pytest-recall[similarity]`. The threshold decides; 0.5 where none is given.
    """
    references = _references(expected)
    words = model()
    score, reference = max((max(0.0, min(1.0, words.similarity(answer, one))), one) for one in references)
    near, got = f"“{one_line(reference, 120)}”", f"“{one_line(answer, 120)}”"
    return Verdict(passed=None, score=score, reason=f"similarity {score:.2f} with {near}, got {got}")


def rehearsed(answer: str, expected: Any) -> Verdict:
    """Score nothing, without loading the model. Raises ArgumentError for what `similarity` cannot judge by."""
    _references(expected)
    if find_spec("wordllama") is None:
        raise ArgumentError(NEEDS)
    return Verdict(passed=None, score=0.0)


def _references(expected: Any) -> list[str]:
    references = texts(expected)
    if not all(reference.strip() for reference in references):
        raise ArgumentError("`expected` is empty, and nothing is near to it; write some text")
    return references


def model() -> Any:
    """Return the embedding model of this process. Raises RecallError where it is not installed."""
    with _LOADING:  # Cases may be judged in several threads; it is loaded once.
        return _load()


@cache
def _load() -> Any:
    """Return the model, from the weights in the installed package alone. Raises RecallError without it."""
    root, ours = logging.getLogger(), logging.NullHandler()
    root.addHandler(ours)  # It sets up the logging of the process that imports it, unless there is a handler.
    try:
        import wordllama
    except ImportError:
        raise RecallError(NEEDS) from None
    finally:
        root.removeHandler(ours)
    # Named as the folder of what was fetched before, the package's own has all that is needed;
    # left to itself it looks for the tokenizer elsewhere, and would fetch it.
    folder = Path(wordllama.__file__).parent
    return wordllama.WordLlama.load(MODEL, cache_dir=folder, dim=DIMENSIONS, disable_download=True)


_SHOWN = 8
"""As many numbers of an answer are in a reason."""
_EXACTLY = Context(prec=4 * MAX_DIGITS)
"""No sum or product of two numbers that can be read is rounded."""


def numeric(
    answer: str,
    expected: float | str,
    *,
    tolerance: float = 0.0,
    relative: float = 0.0,
    pick: Literal["any", "first", "last"] = "any",
    decimal: DecimalMark = ".",
) -> Verdict:
    """Pass if a number in the answer equals `expected`, to the last digit, `1,250` and `1250` being the same.

    tolerance: how far off it may be. relative: the same as a share of `expected`.
    pick: which number of the answer counts, `any`, the `first` or the `last`.
    decimal: the decimal mark of the answer, and of an `expected` that is text, `.` or `,`; the other one groups
    thousands. A number in another notation is not read.
    """
    if decimal not in (".", ","):
        raise ArgumentError(f"decimal: {decimal!r} is unknown; known: `.` and `,`")
    wanted = _exact_number(expected, decimal)
    if pick not in ("any", "first", "last"):
        raise ArgumentError(f"pick: {pick!r} is unknown; known: any, first, last")
    for name, value in (("tolerance", tolerance), ("relative", relative)):
        if not value >= 0 or math.isinf(value):
            raise ArgumentError(f"{name}: {value!r} is no number from 0 up; give one")
    found = written_numbers(answer, decimal)
    candidates = found if pick == "any" else found[:1] if pick == "first" else found[-1:]
    allowed = max(Decimal(str(tolerance)), _EXACTLY.multiply(Decimal(str(relative)), abs(wanted)))
    lowest, highest = _EXACTLY.subtract(wanted, allowed), _EXACTLY.add(wanted, allowed)
    if any(number.value is not None and lowest <= number.value <= highest for number in candidates):
        return Verdict(passed=True, score=1.0)
    return Verdict(
        passed=False,
        score=0.0,
        reason=f"expected {expected}, got {_numbers_shown(candidates, str(expected), answer, decimal, pick)}"
        f" in {_quoted(answer)}",
    )


def _exact_number(expected: Any, decimal: DecimalMark) -> Decimal:
    """Return the number that is expected, as it is written. Raises ArgumentError."""
    if isinstance(expected, int | float) and not isinstance(expected, bool) and math.isfinite(expected):
        return Decimal(str(expected))
    advice = ""
    if isinstance(expected, str):
        match written_numbers(expected, decimal):
            case [WrittenNumber(text, Decimal() as value)] if text == expected.strip():
                return value
            case [WrittenNumber(_, Decimal() as value)]:
                advice = f"; write {value:f}"
        match written_numbers(expected, other_mark(decimal)):
            case [WrittenNumber(_, Decimal() as value)] if not advice:
                advice = f"; write {value:f}"
    raise ArgumentError(f"`expected` must be a number, not {expected!r}{advice}")


def _numbers_shown(found: Sequence[WrittenNumber], expected: str, answer: str, decimal: DecimalMark, pick: str) -> str:
    """Return the numbers as they are written, with the value of one that is written as what is `expected`."""
    values = {number.text: number.value for number in found if number.value is not None}
    read = [f"{text}, which is {value:f} here" if text == expected else text for text, value in values.items()]
    one = "the number" if pick == "any" else f"the {pick} number"
    shown = f"{'numbers' if len(read) > 1 else one} {', '.join(read[:_SHOWN])}" if read else "no number"
    unread = next((number.text for number in found if number.value is None), None)
    if unread is None:
        return shown
    other = other_mark(decimal)
    would = all(number.value is not None or number.text != unread for number in written_numbers(answer, other))
    return f"{shown} and {_quoted(unread)}, which is no number " + (
        f'where `{decimal}` is the decimal mark (`decimal: "{other}"` reads it)' if would else "that can be read"
    )


_FENCE = re.compile(r"\A\s*```(?:json)?\s*\n(.*?)\n\s*```\s*\Z", re.DOTALL)


def json_schema(
    answer: str, expected: Any = None, *, schema: dict[str, Any] | None = None, formats: bool = False
) -> Verdict:
    """Pass if the answer is JSON that fits the JSON Schema `expected` (or `schema`), 2020-12 unless it says.

    A Markdown code fence around the JSON is taken off. NaN, Infinity, a number that no double holds and a key twice are
    not JSON. References are resolved within the schema only: nothing is fetched. A keyword that JSON Schema does not
    have is a mistake, unless it begins with `x-`.

    formats: `format` has to fit as well, as any draft knows it; without, it says nothing, as the specification has it.
    """
    try:
        from jsonschema import validators
        from jsonschema.exceptions import SchemaError, best_match
        from referencing import Registry
        from referencing.exceptions import Unresolvable
    except ModuleNotFoundError:
        raise ArgumentError("needs the jsonschema package; install `pytest-recall[jsonschema]`") from None
    wanted = schema if schema is not None else expected
    if not isinstance(wanted, dict | bool):
        raise ArgumentError("needs a JSON Schema; give a mapping as `expected` or `schema`")
    kind = validators.validator_for(wanted, default=validators.Draft202012Validator)
    try:
        kind.check_schema(wanted)  # type: ignore[arg-type]  # a bool is a schema too
    except SchemaError as error:
        raise ArgumentError(f"the schema is not valid: {error.message}") from None
    checker = _checked_keywords(wanted, kind, formats=formats)
    fenced = _FENCE.match(answer)
    try:
        value = strict_json(fenced[1] if fenced else answer)
    except (ValueError, RecursionError) as error:
        return Verdict(passed=False, score=0.0, reason=f"not JSON ({error}): “{one_line(answer, 120)}”")
    try:
        # An empty registry: without one, the validator would fetch what a reference points to.
        problem = best_match(kind(wanted, registry=Registry(), format_checker=checker).iter_errors(value))
    except RecursionError:  # The readers of Python from 3.12 on take more levels than a validator.
        return Verdict(passed=False, score=0.0, reason=f"nested too deep: “{one_line(answer, 120)}”")
    except Unresolvable as error:
        raise ArgumentError(f"the schema refers to {error.ref!r}, which is not in it; write it out") from None
    if problem is None:
        return Verdict(passed=True, score=1.0)
    return Verdict(passed=False, score=0.0, reason=f"{problem.json_path}: {one_line(problem.message)}")


_FORMATS = frozenset(
    {
        *("color", "date", "date-time", "duration", "email", "hostname", "idn-email", "idn-hostname", "ipv4", "ipv6"),
        *("iri", "iri-reference", "json-pointer", "regex", "relative-json-pointer", "time", "uri", "uri-reference"),
        *("uri-template", "uuid"),
    }
)
"""The formats of JSON Schema, of all drafts, that a package checks, if it is installed."""


@cache
def _dialect(kind: Any) -> tuple[str, frozenset[str]]:
    """Return the URI of the dialect that a class of validators is of, and its keywords."""
    from jsonschema_specifications import REGISTRY  # type: ignore[import-untyped]

    dialect = kind.META_SCHEMA.get("$id") or kind.META_SCHEMA["id"]
    vocabularies = [REGISTRY.contents(urljoin(dialect, part["$ref"])) for part in kind.META_SCHEMA.get("allOf", ())]
    return dialect, frozenset(name for part in (kind.META_SCHEMA, *vocabularies) for name in part.get("properties", ()))


def _checked_keywords(schema: dict[str, Any] | bool, kind: Any, *, formats: bool) -> Any:
    """Return what checks formats, None without; raise ArgumentError for what nothing checks though it stands there."""
    from jsonschema import FormatChecker

    checker = FormatChecker()
    dialect, known = _dialect(kind)
    problems: list[str] = []
    for part in _subschemas(schema, dialect):
        for name in part:
            if name not in known and not name.startswith("x-"):
                problems.append(f"`{name}` in the schema is no keyword of JSON Schema{nearest(name, known)}")
        written = part.get("format")
        if formats and written is not None and written not in checker.checkers:
            advice = nearest(str(written), checker.checkers)
            if written in _FORMATS:
                advice = "; run `pip install 'jsonschema[format-nongpl]'`, or take `formats` away"
            problems.append(f"formats: `{written}` cannot be checked here{advice}")
    if problems:
        raise ArgumentError("; ".join(dict.fromkeys(problems)))
    return checker if formats else None


def _subschemas(schema: Any, dialect: str) -> Iterator[dict[str, Any]]:
    """Yield a JSON Schema and all that are in it; a property with the name of a keyword is none."""
    from referencing.jsonschema import specification_with

    resources = [specification_with(dialect).create_resource(schema)]
    while resources:
        resource = resources.pop()
        if isinstance(resource.contents, dict):
            yield resource.contents
        resources += resource.subresources()


def formats_in(schema: Any) -> list[str]:
    """Return what a JSON Schema has under the keyword `format`."""
    try:
        from jsonschema import validators
    except ModuleNotFoundError:
        return []
    if not isinstance(schema, dict):
        return []
    dialect, _ = _dialect(validators.validator_for(schema, default=validators.Draft202012Validator))
    return [str(part["format"]) for part in _subschemas(schema, dialect) if "format" in part]


def recall_at_k(
    answer: Answer, case: Case, *, k: int | None = None, evidence: str | list[str] | None = None
) -> Verdict:
    """Score the fraction of the case's `evidence` that is found among the first `k` passages, 0..1.

    An id of what the case stores, of a fact, a turn or a session, is found by a passage with that source, or
    by one that contains the whole text of that fact or turn; for a session one turn is enough. Another id is
    found by a passage with that source. Any other text is found by a passage that contains it, white space
    collapsed and case ignored. k: how many passages count; without it, all. The threshold decides.
    """
    if k is not None and (isinstance(k, bool) or not isinstance(k, int) or k < 1):
        raise ArgumentError(f"`k` is {k!r}; give a number of passages from 1 up")
    wanted = texts(evidence) if evidence is not None else list(case.evidence or ())
    if not wanted or not all(one.strip() for one in wanted):
        raise ArgumentError("needs `evidence`; list ids or texts in the case or as an argument")
    units = () if case.memory is None else case.memory.units
    first = answer.passages[:k]
    missing = [one for one in wanted if not _is_found(one, first, units)]
    score = (len(wanted) - len(missing)) / len(wanted)
    reason = f"{len(wanted) - len(missing)} of {len(wanted)} pieces of evidence in {len(first)} passages"
    if missing:
        reason += f", without “{one_line(missing[0], 80)}”"
    return Verdict(passed=None, score=score, reason=reason)


def _is_found(wanted: str, passages: Sequence[Passage], units: Sequence[Unit]) -> bool:
    known = {unit.id: unit.content for unit in units if wanted in (unit.id, unit.home)}
    if known:
        wholes = [folded(content) for content in known.values()]
        return any(
            passage.source in known
            or passage.source == wanted
            or any(whole in folded(passage.text) for whole in wholes)
            for passage in passages
        )
    sought = folded(wanted)
    return any(passage.source == wanted or sought in folded(passage.text) for passage in passages)


_NUMBERS = {name: number for number, name in CATEGORIES.items()}
LOWEST_F1 = 0.5


def benchmark(
    answer: Answer, case: Case, *, dataset: str = "", unanswerable: bool = False, threshold: float | None = None
) -> Verdict:
    """Score a memory on a question of a dataset, 0..1: by its answer, or, if it returns passages alone, by these.

    An answer to LoCoMo by its F1 for the category, which has to be 0.5; to another dataset by whether it
    contains the `expected` one. Passages by the fraction of the `evidence` among them, which has to be all
    of it; without evidence by whether they contain what is expected. Of an `unanswerable` question, whether the
    answer abstains. threshold: the lowest passing score in place of these.
    """
    answered = answer.usage.get(ANSWERED, 1) != 0
    if unanswerable:
        if not answered:
            raise ArgumentError(UNJUDGED)
        did = abstains(answer.text, dataset)
        return Verdict(passed=did, score=float(did), reason="" if did else "it should have said that it does not know")
    if answered:
        if case.expected is None:
            raise ArgumentError("the dataset has no answer to compare with; leave the question out")
        if dataset == "locomo" and case.dimension in _NUMBERS:
            number = _NUMBERS[case.dimension]
            score = max(locomo_f1(answer.text, gold, number) for gold in texts(case.expected))
            return _decided(score, LOWEST_F1 if threshold is None else threshold, f"LoCoMo's F1 is {score:.2f}")
        return contains(answer.text, case.expected)
    if not case.evidence:
        if case.expected is None:
            raise ArgumentError("the dataset has neither an answer nor evidence; leave the question out")
        return contains(answer.text, case.expected)
    units = () if case.memory is None else case.memory.units
    if answer.passages and ranked(answer.passages, units, case.evidence) is None:
        raise ArgumentError(UNNAMED)
    found = recall_at_k(answer, case)
    return _decided(found.score or 0.0, 1.0 if threshold is None else threshold, found.reason)


def _decided(score: float, threshold: float, reason: str) -> Verdict:
    passed = score >= threshold
    return Verdict(passed=passed, score=score, reason=reason if passed else f"{reason}, below {threshold:g}")


_SKIPS = "skip_thinking"


def on_text(check: Callable[..., Verdict]) -> Callable[..., Verdict]:
    """Return the judge that gives `check` the answer's text and the case's `expected`.

    A judge is a callable `(answer, case, **arguments)`; `check` is one of the pure
    functions `(text, expected, **arguments)`. Its arguments stay visible in the signature. With `skip_thinking` the
    `<think>…</think>` that the answer begins with is not judged.
    """
    parameters = list(inspect.signature(check).parameters.values())[1:]
    required = parameters[0].default is inspect.Parameter.empty

    def judge(answer: Answer, case: Case, **arguments: Any) -> Verdict:
        expected = arguments.pop("expected", case.expected)
        text = without_thinking(answer.text) if arguments.pop(_SKIPS, False) else answer.text
        if expected is None and required:
            raise ArgumentError("needs `expected`; give it in the case or as an argument")
        return check(text, expected, **arguments)

    leading = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in ("answer", "case")]
    keywords = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in parameters]
    keywords.append(inspect.Parameter(_SKIPS, inspect.Parameter.KEYWORD_ONLY, default=False))
    judge.__signature__ = inspect.Signature(leading + keywords)  # type: ignore[attr-defined]
    judge.__doc__ = check.__doc__
    return judge


class TextJudge(NamedTuple):
    """A built-in judge of the text of an answer."""

    check: Callable[..., Verdict]
    """Called as `(text, expected, **arguments)`."""
    rehearsal: Callable[..., Verdict] | None = None
    """The same without what takes long to load; None where nothing does."""
    is_whole: bool = False
    """Whether it holds an answer against `expected` as a whole, so that the answer itself can take its place."""
    instead: tuple[str, ...] = ("expected",)
    """The arguments with one of which it does not look at the case's `expected`."""

    @property
    def rehearsed(self) -> Callable[..., Verdict]:
        """The judge as it is called of a case, before any answer."""
        return on_text(self.rehearsal or self.check)


TEXT_JUDGES: Mapping[str, TextJudge] = {
    "exact": TextJudge(exact, is_whole=True),
    "contains": TextJudge(contains),
    "regex": TextJudge(regex),
    "token_f1": TextJudge(token_f1, is_whole=True),
    "json_schema": TextJudge(json_schema, instead=("expected", "schema")),
    "numeric": TextJudge(numeric, is_whole=True),
    "similarity": TextJudge(similarity, rehearsed),
}
"""The built-in judges of text, by name; each has a fixture in `plugin.fixtures`."""
