"""Checks of rigs, for the tests of a driver."""

from __future__ import annotations

from pathlib import Path

from configs.rigs_loader import load_rig
from core_eval.rig.check import Finding, RigReport
from core_eval.rig.check import check_rig as _check
from core_eval.rig.fault_check import check_faults as _check_faults

__all__ = ["Finding", "RigReport", "check", "check_faults"]


def check(rig: str | Path) -> RigReport:
    """Test a rig as `pathrig rigs check` does: its link, tools, sensors, stop and reset. Nothing moves.

    Args:
        rig: a rig's name, file or URL; a class that its driver names is run without being asked.

    Returns:
        The report; `failed` holds the findings that are not as they should be.

    Raises:
        configs.errors.ConfigError: the rig's file is wrong.
    """
    return _check(load_rig(str(rig)))


def check_faults(rig: str | Path) -> RigReport:
    """Test a rig's driver on a disturbed line as `pathrig rigs check --faults` does. Raises as `check`.

    Also raises core_eval.rig.signals.RigError: the rig has no driver, or does not answer at all.
    """
    return _check_faults(load_rig(str(rig)))
