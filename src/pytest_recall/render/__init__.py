"""Text: how results look in a terminal, in Markdown and as JSON."""
