"""Rehearsal: a simulated team's pull requests and nights, played in a real repository."""
