"""Run cases once each, keep the journal of the trials, and count what they cost."""
