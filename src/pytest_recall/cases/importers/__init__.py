"""Imports: eval sets of other tools as cases, and what of them has no place in a case."""
