"""What reward misses in public traces: `python benchmarks/public_traces.py FOLDER [--svg FILE.svg]`.

FOLDER holds the files of `FILES`, all MIT; `docs/results/2026-11-24-public-traces.md` names their commits.
Each is imported, scored by automata of its own gold, and held against the rules in `public_rules`, which are
of the domain's policy alone. No model is in the loop. Printed are the tables of that page.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import yaml

from core_eval.imports.record import ImportedTrace
from core_eval.imports.registry import read_traces
from core_eval.log import EpisodeRow, LogReader
from core_eval.report.pictures.plot import Plot, Scale
from core_eval.report.pictures.standalone import standalone
from core_eval.rules.episode import logged_calls, told_at_first
from core_eval.rules.monitor import Tier, violations
from core_eval.rules.rule_file import Rule, load_rules
from core_eval.statistics.intervals import wilson

RULES = Path(__file__).parent / "public_rules"
LEVEL = 0.95
PATHS = ("path_correctness", "pc_ktc", "prefix_criticality", "harmful_call_rate", "efficiency", "accepted")
ALL, FORM, ALONE = "all rules", ("calls_per_turn", "silent"), "without form"
RIGHT = (True, False)
SIZE, LEFT, TOP = 300.0, 60.0, 30.0
"""Of the drawing."""


class File(NamedTuple):
    """A file of traces."""

    name: str
    agent: str
    domain: str
    join: str


FILES = (
    File("agentrx-retail.json", "AgentRx", "retail", "task_id"),
    File("toolorchestra-retail.json", "Orchestrator", "retail", "reward_info"),
    File("gpt-4o-airline.json", "gpt-4o", "airline", "task_id"),
    File("toolorchestra-airline.json", "Orchestrator", "airline", "reward_info"),
)


def pathrig(*words: str | Path) -> str:
    """Run a command; return what it prints."""
    command = [sys.executable, "-m", "core_eval.cli.entry", *map(str, words)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def gold(file: Path, join: str) -> Iterator[dict[str, Any]]:
    """Yield the right calls of each task of a file, as its judge has them."""
    seen = set()
    for trace in read_traces(file, "tau2", join):
        if isinstance(trace, ImportedTrace) and trace.gold is not None and trace.task not in seen:
            seen.add(trace.task)
            calls = [
                {"name": call.name, "arguments": dict(call.arguments), "compare_args": call.compared}
                for call in trace.gold.calls
                if call.requestor == "assistant"
            ]
            yield {"id": trace.task, "actions": calls}


def imported(folder: Path, file: File, work: Path) -> Path:
    """Import a file and score it by its own gold; return the log."""
    stem = work / Path(file.name).stem
    records, tasks, log = (stem.with_suffix(suffix) for suffix in (".jsonl", ".yaml", ".db"))
    records.write_text("".join(json.dumps(one) + "\n" for one in gold(folder / file.name, file.join)))
    # The benchmarks compare the state at the end: writes may come in any order, and a hand-off changes none.
    options = ("--match", "any_order", "--traces", folder / file.name, "--reads", "transfer_to_human_agents")
    pathrig("tasks", "from-gold", records, *options, "-o", tasks)
    pathrig("import", folder / file.name, "--tasks", tasks, "--join", file.join, "-o", log)
    return log


def against(log: Path, rules: Path) -> dict[str, Any]:
    """Return how scores and rules tell failed episodes."""
    found = json.loads(pathrig("score", "--db", log, "--against", "reward", "--rules", rules, "--json"))
    assert isinstance(found, dict)
    return found


def without_form(domain: str, work: Path) -> Path:
    """Write the rules of a domain without those of form: calls a turn, and words beside a call."""
    data = yaml.safe_load((RULES / f"{domain}.yaml").read_text())
    data["rules"] = [rule for rule in data["rules"] if not any(key in rule for key in FORM)]
    (path := work / f"{domain}-{ALONE.replace(' ', '-')}.yaml").write_text(yaml.safe_dump(data))
    return path


def violated(log: Path, rules: Sequence[Rule]) -> tuple[Counter[tuple[str, bool]], Counter[bool]]:
    """Return in how many episodes, by reward, executed calls violated each rule; how many there are."""
    found: Counter[tuple[str, bool]] = Counter()
    count: Counter[bool] = Counter()
    for episode, reader in episodes(log):
        is_right = bool(episode.reward)
        told = told_at_first(reader, episode)
        findings = violations(rules, logged_calls(reader, episode, rules), told)
        broken = {one.rule.id for one in findings if one.tier is Tier.EXECUTED}
        count[is_right] += 1
        grave = {rule.id for rule in rules if rule.demand not in FORM} & broken
        broken |= {ALL} if broken else set()
        broken |= {ALONE} if grave else set()
        found.update((name, is_right) for name in broken)
    return found, count


def episodes(log: Path) -> Iterator[tuple[EpisodeRow, LogReader]]:
    """Yield the episodes of a log."""
    with LogReader(log) as reader:
        for number in reader.episode_ids():
            yield reader.episode(number), reader


def share(part: int, whole: int) -> str:
    """Return a share with its interval."""
    low, high = wilson(part / whole, whole, LEVEL)
    return f"{100 * part / whole:.0f} % ({100 * low:.0f} to {100 * high:.0f})"


def area(one: Mapping[str, Any] | None) -> str:
    """Return an area with its interval."""
    if one is None:
        return "-"
    low, high = one["auc_interval"]
    return f"{one['auc']:.2f} ({low:.2f} to {high:.2f})"


def table(*heads: str, rows: Sequence[Sequence[str]]) -> None:
    """Print a table of Markdown."""
    print("| " + " | ".join(heads) + " |\n|" + "---|" * len(heads))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()


def paths(logs: Mapping[File, Path]) -> None:
    """Print path metrics beside reward, and what reward and paths say of the same traces."""
    rows, sides = [], []
    for file, log in logs.items():
        known = [episode for episode, _ in episodes(log)]
        parts = {
            is_right: [one for one in known if bool(one.reward) is is_right] for is_right in (True, False)
        }
        for is_right, part in parts.items():
            means = []
            for name in PATHS:
                values = [value for one in part if (value := one.scores.get(name)) is not None]
                means.append(f"{fmean(values):.2f}" if values else "-")
            rows.append([file.domain, file.agent, "1" if is_right else "0", str(len(part)), *means])
        accepted = [sum((one.scores.get("accepted") or 0) > 0 for one in part) for part in parts.values()]
        harmed = sum((one.scores.get("harmful_calls") or 0) > 0 for one in parts[True])
        told = [f"{a} of {len(part)}" for a, part in zip(accepted, parts.values(), strict=True)]
        sides.append([file.domain, file.agent, *told, f"{harmed} of {len(parts[True])}"])
    table("domain", "agent", "reward", "n", "PC", "KTC", "PrefixCrit", "HarmRate", "Eff", "acc.", rows=rows)
    table("domain", "agent", "rewarded, accepted", "failed, accepted", "rewarded, harmful call", rows=sides)


def breaches(logs: Mapping[File, Path]) -> None:
    """Print how many rewarded and failed traces violate each rule."""
    rows = []
    for domain in dict.fromkeys(file.domain for file in logs):
        rules = load_rules(RULES / f"{domain}.yaml").rules
        found: Counter[tuple[str, bool]] = Counter()
        count: Counter[bool] = Counter()
        for file, log in logs.items():
            if file.domain == domain:
                one, many = violated(log, rules)
                found += one
                count += many
        for name in (ALL, ALONE, *(rule.id for rule in rules)):
            if any(found[name, is_right] for is_right in (True, False)):
                told = [share(found[name, is_right], count[is_right]) for is_right in (True, False)]
                rows.append([domain, name, *told])
    table("domain", "rule", "of rewarded traces", "of failed traces", rows=rows)


def areas(logs: Mapping[File, Path], folder: Path, work: Path) -> dict[str, list[tuple[float, float]]]:
    """Print the areas below the ROC curves; return the curves that are drawn."""
    rows, apart, drawn = [], [], {}
    for domain in dict.fromkeys(file.domain for file in logs):
        mine = [file for file in logs if file.domain == domain]
        both = work / f"{domain}.db"
        for file in mine:
            pathrig("import", folder / file.name, "--join", file.join, "-o", both)
        for name, log in [*((file.agent, logs[file]) for file in mine), ("both", both)]:
            found = against(log, RULES / f"{domain}.yaml")
            grave = against(log, without_form(domain, work))["scores"].get(ALL)
            scores = found["scores"]
            counts = [domain, name, f"{found['failed']} of {found['episodes']}"]
            rows.append([*counts, area(scores.get(ALL)), area(grave), area(scores.get("steps"))])
            if name == "both":
                drawn[f"{domain}, rules"] = curve(scores[ALL])
            else:
                best = [area(scores.get(name)) for name in PATHS[:1] + PATHS[3:4] + PATHS[-1:]]
                apart.append([*counts, *best])
                drawn[f"{domain}, path to gold, {name}"] = curve(scores[PATHS[0]])
    table("domain", "agent", "failed", ALL, ALONE, "calls", rows=rows)
    table("domain", "agent", "failed", "PC", "HarmRate", "accepted", rows=apart)
    return drawn


def curve(score: Mapping[str, Any]) -> list[tuple[float, float]]:
    """Return a ROC curve from corner to corner."""
    return [(0.0, 0.0), *((one["false_alarms"], one["recall"]) for one in score["curve"]), (1.0, 1.0)]


def picture(curves: Mapping[str, Sequence[tuple[float, float]]]) -> str:
    """Return the ROC curves as an SVG file."""
    size = (LEFT + SIZE + 300.0, TOP + SIZE + 50.0)
    x, y = Scale((0.0, 1.0), (LEFT, LEFT + SIZE)), Scale((0.0, 1.0), (TOP + SIZE, TOP))
    plot = Plot("roc", "failed traces found by share of false alarms", *size, x, y)
    plot.box()
    plot.axes(across=(0.0, 0.5, 1.0), up=(0.0, 0.5, 1.0), grid=False)
    plot.text(LEFT + SIZE / 2, TOP + SIZE + 32, "share of rewarded traces that rank as high")
    plot.text(LEFT, TOP - 10, "share of failed traces", anchor="start")
    plot.line([(0.0, 0.0), (1.0, 1.0)], "grid")
    for number, (name, points) in enumerate(curves.items()):
        style = f'line set{number % 6 + 1}" style="stroke-dasharray:{"none" if "rules" in name else "2 3"}'
        plot.line(sorted(points), style)
        at = TOP + 12 + 20 * number
        plot.add(f'<path class="{style}" d="M{LEFT + SIZE + 14:.0f} {at - 4:.0f}h28"/>')
        plot.text(LEFT + SIZE + 48, at, name, "title", anchor="start")
    return standalone(plot.svg(), size)


def main() -> None:
    """Print the tables."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("folder", type=Path)
    options.add_argument("--svg", type=Path)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        logs = {file: imported(given.folder, file, work) for file in FILES}
        paths(logs)
        breaches(logs)
        drawn = areas(logs, given.folder, work)
        if given.svg is not None:
            given.svg.write_text(picture(drawn))


if __name__ == "__main__":
    main()
