"""Sections of tables: for terminals and in Markdown."""

from __future__ import annotations

from pytest_recall.files.sections import Report, Section, TextTable, fields, report_lines, report_markdown

TABLE = TextTable("by <kind>", ("memory", "a", "b"), [("*mine*", "1", "–"), ("theirs", "2", "3")])
SECTION = Section("A title", [TABLE._replace(name=""), TABLE], ["a note|"])


def test_a_section_for_a_terminal() -> None:
    table = ["memory  a  b", "*mine*  1  –", "theirs  2  3"]
    told = ["A title:", *table, "", "by <kind>", *table, "", "a note|"]
    assert list(report_lines([SECTION])) == told
    assert list(report_lines([SECTION, Section("empty"), Section("", lines=["one"])])) == [*told, "", "one"]


def test_facts_become_fields_by_their_key_or_are_some() -> None:
    assert fields([Section("a", key="a"), Section("b", facts={"b": 1, "c": 2})]) == {"a": None, "b": 1, "c": 2}


def test_a_section_in_markdown_is_text_wherever_it_is_from() -> None:
    table = ["| memory | a | b |", "| --- | ---: | ---: |", r"| \*mine\* | 1 | – |", "| theirs | 2 | 3 |"]
    told = ["## A title", "", *table, "", "by &lt;kind&gt;:", "", *table, "", r"- a note\|"]
    assert report_markdown(Report("all", [SECTION], None)).splitlines() == ["# all", "", *told]
