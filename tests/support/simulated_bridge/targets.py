"""Worlds of a second family: each meets what one safeguard of the bridge alone stands against.

The worlds of `drawn` meet these conditions once in some hundreds; they stay as they are, so that a seed of a
long search is the same world for good.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from simulated_bridge.scenario import Fault, Scenario, drawn

Span = tuple[float, float]


@dataclass(frozen=True)
class Target:
    """A condition.

    Attributes:
        faults: each with how long after the one before it begins, and how long it lasts, in s.
        calls: lengths of the first call that are drawn, in s.
        watchdog, timeout: the board's and a call's, in s.
        thinks: seconds between two calls that are drawn.
    """

    link: str
    faults: tuple[tuple[str, Span, Span], ...]
    calls: Sequence[float]
    watchdog: float
    timeout: float
    thinks: Sequence[float] = (0.0, 0.5, 2.0)


TARGETS = (
    # The host stops the rig while the broker is away, and the board's watchdog lets it go on.
    Target(
        "mqtt",
        (("broker gone", (1.0, 8.0), (4.5, 8.0)), ("host frozen", (0.1, 0.6), (3.1, 4.0))),
        calls=(30.0, 90.0),
        watchdog=10.0,
        timeout=20.0,
    ),
    # A status of the stop that opens a run is 6 s late, and a person stops the call that is at work by then.
    Target(
        "mqtt",
        (("disorder", (0.0, 0.3), (7.0, 10.0)), ("stop pressed", (5.5, 6.5), (0.0, 0.0))),
        calls=(30.0, 90.0),
        watchdog=10.0,
        timeout=20.0,
        thinks=(0.0,),
    ),
    # A host stands still, and nothing but its rig process can stop the board.
    Target(
        "serial", (("host frozen", (0.5, 12.0), (5.5, 9.0)),), calls=(30.0, 90.0), watchdog=0.0, timeout=20.0
    ),
)


def targeted(seed: int) -> Scenario:
    """Return the scenario of a seed in this family."""
    base, random = drawn(seed), Random(f"targeted {seed}")
    target = random.choice(TARGETS)
    at, faults = 0.0, []
    for kind, after, lasts in target.faults:
        at += random.uniform(*after)
        faults.append(Fault(kind, round(at, 3), round(random.uniform(*lasts), 3)))
    first, *runs = base.calls
    return replace(
        base,
        link=target.link,
        calls=((random.choice(target.calls), *first[1:]), *runs),
        faults=tuple(faults),
        watchdog=target.watchdog,
        timeout=target.timeout,
        thinks=random.choice(target.thinks),
        slow=base.slow if target.link == "serial" else 0.0,
    )


PLANS: Mapping[str, Callable[[int], Scenario]] = {"drawn": drawn, "targeted": targeted}
"""The families of worlds."""
