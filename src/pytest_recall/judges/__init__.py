"""Judge answers: built-in judges, models that judge, panels, calibration and audit."""
