"""The runs of `benchmarks/faults.py`, one module for each kind of fault, and the device that counts."""
