"""rosbridge_server before a kinematic base with a planner, after ROSBRIDGE_PROTOCOL.md of rosbridge_suite.

From its sources (rosbridge_library/capabilities/send_action_goal.py): goals are known by their id beyond a
connection, and go on without it; one that the planner has not accepted cannot be cancelled by its id; with
`send_action_goals_in_new_thread` off a connection reads nothing more until its goal has ended. The base keeps
the velocity that it was last told, as one without a timeout.
"""

from __future__ import annotations

import contextlib
import json
import math
import threading
import time
from typing import Any

from websockets.exceptions import ConnectionClosed
from websockets.sync.server import ServerConnection, serve

PERIOD = 0.02
CANCELED, SUCCEEDED, ABORTED = 5, 4, 6


class Goal:
    def __init__(self, place: dict[str, Any], accepted_at: float) -> None:
        self.x, self.y = place["position"]["x"], place["position"]["y"]
        turn = place["orientation"]
        self.yaw = 2 * math.atan2(turn["z"], turn["w"])
        self.accepted_at, self.status = accepted_at, 0


class RosBase:
    """`speed` is the planner's, m/s; `accepts`, `plans`: seconds until a goal counts, and until it moves."""

    def __init__(self) -> None:
        self.at = [0.0, 0.0, 0.0]
        self.speed, self.accepts, self.plans = 4.0, 0.0, 0.0
        self.velocity = (0.0, 0.0)
        self.told: list[tuple[float, float, float]] = []
        self.new_thread, self.aborts, self.deaf = True, False, False
        self.battery = 0.5
        self.goals: dict[str, Goal] = {}
        self._topics: dict[str, set[ServerConnection]] = {}
        self._end = threading.Event()
        self._server = serve(self._serve, "127.0.0.1", 0, compression=None)
        self.url = f"ws://127.0.0.1:{self._server.socket.getsockname()[1]}"
        self._threads = [
            threading.Thread(target=run, daemon=True) for run in (self._server.serve_forever, self._turn)
        ]

    def __enter__(self) -> RosBase:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._server.shutdown()
        for thread in self._threads:
            thread.join(5)

    @property
    def moving(self) -> bool:
        return any(self.velocity) or any(self._drives(goal) for goal in self._running())

    def _running(self) -> list[Goal]:
        return [goal for goal in self.goals.values() if not goal.status]

    def _drives(self, goal: Goal) -> bool:
        return time.monotonic() >= goal.accepted_at + self.plans

    def _turn(self) -> None:
        last = time.monotonic()
        while not self._end.wait(PERIOD):
            now = time.monotonic()
            passed, last = now - last, now
            linear, angular = self.velocity
            for goal in self._running():
                if self._drives(goal):
                    linear, angular = self._towards(goal, passed), 0.0
            self.at[2] += angular * passed
            if not any(self._drives(goal) for goal in self._running()):
                self.at[0] += linear * math.cos(self.at[2]) * passed
                self.at[1] += linear * math.sin(self.at[2]) * passed
            half = self.at[2] / 2
            turn = {"x": 0.0, "y": 0.0, "z": math.sin(half), "w": math.cos(half)}
            pose = {"position": {"x": self.at[0], "y": self.at[1], "z": 0.0}, "orientation": turn}
            twist = {
                "linear": {"x": linear, "y": 0.0, "z": 0.0},
                "angular": {"x": 0.0, "y": 0.0, "z": angular},
            }
            stamp = {"sec": int(now), "nanosec": int(now % 1 * 1e9)}
            self._publish(
                "/odom", {"header": {"stamp": stamp}, "pose": {"pose": pose}, "twist": {"twist": twist}}
            )
            self._publish("/battery_state", {"percentage": self.battery, "cell_voltage": [3.9, 4.0]})

    def _towards(self, goal: Goal, passed: float) -> float:
        away = math.dist(self.at[:2], (goal.x, goal.y))
        if self.aborts:
            goal.status = ABORTED
        elif away <= self.speed * passed:
            self.at[:] = [goal.x, goal.y, goal.yaw]
            goal.status = SUCCEEDED
        else:
            share = self.speed * passed / away
            self.at[0] += (goal.x - self.at[0]) * share
            self.at[1] += (goal.y - self.at[1]) * share
            return self.speed
        return 0.0

    def _publish(self, topic: str, message: dict[str, Any]) -> None:
        for one in list(self._topics.get(topic, ())):
            self._send(one, {"op": "publish", "topic": topic, "msg": message})

    def _send(self, one: ServerConnection, message: dict[str, Any]) -> None:
        with contextlib.suppress(ConnectionClosed, OSError):
            one.send(json.dumps(message))

    def _serve(self, one: ServerConnection) -> None:
        with contextlib.suppress(ConnectionClosed):
            for text in one:
                self._obey(one, json.loads(text))
        for hearers in self._topics.values():
            hearers.discard(one)

    def _obey(self, one: ServerConnection, message: dict[str, Any]) -> None:
        match message["op"]:
            case "subscribe":
                self._topics.setdefault(message["topic"], set()).add(one)
            case "publish":
                twist = message["msg"].get("twist", message["msg"])
                self.velocity = twist["linear"]["x"], twist["angular"]["z"]
                self.told.append((time.monotonic(), *self.velocity))
            case "send_action_goal":
                run = threading.Thread(target=self._goal, args=(one, message), daemon=True)
                run.start()
                if not self.new_thread:
                    run.join()
            case "cancel_action_goal" if not self.deaf:
                self._cancel([goal for name, goal in self.goals.items() if name == message["id"]])
            case "call_service":
                cancelled = self._cancel(self._running())
                values: dict[str, Any] = {"return_code": 0, "goals_canceling": [{}] * cancelled}
                answer = {
                    "op": "service_response",
                    "service": message["service"],
                    "values": values,
                    "result": True,
                }
                self._send(one, answer | ({"id": message["id"]} if "id" in message else {}))

    def _cancel(self, goals: list[Goal]) -> int:
        running = [goal for goal in goals if not goal.status]
        for goal in running:
            goal.status = CANCELED
        return len(running)

    def _goal(self, one: ServerConnection, message: dict[str, Any]) -> None:
        if self._end.wait(self.accepts):
            return
        goal = self.goals[message["id"]] = Goal(message["args"]["pose"]["pose"], time.monotonic())
        while not goal.status and not self._end.wait(PERIOD):
            pass
        answer = {"op": "action_result", "id": message["id"], "action": message["action"], "values": {}}
        self._send(one, answer | {"status": goal.status, "result": True})
