"""Host, rig process, broker or line, and device on one virtual clock, with faults drawn by a seed."""
