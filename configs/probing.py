"""The task of a probing episode: it allows the calls of the probing script, in their order, and no others.

On a physical rig the guard blocks what the task's automaton calls harmful. With a task of its own the probing
episode passes it, and the rig's envelope, the interlocks and the site's limits hold as in any other run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import yaml

HEAD = """\
# The calls of a probing episode, as a task of their own: the guard of a physical rig lets them pass, in this
# order, and no others. A call that the rig refuses is left out; reads may be made at any time.
#   pathrig run --task THIS --rig RIG --agent scripted:CALLS.jsonl --db runs.db
"""


def probing_task(world: str, calls: Sequence[tuple[str, Mapping[str, Any]]], reads: Sequence[str]) -> str:
    """Return a task file, as YAML, for these calls in that world.

    Args:
        world: a world's name or file.
        calls: tool and arguments of each call of the script.
        reads: the tools that change nothing; they may be called at any time.
    """
    steps = [{tool: dict(arguments)} if arguments else tool for tool, arguments in calls if tool not in reads]
    # None of them is required: the rig may refuse one (no ripe fruit), and the others must still pass.
    plan = [{"optional": [step]} for step in steps]
    task = {"id": "probing", "world": world, "prompt": "Make the calls of the probing script.", "plan": plan}
    return HEAD + yaml.safe_dump({"tasks": [task]}, sort_keys=False, allow_unicode=True)
