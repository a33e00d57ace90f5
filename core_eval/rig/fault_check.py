"""Tests a driver against a disturbed line: `pathrig rigs check --faults`. Nothing moves.

A proxy stands between the driver and its port or server. For each disturbance a read tool is called and the
rig stopped; then the line is left alone, and the rig must answer and confirm its stop again.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from configs.drivers_loader import load_driver
from configs.rig_config import RigConfig, device_of
from core_eval.call_status import CallStatus
from core_eval.rig.check import RigReport, needs_nothing
from core_eval.rig.links import is_driven
from core_eval.rig.opening import open_rig
from core_eval.rig.session import RigSession
from core_eval.rig.signals import RigError
from devices.outcome import Outcome, StopOutcome
from devices.tool import Effect, Tool
from firmware_bridge.fault_proxy import Disturbance, FaultProxy
from firmware_bridge.link import LinkError

CALL_SECONDS = 20.0
"""Time in which a call must end, whatever happens to the line."""
STOP_SECONDS = 4.0
BACK_SECONDS = 10.0
"""Time in which a rig must be back after a disturbance, as in a run."""
Read = tuple[Tool, Mapping[str, Any]]
"""A tool and its arguments."""
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
            read = check.healthy()
            for fault in faults:
                if fault is not Disturbance.NONE:
                    check.under(fault, read)
    except LinkError as error:
        raise RigError(f"rig {config.name}: {error}") from None
    return report


class _FaultCheck:
    def __init__(self, report: RigReport, session: RigSession, proxy: FaultProxy) -> None:
        self._report, self._session, self._client, self._proxy = report, session, session.client, proxy

    def _call(self, read: Read) -> Outcome:
        return self._client.call(read[0].name, read[1], timeout=CALL_SECONDS, within=CALL_SECONDS)

    def healthy(self) -> Read | None:
        """Return a call that reads from the machine; None if every one is answered from what is known."""
        self._stands("undisturbed")
        read = next(filter(self._asks, _reads(self._session.config)), None)
        text = (
            f"calls of {read[0].name}" if read else "no read tool asks the machine: only the stop is tested"
        )
        self._report.add("undisturbed", True, f"answers, and its stop is {self._best}; {text}")
        return read

    def _asks(self, read: Read) -> bool:
        """Return whether the answer of a call comes from the machine."""
        sent, heard = self._proxy.sent, self._proxy.heard
        is_ok = self._call(read).status is CallStatus.OK
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

    def under(self, fault: Disturbance, read: Read | None) -> None:
        """Read, and stop the rig while the line is disturbed, and look whether it comes back."""
        lies: list[str] = []
        texts: list[str] = []
        self._proxy.disturb(fault)
        try:
            if read is not None:
                name = read[0].name
                began, heard = time.monotonic(), self._proxy.heard
                outcome = self._call(read)
                taken = time.monotonic() - began
                texts.append(f"{name}: {outcome.code or outcome.status} after {taken:.1f} s")
                if outcome.status is CallStatus.OK and fault in SILENT and self._proxy.heard == heard:
                    lies.append(f"{name} is ok, and nothing was heard")
                if outcome.code == "internal":
                    lies.append(f"the driver failed: {outcome.message}")
                if taken > CALL_SECONDS + 1.0:
                    lies.append(f"{name} took {taken:.0f} s")
            sent = self._proxy.sent
            stop = self._client.estop(STOP_SECONDS)
            texts.append(f"stop {stop}")
            # A connection that garbage has broken is cut, and a stop that was not sent is no lie.
            owed = fault is Disturbance.MUTE or stop is not StopOutcome.NOT_SENT
            if fault is not Disturbance.CUT and owed and self._proxy.sent == sent:
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
            again = None if read is None else self._call(read)
            if again is not None and again.status is not CallStatus.OK:
                lies.append(f"after it {again.code or again.status}: {again.message}")
        self._report.add(fault, not lies, "; ".join([*lies, *texts]))


def _reads(config: RigConfig) -> Iterator[Read]:
    """Yield calls that read: first those without arguments, then those of what the rig's tables name."""
    device = device_of(config)
    tools = () if device is None else [tool for tool in device.tools if tool.effect is Effect.READ]
    yield from ((tool, {}) for tool in tools if needs_nothing(tool))
    for tool in tools:
        required = [name for name, field in tool.arguments.model_fields.items() if field.is_required()]
        if len(required) == 1 and tool.arguments.model_fields[required[0]].annotation is str:
            yield from ((tool, {required[0]: row}) for rows in config.driver_tables.values() for row in rows)
