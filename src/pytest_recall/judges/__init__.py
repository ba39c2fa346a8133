"""Verdicts: built-in judges, models that judge, panels, calibration and audit."""
