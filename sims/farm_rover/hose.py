"""A tank with its pump, hose and nozzle: what is pumped leaves the nozzle with a lag.

The flow at the nozzle is the mean of four copies of the pump's flow, late by 1/8, 3/8, 5/8 and 7/8 of the
lag: a linear ramp in four steps. So it builds up after the pump starts and dribbles after it stops, and every
litre that is pumped comes out. All flows are constant between the moments of `horizon`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

from devices.farm_rover import tolerances
from sims.snapshots import shallow_copy

STEPS = 4


@dataclass(slots=True)
class Hose:
    """Volumes in the unit of the tank (L or ml), flows in that unit per s, times in s of device time.

    Attributes:
        content: of the tank.
        lag: in which the flow at the nozzle comes and goes.
        factor: true flow over what the controller believes, with a full battery and tank.
        share: of the rated flow that the pump gives as it is driven; it holds throughout a dose.
        idle_flow: the pump's nominal flow; a valve that stays ajar lets a share of it pass.
        inside: pumped and not yet out of the nozzle.
        pumped, delivered, filled: totals since the start.
        swayed: of what was pumped, what came through a clogged nozzle, or a valve that sticks.
        on_s: how long the pump of a bottomless tank has been on.
        pump: the flow that the controller believes to pump now, 0 with the pump off.
        ajar: share of its flow that passes the valve although it was closed.
        rate: true flow out of the tank now.
        faulty: that hangs on how strong a fault is.
        stages: the pump's flow as the four copies see it now.
        pending: changes of the stages to come: time, stage, flow.
        budget: what may still leave the nozzle before everything is closed; None: no limit.
        stops_when_dry: the pump is switched off as soon as the tank is empty.
        tight: the valve closes tightly even where it sticks.
        shut: the valve is closed tightly, whatever else holds.
        bottomless: the tank never runs dry: what it holds is weighed apart.
    """

    content: float
    lag: float
    factor: float
    idle_flow: float
    share: float = 1.0
    inside: float = 0.0
    pumped: float = 0.0
    delivered: float = 0.0
    filled: float = 0.0
    swayed: float = 0.0
    on_s: float = 0.0
    pump: float = 0.0
    ajar: float = 0.0
    rate: float = 0.0
    faulty: bool = False
    stages: list[float] = field(default_factory=lambda: [0.0] * STEPS)
    pending: list[tuple[float, int, float]] = field(default_factory=list)
    budget: float | None = None
    stops_when_dry: bool = False
    tight: bool = False
    shut: bool = False
    bottomless: bool = False

    def __deepcopy__(self, _memo: dict[int, Any]) -> Hose:
        """Copy directly, which is faster than the general method."""
        twin = shallow_copy(self)
        twin.stages, twin.pending = list(self.stages), list(self.pending)
        return twin

    @property
    def flow(self) -> float:
        """Flow out of the nozzle now."""
        a, b, c, d = self.stages
        return (a + b + c + d) / STEPS

    @property
    def true_share(self) -> float:
        """True flow over what the controller believes."""
        return self.factor * self.share

    @property
    def still(self) -> bool:
        """Whether nothing flows, and nothing will unless the pump is switched on."""
        return not (self.pump or self.ajar or self.pending or self.rate or any(self.stages))

    @property
    def dry(self) -> bool:
        """Whether the pump runs without content."""
        return self.pump > 0.0 and self._empty(self.pump * self.true_share)

    def _empty(self, rate: float) -> bool:
        """Return whether a flow at this rate empties the tank before it shows; what is left stays in it."""
        return not self.bottomless and self.content <= rate * tolerances.FLOW_CHANGE_S

    def open(self, flow: float) -> None:
        """Switch the pump on, at this flow as the controller believes it."""
        self.pump, self.ajar, self.budget = flow, 0.0, None
        self.stops_when_dry = self.tight = False

    def close(self, stuck: float = 0.0) -> None:
        """Switch the pump off; a stuck valve that was open stays open by that share."""
        if self.pump:
            self.pump, self.ajar = 0.0, 0.0 if self.tight else stuck

    def cut(self) -> None:
        """Close pump, valve and nozzle at once; the content of the hose stays there."""
        self.pump = self.ajar = self.rate = 0.0
        self.stages = [0.0] * STEPS
        self.pending = []

    def fill(self, volume: float, capacity: float) -> None:
        """Fill the tank by a volume, up to its capacity."""
        added = min(volume, capacity - self.content)
        self.content += added
        self.filled += added

    def settle(self, t: float, clogged: float, stuck: float) -> None:
        """Set the flows of time t, with the shares of a clogged nozzle and of a stuck valve."""
        while self.pending and self.pending[0][0] <= t + tolerances.FLOW_CHANGE_S:
            _, stage, flow = self.pending.pop(0)
            self.stages[stage] = flow
        self.ajar = min(self.ajar, stuck)
        if self.shut and not self.pump:
            if self.rate or any(self.stages) or self.pending:
                ajar = self.ajar
                self.cut()
                self.ajar = ajar
            return
        if self.stops_when_dry and self.dry:
            self.pump = 0.0
        wanted = self.pump * self.true_share * (1.0 - min(1.0, clogged))
        if not self.pump:
            wanted = self.idle_flow * self.true_share * self.ajar
        self.faulty = not self.pump or clogged > 0.0
        if self._empty(wanted):
            wanted = 0.0
        if wanted != self.rate:
            self.rate = wanted
            step = self.lag / STEPS
            self.pending += [(t + (k + 0.5) * step, k, wanted) for k in range(STEPS)]
            self.pending.sort()

    def horizon(self, t: float) -> float:
        """Return how long from t on the flows stay as they are."""
        soonest = self.pending[0][0] - t if self.pending else math.inf
        if self.rate > 0.0 and not self.bottomless:
            soonest = min(soonest, self.content / self.rate)
        if self.budget is not None and self.flow > 0.0:
            soonest = min(soonest, self.budget / self.flow)
        return max(soonest, tolerances.VOLUME)

    def advance(self, seconds: float) -> float:
        """Advance by a time within the horizon; return the volume out of the nozzle."""
        taken, out = self.rate * seconds, self.flow * seconds
        if taken >= self.content - tolerances.VOLUME and not self.bottomless:
            taken = self.content if self.rate else 0.0
        if self.budget is not None and out >= self.budget - tolerances.VOLUME:
            out = min(out, self.budget)
        self.content = max(0.0, self.content - taken)
        if self.bottomless and self.pump:
            self.on_s += seconds
        self.inside += taken - out
        self.pumped += taken
        if self.faulty:
            self.swayed += taken
        self.delivered += out
        if self.budget is not None:
            self.budget -= out
            if self.budget <= tolerances.VOLUME:
                self.cut()
        return out

    def preview(
        self, flow: float, seconds: float, clogged: float, stuck: float, volume: float | None = None
    ) -> list[tuple[float, float]]:
        """Return the nozzle's flow in pieces, (s, flow), if the pump were switched on now for this time.

        Args:
            flow, seconds: of the pump, as the controller believes.
            clogged, stuck: as they are now.
            volume: that may leave the nozzle; None: no limit.
        """
        ahead = replace(self, stages=list(self.stages), pending=[], shut=False)
        ahead.open(flow)
        ahead.budget = volume
        if volume is not None and volume <= tolerances.VOLUME:
            ahead.cut()
        pieces, t, end = [], 0.0, seconds + self.lag
        while t < end - tolerances.FLOW_CHANGE_S:
            if t >= seconds - tolerances.FLOW_CHANGE_S:
                ahead.close(stuck)
            ahead.settle(t, clogged, stuck)
            until = seconds if t < seconds - tolerances.FLOW_CHANGE_S else end
            took = min(ahead.horizon(t), until - t)
            pieces.append((took, ahead.flow))
            ahead.advance(took)
            t += took
        return pieces
