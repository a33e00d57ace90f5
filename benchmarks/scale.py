"""How scoring scales: `python benchmarks/scale.py [--most N] [--jobs N]`, by the command itself.

Makes traces of three tasks (2 to 6 calls, a third of them with a fault of the agent), from 1,000 up to
`--most`, and scores each file with one worker and with `--jobs`, into JSON lines. Printed are CPU seconds of
all processes, the wall clock, microseconds of CPU a trace and the peak memory of the largest process. The
runs of a line follow each other, so their ratio holds on a busy machine too, where the wall clock does not.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from random import Random
from typing import Any

STEPS = ("open_account", "set_limit", "send_payment", "close_account")
READS = ("list_accounts", "read_balance")


def tasks() -> list[dict[str, Any]]:
    """Three tasks of CORE's JSON: two, three and four writes in order, with reads that loop everywhere."""
    return [_task(f"bank_{length}", STEPS[:length]) for length in (2, 3, 4)]


def _task(name: str, steps: tuple[str, ...]) -> dict[str, Any]:
    alphabet = {
        step: {"name": step, "arguments": {"account": _exact("A-1"), "amount": _exact(10 + place)}}
        for place, step in enumerate(steps)
    }
    alphabet |= {
        read: {
            "name": read,
            "arguments": {"account": {"name": "account", "value": None, "excluded_values": None}},
        }
        for read in READS
    }
    nodes = []
    for place in range(len(steps) + 1):
        edges = [{"symbols": list(READS), "from": f"s{place}", "to": f"s{place}"}]
        if place < len(steps):
            edges.append({"symbols": [steps[place]], "from": f"s{place}", "to": f"s{place + 1}"})
        nodes.append({"name": f"s{place}", "is_final": place == len(steps), "transitions": edges})
    return {"prompt_id": name, "world": "bank", "prompt": "Do it.", "nodes": nodes, "alphabet": alphabet}


def _exact(value: Any) -> dict[str, Any]:
    return {"name": "", "value": value, "excluded_values": None} | {
        "name": "account" if isinstance(value, str) else "amount"
    }


def traces(count: int, seed: int) -> Iterator[str]:
    """Yield lines of traces: steps in order with reads between, some left out, wrong or refused."""
    rng = Random(seed)
    for number in range(count):
        length = rng.randint(2, 4)
        calls = [_call(step, 10 + place) for place, step in enumerate(STEPS[:length])]
        for _ in range(rng.randint(0, 2)):
            calls.insert(rng.randrange(len(calls) + 1), _call(rng.choice(READS), None))
        drawn = rng.random()
        if drawn < 0.1:
            del calls[rng.randrange(len(calls))]
        elif drawn < 0.2:
            calls.insert(rng.randrange(len(calls)), _call(rng.choice(STEPS), 99))
        elif drawn < 0.3:
            calls.append({**calls[-1], "status": "rejected"})
        yield json.dumps({"trace": f"t{seed}-{number}", "task": f"bank_{length}", "calls": calls})


def _call(tool: str, amount: int | None) -> dict[str, Any]:
    arguments: dict[str, Any] = {"account": "A-1"}
    if amount is not None:
        arguments["amount"] = amount
    return {"name": tool, "arguments": arguments, "status": "ok"}
