"""Real brokers, shared by all tests; each test uses rig names of its own."""

from __future__ import annotations

import gc
import os
import signal
import tempfile
from collections.abc import Iterator
from zlib import crc32

import pytest
from bridge_rig import Mosquitto
from hypothesis import HealthCheck, settings

from firmware_bridge.broker.process import start_broker_process

pytest_plugins = ["reruns"]
LONGEST_NAME = 200
"""Characters of a parameter in a test's name."""
WAITS_UNTIL = 0.6
"""Share of the other groups over which those that wait are spread."""
# pytest-xdist gives its workers a terminal's width; tests read what a pipe gets, as they do without it.
os.environ.pop("COLUMNS", None)
# The files that a user trusts are none of the tests'.
os.environ["XDG_CONFIG_HOME"] = tempfile.mkdtemp(prefix="pathrig-config-")
# A shell's background job ignores these, and so would the programs that tests interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
# What is collected stays, and each full round of the garbage collector would look at all of it again.
gc.disable()
# The same inputs each time, and no failure because a machine is busy.
settings.register_profile(
    "project", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("project")


# First, because pytest-xdist reads the groups in this hook.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep the tests of a file in one worker; those with pseudo terminals and without, and each page, apart.

    What waits (terminals, brokers, boards, browsers, pages) is spread over what computes, and each kind is
    mixed, so that workers do not all wait at once. It ends earlier: none has minutes to wait at the end.
    """
    groups: dict[str, list[pytest.Item]] = {}
    for item in items:
        group = item.nodeid if _is_page(item) else item.nodeid.partition("::")[0]
        group = f"{group} serial" if _is_serial(item) else group
        item.add_marker(pytest.mark.xdist_group(group))
        groups.setdefault(group, []).append(item)
    waits = {name: any(map(_waits, of)) for name, of in groups.items()}
    place = {}
    for kind, until in ((True, WAITS_UNTIL), (False, 1.0)):
        names = [name for name in groups if waits[name] is kind]
        names.sort(key=lambda name: crc32(name.encode()))
        place.update({name: until * k / len(names) for k, name in enumerate(names)})
    items[:] = [item for name in sorted(groups, key=place.__getitem__) for item in groups[name]]


def pytest_make_parametrize_id(config: pytest.Config, val: object, argname: str) -> str | None:
    """Name bytes and long texts by their argument.

    Packed bytes hold the time, and workers must collect the same names; a name goes to the environment, to
    each worker and into each report, and some texts have 800 kB.
    """
    return argname if isinstance(val, bytes) or (isinstance(val, str) and len(val) > LONGEST_NAME) else None


def pytest_collection_finish() -> None:
    """Let the garbage collector look at nothing that was there before the first test."""
    gc.freeze()
    gc.enable()
    # Each run of some episodes asks whether there are any, and to count a million takes 0.1 s.
    gc.get_freeze_count = lambda: 1


def _is_serial(item: pytest.Item) -> bool:
    return item.get_closest_marker("serial") is not None


def _waits(item: pytest.Item) -> bool:
    marks = ("serial", "broker", "firmware", "browser")
    return _is_page(item) or any(item.get_closest_marker(name) for name in marks)


def _is_page(item: pytest.Item) -> bool:
    return "test_the_commands_of_a_page" in item.nodeid


@pytest.fixture(scope="session")
def mosquitto_url() -> Iterator[str]:
    """`mqtt://127.0.0.1:PORT` of a mosquitto with TCP_NODELAY."""
    with Mosquitto() as broker:
        yield broker.url


@pytest.fixture(scope="session")
def embedded_broker_url() -> Iterator[str]:
    """`mqtt://127.0.0.1:PORT` of the embedded broker, as a process of its own."""
    with start_broker_process() as broker:
        yield broker.url
