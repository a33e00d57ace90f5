"""What a path is worth: automata, metrics, harm, the log, and the `pathrig` command."""
