"""Tests a driver against a disturbed line: `pathrig rigs check --faults`. Nothing moves.

A proxy stands between the driver and its port or server. For each disturbance a read tool is called and the
rig stopped; then the line is left alone, and the rig must answer and confirm its stop again.
"""

from __future__ import annotations

import time
from collections.abc import Iterable

from configs.drivers_loader import load_driver
from configs.rig_config import RigConfig, device_of
from core_eval.path.calls import CallStatus
from core_eval.rig.check import RigReport, needs_nothing
from core_eval.rig.links import is_driven
from core_eval.rig.opening import open_rig
from core_eval.rig.session import RigSession
from core_eval.rig.simulator_process import RigError
from devices.outcome import Outcome
from devices.stop_outcome import StopOutcome
from devices.tool import Tool
from firmware_bridge.fault_proxy import Disturbance, FaultProxy
from firmware_bridge.link import LinkError

CALL_SECONDS = 20.0
"""Time in which a call must end, whatever happens to the line."""
STOP_SECONDS = 4.0
BACK_SECONDS = 10.0
"""Time in which a rig must be back after a disturbance, as in a run."""
SILENT = (Disturbance.MUTE, Disturbance.CUT)
"""Disturbances in which nothing is heard, so that nothing can be confirmed."""


def check_faults(config: RigConfig, faults: Iterable[Disturbance] = tuple(Disturbance)) -> RigReport:
    """Test a rig's driver under these disturbances; all take a minute.

    Raises:
        RigError: the rig has no driver, or does not answer on the undisturbed line.
    """
    report = RigReport(config.name)
    if not is_driven(config) or config.driver is None:
        raise RigError(f"rig {config.name}: --faults is for rigs with a driver; this one has none")
    try:
        with (
            FaultProxy(config.url, load_driver(config.driver).line.baud) as proxy,
            open_rig(config.model_copy(update={"url": proxy.url}), only_look=True) as session,
        ):
            session.client.claim()
            check = _FaultCheck(report, session, proxy)
            tool = check.healthy()
            for fault in faults:
                if fault is not Disturbance.NONE:
                    check.under(fault, tool)
    except LinkError as error:
        raise RigError(f"rig {config.name}: {error}") from None
    return report


class _FaultCheck:
    def __init__(self, report: RigReport, session: RigSession, proxy: FaultProxy) -> None:
        self._report, self._session, self._client, self._proxy = report, session, session.client, proxy

    def _call(self, tool: Tool) -> Outcome:
        return self._client.call(tool.name, {}, timeout=CALL_SECONDS, within=CALL_SECONDS)

    def healthy(self) -> Tool | None:
        """Return a read tool that asks the machine; None if every one answers from what is known."""
        self._stands("undisturbed")
        device = device_of(self._session.config)
        asked = next(filter(self._asks, () if device is None else filter(needs_nothing, device.tools)), None)
        text = f"calls of {asked.name}" if asked else "no read tool asks the machine: only the stop is tested"
        self._report.add("undisturbed", True, f"answers, and its stop is {self._best}; {text}")
        return asked

    def _asks(self, tool: Tool) -> bool:
        """Return whether a tool's answer comes from the machine."""
        sent, heard = self._proxy.sent, self._proxy.heard
        is_ok = self._call(tool).status is CallStatus.OK
        return is_ok and self._proxy.sent > sent and self._proxy.heard > heard

    @property
    def _best(self) -> StopOutcome:
        return StopOutcome.CONFIRMED if self._client.confirms_stop else StopOutcome.SENT

    def _stands(self, when: str) -> float:
        """Wait until the rig's stop is as good as can be, and return the seconds. Raises RigError."""
        began = time.monotonic()
        why = ""
        while time.monotonic() - began < BACK_SECONDS:
            try:
                self._client.regain(BACK_SECONDS)
                if self._client.estop(STOP_SECONDS) is self._best and self._client.reset(STOP_SECONDS):
                    return time.monotonic() - began
                why = self._client.stop_error or "it stays stopped"
            except LinkError as error:
                why = str(error)
            time.sleep(0.1)
        raise RigError(f"{when}: it is not back within {BACK_SECONDS:g} s: {why}")

    def under(self, fault: Disturbance, tool: Tool | None) -> None:
        """Call a tool and stop the rig while the line is disturbed, and look whether it comes back."""
        lies: list[str] = []
        texts: list[str] = []
        self._proxy.disturb(fault)
        try:
            if tool is not None:
                began, heard = time.monotonic(), self._proxy.heard
                outcome = self._call(tool)
                taken = time.monotonic() - began
                texts.append(f"{tool.name}: {outcome.code or outcome.status} after {taken:.1f} s")
                if outcome.status is CallStatus.OK and fault in SILENT and self._proxy.heard == heard:
                    lies.append(f"{tool.name} is ok, and nothing was heard")
                if outcome.code == "internal":
                    lies.append(f"the driver failed: {outcome.message}")
                if taken > CALL_SECONDS + 1.0:
                    lies.append(f"{tool.name} took {taken:.0f} s")
            sent = self._proxy.sent
            stop = self._client.estop(STOP_SECONDS)
            texts.append(f"stop {stop}")
            if fault is not Disturbance.CUT and self._proxy.sent == sent:
                lies.append("the stop was not written to the line")
            if fault is Disturbance.MASTER and self._proxy.shared:
                lies.append("another program can open the port too: lock it (pathrig.device.open_port)")
            if stop is StopOutcome.CONFIRMED and fault in SILENT:
                lies.append("the stop is confirmed, and nothing was heard")
        finally:
            self._proxy.disturb(Disturbance.NONE)
        try:
            texts.append(f"back after {self._stands(fault):.1f} s")
        except RigError as error:
            lies.append(str(error))
        else:
            again = None if tool is None else self._call(tool)
            if again is not None and again.status is not CallStatus.OK:
                lies.append(f"after it {again.code or again.status}: {again.message}")
        self._report.add(fault, not lies, "; ".join([*lies, *texts]))
