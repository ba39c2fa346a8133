"""Active recall: boxes, rows, selection, the state file, and its merges."""
