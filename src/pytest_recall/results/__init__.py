"""Summarize runs: scorecards, comparisons, gates and pages."""
