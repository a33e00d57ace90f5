"""A rig in a run: session, check, processes and stops."""
