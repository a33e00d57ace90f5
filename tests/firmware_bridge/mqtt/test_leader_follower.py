"""Whose turn it is to read: one thread at a time, handed on without loss, and never left to nobody."""

from __future__ import annotations

import threading
import time
from collections import deque

from bridge_rig import wait_until

from firmware_bridge.mqtt.leader_follower import LeaderFollower


def test_one_thread_at_a_time_has_the_turn() -> None:
    turn = LeaderFollower()
    assert turn.take()
    assert not turn.take()
    turn.leave()
    assert turn.take()


def test_who_waits_learns_that_the_turn_is_free() -> None:
    turn, news, took = LeaderFollower(), threading.Condition(), threading.Event()
    assert turn.take()

    def want() -> None:
        while not turn.take():
            turn.wait(news, lambda: False, lambda: True, 10.0)
        took.set()

    thread = threading.Thread(target=want, daemon=True)
    thread.start()
    assert wait_until(lambda: turn.wanted)
    assert not took.is_set()
    turn.leave()
    assert took.wait(5)
    thread.join(5)
    assert not turn.wanted


def test_who_waits_is_told_what_another_thread_read() -> None:
    turn, news, answers = LeaderFollower(), threading.Condition(), deque[str]()
    assert turn.take()
    thread = threading.Thread(
        target=lambda: turn.wait(news, lambda: bool(answers), lambda: True, 10.0), daemon=True
    )
    thread.start()
    assert wait_until(lambda: turn.wanted)
    with news:
        answers.append("here")
        news.notify_all()
    thread.join(5)
    assert not thread.is_alive()


def test_the_connections_own_thread_takes_over_once_nobody_has_read_for_a_while() -> None:
    turn, returned = LeaderFollower(), threading.Event()
    assert turn.take()

    def own() -> None:
        turn.stand_by()
        returned.set()

    thread = threading.Thread(target=own, daemon=True)
    thread.start()
    # However long one thread keeps the turn, nobody else reads; when it has left, the own thread does.
    assert not returned.wait(0.05)
    turn.leave()
    assert returned.wait(5)
    thread.join(5)


def test_a_call_ends_the_standing_by_of_the_own_thread_at_once() -> None:
    turn = LeaderFollower()
    assert turn.take()
    thread = threading.Thread(target=turn.stand_by, daemon=True)
    thread.start()
    time.sleep(0.02)
    turn.call()
    thread.join(5)
    assert not thread.is_alive()
    turn.call()
    turn.stand_by()


def test_no_item_is_lost_where_many_threads_take_turns() -> None:
    turn, news, lock = LeaderFollower(), threading.Condition(), threading.Lock()
    source, left = deque(range(600)), [200, 200, 200]
    ended = threading.Event()

    def read() -> None:
        # An item is an answer to the thread number item % 3.
        with lock:
            item = source.popleft() if source else None
        if item is not None:
            with news:
                left[item % 3] -= 1
                news.notify_all()

    def wait_for_all(number: int) -> None:
        while left[number]:
            if turn.take():
                try:
                    read()
                finally:
                    turn.leave()
            else:
                turn.wait(news, lambda: not left[number], lambda: True, 5.0)

    def own() -> None:
        while not ended.is_set():
            turn.stand_by()
            if turn.take():
                read()
                turn.leave()

    standing = threading.Thread(target=own, daemon=True)
    threads = [threading.Thread(target=wait_for_all, args=(number,), daemon=True) for number in range(3)]
    for thread in (standing, *threads):
        thread.start()
    for thread in threads:
        thread.join(10)
    ended.set()
    turn.call()
    standing.join(5)
    assert left == [0, 0, 0] and not any(thread.is_alive() for thread in (standing, *threads))
