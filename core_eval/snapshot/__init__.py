"""Recorded episodes of a rig, which answer in its place: exactly while the agent repeats the recorded calls."""
