"""A mobile base on ROS 2 behind rosbridge: Nav2's NavigateToPose, cmd_vel, and topics as sensors.

A base keeps the velocity that it was last told. So the driver repeats it while a drive lasts, and tells zero
at its end, at a stop, and after a lost connection. Nav2 goes on after a lost connection; the action's own
service cancels the goals of every client (action_msgs/srv/CancelGoal with an empty goal).
"""

from __future__ import annotations

import math
import time
import uuid
from collections.abc import Mapping
from typing import Any, NamedTuple

from devices.drivers.tool_driver import NOT_REACHED, DriverFault, LockedDriver
from devices.outcome import Refusal
from firmware_bridge.drivers.rosbridge import Rosbridge

PERIOD = 0.1
"""Time between two velocities, s: well below the timeout of usual bases (0.5 s)."""
SUCCEEDED, ABORTED = 4, 6
"""Of action_msgs/msg/GoalStatus."""
SENSOR_MS = 200
STILL_METRES, STILL_ANGLE = 0.005, 0.01
"""How far a pose may differ between two messages of a base that stands, m and rad."""
AXES = ("x", "y", "yaw")


class Odometry(NamedTuple):
    """What a nav_msgs/msg/Odometry states: time, pose (m, m, rad), speed (m/s) and turn (rad/s)."""

    stamp: tuple[int, int]
    pose: tuple[float, float, float]
    speed: float
    turn: float


