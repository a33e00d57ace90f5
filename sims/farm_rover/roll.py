"""A rover that rolls along a drive without position fixes: slip moves it off its track."""

from __future__ import annotations

import math

from devices.farm_rover import tolerances
from devices.farm_rover.world import Pose, Rover
from sims.clock import NEVER, Clock
from sims.farm_rover.farm import Farm
from sims.farm_rover.geometry import Point, Shape
from sims.farm_rover.rover_monitor import Track
from sims.farm_rover.trajectory import Drive
from sims.faults import FaultSchedule

LEAST_GRIP = 0.1
"""Minimum grip of a rover on a detour, as a share of the wheels' travel."""


def slip_of(farm: Farm, faults: FaultSchedule | None = None) -> float:
    """Return the lost share of the wheels' travel now."""
    fault = min(1.0, (faults or farm.faults).strength("wheel_slip"))
    return 1.0 - (1.0 - farm.world.hidden.slip) * (1.0 - fault)


def off_track(rover: Rover, place: tuple[float, float, float], lost: float) -> Pose:
    """Return where a rover is that has lost this length of its track, m."""
    x, y, yaw = place
    cos, sin, aside = math.cos(yaw), math.sin(yaw), rover.side_slip * lost
    return Pose(x=x - lost * cos - aside * sin, y=y - lost * sin + aside * cos, yaw=yaw)


class Roll:
    """One drive of a call, from now on: what each step of it does.

    Args:
        farm: on which it drives.
        drive: the motion.
        call: that drives, by index.
        near: the shapes that it may touch.
        slips: slip takes it off its track; else it only takes more charge.
    """

    def __init__(self, farm: Farm, drive: Drive, call: int, near: list[Shape], slips: bool) -> None:
        self._farm, self._drive, self._call, self._near, self._slips = farm, drive, call, near, slips
        state, world = farm.state, farm.world
        self._started, self._charge, self._drawn = farm.clock.now, state.battery, state.drawn
        self._draw = world.hidden.draw
        if not slips:
            self._draw /= max(1.0 - slip_of(farm), LEAST_GRIP)
        self._behind = self._lost = 0.0
        self.track = Track(self._point, world.rover.speed * drive.pace * (1.0 + world.rover.side_slip))

    @property
    def _slip(self) -> float:
        return slip_of(self._farm) if self._slips else 0.0

    def move(self, t: float, dt: float) -> None:
        """Take a step of length dt, s, from device time t on, s."""
        state, driven = self._farm.state, t + dt - self._started
        came_from = state.pose
        self._be(driven, self._roll(driven, self._slip))
        if self._near:
            step = (came_from.x, came_from.y), (state.pose.x, state.pose.y)
            overlap = max(0.0, self._farm.contact.moved(*step, self._call, self._near))
            state.contact_n = overlap * self._farm.world.rover.contact_stiffness
            state.shock_n = max(state.shock_n, state.contact_n)

    def same_touch_until(self) -> int:
        """Return the tick up to which it goes on touching what it touches now, and nothing else."""
        if not self._near:
            return NEVER
        pose, radius = self._farm.state.pose, self._farm.world.rover.radius
        gap = min(abs(shape.distance((pose.x, pose.y)) - radius) for shape in self._near)
        return self._farm.clock.ticks + Clock.to_ticks(gap / self.track.speed) - 1

    def alone_until(self, end: int) -> int:
        """Return the tick, `end` at most, up to which nothing happens but its motion and what it touches.

        So for a twin, which leaves the soil out: no flow, fault or low battery, and no person near.
        """
        farm, state = self._farm, self._farm.state
        flows = not (state.water.still and state.pesticide.still)
        left = self._charge - self._drive.charge * self._draw - farm.world.rover.battery_reserve
        harms = state.heaped_by is not None or state.low_by is not None or left < tolerances.SPARE_CHARGE
        if farm.watched or not farm.apart or flows or harms:
            return farm.clock.ticks
        change = NEVER if farm.faults.next_change is None else farm.faults.next_change
        soonest = min(state.next_ripening, self._far_until())
        return min(end, change - 1, NEVER if soonest == math.inf else Clock.to_ticks(soonest) - 2)

    def _far_until(self) -> float:
        """Return the device time, s, up to which a person walks straight on, too far away to be harmed."""
        farm, now = self._farm, self._farm.clock.now
        person, pose = farm.world.person, farm.state.pose
        turn = next((waypoint for waypoint in person.path if waypoint.t >= now), None)
        if turn is None:
            return math.inf
        place = person.at(now)
        if place is None or farm.state.alone or farm.state.safety_locked or turn.t == now:
            return turn.t
        closing = self.track.speed + math.dist(place, (turn.x, turn.y)) / (turn.t - now)
        return min(turn.t, now + (math.dist(place, (pose.x, pose.y)) - person.near_m) / closing)

    def step(self, until: int) -> None:
        """Take one step up to this tick in which nothing happens but motion and contacts."""
        farm, t, seconds = self._farm, self._farm.clock.now, Clock.to_seconds(until - self._farm.clock.ticks)
        self.move(t, seconds)
        farm.contact.until(t + seconds, farm.ledger)
        farm.clock.ticks = until

    def coast(self, until: int, grid: int) -> list[tuple[int, float]]:
        """Take all steps up to this tick, which end at multiples of `grid`, in which its motion is all.

        Returns:
            What the meter of the charge shows at the end of each step, by tick.
        """
        farm, ticks, metered = self._farm, self._farm.clock.ticks, []
        slip, end, used = self._slip, 0.0, 0.0
        while ticks < until:
            after = min(until, (ticks // grid + 1) * grid)
            end = Clock.to_seconds(ticks) + Clock.to_seconds(after - ticks)
            used = self._roll(end - self._started, slip)
            metered.append((after, self._drawn + used))
            ticks = after
        self._be(end - self._started, used)
        farm.contact.until(end, farm.ledger)
        farm.clock.ticks = ticks
        return metered

    def _roll(self, driven: float, slip: float) -> float:
        """Turn the wheels up to a time after the start, s; return the share of the battery used by then."""
        travelled, used = self._drive.progress(driven)
        self._lost += slip * (travelled - self._behind)
        self._behind = travelled
        return used

    def _be(self, driven: float, used: float) -> None:
        """Be where the rover is at a time after the start, s, with this share of the battery used."""
        state = self._farm.state
        state.pose = off_track(self._farm.world.rover, self._drive.place(driven), self._lost)
        state.battery, state.drawn = max(0.0, self._charge - used * self._draw), self._drawn + used

    def _point(self, t: float) -> Point:
        travelled, _ = self._drive.progress(t - self._started)
        lost = self._lost + self._slip * (travelled - self._behind)
        pose = off_track(self._farm.world.rover, self._drive.place(t - self._started), lost)
        return pose.x, pose.y
