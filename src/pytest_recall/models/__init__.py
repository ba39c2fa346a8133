"""Ask language models: one selector for each kind, and one way to ask, wait and retry."""
