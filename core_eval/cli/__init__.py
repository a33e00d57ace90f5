"""The `pathrig` command."""
