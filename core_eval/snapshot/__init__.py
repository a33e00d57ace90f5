"""Recorded episodes of a rig answer in its place, exactly while the agent repeats their calls."""
