"""What a rig is: its tools, interlocks, coarse sensors and harm rules."""

DISTRIBUTION = "pathrig"
"""Says whose package this is: another distribution may install one of the same name over it."""
