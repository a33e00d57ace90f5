"""Ctrl-C while a connection is read: it strikes while we wait, and never in the middle of a packet."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator

import pytest

from firmware_bridge import deferred_signals as deferred_signals
from firmware_bridge.deferred_signals import DeferredSignals


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
    with pytest.raises(Struck), DeferredSignals():
        ctrl_c()
        finished = True
    assert finished
    assert signal.getsignal(signal.SIGINT) is strike


def test_all_that_came_strike_in_their_order() -> None:
    came: list[int] = []
    numbers = [signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
    before = {number: signal.signal(number, lambda number, _: came.append(number)) for number in numbers[:3]}
    try:
        with DeferredSignals():
            for number in numbers:
                os.kill(os.getpid(), number)
            assert came == []
        assert came == numbers
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def test_it_strikes_at_once_while_open() -> None:
    finished = False
    with pytest.raises(Struck), DeferredSignals() as held:
        held.open = True
        ctrl_c()
        finished = True
    assert not finished
    assert signal.getsignal(signal.SIGINT) is strike


def test_a_second_one_does_not_tear_the_way_out_of_the_first() -> None:
    cleaned = False
    with pytest.raises(Struck), DeferredSignals() as held:
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
    with DeferredSignals() as held:
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
        with DeferredSignals():
            assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
            assert signal.getsignal(signal.SIGINT) is not strike
    finally:
        signal.signal(signal.SIGTERM, before)
    seen: list[object] = []

    def other() -> None:
        with DeferredSignals():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=other)
    thread.start()
    thread.join(5)
    assert seen == [strike]


def test_one_within_another_is_that_other_one() -> None:
    finished = False
    with pytest.raises(Struck), DeferredSignals() as outer:
        with DeferredSignals() as inner:
            assert inner is outer
            ctrl_c()
        finished = True
        inner.deliver()
        finished = False
    assert finished
    assert signal.getsignal(signal.SIGINT) is strike
    with DeferredSignals() as later:
        assert later is not outer


def test_what_came_strikes_where_it_is_delivered() -> None:
    with pytest.raises(Struck), DeferredSignals() as held:
        ctrl_c()
        held.deliver()
        raise AssertionError("it did not strike")
    assert signal.getsignal(signal.SIGINT) is strike


def test_a_signal_while_handlers_are_set_or_set_back_leaves_none_of_ours_behind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = signal.signal(signal.SIGTERM, strike)
    real = deferred_signals._signal

    class Struck1st:
        """Both signals come while a handler is set."""

        getsignal = staticmethod(real.getsignal)

        @staticmethod
        def signal(number: int, handler: object) -> None:
            real.signal(number, handler)
            os.kill(os.getpid(), signal.SIGTERM)
            ctrl_c()

    try:
        for at_exit in (False, True):
            held = DeferredSignals()
            if at_exit:
                held.__enter__()
            with monkeypatch.context() as patched, pytest.raises(Struck):
                patched.setattr(deferred_signals, "_signal", Struck1st)
                if at_exit:
                    held.__exit__()
                else:
                    held.__enter__()
            with pytest.raises(Struck):
                ctrl_c()
            with pytest.raises(Struck):
                os.kill(os.getpid(), signal.SIGTERM)
            signal.signal(signal.SIGINT, strike)
            signal.signal(signal.SIGTERM, strike)
    finally:
        signal.signal(signal.SIGTERM, before)
