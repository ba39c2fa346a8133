"""Long-horizon benchmark: its nouns and decisions, from the persona to the figures of a run."""
