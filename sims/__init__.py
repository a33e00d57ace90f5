"""Matching simulators of the rigs, on a virtual clock."""

DISTRIBUTION = "pathrig"
"""Says whose package this is: another distribution may install one of the same name over it."""
