"""The probability that the telemetry of an event is told apart from that of harmless rigs."""
