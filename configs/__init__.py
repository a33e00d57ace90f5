"""Tasks, rigs and worlds as YAML, and their loader."""

DISTRIBUTION = "pathrig"
"""Says whose package this is: another distribution may install one of the same name over it."""
