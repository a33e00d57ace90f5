"""The twin of a rig without truth: an ensemble of simulators with hidden parameters, driven by the log."""
