"""What a path is worth: automata, metrics, harm, the log, and the `pathrig` command."""

DISTRIBUTION = "pathrig"
"""Says whose package this is: another distribution may install one of the same name over it."""
