"""Runs: the pipeline that both shells drive, from files to a plan, trials, state and scorecard."""
