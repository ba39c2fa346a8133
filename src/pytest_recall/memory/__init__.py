"""Memory systems: who stands behind a selector, and how he is told to keep something and asked for it."""
