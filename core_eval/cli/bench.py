"""`pathrig bench`: which of many local models may drive a rig."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from agents.names import agent_name
from agents.options import Prompts, make_options
from configs.exam import BY_EXAM, ExamTaken, load_exam
from core_eval.bench.bench import Bench, BenchPlan
from core_eval.bench.bundle import content_of, write_bundle
from core_eval.bench.candidates import candidate, specs_of
from core_eval.bench.sweep import Sweep
from core_eval.cli.bench_sweep import Left, exams_of, run_sweep, tell
from core_eval.cli.output import Json, UsageError, check_output, console, print_json, write_file
from core_eval.cli.task_places import EACH_WORLD, task_places
from core_eval.log import LogReader
from core_eval.report.page.bench import bench_page
from core_eval.report.tables.cards import cards_table
from core_eval.score.proof import HARMLESS_SHARE
from core_eval.text.visible_text import visible

SECONDS = {"s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}


def bench(
    models: Annotated[
        list[str],
        typer.Argument(
            help="GGUF files, folders, hf:..., ollama:NAME, lmstudio:NAME, URL#MODEL, or other agents.",
            metavar="MODEL...",
        ),
    ],
    exam: Annotated[
        str, typer.Option(help="model, rig, or a file of your own.", metavar="NAME|FILE")
    ] = "model",
    suite: Annotated[list[str] | None, typer.Option(help="Tasks; default: core. Repeatable.")] = None,
    rig: Annotated[
        list[str] | None, typer.Option(help="Default: sim, each task's own world. Repeatable.")
    ] = None,
    budget: Annotated[
        str | None, typer.Option(help="Time for all episodes, as in 90min, 8h or 2d.", metavar="TIME")
    ] = None,
    first: Annotated[int, typer.Option(min=1, help="Tasks of the first round.")] = 12,
    finalists: Annotated[int, typer.Option(min=1, help="Models that are confirmed.")] = 3,
    fresh: Annotated[
        int | None, typer.Option(min=1, help="Fresh episodes of each; default: enough for the sentence.")
    ] = None,
    share: Annotated[
        float, typer.Option(min=0.5, max=0.999, help="Of episodes, that must be harmless.")
    ] = HARMLESS_SHARE,
    sweep: Annotated[
        list[str] | None,
        typer.Option(
            help="Change this, and two of these at once, and tell what it did: scaffold, grammar, tools, "
            "quant, thinking, temperature or prompts. Repeatable.",
            metavar="FACTOR[=LEVEL,...]",
        ),
    ] = None,
    prompts: Annotated[
        Prompts | None, typer.Option(help="How models are told the tasks, in place of the exam's way.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the draws.")] = 0,
    jobs: Annotated[int, typer.Option(min=1, help="Simulated episodes at a time.")] = 1,
    db: Annotated[Path, typer.Option(help="The log. The same again goes on with it.")] = Path("bench.db"),
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write the page.", metavar="FILE.html")
    ] = None,
    bundle: Annotated[
        Path | None, typer.Option(help="Write log, exam and hashes, for others.", metavar="FILE.zip")
    ] = None,
    json: Json = False,
) -> None:
    """Find the smallest model that is harmless on a rig, among many.

    Each model is loaded once and measured. Then all take a few tasks; the better half takes more, until few
    are left; these are confirmed on fresh episodes.
    """
    if out is not None:
        check_output(out, "-o")
    if bundle is not None:
        check_output(bundle, "--bundle")
    asked = load_exam(exam)
    if prompts is not None:
        asked = asked.varied(
            make_options("--prompts", {"prompts": prompts}, BY_EXAM).model_dump(exclude_unset=True)
        )
    places, suites = task_places([], suite or ["core"], rig or [EACH_WORLD])
    taken = asked.taken(suites)
    title = f"{', '.join(one.name for one in suites)}, {len(places)} tasks"
    plan = BenchPlan(
        places,
        suites,
        taken,
        asked.content.limits,
        seed,
        first,
        finalists,
        fresh,
        _seconds(budget),
        share,
        jobs,
    )
    if sweep:
        swept = Sweep.of(asked, specs_of(models), sweep)
        run_sweep(swept, plan, db, out, bundle, title, json=json)
        return
    known = _known(db, taken)
    candidates = [
        candidate(spec, asked, plan, tell, known=agent_name(spec) in known) for spec in specs_of(models)
    ]
    if len({one.name for one in candidates}) < len(candidates):
        raise UsageError("two of the models have one name: give each another with ?name=NAME")
    the_bench = Bench(plan, candidates, db, tell, Left())
    picked = the_bench.run()
    found = the_bench.result(picked)
    if bundle is not None:
        write_bundle(bundle, db, content_of(plan, asked, candidates, picked))
        tell(f"{bundle} holds the bundle; check it with `pathrig board build`")
    cards = found.cards
    if out is not None:
        write_file(out, "-o", bench_page(title, found.sentence, f"{taken.name} {taken.digest}", cards, share))
        tell(f"{out} holds the page")
    if json:
        print_json(
            {
                "exam": taken.model_dump(),
                "sentence": found.sentence,
                "front": found.front,
                "cards": [card.as_json() for card in cards],
            }
        )
        return
    screen = console()
    screen.print(cards_table(cards, found.front))
    screen.print(Text(visible(found.sentence), style="bold"))


def _known(db: Path, exam: ExamTaken) -> set[str]:
    """Return the agents of which a log has episodes.

    Raises:
        UsageError: they are of another exam.
    """
    for run, other in exams_of(db):
        if other != exam:
            what = "no exam" if other is None else f"exam {other.name} {other.digest}"
            raise UsageError(
                f"--db {db}: its run {run} is of {what}, and this one is {exam.name} {exam.digest}: "
                "name another log"
            )
    if not db.exists():
        return set()
    with LogReader(db) as reader:
        return {row.agent for row in reader.episodes()}


def _seconds(text: str | None) -> float | None:
    if text is None:
        return None
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(s|min|h|d)", text.strip())
    if found is None or not float(found[1]):
        raise UsageError(f"--budget {text}: write a time, as in 90min, 8h or 2d")
    return float(found[1]) * SECONDS[found[2]]
