"""Drives the farm rover as planned or, on slipping wheels, with a position fix at each corner.

Slip is that of Wong, "Theory of Ground Vehicles" (chapter 2): i = 1 - v / (r omega), the lost share of the
wheels' travel. Between corners the rover relies on odometry, its heading held by a gyro; it ends a leg short
by that share and, on ground that falls to the left, `side_slip` times as much to the left. At rest it fixes
its position (as with RTK GNSS, whose error is neglected) and drives the rest, up to `CORRECTIONS` times. So
slip costs time and charge, and a clearance may not cover the drift.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from devices.farm_rover import tolerances, tools
from devices.farm_rover.world import Pose, Rover
from sims.clock import TICKS_PER_SECOND, Clock
from sims.farm_rover.farm import Farm
from sims.farm_rover.geometry import Point, Shape
from sims.farm_rover.roll import Roll, off_track, slip_of
from sims.farm_rover.route import Ground, nearest_clear, plan_route
from sims.farm_rover.tool_execution import TICK_S, ToolExecution
from sims.farm_rover.trajectory import Drive
from sims.faults import FaultSchedule, faults_of
from sims.simulator import CallOptions

CONTACT_TICK_S = 0.05
"""Step of a drive that touches something, s."""
LONGEST_TOUCH_S = 0.2
"""Maximum step in which it touches something, s: its overlap is integrated by three points."""
CORRECTIONS = 8
"""Number of further attempts to reach a corner, before the rover stays where it is."""
STEPS_BETWEEN = 8
"""Number of steps after which it is seen again whether the next ones are fast."""
DECIMALS = 3


class DriveControl:
    """Drives a rover on a farm to a pose, round all shapes."""

    def __init__(self, farm: Farm, execution: ToolExecution) -> None:
        self._farm, self._execution = farm, execution
        self.keeps_clear = False
        """Drives end clear of everything, on wheels that do not slip off their track."""
        self._planned: tuple[Ground, Point, Point, tuple[Point, ...] | None] | None = None
        """The last planned route: on which ground, start, end and corners."""

    def drive_to(self, goal: Pose, call: CallOptions) -> tools.RoverPose:
        """Drive to a pose round all shapes; a goal inside one is still driven to."""
        state, world = self._farm.state, self._farm.world
        start, end = (state.pose.x, state.pose.y), (goal.x, goal.y)
        if self.keeps_clear:
            end = nearest_clear(self._ground, end)
        # A forced drive goes straight where there is no route.
        route = self.route(end) or (start, end)
        drive = Drive(state.pose, route, goal.yaw, world.rover, call.duration)
        with self._execution.running(call):
            self._execution.leave_plant()
            state.goal, state.moving = drive.end, True
            try:
                if self.keeps_clear or not self._may_slip:
                    self._roll(drive, call, self._farm.contact.near(drive.points))
                    state.pose = drive.end
                else:
                    self._slip_along(route, goal.yaw, drive, call)
            finally:
                state.moving = False
        return rounded(state.pose)

    @property
    def _ground(self) -> Ground:
        return self._farm.surveyed if self.keeps_clear else self._farm.ground

    def route(self, end: Point) -> tuple[Point, ...] | None:
        """Return the route from here, or None; the interlocks and the drive use the same one."""
        start, ground = (self._farm.state.pose.x, self._farm.state.pose.y), self._ground
        if self._planned is None or self._planned[:3] != (ground, start, end):
            self._planned = ground, start, end, plan_route(ground, start, end)
        return self._planned[3]

    def charge(self, goal: Pose) -> float:
        """Return the share of a full charge that the drive to a pose takes; infinite without a route."""
        route = self.route((goal.x, goal.y))
        return (
            math.inf
            if route is None
            else Drive(self._farm.state.pose, route, goal.yaw, self._farm.world.rover).charge
        )

    @property
    def _most_slip(self) -> float:
        faults = self._farm.world.faults
        kinds = {fault.kind for fault in faults.schedule} | {rate.kind for rate in faults.random}
        if "wheel_slip" in kinds:
            return 1.0
        return self._farm.world.hidden.slip

    @property
    def _may_slip(self) -> bool:
        return self._most_slip > 0.0

    def _slip_along(self, route: tuple[Point, ...], yaw: float, planned: Drive, call: CallOptions) -> None:
        """Drive a route corner by corner, with a fix after each leg, and turn to the last heading."""
        state, rover = self._farm.state, self._farm.world.rover
        near = self._farm.contact.near(planned.points, self._margin(route))
        ends_at = math.inf if call.duration is None else self._farm.clock.now + call.duration
        pace = self._pace(route, yaw, call)
        for x, y in route[1:]:
            for _ in range(1 + CORRECTIONS):
                if math.dist((state.pose.x, state.pose.y), (x, y)) <= tolerances.CORNER:
                    break
                if not self._roll_on(_straight(state.pose, x, y, rover, pace), call, near, ends_at):
                    return
        self._roll_on(_turn(state.pose, yaw, rover, pace), call, near, ends_at)

    def _margin(self, route: Sequence[Point]) -> float:
        """Return how far off a route slip may take the rover, m."""
        longest = max(map(math.dist, route, route[1:]), default=0.0)
        return self._farm.world.rover.side_slip * self._most_slip * longest

    def _pace(self, route: tuple[Point, ...], yaw: float, call: CallOptions) -> float:
        """Return the speed factor that makes the natural duration match `call.duration`."""
        if call.duration is None:
            return 1.0
        seconds, drives = self._natural_time(route, yaw)
        # Each drive is rounded to the clock's tick.
        if not seconds or not call.duration or abs(seconds - call.duration) <= drives / TICKS_PER_SECOND:
            return 1.0
        return seconds / call.duration

    def _natural_time(self, route: tuple[Point, ...], yaw: float) -> tuple[float, int]:
        """Return the natural duration of a route from now on, s, with faults to come; and its drives."""
        rover, pose, tick, drives = self._farm.world.rover, self._farm.state.pose, self._farm.clock.ticks, 0
        faults = FaultSchedule(faults_of(self._farm.world), self._farm.seed, lambda: tick)
        for x, y in route[1:]:
            for _ in range(1 + CORRECTIONS):
                if math.dist((pose.x, pose.y), (x, y)) <= tolerances.CORNER:
                    break
                drive, began, drives = _straight(pose, x, y, rover), tick, drives + 1
                end = began + Clock.to_ticks(drive.duration)
                behind = lost = 0.0
                while tick < end:
                    slip, change = slip_of(self._farm, faults), faults.next_change
                    tick = end if change is None else min(end, change)
                    travelled, _ = drive.progress(Clock.to_seconds(tick - began))
                    lost += slip * (travelled - behind)
                    behind = travelled
                pose = off_track(rover, drive.place(Clock.to_seconds(end - began)), lost)
        seconds = Clock.to_seconds(tick - self._farm.clock.ticks) + _turn(pose, yaw, rover).duration
        return seconds, drives + 1

    def _roll_on(self, drive: Drive, call: CallOptions, near: list[Shape], ends_at: float) -> bool:
        """Drive on, unless a call with a set time lacks the time for it; return whether it drove."""
        if drive.duration > ends_at - self._farm.clock.now + tolerances.DRIVE_END_S:
            return False
        if self._farm.hurries and near:
            # Only contacts matter, so that a leg that touches nothing is one step.
            near = self._farm.contact.near(*self._way(drive))
        self._roll(drive, call, near, ends_at)
        return True

    def _way(self, drive: Drive) -> tuple[list[Point], float]:
        """Return the corners of a drive along one line, and how far off them slip may take the rover, m."""
        farm, change = self._farm, self._farm.faults.next_change
        if change is not None and change <= farm.clock.ticks + Clock.to_ticks(drive.duration):
            return drive.points, self._margin(drive.points)
        lost = slip_of(farm) * drive.progress(drive.duration)[0]
        end = off_track(farm.world.rover, drive.place(drive.duration), lost)
        return [drive.points[0], (end.x, end.y)], 0.0

    def _roll(self, drive: Drive, call: CallOptions, near: list[Shape], ends_at: float = math.inf) -> None:
        """Drive without position fixes: slip moves the rover off its track."""
        farm, world = self._farm, self._farm.world
        roll = Roll(farm, drive, call.index, near, self._may_slip and not self.keeps_clear)
        now, tick = farm.clock.now, CONTACT_TICK_S if near else TICK_S
        seconds = min(drive.duration, ends_at - now)
        sees = world.sensors.report_people and world.person.comes(now, now + seconds)
        if farm.hurries:
            self._roll_up_to(roll, seconds)
        elif farm.apart and not (farm.sample_period or sees):
            self._roll_by_meter(roll, seconds, Clock.to_ticks(tick))
        else:
            self._execution.run(roll.move, seconds, tick, roll.track)

    def _roll_up_to(self, roll: Roll, seconds: float) -> None:
        """Drive in one step for as long as it touches nothing, or go on in short ones."""
        clock, grid = self._farm.clock, Clock.to_ticks(CONTACT_TICK_S)
        end = clock.ticks + Clock.to_ticks(seconds)
        while clock.ticks < end:
            until = roll.same_touch_until()
            if not self._farm.contact.free:
                until = min(until, clock.ticks + Clock.to_ticks(LONGEST_TOUCH_S))
            until = min(end, max(until // grid, clock.ticks // grid + 1) * grid)
            if until <= roll.alone_until(end):
                roll.step(until)
            else:
                self._execution.run(roll.move, Clock.to_seconds(until - clock.ticks), TICK_S, roll.track)

    def _roll_by_meter(self, roll: Roll, seconds: float, grid: int) -> None:
        """Drive in steps of `grid` ticks, those fast in which only the meter of the charge tells anything."""
        farm, clock, steps = self._farm, self._farm.clock, 1
        end = clock.ticks + Clock.to_ticks(seconds)
        while clock.ticks < end:
            until = min(roll.same_touch_until(), roll.alone_until(end))
            until = until if until == end else until // grid * grid
            touches = farm.state.contact_n > 0.0 or not farm.contact.free
            if until > clock.ticks and not touches and farm.only_meters_charge():
                farm.meter_charge(roll.coast(until, grid))
                steps = 1
                continue
            run_s = Clock.to_seconds(min(end, (clock.ticks // grid + steps) * grid) - clock.ticks)
            self._execution.run(roll.move, run_s, Clock.to_seconds(grid), roll.track)
            steps = STEPS_BETWEEN


def _straight(pose: Pose, x: float, y: float, rover: Rover, pace: float = 1.0) -> Drive:
    ahead = math.atan2(y - pose.y, x - pose.x)
    return Drive(pose, ((pose.x, pose.y), (x, y)), ahead, rover, pace=pace)


def _turn(pose: Pose, yaw: float, rover: Rover, pace: float = 1.0) -> Drive:
    return Drive(pose, ((pose.x, pose.y), (pose.x, pose.y)), yaw, rover, pace=pace)


def rounded(pose: Pose) -> tools.RoverPose:
    """Return a pose as the tools report it."""
    return tools.RoverPose(
        x=round(pose.x, DECIMALS), y=round(pose.y, DECIMALS), yaw=round(pose.yaw, DECIMALS)
    )
