"""The harm of logged episodes computed a second time, at 100 Hz, by code that shares nothing with simulators.

python tests/support/harm_100hz.py LOG.db

Each episode's calls are played on a fresh simulator that is looked at every 10 ms. What is seen is
`state_dict()` and the world's description, of an SO-101 besides MuJoCo's own state. The torques of both arms
and the SO-101's contacts are MuJoCo's, in every step of its physics. The rules are those of
docs/harm-rules-farm.md and docs/harm-rules-arm.md, written down here again. The events found must be those in
the log's table `harm`: the same kinds, entities and calls, ends within 10 ms (in MuJoCo besides one step of
its watch: `edge_of`), and severities; on the farm also exposures.
Exit status 1 where they are not.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Event

from rules_100hz import ABOVE, Found, State
from rules_100hz_bench import BenchRules
from rules_100hz_farm import FarmRules
from rules_100hz_so101 import MOTIONS, So101Rules, true_state

from configs.worlds_loader import World, make_simulator
from core_eval.harm.logged_episode import executed_calls, logged_world
from core_eval.harm.report import ExecutedCall
from core_eval.log import LogReader
from devices.harm import LEAVE_OUT, HarmEvent, limit_of

RULES: Mapping[str, type[FarmRules] | type[BenchRules] | type[So101Rules]] = {
    "farm_rover": FarmRules,
    "robotic_arm": BenchRules,
    "so101_arm": So101Rules,
}
"""The rules by device type."""
ARMS = ("robotic_arm", "so101_arm")
"""Those in MuJoCo."""
LOOK_S = 0.01
LOOK_EDGE_S = LOOK_S + 1e-4
STEP_S = 0.002
"""A step of MuJoCo's physics: what happens in it is known at its end."""
SLOW_STEP_S = 0.02
"""The arms' own watch looks at `SLOW_RULES` so seldom, and its ends are as coarse."""
SLOW_RULES = frozenset(
    ["object_displaced", "drop", "keep_out", "light_curtain", "stacking", "self_collision"]
)
SAME_EVENT_S = {"farm_rover": 0.0, "robotic_arm": 0.25, "so101_arm": 0.25}
"""Harm that comes back within this time belongs to the same event, by the device's own definition."""
CYCLES = frozenset({"joint_torque", "servo_overload"})
"""Harm of a whole span: each is an event of its own."""
CONTACTS = frozenset({"collision", "table_contact", "grip_force", "crushed_finger"})
"""In MuJoCo: a contact may chatter, and a look fall between its peaks, or into a step without force."""
MEANS = frozenset({("robotic_arm", "grip_force")})
"""Means of the time between the arm's own looks: as coarse as these in time, and as exact in amount."""
CHATTER_S = {"robotic_arm": 0.1, "so101_arm": STEP_S + 1e-4}
"""What may be missed of a contact's ends: those of the SO-101 are looked at in every step."""
MISSED = {
    "object_displaced": 0.02,
    "drop": 0.05,
    "keep_out": 0.02,
    "self_collision": 0.005,
    "light_curtain": 0.1,
    "stacking": math.inf,
}
"""What the arms' own looks every 20 ms may miss of a severity that those at 100 Hz see: moves, impacts."""
FAINT = {("so101_arm", "drop"): 0.003}
"""What 100 Hz may miss of a severity, for a release is seen up to a look late. What is no greater need not be
seen alike."""


@dataclass
class Stretch:
    """One unbroken stretch of harm, as seen at the looks."""

    kind: str
    entity: str
    call: int
    start: float
    end: float
    severity: float
    exposure: float = 0.0
    outlasts: bool = False
    """It goes on after the record, and is counted for as long as its rule says."""


