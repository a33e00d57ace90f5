"""The detection probability by harm rule, and its cost: `python benchmarks/detection.py [--world WORLD]`.

Harmless runs of the shipped tasks are altered by seed, on rigs and among hazards drawn by seed, as in
`benchmarks/finer_sensors.py`, until each rule has `--events` events, `--episodes` were played, or
`--minutes` have passed. Each event is judged by the telemetry of every rig, or (`--finer`) by that and every
finer sensor.

`alarms` is the share of further harmless rigs (`--fresh`), drawn apart, that the test calls harmful at the
threshold of 5 %. The exit status is 1 if it is not within four binomial deviations of 5 % over all events.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections import defaultdict
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import monotonic, process_time
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.finer_sensors import Played, fitted_world, play
from configs.tasks_loader import list_tasks
from configs.worlds_loader import World, load_world, make_simulator
from core_eval.harm.assessment import Judge
from core_eval.harm.detection.detect import Detection, detect
from core_eval.harm.detection.rigs import Key, Kind
from core_eval.harm.detection.roc import FALSE_ALARMS
from core_eval.harm.replay import Player
from core_eval.harm.twin.logged_episode import LoggedEpisode
from core_eval.harm.twin.parameters import Priors
from core_eval.harm.verdict import COUNTED
from core_eval.log.rows import Observation
from core_eval.report.pictures.roc_drawing import curves_by_rule, roc_svg


@dataclass(frozen=True)
class Judged:
    """An event with its verdict, its detection, the CPU time that took, s, and its alarms on fresh rigs."""

    kind: str
    verdict: Observation
    found: Detection
    seconds: float
    alarms: float | None

    @property
    def share(self) -> float:
        """The detection probability by all that was fitted."""
        return self.found.probability(self.found.groups)

    @property
    def word(self) -> str:
        """Unobserved, hindsight or detectable."""
        if self.verdict is Observation.UNOBSERVED:
            return "unobserved"
        return "detectable" if self.share >= COUNTED else "hindsight"


def kind_of(world: World, episode: Played) -> Kind:
    """Return the rigs of an episode's kind."""
    return Kind(
        partial(make_simulator, world),
        episode.init,
        episode.seed,
        LoggedEpisode.following(episode.calls, ()),
        Priors.of(world.state, {}),
        load_world(world.type.name).spreads,
    )


def events_of(world: World, episode: Played) -> dict[Key, tuple[str, Observation]]:
    """Return remedy and verdict of each event that has one."""
    player = Player(partial(make_simulator, world), episode.init, episode.seed)
    original = player.play(episode.calls)
    remedies = {rule.kind: rule.remedy for rule in original.harm_rules}
    return {
        (one.kind, one.entity, one.k): (remedies[one.kind], one.verdict)
        for one in Judge(player, episode.calls, original).events()
        if one.verdict is not Observation.UNKNOWN
    }


def measure(name: str, options: argparse.Namespace) -> list[Judged]:
    """Judge up to `options.events` events of each rule."""
    shipped = load_world(name)
    world = fitted_world(name) if options.finer else shipped
    tasks = [task for task in list_tasks() if task.device.name == name and task.world is not None]
    judged: dict[str, list[Judged]] = defaultdict(list)
    began_at = monotonic()
    for seed in range(options.episodes):
        if monotonic() - began_at > 60.0 * options.minutes:
            break
        # Played on the shipped rig, so that both sensor sets judge the same events.
        episode = play(tasks[seed % len(tasks)], shipped, seed)
        events = events_of(world, episode)
        wanted = {key: one for key, one in events.items() if len(judged[key[0]]) < options.events}
        if not wanted:
            continue
        kind, began = kind_of(world, episode), process_time()
        found = detect(kind, {key: remedy for key, (remedy, _) in wanted.items()}, fresh=options.fresh)
        seconds = (process_time() - began) / len(wanted)
        for key, (_, verdict) in wanted.items():
            one = found[key]
            if isinstance(one, Detection):
                judged[key[0]].append(Judged(key[0], verdict, one, seconds, one.fresh_alarms()))
    return [one for own in judged.values() for one in own]


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--world", default="farm_rover", choices=("farm_rover", "robotic_arm"))
    parser.add_argument("--events", type=int, default=3, help="events of each rule")
    parser.add_argument("--episodes", type=int, default=200, help="maximum number of episodes")
    parser.add_argument("--fresh", type=int, default=50, help="further harmless rigs an event")
    parser.add_argument("--minutes", type=float, default=30.0, help="begin no episode later than this")
    parser.add_argument("--finer", action="store_true", help="fit every finer sensor")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--svg", type=Path, help="write the ROC curves to this file")
    options = parser.parse_args()
    judged = measure(options.world, options)
    rows = [
        row(kind, [one for one in judged if one.kind == kind])
        for kind in sorted({one.kind for one in judged})
    ]
    rows.append(row("all", judged))
    print("| " + " | ".join(rows[0]) + " |\n|---" + "|--:" * (len(rows[0]) - 1) + "|")
    for cells in rows:
        print("| " + " | ".join(str(cell) for cell in cells.values()) + " |")
    if options.json:
        events = [
            {"kind": one.kind, "word": one.word, "detection": one.share, "happens": one.found.happens}
            | {"seconds": one.seconds, "alarms": one.alarms, "groups": one.found.groups}
            for one in judged
        ]
        options.json.write_text(json.dumps({"rows": rows, "events": events}, indent=1))
    if options.svg:
        name = "every finer sensor" if options.finer else "own sensors"
        curves = [
            (one.kind, {"results": one.found.roc(("answers",)), name: one.found.roc(one.found.groups)})
            for one in judged
        ]
        options.svg.write_text(roc_svg(curves_by_rule(curves)))
    drawn = [one.alarms for one in judged if one.alarms is not None]
    if not drawn:
        return 0
    # The threshold is itself drawn, from four times as many rigs; events of one episode share their rigs.
    deviation = math.sqrt(FALSE_ALARMS * (1.0 - FALSE_ALARMS) / (len(drawn) * options.fresh))
    return int(abs(sum(drawn) / len(drawn) - FALSE_ALARMS) > 4.0 * deviation)


def row(kind: str, judged: list[Judged]) -> dict[str, Any]:
    """Return the figures of some events."""
    words = [one.word for one in judged]
    alarms = [one.alarms for one in judged if one.alarms is not None]
    return {
        "harm": kind,
        "events": len(judged),
        **{word: words.count(word) for word in ("unobserved", "hindsight", "detectable")},
        "detection": f"{sum(one.share for one in judged) / len(judged):.2f}",
        "alarms": f"{sum(alarms) / len(alarms):.3f}" if alarms else "-",
        "s an event": f"{sum(one.seconds for one in judged) / len(judged):.1f}",
    }


if __name__ == "__main__":
    sys.exit(main())
