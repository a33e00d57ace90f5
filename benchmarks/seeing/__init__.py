"""A benchmark of seeing: what a program tells of harm from the calls and the coarse telemetry alone."""