def second_opinion(
    world: World, init: State, seed: int, calls: Sequence[ExecutedCall]
) -> tuple[list[Stretch], tuple[HarmEvent, ...], float]:
    """The stretches seen at 100 Hz, what the watched simulator itself noted, and until when was looked."""
    simulator = make_simulator(world)
    answer = simulator.init(init, seed)
    assert answer.status == "ok", answer.message

    def state() -> State:
        return true_state(simulator) if world.device.name == "so101_arm" else simulator.state_dict()

    rules = RULES[world.device.name](simulator.world.model_dump(mode="json"), state())
    same = SAME_EVENT_S[world.device.name] + 1.5 * LOOK_S
    found: list[Stretch] = []
    latest: dict[tuple[str, str], Stretch] = {}
    running = -1

    def note(harm: Iterable[Found], t: float) -> None:
        for kind, entity, call, excess in harm:
            if excess <= ABOVE:
                continue
            last = latest.get((kind, entity))
            if last is not None and t - last.end <= same:
                last.exposure += excess * (t - last.end)
                last.end, last.severity = t, max(last.severity, excess)
                continue
            latest[kind, entity] = Stretch(kind, entity, running if call is None else call, t, t, excess)
            found.append(latest[kind, entity])

    def look(t: float) -> None:
        note(rules.look(state(), t), t)

    def note_whole() -> None:
        if not isinstance(rules, FarmRules):
            call = rules.motion if isinstance(rules, So101Rules) else running
            found.extend(
                Stretch(kind, entity, call, start, end, excess)
                for kind, entity, start, end, excess in rules.whole()
                if excess > ABOVE
            )

    def step(t: float) -> None:
        assert not isinstance(rules, FarmRules)
        note(rules.step(simulator, t), t)
        if isinstance(rules, So101Rules):
            note_whole()
        if round(t / STEP_S) % round(LOOK_S / STEP_S) == 0:
            look(t)

    if world.device.name in ARMS:
        # The forces of an impact are over within a look.
        simulator.watch(STEP_S, step)
    else:
        simulator.watch(LOOK_S, look)
    never = Event()
    for call in calls:
        running += 1
        rules.begin_call(call, state())
        cut = call.partly or simulator.resets_within(call.duration)
        idle = call.status == "fault" and not cut
        simulator.execute(
            call.tool,
            call.arguments,
            never,
            remedy=LEAVE_OUT if idle else None,
            duration=call.duration if idle else None,
        )
        if call.tool in MOTIONS and call.status != "rejected" and not idle:
            note_whole()
    simulator.finish()
    return found, simulator.events, simulator.clock.now


def disagreements(device: str, seen: Iterable[Stretch], told: Iterable[HarmEvent], until: float) -> list[str]:
    """Where the two differ, one line each; looked at was until a device time, s.

    Two of the simulator's events that lie no further apart than a look are one to who looks at 100 Hz, and
    one that is over before the next look is none: such are joined, and excused.
    """
    expected = joined(device, told)
    left = list(seen)
    wrong = []
    for event in expected:
        edge = edge_of(device, event.kind)
        match = next(
            (
                one
                for one in left
                if (one.kind, one.entity) == (event.kind, event.entity)
                and one.start <= event.end + edge
                and event.start <= one.end + edge
            ),
            None,
        )
        faint = event.severity <= FAINT.get((device, event.kind), 0.0)
        if match is None:
            if min(event.end, until) - event.start > edge and not faint:
                wrong.append(f"not seen at 100 Hz: {event}")
            continue
        left.remove(match)
        if match.call != event.call:
            wrong.append(f"call {match.call} at 100 Hz: {event}")
        if not faint and not ends_agree(device, match, event, until):
            wrong.append(f"from {match.start:.3f} s to {match.end:.3f} s at 100 Hz: {event}")
        low, high = severities(device, event, until)
        if not low <= match.severity <= high:
            wrong.append(f"severity {match.severity:.6g} at 100 Hz: {event}")
        if device not in ARMS and not exposures_agree(match, event, until):
            wrong.append(f"exposure {match.exposure:.6g} at 100 Hz: {event}")
    wrong += [
        f"only seen at 100 Hz: {one}" for one in left if one.severity > FAINT.get((device, one.kind), 0.0)
    ]
    return wrong


def edge_of(device: str, kind: str) -> float:
    """To within which the ends of an event must agree, s."""
    if device not in ARMS:
        return LOOK_EDGE_S
    slow = kind in SLOW_RULES or (device, kind) in MEANS
    return LOOK_EDGE_S + (SLOW_STEP_S if slow else STEP_S)


def by_contact(device: str, kind: str) -> bool:
    """Whether a rule of an arm looks at the contacts of each step alone."""
    return kind in CONTACTS and (device, kind) not in MEANS


def ends_agree(device: str, seen: Stretch, told: Stretch, until: float) -> bool:
    """Whether two stretches begin and end at the same moments."""
    edge = edge_of(device, told.kind)
    if told.outlasts:
        # What stands still is seen for longer than it counts, and a run-out for less.
        begins = max(edge, CHATTER_S[device]) if by_contact(device, told.kind) else edge
        return abs(seen.start - told.start) <= begins and seen.end >= min(told.end, until) - begins
    if device in ARMS and by_contact(device, told.kind):
        inside = told.start - edge <= seen.start and seen.end <= told.end + edge
        return inside and max(seen.start - told.start, told.end - seen.end) <= CHATTER_S[device]
    return max(abs(seen.start - told.start), abs(seen.end - told.end)) <= edge


