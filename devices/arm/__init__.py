"""What device types of arms with a gripper share: tools, things, layout, interlocks, harm rules."""
