"""Ground room: bounded readers of foreign text and JSON, numbers as text, keyed random streams."""