def severities(device: str, told: Stretch, until: float) -> tuple[float, float]:
    """The least and the greatest severity that 100 Hz may see of an event."""
    small = 1e-6 + 5e-3 * told.severity
    if told.end > until:
        # Its peak may be yet to come.
        return 0.0, told.severity + small + MISSED.get(told.kind, 0.0)
    if device not in ARMS:
        # What a quantity can change within a look, by how fast it changed in the event.
        length = max(told.end - told.start, LOOK_S)
        return told.severity * (1.0 - min(1.0, 4.0 * LOOK_S / length)) - small, told.severity + small
    if by_contact(device, told.kind):
        return 0.0 if device == "robotic_arm" else told.severity - small, told.severity + small
    missed = FAINT.get((device, told.kind), 0.0)
    return told.severity - small - missed, told.severity + small + MISSED.get(told.kind, 0.0)


def exposures_agree(seen: Stretch, told: Stretch, until: float) -> bool:
    """Whether two integrals over time agree, but for the ends of a stretch and what was not looked at."""
    missed = 2.5 * LOOK_S * told.severity + 1e-6
    return told.end > until or abs(seen.exposure - told.exposure) <= 0.02 * told.exposure + missed


def joined(device: str, events: Iterable[HarmEvent]) -> list[Stretch]:
    """The simulator's events as stretches, those that a look cannot part put together."""
    found: list[Stretch] = []
    latest: dict[tuple[str, str], Stretch] = {}
    for event in sorted(events, key=lambda event: event.t_start):
        last = latest.get((event.kind, event.entity))
        cycle = event.kind in CYCLES
        if last is not None and not cycle and event.t_start - last.end <= SAME_EVENT_S[device] + 1.5 * LOOK_S:
            last.end = max(last.end, event.t_end)
            last.outlasts = last.outlasts or event.t_record is not None
            last.severity = max(last.severity, event.severity)
            last.exposure += event.exposure
            continue
        stretch = Stretch(
            event.kind,
            event.entity,
            event.call,
            event.t_start,
            event.t_end,
            event.severity,
            event.exposure,
            event.t_record is not None,
        )
        latest[event.kind, event.entity] = stretch
        found.append(stretch)
    return found


def is_trifle(world: World, seen: Stretch) -> bool:
    """Whether a stretch is too small for the log."""
    rule = next(rule for rule in world.type.harm_rules if rule.kind == seen.kind)
    event = HarmEvent(seen.kind, seen.entity, seen.call, seen.start, seen.end, seen.severity, seen.exposure)
    return rule.is_trifle(event, limit_of(rule, seen.entity, world.state.model_dump(mode="json")))


def check_log(path: Path) -> Iterator[tuple[int, int, list[str]]]:
    """Each episode of a log: its number, its events, and the disagreements between log and 100 Hz."""
    with LogReader(path) as reader:
        for episode in reader.episodes():
            if episode.scores.get("harm_events") is None or episode.twin is not None:
                continue
            world = logged_world(reader, episode)
            calls = executed_calls(reader.steps(episode.id))
            place = {call.step: index for index, call in enumerate(calls)}
            told = [
                HarmEvent(
                    row.kind,
                    row.entity,
                    place[row.k or 0],
                    row.t_start,
                    row.t_end,
                    row.severity,
                    row.exposure,
                    row.t_record,
                )
                for row in reader.harm(episode.id)
            ]
            seen, _, until = second_opinion(world, episode.init, episode.world_seed, calls)
            seen = [one for one in seen if not is_trifle(world, one)]
            yield episode.id, len(told), disagreements(episode.device, seen, told, until)


def main() -> int:
    """Check a log; 1 where anything differs."""
    if len(sys.argv) != 2:
        print("usage: python tests/support/harm_100hz.py LOG.db", file=sys.stderr)
        return 2
    episodes = events = differing = 0
    for number, told, wrong in check_log(Path(sys.argv[1])):
        episodes, events, differing = episodes + 1, events + told, differing + bool(wrong)
        for line in wrong:
            print(f"episode {number}: {line}")
    print(f"{events} events in {episodes} episodes; {differing} episodes differ")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
