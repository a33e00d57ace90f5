"""The SO-101 in MuJoCo: its published model, at work on a table."""
