"""The whole bridge in simulated worlds: what must hold does, and bugs that are put back are found."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable

import pytest

pytest.importorskip("greenlet", reason="`make test` installs it")

from simulated_bridge.bugs import BUGS, Bug
from simulated_bridge.scenario import Simulations, drawn, shrunk

from firmware_bridge.client import RigClient

pytestmark = pytest.mark.stops

WORLDS = int(os.environ.get("SIMULATED_WORLDS", "5000"))
BUG_WORLDS = min(WORLDS, 1000)


def alone(body: Callable[[Simulations], None]) -> None:
    """Run it in a fork: clocks and threads are simulated, for other tests' threads as well."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            with Simulations() as simulations:
                body(simulations)
            status = 0
        except BaseException:
            os.write(writing, traceback.format_exc().encode()[-60_000:])
        finally:
            os._exit(status)
    os.close(writing)
    with os.fdopen(reading, "rb") as told:
        said = told.read().decode()
    assert os.waitpid(child, 0)[1] == 0, said


def test_what_must_hold_does_in_the_first_worlds() -> None:
    alone(holds_in(12))


def holds_in(worlds: int) -> Callable[[Simulations], None]:
    def body(simulations: Simulations) -> None:
        broken = {seed: dict(found) for seed in range(worlds) if (found := simulations.run(drawn(seed))[0])}
        assert broken == {}

    return body


def test_a_seed_gives_the_same_world_again_and_a_bug_is_found_and_shrunk() -> None:
    alone(same_again_and_shrunk)


def same_again_and_shrunk(simulations: Simulations) -> None:
    plan = drawn(3)
    first, second = (simulations.run(plan, traced=True) for _ in range(2))
    assert first == second and len(first[1]) > 10
    one = next(one for one in BUGS if one.name == "a stopped device takes calls")
    with one.put_back():
        seed = next(seed for seed in range(50) if simulations.run(drawn(seed))[0])
        small = shrunk(drawn(seed), lambda plan: simulations.run(plan)[0])
    assert len(small.faults) <= 1 and sum(map(len, small.calls)) <= 2
    assert simulations.run(small)[0] == {}


def test_a_patch_that_fails_by_itself_is_no_find() -> None:
    alone(no_find)


def no_find(simulations: Simulations) -> None:
    one = Bug("no bug", "", None, lambda: [(RigClient, "call", lambda self: None)])
    with one.put_back() as planted:
        simulations.run(drawn(3))
    assert planted.reached and "TypeError" in planted.error


@pytest.mark.nightly
@pytest.mark.timeout(300)
@pytest.mark.parametrize("one", [one for one in BUGS if one.seed is not None], ids=lambda one: one.name)
def test_a_bug_that_is_put_back_is_found_within_1000_worlds(one: Bug) -> None:
    def body(simulations: Simulations) -> None:
        with one.put_back() as planted:
            assert any(simulations.run(drawn(seed))[0] for seed in range(BUG_WORLDS))
        assert planted.error == ""

    alone(body)


@pytest.mark.nightly
@pytest.mark.timeout(1800)
def test_what_must_hold_does_in_5000_worlds() -> None:
    alone(holds_in(WORLDS))
