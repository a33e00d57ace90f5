"""Matching simulators of the rigs, on a virtual clock."""

DISTRIBUTION = "pathrig"
"""The distribution of this package: another one may install a package of the same name over it."""
