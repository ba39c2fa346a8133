"""Memory systems behind one protocol: store a text, and recall passages."""
