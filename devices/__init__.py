"""What a rig is: its tools, interlocks, coarse sensors and harm rules."""

DISTRIBUTION = "pathrig"
"""The distribution of this package: another one may install a package of the same name over it."""
