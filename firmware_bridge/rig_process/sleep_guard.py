"""Stops the rig before the machine goes to sleep: a delay inhibitor of systemd's logind, over D-Bus."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable
from typing import Any

from jeepney import DBusAddress, MatchRule, MessageType, message_bus, new_method_call
from jeepney.io.blocking import Proxy, open_dbus_connection

log = logging.getLogger(__name__)

PATH, NAME = "/org/freedesktop/login1", "org.freedesktop.login1"
INTERFACE = f"{NAME}.Manager"
WHAT = ("sleep", "pathrig", "a rig is driven, and is stopped first", "delay")
BUS_SECONDS = 2.0
"""Time in which the system bus and logind must answer."""


class SleepGuard:
    """Delays a suspend until `on_sleep` has returned (at most logind's InhibitDelayMaxSec, 5 s by default).

    Args:
        on_sleep: stops the rig; called on a thread of the guard's.

    Raises:
        OSError: there is no system bus, or no logind on it.
    """

    def __init__(self, on_sleep: Callable[[], object]) -> None:
        self._on_sleep = on_sleep
        self._rule = MatchRule(type="signal", interface=INTERFACE, member="PrepareForSleep", path=PATH)
        try:
            self._bus = open_dbus_connection("SYSTEM", enable_fds=True)
            Proxy(message_bus, self._bus, timeout=BUS_SECONDS).AddMatch(self._rule)
            self._lock = self._inhibit()
        except Exception as error:
            # The library's errors have no base of their own.
            raise OSError(f"no logind: {error}") from error
        threading.Thread(target=self._watch, name="sleep guard", daemon=True).start()

    def _inhibit(self) -> Any:
        """Return the file descriptor that holds the suspend back."""
        logind = DBusAddress(PATH, bus_name=NAME, interface=INTERFACE)
        call = new_method_call(logind, "Inhibit", "ssss", WHAT)
        answer = self._bus.send_and_get_reply(call, timeout=BUS_SECONDS)
        if answer.header.message_type is not MessageType.method_return:
            raise OSError(f"logind refuses an inhibitor: {answer.body}")
        return answer.body[0]

    def _watch(self) -> None:
        try:
            with self._bus.filter(self._rule, bufsize=16) as signals:
                while True:
                    (goes_to_sleep,) = self._bus.recv_until_filtered(signals).body
                    if goes_to_sleep:
                        try:
                            self._on_sleep()
                        finally:
                            self._lock.close()
                    else:
                        with contextlib.suppress(OSError):
                            self._lock = self._inhibit()
        except Exception:
            log.exception("the sleep guard has ended")
