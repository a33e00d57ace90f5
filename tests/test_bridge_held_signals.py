"""Ctrl-C while a connection is read: it strikes while we wait, and never in the middle of a packet."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator

import pytest

from firmware_bridge.held_signals import HeldSignals


class Struck(BaseException):
    """What the handler raises."""


def strike(_number: int, _frame: object) -> None:
    raise Struck


@pytest.fixture(autouse=True)
def handler() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, strike)
    yield
    signal.signal(signal.SIGINT, before)


def ctrl_c() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_a_held_signal_reaches_its_handler_at_the_end() -> None:
    finished = False
    with pytest.raises(Struck), HeldSignals():
        ctrl_c()
        finished = True
    assert finished
    assert signal.getsignal(signal.SIGINT) is strike


def test_it_strikes_at_once_while_open() -> None:
    finished = False
    with pytest.raises(Struck), HeldSignals() as held:
        held.open = True
        ctrl_c()
        finished = True
    assert not finished
    assert signal.getsignal(signal.SIGINT) is strike


def test_a_second_one_does_not_tear_the_way_out_of_the_first() -> None:
    cleaned = False
    with pytest.raises(Struck), HeldSignals() as held:
        held.open = True
        try:
            ctrl_c()
        finally:
            ctrl_c()
            cleaned = True
    assert cleaned


def test_a_handler_that_does_not_raise_leaves_it_open() -> None:
    came: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    with HeldSignals() as held:
        held.open = True
        ctrl_c()
        ctrl_c()
        assert len(came) == 2
        held.open = False
        ctrl_c()
        assert len(came) == 2
    assert len(came) == 3


def test_default_handlers_and_other_threads_are_left_alone() -> None:
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        with HeldSignals():
            assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
            assert signal.getsignal(signal.SIGINT) is not strike
    finally:
        signal.signal(signal.SIGTERM, before)
    seen: list[object] = []

    def other() -> None:
        with HeldSignals():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=other)
    thread.start()
    thread.join(5)
    assert seen == [strike]
