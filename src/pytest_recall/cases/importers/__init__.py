"""Import eval sets of other tools as cases."""
