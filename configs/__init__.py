"""Tasks, rigs and worlds as YAML, and their loader."""
