"""Turn a model into an agent: what it is told, and what its answers do."""
