"""The answers that a device keeps: the last ones, by id, and none that could not be sent."""

from __future__ import annotations

import pytest

from devices.outcome import Outcome
from firmware_bridge.lines import HOST_MAX_FRAME, to_line
from firmware_bridge.result_cache import MIN_KEPT, ResultCache, make_answer


def test_the_oldest_answer_is_the_one_that_goes() -> None:
    cache = ResultCache(MIN_KEPT)
    for number in range(MIN_KEPT + 3):
        cache.keep(f"c{number}", Outcome("ok", {"n": number}))
    assert [cache.get(f"c{number}") for number in range(3)] == [None, None, None]
    for number in range(3, MIN_KEPT + 3):
        answer = cache.get(f"c{number}")
        assert answer is not None and answer[0].value == {"n": number}


def test_an_answer_that_was_asked_for_again_is_no_younger_for_it() -> None:
    cache = ResultCache(MIN_KEPT)
    for number in range(MIN_KEPT):
        cache.keep(number, Outcome("ok"))
    assert cache.get(0) is not None
    cache.keep("new", Outcome("ok"))
    assert cache.get(0) is None and cache.get(1) is not None and cache.get("new") is not None


def test_an_id_is_told_by_its_type_too() -> None:
    cache = ResultCache(MIN_KEPT)
    cache.keep("7", Outcome("ok"))
    assert cache.get(7) is None


def test_fewer_answers_than_the_wire_asks_for_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 32"):
        ResultCache(MIN_KEPT - 1)


@pytest.mark.parametrize("spare", [0, 1])
def test_the_longest_result_is_what_just_fits_a_line_that_hosts_take(spare: int) -> None:
    empty = len(make_answer("a", Outcome("ok", {"x": ""}))[1])
    room = HOST_MAX_FRAME - len(to_line(b"")) - empty
    result, payload = make_answer("a", Outcome("ok", {"x": "y" * (room + 1 - spare)}))
    assert len(payload) < HOST_MAX_FRAME
    assert result.status == ("ok" if spare else "fault")
    if not spare:
        assert result.error is not None and f"{HOST_MAX_FRAME - 9} bytes" in result.error.message
