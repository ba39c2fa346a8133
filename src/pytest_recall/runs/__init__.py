"""Drive a run, from files to a plan, trials, state and scorecard; both shells call it."""
