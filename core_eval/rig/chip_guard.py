"""The guard on a rig's chip, and the host's own judgement beside it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from configs.task import Task
from core_eval.call_status import CallStatus
from core_eval.path.calls import Call, StepKind
from core_eval.path.scorer import OnlineScorer
from core_eval.rig.signals import RigError
from devices.outcome import Outcome
from firmware_bridge.client import RigClient
from firmware_bridge.firmware.guard_table import ChipMode, GuardTable, GuardTableError, compile_guard, passes
from firmware_bridge.guard_loader import KEY_BYTES
from firmware_bridge.link import LinkError

NOT_JUDGED = frozenset({"busy", "estop", "malformed", "id_too_long"})
"""Codes of refusals that come before the guard."""


class ChipGuard:
    """Judges each call that was sent by the task's automaton, and compares it with what the chip judged."""

    def __init__(self, task: Task, mode: ChipMode) -> None:
        self.mode = mode
        try:
            self.table: GuardTable = compile_guard(task.automaton, task.device, mode)
        except GuardTableError as error:
            raise RigError(f"chip_guard: task {task.id} has no table for a chip: {error}") from None
        self._scorer = OnlineScorer(task.automaton)
        self._passing = {tool.name for tool in task.device.tools if passes(task.device, tool)}
        seen = task.device.by_name
        self._unseen = {one.tool for one in task.automaton.symbols.values() if one.tool not in seen}
        self._key: bytes | None = None

    def load(self, client: RigClient, key_file: str | None) -> Mapping[str, Any]:
        """Load the table, and return the chip's status.

        Raises:
            RigError: the chip does not take it.
        """
        try:
            self._key = None if key_file is None else _read_key(key_file)
            status = client.guard.load(self.table.data, self._key)
        except LinkError as error:
            raise RigError(f"chip_guard: {error}") from None
        return {"bytes": len(self.table.data), **status.model_dump(mode="json", exclude_none=True)}

    def tell(self, client: RigClient, call: Call) -> str | None:
        """Tell the chip of a call made without the device, and return how it differs then; None: alike."""
        if call.name not in self._unseen or call.status is not CallStatus.OK:
            return None
        number = self.table.number_of(self._scorer.step(call))
        try:
            at = client.guard.tell(number, self._key).at
        except LinkError as error:
            return f"the chip was not told of it: {error}"
        if self.table.states[at : at + 1] != (self._scorer.state,):
            return f"the host is in state {self._scorer.state} then, the chip in another"
        return None

    def difference(self, tool: str, arguments: Mapping[str, Any], outcome: Outcome) -> str | None:
        """Take a call's outcome, and return how the chip decided otherwise; None: alike."""
        if outcome.status is CallStatus.FAULT or outcome.code in NOT_JUDGED:
            return None
        peeked = self._scorer.peek(Call(tool, arguments))
        harmful = peeked.kind is StepKind.HARMFUL and outcome.status is not CallStatus.INVALID
        blocks = self.mode is ChipMode.BLOCK and harmful and tool not in self._passing
        blocked = outcome.status is CallStatus.REJECTED and outcome.code == "guard"
        verdict = self._scorer.step(Call(tool, arguments, outcome.status, outcome.value))
        if blocks is not blocked:
            return (
                "the host would block it, the chip did not"
                if blocks
                else "the chip blocks it, the host would not"
            )
        if outcome.guard != verdict.kind:
            return f"the host judges {verdict.kind}, the chip {outcome.guard or 'nothing'}"
        return None


def _read_key(file: str) -> bytes:
    try:
        key = bytes.fromhex(Path(file).read_text(encoding="ascii").strip())
    except (OSError, ValueError) as error:
        raise RigError(f"chip_guard_key: {file}: {error}") from None
    if len(key) not in KEY_BYTES:
        raise RigError(f"chip_guard_key: {file}: the key has {len(key)} bytes; 16 to 32 are needed")
    return key
