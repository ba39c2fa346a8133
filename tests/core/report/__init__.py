"""Tests of what a report is folded from."""
