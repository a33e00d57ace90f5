"""Which functions of ours one call passes on the host, traced over MQTT.

    python benchmarks/call_path.py [--agent llama] [--list]

The rig is `sim-farm-mqtt`: the simulator and the broker are other processes, so only the host's functions
count. All threads are profiled from the moment at which the agent is asked for its third action until it is
asked for its fourth; a function counts once, however often it runs. A heartbeat may fall into that window,
so the episode is run several times, and the count is of the functions that run each time.
"""

from __future__ import annotations

import argparse
import io
import sys
import tempfile
import threading
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from rich.console import Console

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from agents.agent import Action, Agent, EpisodeContext, Observation
from core_eval.cli.live_lines import LiveLines
from core_eval.log import RunLog
from core_eval.run.config import Cell, RunConfig
from core_eval.run.parts import load_parts
from core_eval.run.plan import Run

ROOT = Path(__file__).resolve().parents[1]
ROOMS = {"agents", "configs", "core_eval", "devices", "firmware_bridge", "sims"}
TASK, RIG, THIRD = "water_one_plant", "sim-farm-mqtt", 3
EPISODES = 3
EDGES = ("agents", "core_eval/cli", "core_eval/report")


class Recorder:
    """The code objects of ours that ran, on any thread, while it is on."""

    def __init__(self) -> None:
        self.on = False
        self._codes: set[CodeType] = set()

    def profile(self, frame: FrameType, event: str, _argument: Any) -> None:
        """For `sys.setprofile`."""
        if self.on and event == "call":
            self._codes.add(frame.f_code)

    def functions(self) -> set[tuple[str, str]]:
        """Module and function of each, lambdas and nested functions included; comprehensions are not."""
        found = set()
        for code in self._codes:
            path = Path(code.co_filename)
            if not path.is_relative_to(ROOT) or code.co_name.endswith(("comp>", "<genexpr>")):
                continue
            module = path.relative_to(ROOT)
            if module.parts[0] in ROOMS:
                found.add((module.as_posix(), code.co_qualname))
        return found


class Marking(Agent):
    """An agent that switches a recorder on while its third action is chosen and carried out."""

    def __init__(self, agent: Agent, recorder: Recorder) -> None:
        self.name, self.scaffold = agent.name, agent.scaffold
        self._agent, self._recorder = agent, recorder
        self._asked = 0

    def start(self, context: EpisodeContext) -> None:
        """Start the agent."""
        self._agent.start(context)

    def act(self, observation: Observation | None) -> Action:
        """The agent's action."""
        self._asked += 1
        self._recorder.on = self._asked == THIRD
        return self._agent.act(observation)

    def close(self) -> None:
        """Close the agent."""
        self._agent.close()


def traced(agent: str) -> set[tuple[str, str]]:
    """The functions that the third call of one episode passes."""
    recorder = Recorder()
    config = RunConfig(cells=(Cell(task=TASK, rig=RIG, agent=agent),))
    parts = load_parts(config)
    marking = {spec: Marking(one, recorder) for spec, one in parts.agents.items()}
    lines = LiveLines(Console(file=io.StringIO()))
    threading.setprofile(recorder.profile)
    sys.setprofile(recorder.profile)
    try:
        with tempfile.TemporaryDirectory() as folder, RunLog(Path(folder) / "log.db") as log:
            Run(config, replace(parts, agents=marking), log, lines).start()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    return recorder.functions()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--agent", default="llama")
    parser.add_argument("--list", action="store_true", help="print every function")
    options = parser.parse_args()
    functions = set.intersection(*(traced(options.agent) for _ in range(EPISODES)))
    inner = {one for one in functions if not one[0].startswith(EDGES)}
    for name, some in (("all", functions), (f"without {', '.join(EDGES)}", inner)):
        print(f"{len(some):4} functions in {len({module for module, _ in some})} modules: {name}")
    for module, count in sorted(Counter(module for module, _ in functions).items()):
        print(f"{count:6}  {module}")
        if options.list:
            print(*(f"{'':8}{name}" for owner, name in sorted(functions) if owner == module), sep="\n")


if __name__ == "__main__":
    main()
