"""Decisions: pure functions over plain data; no disk, clock, network or pytest."""
