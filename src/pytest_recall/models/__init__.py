"""Models: one selector for whoever is asked, and one way to ask, wait and try again."""
