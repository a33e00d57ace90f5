"""Device types that a YAML file declares, for rigs with tools of their own and no code."""
