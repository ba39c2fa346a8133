"""Results: scorecards, comparisons, gates and pages of runs."""
