"""Nothing that people wait for takes more calls than it did: a count that no busy machine disturbs."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable

import pytest
from call_counts import BASELINE, CASES, GRIND, MORE, VERSION, Counter, instructions, measured

KEPT = json.loads(BASELINE.read_text(encoding="utf-8")).get(VERSION, {})
RENEW = "python tests/support/call_counts.py --renew"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not KEPT, reason=f"no baseline of Python {VERSION}; {RENEW} writes one"),
]


def compare(case: str, measure: Callable[[str], float]) -> None:
    now, before = measure(case), KEPT[case]
    assert now <= MORE * before, (
        f"{case}: {now:.0f}, {100 * (now / before - 1):.0f} % above the {before:.0f} of {BASELINE.name}. "
        f"Find what it does more; where that is meant, {RENEW}, and say why in the commit"
    )


@pytest.mark.parametrize("case", CASES)
def test_the_calls_and_modules_are_those_of_the_baseline(case: str) -> None:
    compare(case, measured)


@pytest.mark.nightly
@pytest.mark.timeout(600)
@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
@pytest.mark.parametrize("case", GRIND)
def test_the_instructions_are_those_of_the_baseline(case: str) -> None:
    if case not in KEPT:
        pytest.skip(f"the baseline has none; {RENEW} writes it where valgrind is installed")
    compare(case, instructions)


def test_a_tenth_more_fails_and_names_the_case() -> None:
    case = next(iter(CASES))
    compare(case, lambda _: 1.09 * KEPT[case])
    with pytest.raises(AssertionError, match="11 % above"):
        compare(case, lambda _: 1.11 * KEPT[case])


def test_each_call_of_each_thread_counts_once() -> None:
    import threading

    def called() -> None:
        return None

    def twice() -> None:
        called()
        called()

    counter = Counter()
    with counter.on():
        twice()
    alone = counter.count
    thread = threading.Thread(target=twice)
    with counter.on():
        thread.start()
        thread.join()
    # Besides the calls, the context's own end; of a thread also its start.
    assert 3 <= alone <= 8
    assert counter.count - alone >= 3
