"""Report: a run with everything that is known of each of its cases, for a page that people look at."""
