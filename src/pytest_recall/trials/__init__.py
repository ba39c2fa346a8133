"""Trials: a case that was run once, the journal of them, and what they cost."""
