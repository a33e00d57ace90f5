"""The SQLite run log."""
