"""What a rig is: its tools, interlocks, coarse sensors and harm rules."""
