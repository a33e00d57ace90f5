"""The software worlds of the paper: its tools, their names, arguments and meaning; no harm rules."""