class RosBase(LockedDriver):
    """The URL is `ws://HOST:9090`. Without `action` there is no `move_to`."""

    firmware = "ROS 2 by rosbridge"
    _goal, _stopping = "", False
    _goals: Rosbridge | None = None

    def connect(self) -> None:
        """Connect, and hear the odometry."""
        options = self.options
        self._ros = ros = Rosbridge(self.url, options["answer_seconds"])
        try:
            kind = "TwistStamped" if options["stamped"] else "Twist"
            ros.send("advertise", topic=options["cmd_vel"], type=f"geometry_msgs/msg/{kind}")
            ros.subscribe("odom", options["odom"], "nav_msgs/msg/Odometry", self._moved)
            if options["pose"]:
                ros.subscribe("pose", options["pose"], None, _pose)
            for name, row in self.tables["sensors"].items():

                def sensed(message: Any, name: str = name, field: str = str(row["field"])) -> Any:
                    for key in field.split("."):
                        message = message[int(key) if isinstance(message, list) else key]
                    self.sample(name, message)
                    return message

                ros.subscribe(
                    f"sensor {name}", str(row["topic"]), row.get("type"), sensed, throttle_rate=SENSOR_MS
                )
            ros.next("odom")
        except OSError:
            ros.close()
            raise

    def close(self) -> None:
        """Close the connections."""
        for ros in filter(None, (self._ros, self._goals)):
            ros.close()

    def reset(self) -> None:
        """Leave the stop."""
        super().reset()
        self._stopping = False

    def stop(self) -> None:
        """Tell the velocity zero, and cancel all goals; on a new connection if this one is broken."""
        with self.talking:
            self.locked = self._stopping = True
            if self._ros.gone:
                self.connect()
            self._velocity(0.0, 0.0)
            if self.options["action"]:
                self._ros.send("cancel_action_goal", id=self._goal, action=self.options["action"])
                self._ros.send(
                    "call_service", service=self._cancel, type="action_msgs/srv/CancelGoal", args={}
                )

    @property
    def _cancel(self) -> str:
        return f"{self.options['action']}/_action/cancel_goal"

    def standing(self) -> bool:
        """Whether two new messages of odometry say so, and no goal is left; else it is stopped again."""
        self._ros.ping()
        first: Odometry = self._ros.next("odom")
        then: Odometry = self._ros.next("odom", lambda odom: odom.stamp > first.stamp)
        x, y, yaw = (there - here for here, there in zip(first.pose, then.pose, strict=True))
        turned = abs(math.remainder(yaw, 2 * math.pi))
        stands = self._slow(first) and self._slow(then)
        stands = stands and math.hypot(x, y) <= STILL_METRES and turned <= STILL_ANGLE
        if self._stopping and self.locked:
            # Nav2 may still plan for a goal that it has just taken.
            stands = stands and not self._has_goals()
            if not stands:
                self.stop()
        return stands

    def _slow(self, odom: Odometry) -> bool:
        return bool(odom.speed <= self.options["still_linear"] and odom.turn <= self.options["still_angular"])

    def _has_goals(self) -> bool:
        if not self.options["action"]:
            return False
        if self._goals is not None and not self._goals.gone and self._goals.result(self._goal) is None:
            return True
        answer = self._ros.call(self._cancel, "action_msgs/srv/CancelGoal")
        # Without Nav2 there is no such service, and rosbridge says so.
        return bool(answer["result"] and answer["values"]["goals_canceling"])

    def _velocity(self, linear: float, angular: float) -> None:
        twist: Any = {"linear": {"x": linear}, "angular": {"z": angular}}
        if self.options["stamped"]:
            sec, fraction = divmod(time.time(), 1.0)
            stamp = {"sec": int(sec), "nanosec": int(fraction * 1e9)}
            twist = {"header": {"stamp": stamp}, "twist": twist}
        self._ros.send("publish", topic=self.options["cmd_vel"], msg=twist)

    def _moved(self, message: Any) -> Odometry:
        twist, stamp = message["twist"]["twist"], message["header"]["stamp"]
        speed = math.hypot(twist["linear"]["x"], twist["linear"]["y"])
        odom = Odometry((stamp["sec"], stamp["nanosec"]), _pose(message), speed, abs(twist["angular"]["z"]))
        self.sample("speed", round(odom.speed, 2))
        self.sample("turn", round(odom.turn, 2))
        return odom

    def sense_pose(self) -> Mapping[str, Any]:
        """Return the pose: the last one of the map, or a new one of the odometry."""
        self._ros.ping()
        odom: Odometry = self._ros.next("odom")
        pose = self._ros.last("pose") if self.options["pose"] else odom.pose
        return {axis: round(value, 3) for axis, value in zip(AXES, pose, strict=True)}

    def move_to(self, **pose: float) -> Mapping[str, Any]:
        """Send a goal to Nav2, and wait for its result, while odometry comes."""
        self.unlocked()
        options = self.options
        if not options["action"]:
            raise Refusal("not_fitted", "This base has no planner: use drive.")
        place = {
            "position": {"x": pose["x"], "y": pose["y"]},
            "orientation": {"z": math.sin(pose["yaw"] / 2), "w": math.cos(pose["yaw"] / 2)},
        }
        goal = {"pose": {"header": {"frame_id": options["frame"]}, "pose": place}}
        # A server may read nothing more on a connection until its goal has ended.
        self._goals = goals = Rosbridge(self.url, options["answer_seconds"])
        with self.acting():
            self._goal = uuid.uuid4().hex
            kind = "nav2_msgs/action/NavigateToPose"
            goals.send(
                "send_action_goal", id=self._goal, action=options["action"], action_type=kind, args=goal
            )
        ended = self.until(self._ended, options["move_seconds"], "the goal")
        goals.close()
        if not ended["result"]:
            raise DriverFault("no_action", f"rosbridge refuses {options['action']}: {ended['values']}")
        if ended["status"] != SUCCEEDED:
            code = NOT_REACHED if ended["status"] == ABORTED else "cancelled"
            raise DriverFault(code, f"Nav2 ended the goal with status {ended['status']}.")
        return self.sense_pose()

    def _ended(self) -> Any:
        self._ros.next("odom")
        if self._goals is None or self._goals.gone:
            raise OSError("rosbridge is gone")
        return self._goals.result(self._goal)

    def drive(self, linear: float, angular: float, seconds: float) -> Mapping[str, Any]:
        """Repeat a velocity for so long, while odometry comes, and wait until the base stands."""
        self.unlocked()
        end = time.monotonic() + seconds
        try:
            while (left := end - time.monotonic()) > 0:
                with self.acting():
                    self._velocity(linear, angular)
                self.pause(min(PERIOD, left))
                self._ros.next("odom")
        finally:
            self._velocity(0.0, 0.0)
        self.until(self.standing, self.options["answer_seconds"], "standstill")
        return self.sense_pose()

    def read_sensor(self, name: str) -> Mapping[str, Any]:
        """Return a sensor's last value."""
        self.row("sensors", name)
        self._ros.ping()
        return {"name": name, "value": self._ros.last(f"sensor {name}")}


def _pose(message: Any) -> tuple[float, float, float]:
    """Return x and y, m, and yaw, rad, of an Odometry, a PoseWithCovarianceStamped or a PoseStamped."""
    pose = message["pose"].get("pose", message["pose"])
    x, y, z, w = (pose["orientation"][axis] for axis in "xyzw")
    yaw = math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
    return float(pose["position"]["x"]), float(pose["position"]["y"]), yaw
