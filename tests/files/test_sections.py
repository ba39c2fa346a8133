"""Sections of tables: for terminals and in Markdown."""

from __future__ import annotations

from pytest_recall.files.sections import Report, Section, TextTable, report_markdown, section_lines

TABLE = TextTable("by <kind>", ("memory", "a", "b"), [("*mine*", "1", "–"), ("theirs", "2", "3")])
SECTION = Section("A title", [TABLE._replace(name=""), TABLE], ["a note|"])


def test_a_section_for_a_terminal() -> None:
    table = ["memory  a  b", "*mine*  1  –", "theirs  2  3"]
    assert list(section_lines(SECTION)) == ["A title", "", *table, "", "by <kind>", *table, "", "a note|"]


def test_a_section_in_markdown_is_text_wherever_it_is_from() -> None:
    table = ["| memory | a | b |", "| --- | ---: | ---: |", r"| \*mine\* | 1 | – |", "| theirs | 2 | 3 |"]
    told = ["## A title", "", *table, "", "by &lt;kind&gt;:", "", *table, "", r"- a note\|"]
    assert report_markdown(Report("all", [SECTION], None)).splitlines() == ["# all", "", *told]
