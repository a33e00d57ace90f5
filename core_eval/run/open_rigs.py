"""The rigs of a run, which stay open between its episodes."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, ExitStack, suppress
from types import TracebackType

from configs.rig_config import RigConfig
from core_eval.rig.session import RigSession, open_rig


class OpenRigs(AbstractContextManager["OpenRigs"]):
    """The rigs of a run, each opened when it is first used."""

    def __init__(self, rigs: Mapping[str, RigConfig], call_timeout: float) -> None:
        self._rigs, self._call_timeout = rigs, call_timeout
        self._open: dict[str, tuple[RigSession, ExitStack]] = {}
        self._stack = ExitStack()

    def session(self, rig: str) -> RigSession:
        """Return the session of a rig, opened if it is not."""
        if rig not in self._open:
            own = self._stack.enter_context(ExitStack())
            session = own.enter_context(open_rig(self._rigs[rig], call_timeout=self._call_timeout))
            self._open[rig] = session, own
        return self._open[rig][0]

    def close_failed(self, rig: str, failure: Exception) -> None:
        """Close a rig after a failure: it is stopped, and does not move home."""
        _, own = self._open.pop(rig)
        with suppress(type(failure)):
            own.__exit__(type(failure), failure, failure.__traceback__)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, trace)
