"""The twin of a rig without truth: the same physics with an ensemble of hidden parameters, fed by the log."""
