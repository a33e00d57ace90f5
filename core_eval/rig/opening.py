"""Rigs opened for a run: the simulator or broker is started, the link opened, the rig stopped at the end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from types import TracebackType
from typing import TYPE_CHECKING

from configs.errors import ConfigError
from configs.rig_config import RigConfig, device_of
from configs.worlds_loader import load_world
from core_eval.rig.links import open_rig_link
from core_eval.rig.session import CALL_SECONDS, RigSession
from core_eval.rig.signals import RigError
from core_eval.rig.simulator_process import ProcessMonitor
from firmware_bridge.link import tell_terminal
from firmware_bridge.links import LinkError

if TYPE_CHECKING:
    from firmware_bridge.mqtt.homeassistant import HomeAssistantDiscovery


@contextmanager
def open_rig(
    config: RigConfig, *, call_timeout: float = CALL_SECONDS, only_look: bool = False
) -> Iterator[RigSession]:
    """Open a rig; however the context ends, stop the rig and end the processes started for it.

    With `only_look` the rig is not stopped, since another host may be driving it.

    Raises:
        RigError: it cannot be opened.
    """
    with ExitStack() as stack:
        monitor = ProcessMonitor()
        try:
            world = None if config.world is None else load_world(config.world)
            session = RigSession(config, world, open_rig_link(config, stack, monitor), call_timeout)
        except (LinkError, ConfigError) as error:
            raise RigError(f"rig {config.name}: {error}") from None
        stack.callback(session.close, safe=not only_look)
        monitor.on_end(session.lost)
        if config.discovery is not None:
            session.recorder.discovery = stack.enter_context(_announced(config))
        try:
            session.open(claim=not only_look)
        except RigError:
            if (reason := monitor.reason()) is None:
                raise
            raise RigError(f"rig {config.name}: {reason}") from None
        yield session
        if not only_look:
            session.go_home()


@contextmanager
def _announced(config: RigConfig) -> Iterator[HomeAssistantDiscovery]:
    from firmware_bridge.mqtt.homeassistant import HomeAssistantDiscovery

    device = device_of(config)
    try:
        discovery = HomeAssistantDiscovery(
            config.url, None if device is None else device.name, config.discovery_prefix
        )
    except LinkError as error:
        raise RigError(f"rig {config.name}: {error}") from None
    try:
        discovery.announce()
        yield discovery
        if missing := discovery.unconfirmed():
            tell_terminal(
                f"rig {config.name} is not announced to Home Assistant: the broker does not retain "
                f"{missing[0]}; check its access list"
            )
    finally:
        discovery.close()


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
