"""Compute numbers from texts, rankings and counts; all functions are pure."""
