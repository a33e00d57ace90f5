"""Fault kinds of a farm rover, beside those of every rig."""

from __future__ import annotations

from devices.faults import FaultKind

FARM_FAULTS = (
    FaultKind("wheel_slip", "a wheel slips; the strength is the lost share of its travel", share=True),
    FaultKind(
        "clogged_nozzle", "the nozzle is clogged; the strength is the lost share of the flow", share=True
    ),
    FaultKind("stuck_valve", "a valve does not close; the strength is the share that flows on", share=True),
)
