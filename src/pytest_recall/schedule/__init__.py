"""The Leitner schedule: boxes, selection, the state and its merges."""
