"""The farm rover drives: as planned, or, on wheels that slip, with a fix of its place at each corner.

Slip is that of Wong, "Theory of Ground Vehicles" (chapter 2): i = 1 - v / (r omega), the share of the wheels'
way that is lost. Between corners the rover goes by its wheels, its heading held by a gyro; it ends a leg
short by that share and, on ground that falls to the left, `side_slip` times as much to the left of it. At
rest it fixes its place (as with RTK GNSS, whose error is left out), and drives what is left, up to
`CORRECTIONS` times. So slip costs time and charge, and a clearance may not cover the drift.
"""

from __future__ import annotations

import math

from devices.farm_rover import interlocks, tools
from devices.farm_rover.world import Pose, distance
from devices.harm import Remedy
from devices.outcome import Refusal
from sims.farm.at_work import TICK_S, FarmAtWork
from sims.farm.drive import Drive
from sims.farm.geometry import Point
from sims.farm.route import nearest_clear, plan_route
from sims.simulator import CallOptions

CONTACT_TICK_S = 0.05
"""Step of a drive that touches something, s."""
CLOSE_ENOUGH_M = 0.01
"""A corner is reached within this."""
CORRECTIONS = 8
"""How often the rover tries again to reach a corner, before it stays where it is."""
DECIMALS = 3


class FarmDriving(FarmAtWork):
    """The farm with a rover that can be sent to a pose."""

    def drive_to(self, goal: Pose, call: CallOptions) -> tools.Pose:
        """Drive to a pose round all that is to keep off; a goal inside that is driven to all the same."""
        state, world = self.state, self.world
        if not call.forced:
            interlocks.unlocked(state.safety_locked)
            interlocks.inside_field(world, goal.x, goal.y)
        start, end = (state.pose.x, state.pose.y), (goal.x, goal.y)
        if call.remedy is Remedy.DETOUR:
            end = nearest_clear(self.ground, end)
        route = plan_route(self.ground, start, end)
        if route is None:
            if not call.forced:
                raise Refusal(
                    "no_route", f"There is no way to ({goal.x:g}, {goal.y:g}) round the beds and obstacles."
                )
            route = (start, end)
        drive = Drive(state.pose, route, goal.yaw, world.rover, call.duration)
        if not call.forced:
            interlocks.enough_charge(state.battery, drive.charge)
        with self.at_work(call):
            self.let_go_of_plant()
            state.goal, state.moving = drive.end, True
            try:
                if call.remedy is Remedy.DETOUR or not self._may_slip:
                    self._roll(drive, call, self.contact.near(drive.points))
                    state.pose = drive.end
                else:
                    self._slip_along(route, goal.yaw, drive, call)
            finally:
                state.moving = False
        return rounded(state.pose)

    @property
    def _most_slip(self) -> float:
        faults = self.world.faults
        kinds = {fault.kind for fault in faults.schedule} | {rate.kind for rate in faults.random}
        if "wheel_slip" in kinds:
            return 1.0
        return self.world.hidden.slip

    @property
    def _may_slip(self) -> bool:
        return self._most_slip > 0.0

    def _slip_along(self, route: tuple[Point, ...], yaw: float, planned: Drive, call: CallOptions) -> None:
        """Drive a route corner by corner, with a fix after each leg, and turn to the last heading."""
        state, rover = self.state, self.world.rover
        ends_at = None if call.duration is None else self.clock.now + call.duration
        margin = rover.side_slip * self._most_slip * max(map(math.dist, route, route[1:]), default=0.0)
        touches = self.contact.near(planned.points, margin)
        for x, y in route[1:]:
            corner = Pose(x=x, y=y)
            for _ in range(1 + CORRECTIONS):
                if distance(state.pose, corner) <= CLOSE_ENOUGH_M:
                    break
                ahead = math.atan2(y - state.pose.y, x - state.pose.x)
                here = (state.pose.x, state.pose.y)
                if not self._roll_on(Drive(state.pose, (here, (x, y)), ahead, rover), call, touches, ends_at):
                    return
        here = (state.pose.x, state.pose.y)
        self._roll_on(Drive(state.pose, (here, here), yaw, rover), call, touches, ends_at)

    def _roll_on(self, drive: Drive, call: CallOptions, touches: bool, ends_at: float | None) -> bool:
        """One more drive, if a call with a set time still has the time for it; whether it had."""
        left = math.inf if ends_at is None else ends_at - self.clock.now
        if drive.duration > left + 1.0 / 1000.0:
            return False
        self._roll(drive, call, touches)
        return True

    def _roll(self, drive: Drive, call: CallOptions, touches: bool) -> None:
        """Drive without a fix on the way: slip moves the rover off its track."""
        state, rover = self.state, self.world.rover
        started, charge, draw = self.clock.now, state.battery, self.world.hidden.draw
        slips = self._may_slip and call.remedy is not Remedy.DETOUR
        behind = lost = 0.0

        def move(t: float, dt: float) -> None:
            nonlocal behind, lost
            driven = t + dt - started
            pose = drive.pose(driven)
            if slips:
                way = drive.way(driven)
                lost += self._slip() * (way - behind)
                behind = way
                cos, sin = math.cos(pose.yaw), math.sin(pose.yaw)
                aside = rover.side_slip * lost
                pose = Pose(
                    x=pose.x - lost * cos - aside * sin, y=pose.y - lost * sin + aside * cos, yaw=pose.yaw
                )
            state.pose = pose
            state.battery = max(0.0, charge - drive.charge_until(driven) * draw)
            if touches:
                overlap = max(0.0, self.contact.moved((pose.x, pose.y), call.index))
                state.contact_n = overlap * rover.contact_stiffness
                state.shock_n = max(state.shock_n, state.contact_n)

        self.run(move, drive.duration, CONTACT_TICK_S if touches else TICK_S)

    def _slip(self) -> float:
        fault = min(1.0, self.faults.strength("wheel_slip"))
        return 1.0 - (1.0 - self.world.hidden.slip) * (1.0 - fault)


def rounded(pose: Pose) -> tools.Pose:
    """A pose as the tools tell it."""
    return tools.Pose(x=round(pose.x, DECIMALS), y=round(pose.y, DECIMALS), yaw=round(pose.yaw, DECIMALS))
