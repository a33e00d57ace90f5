"""The SO-101: an arm of five joints and a gripper, as hobbyists and laboratories build it."""
