"""promptfoo: what a config says is in a case, or said to be left out."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_recall.cases.imports import Document, ImportedSet, ImportOptions
from pytest_recall.extensions.importers import deepeval, inspect_ai, promptfoo
from pytest_recall.extensions.importers.promptfoo_tests import cell_assertion, row_test
from pytest_recall.extensions.importers.templates import NotPlainError, fill
from pytest_recall.files.errors import RecallError
from tests.extensions.importers.sources import documented, left
from tests.helpers.samples import costly, unhurried


def made(config: dict[str, Any], **wanted: Any) -> ImportedSet:
    """Return what becomes of a config."""
    return promptfoo.convert(documented(config), ImportOptions(**wanted))


SIX = {"type": "icontains", "value": "six"}


def test_each_prompt_and_combination_is_a_case() -> None:
    config = {
        "prompts": [{"raw": "A {{x}}{{y}}", "label": "one"}, {"raw": "B {{x}}", "label": "two"}],
        "tests": [{"description": "Sum", "vars": {"x": ["1", "2"], "y": 3}, "assert": [SIX]}],
    }
    found = made(config)
    rows = [(case.id, case.row["input"]) for case in found.cases]
    assert rows == [("sum-1-one", "A 13"), ("sum-2-one", "A 23"), ("sum-1-two", "B 1"), ("sum-2-two", "B 2")]
    assert (found.found, left(found)) == (4, [])


def test_prompts_are_read_from_files() -> None:
    files: dict[str, Any] = {"a.txt": "A {{x}}\n---\nB\n", "b.json": {"ask": "{{x}}"}, "c.md": "see file://d"}

    def read(path: str, beside: Document) -> Document:
        return documented(files[path], path)

    config = {"prompts": ["file://a.txt", "b.json", "c.md", "d.py"], "tests": [{"vars": {"x": "1"}, "assert": [SIX]}]}
    found = promptfoo.convert(documented(config, files=read), ImportOptions())
    asked = [case.row["input"] for case in found.cases]
    assert asked == ["A 1", "B", '{"ask":"1"}', {"x": "1"}, {"x": "1"}]
    assert left(found) == ["the prompt `c.md`", "the prompt `d.py`"]


def test_a_test_inherits_and_may_choose_its_prompts() -> None:
    config = {
        "prompts": [{"raw": "A {{x}}", "label": "one"}, {"raw": "B", "label": "two"}],
        "evaluateOptions": {"repeat": 3},
        "defaultTest": {"vars": {"x": "default"}, "assert": [SIX], "options": {"prefix": "Hi. "}},
        "tests": [{"prompts": ["one"]}, {"prompts": ["t*"], "vars": {"x": "own"}}],
    }
    rows = [dict(case.row) for case in made(config).cases]
    assert [(row["input"], row["trials"]) for row in rows] == [("Hi. A default", 3), ("Hi. B", 3)]
    assert all(row["judges"] == [{"contains": "six"}] for row in rows)


@pytest.mark.parametrize(
    ("more", "what"),
    [
        ({"redteam": {}}, ["`redteam`"]),
        ({"evaluateOptions": {"repeat": 0}}, ["`evaluateOptions.repeat`"]),
        ({"evaluateOptions": {"maxConcurrency": 4}}, []),
        ({"defaultTest": "file://words.txt"}, ["`defaultTest`"]),
        ({"defaultTest": "file://default.yaml"}, []),
    ],
)
def test_what_of_a_config_is_left_out_is_said(more: dict[str, Any], what: list[str]) -> None:
    files: dict[str, Any] = {"default.yaml": {"vars": {"y": "from a file"}}, "words.txt": "words"}

    def read(path: str, beside: Document) -> Document:
        return documented(files[path], path)

    config = {"prompts": ["A {{x}} {{y}}"], "tests": [{"vars": {"x": "1", "y": "own"}, "assert": [SIX]}], **more}
    found = promptfoo.convert(documented(config, files=read), ImportOptions())
    assert ([case.row["input"] for case in found.cases], left(found)) == (["A 1 own"], what)


def test_values_are_read_from_files_and_schemas_from_texts() -> None:
    files: dict[str, Any] = {"x.txt": "six \n", "y.yaml": {"a": [1, "é"]}}

    def read(path: str, beside: Document) -> Document:
        return documented(files[path], path)

    asserts = [{"type": "is-json", "value": '{"type": "array"}'}, {**SIX, "weight": 2}]
    test = {"vars": {"x": "file://x.txt", "y": "file://y.yaml"}, "assert": asserts}
    found = promptfoo.convert(documented({"prompts": ["{{x}} {{y}}"], "tests": [test]}, files=read), ImportOptions())
    [case] = found.cases
    assert case.row["input"] == 'six {"a":[1,"é"]}'
    assert case.row["judges"][0]["json_schema"]["schema"]["type"] == "array"
    assert [remark.what for remark in found.remarks] == ["the assertion `is-json`", "`weight`"]


def test_too_many_combinations_are_refused_before_they_are_made() -> None:
    many = [str(number) for number in range(150)]
    with pytest.raises(RecallError, match=r"^config\.yaml:1: makes 22,500 cases of its variables; import it in parts$"):
        made({"prompts": ["{{x}}{{y}}"], "tests": [{"vars": {"x": many, "y": many}, "assert": [SIX]}]})


def test_messages_become_turns_or_stay_a_mapping() -> None:
    reply = '{"role": "assistant", "content": "Yes?"}'
    said = '[{"role": "user", "content": "{{x}}"}, ' + reply + ', {"role": "user", "content": "B"}]'
    system = '[{"role": "system", "content": "Be brief"}, {"role": "user", "content": "{{x}}"}]'
    found = made({"prompts": [said, system], "tests": [{"vars": {"x": 'say "A"'}, "assert": [SIX]}]})
    first, second = (case.row for case in found.cases)
    assert first["turns"] == [{"user": 'say "A"', "assistant": "Yes?"}, "B"]
    assert second["input"]["messages"][1] == {"role": "user", "content": 'say "A"'}


def test_messages_with_a_prefix_are_left_to_the_agent() -> None:
    said = '[{"role": "user", "content": "{{x}}"}]'
    found = made({"prompts": [said], "tests": [{"vars": {"x": "A"}, "options": {"prefix": "Hi. "}, "assert": [SIX]}]})
    assert (found.cases[0].row["input"], left(found)) == ({"x": "A"}, [])
    assert [remark.what for remark in found.remarks] == ["a prompt that is more than `{{ name }}`"]


@pytest.mark.parametrize(
    ("test", "what"),
    [
        ({"threshold": 0.5}, "`threshold` of a test"),
        ({"assertScoringFunction": "file://x.js"}, "`assertScoringFunction` of a test"),
        ({"options": {"transform": "output.trim()"}}, "`options.transform`"),
        ({"options": {"provider": "x"}}, "`options.provider`"),
        ({"assert": [SIX, {"type": "icontains", "value": "{{ x | upper }}"}]}, "the assertion `icontains`"),
        ({"assert": [SIX, {**SIX, "weight": 0}]}, "the assertion `icontains` of weight 0"),
        ({"assert": [SIX, {**SIX, "transform": "x"}]}, "the assertion `icontains` with `transform`"),
        (
            {"assert": [SIX, {"type": "assert-set", "threshold": 0.5, "assert": [SIX]}]},
            "an `assert-set` with a threshold",
        ),
        ({"assert": [SIX, {"value": "six"}]}, "an assertion without a `type`"),
        ({"assert": [SIX, {"type": "is-json", "value": "file://../x.json"}]}, "the assertion `is-json`"),
        ({"assert": [{**SIX, "metric": "a"}, {**SIX, "metric": "b"}]}, "names of `metric`"),
        ({"assert": [{**SIX, "provider": "x"}]}, "`provider` of an assertion"),
        ({"assert": [SIX, {"type": "similar", "value": "six", "threshold": 2}]}, "the assertion `similar`"),
        ({"assert": [SIX, {"type": "latency", "threshold": 5000}]}, "the assertion `latency`"),
        ({"assert": [SIX, {"$ref": "#/nothing/there"}]}, "an assertion without a `type`"),
    ],
)
def test_what_of_a_test_is_left_out_is_said(test: dict[str, Any], what: str) -> None:
    found = made({"prompts": ["{{x}}"], "tests": [{"vars": {"x": "1"}, "assert": [SIX], **test}]})
    assert (len(found.cases), left(found)) == (1, [what])


@pytest.mark.parametrize(
    ("test", "what"),
    [
        ({"vars": {"x": "file://../secret"}}, "the variable `x` is in a file that is not read"),
        ({"vars": "file://vars.yaml"}, "`vars` that are not a mapping"),
        ({"options": {"transformVars": "x"}}, "`options.transformVars`, which is code"),
        ({"vars": {"x": " "}}, "asks nothing"),
        ({"assert": []}, "does not say how it is judged"),
        ({"assert": SIX}, "does not say how it is judged"),
        ({"assert": [{"type": "javascript", "value": "true"}]}, "none of its assertions has an equal here"),
        ({"vars": {"x": "\ud800"}}, "half a character, which no file can hold"),
        (None, "is not a mapping"),
    ],
)
def test_what_is_no_case_is_said(test: Any, what: str) -> None:
    given = test if test is None else {"vars": {"x": "1"}, "assert": [SIX], **test}
    found = made({"prompts": ["{{x}}"], "tests": [given]})
    assert (found.cases, found.found, [r.what for r in found.remarks if r.whole]) == ([], 1, [what])


@pytest.mark.parametrize(
    ("tests", "what"),
    [
        (["https://example.org/sheet"], "the tests of `https://example.org/sheet`"),
        ("file://tests.py", "the tests of `file://tests.py`"),
        ([{"path": "file://gen.js", "config": {}}], "the tests of `file://gen.js`"),
        ("../tests.csv", "the tests of `../tests.csv`"),
    ],
)
def test_lists_that_are_not_read_are_said(tests: Any, what: str) -> None:
    assert left(made({"prompts": ["a"], "tests": tests})) == [what]


def test_a_file_that_holds_no_list_has_no_tests() -> None:
    config = {"prompts": ["a"], "tests": "file://tests.yaml"}
    document = documented(config, files=lambda path, _: documented({}, path))
    found = promptfoo.convert(document, ImportOptions())
    [remark] = found.remarks
    assert (remark.what, remark.advice) == (
        "the tests of `file://tests.yaml`",
        "the file is not a list of tests; write one",
    )


@pytest.mark.parametrize(
    ("cell", "assertion"),
    [
        ("six", {"type": "equals", "value": "six"}),
        ("equals:six", {"type": "equals", "value": "six"}),
        ("not-icontains: six", {"type": "not-icontains", "value": "six"}),
        ("contains-any: a, b", {"type": "contains-any", "value": ["a", "b"]}),
        ("similar(0.9):six", {"type": "similar", "value": "six", "threshold": 0.9}),
        ("similar:six", {"type": "similar", "value": "six", "threshold": 0.8}),
        ("is-json", {"type": "is-json", "value": None}),
        ("grade: is polite", {"type": "llm-rubric", "value": " is polite"}),
        ("fn:output", {"type": "javascript", "value": "output"}),
        ("file://check.py", {"type": "python", "value": "file://check.py"}),
        ("note: six", {"type": "equals", "value": "note: six"}),
    ],
)
def test_an_assertion_in_a_cell(cell: str, assertion: dict[str, Any]) -> None:
    assert cell_assertion(cell) == assertion


def test_columns_with_two_underscores_say_more() -> None:
    row = {
        "x": "1",
        "__expected1": "similar:a",
        "__config:__expected1:threshold": "0.4",
        "__metric": "facts",
        "__metadata:tags[]": "a, b",
        "__config:__expected2:threshold": "often",
        "__threshold": "0.5",
        "__prefix": "Hi. ",
        "__suffix": "",
        "__odd": "?",
    }
    assert row_test(row) == {
        "vars": {"x": "1"},
        "options": {"prefix": "Hi. "},
        "metadata": {"tags": ["a", "b"]},
        "assert": [{"type": "similar", "value": "a", "threshold": 0.4, "metric": "facts"}],
        "threshold": "0.5",
        "column __odd": "?",
    }


def test_templates_name_variables_and_no_more() -> None:
    assert fill("{{a}} {{ b }}{{c}}", {"a": "<{{b}}>", "b": 2.0}) == "<2> 2"
    for text in ("{{ a | upper }}", "{% if a %}", "{{a.b}}", "{{- a }}", "{# no #}", "{{l}}", "{{r}}"):
        with pytest.raises(NotPlainError):
            fill(text, {"l": ["x"], "r": "{{r}}"})


@pytest.mark.parametrize("kept", ["{{customer}}", "{{ a.b }}", "{% if x %}", "{# no #}"])
def test_what_a_value_holds_beside_names_of_variables_stays(kept: str) -> None:
    """promptfoo 0.121 puts values into values by their names, and into prompts by Nunjucks."""
    assert fill("To {{who}}: {{missing}}.", {"who": f"{kept} {{{{name}}}}", "name": "Ann"}) == f"To {kept} Ann: ."


def test_the_text_of_a_file_is_trimmed() -> None:
    def read(reference: str, beside: Document) -> Document:
        return documented(" seven days\n\n", reference)

    tests = [{"vars": {"q": "x"}, "assert": [{"type": "equals", "value": "file://words.txt"}]}]
    [carried] = promptfoo.convert(documented({"prompts": ["{{q}}"], "tests": tests}, files=read), ImportOptions()).cases
    assert carried.row["expected"] == "seven days"


def test_a_reference_within_the_config_is_followed() -> None:
    found = made(
        {
            "prompts": ["a"],
            "assertionTemplates": {"s": SIX},
            "tests": [{"assert": [{"$ref": "#/assertionTemplates/s"}]}],
        }
    )
    assert found.cases[0].row["judges"] == [{"contains": "six"}]


# Whatever it holds

WORDS = st.sampled_from(
    ["six", "{{x}}", "{% x %}", "file://a", "contains", "icontains", "equals", "regex", "[", "", "0.5"]
)
KEYS = st.sampled_from(
    [
        *("x", "prompts", "tests", "vars", "assert", "type", "value", "threshold", "weight", "metric", "options"),
        *("prefix", "metadata", "tags", "description", "config", "path", "label", "raw", "id", "input", "target"),
        *("choices", "turns", "scenario", "role", "content", "name", "epochs", "expectations", "must", "context"),
        *("$ref", "expected_output"),
    ]
)
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 9) | st.floats(allow_nan=False, allow_infinity=False) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)
TESTS = st.lists(st.fixed_dictionaries({"vars": PLAIN, "assert": PLAIN, "options": PLAIN}) | PLAIN, max_size=3)


@costly
@given(st.fixed_dictionaries({"prompts": PLAIN, "tests": TESTS, "scenarios": PLAIN, "defaultTest": PLAIN}))
def test_whatever_a_config_holds_every_test_is_a_case_or_said(config: dict[str, Any]) -> None:
    try:
        found = made(config, judges=("token_f1",))
    except RecallError:
        return
    assert found.found == len(found.cases) + found.dropped
    assert len({case.id for case in found.cases}) == len(found.cases)


@costly
@given(st.lists(st.dictionaries(KEYS, PLAIN, max_size=6) | PLAIN, max_size=4), st.sampled_from([deepeval, inspect_ai]))
def test_whatever_a_list_holds_every_row_is_a_case_or_said(rows: list[Any], tool: Any) -> None:
    found = tool.convert(documented(rows, "set.json"), ImportOptions(judges=("token_f1",)))
    assert found.found == len(rows) == len(found.cases) + found.dropped


@settings(unhurried, max_examples=40)
@given(PLAIN, PLAIN, PLAIN)
def test_whatever_a_log_holds_it_is_read_or_refused(samples: Any, scorers: Any, config: Any) -> None:
    log = {"eval": {"task": "desk", "scorers": scorers, "config": config}, "samples": samples}
    try:
        found = inspect_ai.convert(documented(log, "log.json"), ImportOptions())
    except RecallError:
        return
    assert found.found == len(found.cases) + found.dropped


def result(raw: str, **test: Any) -> dict[str, Any]:
    """Return a result as `promptfoo eval -o results.json` writes it, as far as it is read."""
    return {"prompt": {"raw": raw, "label": "p"}, "vars": test.get("vars", {}), "success": True, "testCase": test}


def test_results_are_read_as_the_cases_that_they_are_of() -> None:
    test = {"description": "greets", "vars": {"name": "Ann"}, "assert": [{"type": "contains", "value": "{{name}}"}]}
    rows = [
        result("Greet Ann", **test),
        result("Greet Ann", **test),  # Of another provider.
        result('[{"role": "user", "content": "Greet Ann"}]', **test),
        result("Keep {{this}} as it is", **test),
    ]
    found = made({"results": {"version": 3, "results": rows}, "config": {"description": "Desk"}})
    assert [case.row["input"] for case in found.cases] == ["Greet Ann", "Greet Ann", "Keep {{this}} as it is"]
    assert {str(case.row["judges"]) for case in found.cases} == {
        str([{"contains": {"expected": "Ann", "ignore_case": False}}])
    }
    assert {case.row["scenario"] for case in found.cases} == {"desk"}


def test_a_result_without_what_was_asked_is_said() -> None:
    found = made({"results": [{"success": True}, result("Greet", **{"assert": [SIX]})]})
    assert len(found.cases) == 1
    assert left(found) == ["a result without its `testCase` or `prompt.raw`"]


def test_a_set_of_weight_0_decides_and_an_assertion_of_weight_0_does_not() -> None:
    """As in `runAssertions` of promptfoo 0.121, which takes the weight of a single assertion alone for its pass."""
    held = {"type": "assert-set", "weight": 0, "assert": [SIX, {"type": "equals", "value": "x", "weight": 0}]}
    found = made({"prompts": ["a"], "tests": [{"assert": [held]}]})
    assert len(found.cases[0].row["judges"]) == 1
    assert left(found) == ["the assertion `equals` of weight 0"]
