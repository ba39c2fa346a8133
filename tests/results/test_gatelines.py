"""Gates in the text of a rubric: one value changes, and everything around it stays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_recall.cases.gate import Gate
from pytest_recall.files.errors import RecallError
from pytest_recall.results.gates import write_gates

NAME = "eval/rubric.yaml"
RAISED: dict[str, Any] = {"scenario": "refunds", "at_least": 0.95, "since": "2026-11-22", "pr": "7"}


def written(folder: Path, text: str, *gates: dict[str, Any], write: bool = True) -> str:
    """Put gates into a rubric, and return its text with its line ends."""
    path = folder / "rubric.yaml"
    path.write_bytes(text.encode())
    write_gates(path, NAME, [Gate.model_validate(one) for one in gates], write=write)
    return path.read_bytes().decode()


BLOCK = """\
# ours
owner: us # until June
gates:
  # the shop
  - at_least: {rate}   # was 0.8
    scenario: refunds

    since: '{since}'
    pr: {pr} # by ana

# end
mode: pr
"""
FLOW = "owner: us\ngates:\n  - {at_least: 0.5}  # all\n  - {scenario: refunds, at_least: RATE, informs: false} # x\n"
JSON = '{"owner": "us", "gates": [{"scenario": "refunds", "at_least": RATE}]}'


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (BLOCK.format(rate=".9", since="2026-01-01", pr=3), BLOCK.format(rate="0.95", since="2026-11-22", pr=7)),
        (
            "gates:\n- scenario: refunds\n  at_least: 0.9 # low\n- at_least: 0.5\nowner: us\n",
            "gates:\n- scenario: refunds\n  at_least: 0.95 # low\n  since: 2026-11-22\n  pr: 7\n"
            "- at_least: 0.5\nowner: us\n",
        ),
        (FLOW.replace("RATE", "0.9"), FLOW.replace("RATE", "0.95, since: 2026-11-22, pr: 7")),
        (JSON.replace("RATE", "0.9"), JSON.replace("RATE", '0.95, "since": "2026-11-22", "pr": "7"')),
        (JSON.replace("RATE", '0.9, "pr": "3"'), JSON.replace("RATE", '0.95, "since": "2026-11-22", "pr": "7"')),
        (
            "owner: us\r\ngates:\r\n  - scenario: refunds\r\n    at_least: 0.9",
            "owner: us\r\ngates:\r\n  - scenario: refunds\r\n    at_least: 0.95\r\n    since: 2026-11-22\r\n    pr: 7",
        ),
        (
            "\ufeffowner: ü\ngates: [{at_least: 0.9, since: ~, scenario: refunds}]\n",
            "\ufeffowner: ü\ngates: [{at_least: 0.95, since: 2026-11-22, pr: 7, scenario: refunds}]\n",
        ),
        (
            "owner: us\ngates:\n  - pr:\n    at_least: 0.9\n    scenario: refunds\n",
            "owner: us\ngates:\n  - pr: 7\n    at_least: 0.95\n    since: 2026-11-22\n    scenario: refunds\n",
        ),
    ],
    ids=["block", "added lines", "flow", "JSON", "JSON in its quotes", "CRLF", "BOM", "empty"],
)
def test_only_the_rate_and_where_it_comes_from_change(tmp_path: Path, before: str, after: str) -> None:
    assert written(tmp_path, before, RAISED) == after
    assert written(tmp_path, after, RAISED) == after
    assert written(tmp_path, before, RAISED, write=False) == before


def test_a_pull_request_that_nobody_knows_is_not_the_last_one(tmp_path: Path) -> None:
    text = "owner: us\ngates:\n  - {scenario: refunds, at_least: 0.9, pr: 3}\n"
    found = written(tmp_path, text, {**RAISED, "pr": None})
    assert found == "owner: us\ngates:\n  - {scenario: refunds, at_least: 0.95, since: 2026-11-22, pr: null}\n"
    assert "pr: 7}" in written(tmp_path, found, RAISED)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("owner: us # x\n\n# end\n", "owner: us # x\n\n# end\ngates:\n  - {}\n"),
        ("owner: us", "owner: us\ngates:\n  - {}\n"),
        ("gates:\n- at_least: 0.5 # a\n\n# b\nowner: us\n", "gates:\n- at_least: 0.5 # a\n- {}\n\n# b\nowner: us\n"),
        ("gates:\n    - at_least: 0.5\nowner: us\n", "gates:\n    - at_least: 0.5\n    - {}\nowner: us\n"),
        ("gates: []\nowner: us\n", "gates: [{flow}]\nowner: us\n"),
        ("gates: [{at_least: 0.5} # a\n ]\nowner: us\n", "gates: [{at_least: 0.5}, {flow} # a\n ]\nowner: us\n"),
        ("owner: us\ngates:\n - {at_least: 0.5} # a", "owner: us\ngates:\n - {at_least: 0.5} # a\n - {flow}"),
    ],
)
def test_a_gate_is_added_as_the_last_one_is_written(tmp_path: Path, before: str, after: str) -> None:
    flow = "{scenario: refunds, at_least: 0.95, since: 2026-11-22, pr: 7}"
    line = next((line for line in after.splitlines() if line.endswith("- {}")), "")
    block = flow.strip("{}").replace(", ", "\n" + " " * (len(line) - 2))
    assert written(tmp_path, before, RAISED) == after.replace("{}", block).replace("{flow}", flow)


@pytest.mark.parametrize(
    "text",
    [
        "owner: us\ngates:\n  - {scenario: refunds, at_least: &low 0.9}\n  - {at_least: *low}\n",
        "owner: us\nthresholds: {exact: &low 0.9}\ngates:\n  - {scenario: refunds, at_least: *low}\n",
        "owner: us\ngates:\n  - {scenario: refunds, ? at_least\n    : 0.9, ? since\n    }\n...",
    ],
)
def test_a_form_without_a_place_is_left_with_the_line_to_write(tmp_path: Path, text: str) -> None:
    with pytest.raises(RecallError) as refused:
        written(tmp_path, text, {"scenario": "new", "at_least": 0.5}, RAISED)
    assert refused.value.messages[-1] == (
        "eval/rubric.yaml: its form leaves no place for the gate `refunds`; write"
        ' `- {"scenario": "refunds", "at_least": 0.95, "since": "2026-11-22", "pr": 7}` yourself'
    )
    assert (tmp_path / "rubric.yaml").read_text() == text


@pytest.mark.parametrize("name", ["a: b", "no", "12", "it's", "ü # x", "-", "x y", 'a"b'])
def test_any_name_comes_back_as_it_was(tmp_path: Path, name: str) -> None:
    for text in ("owner: us\n", "owner: us\ngates: []\n", "owner: us\ngates: [{at_least: 0.5}]\n"):
        found = written(tmp_path, text, {"scenario": name, "at_least": 0.5, "pr": name})
        assert written(tmp_path, found, {"scenario": name, "at_least": 1.0}).count("1.0") == 1
