"""Matching simulators of the rigs, on a virtual clock."""
