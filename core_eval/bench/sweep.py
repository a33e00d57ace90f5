"""A sweep: the same models on the same tasks, with one thing or two of their exam changed at a time."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

from agents.agent import AgentSpecError
from agents.names import agent_name
from agents.options import ModelOptions, make_options
from agents.registry import parse_spec
from configs.exam import BY_EXAM, LLAMA_CPP, Exam, ExamTaken
from configs.suite_manifest import MeasuredSuite
from core_eval.bench.bench import Bench, BenchPlan, Candidate, Tell, no_line
from core_eval.bench.candidates import candidate
from core_eval.log import Emit, EpisodeRow, ignore
from core_eval.score.cards import Card
from core_eval.score.sweep import Factors, Setting, settings

QUANT = "quant"
OPTIONS = ("scaffold", "grammar", "tools", "thinking", "temperature", "prompts")
FRESH = 30
"""Episodes of each model at each setting."""
OF_QUANT = re.compile(r"[-_.:](?:UD-)?(I?Q\d\w*|MXFP4\w*|B?F16|F32)$", re.IGNORECASE)
"""What the names of files and of servers' models say of their numbers' type."""


Swept = dict[tuple[str, Setting], Sequence[EpisodeRow]]
"""The episodes of each model at each setting."""


@dataclass(frozen=True)
class Sweep:
    """What is swept.

    Attributes:
        exam: of the base.
        models: of each model and type of numbers (empty where that is no factor), the specification.
        factors: the levels of each.
        values: of each factor and level, what the exam's option is then; no option: as the exam has it.
    """

    exam: Exam
    models: Mapping[tuple[str, str], str]
    factors: Factors
    values: Mapping[tuple[str, str], Any]

    @classmethod
    def of(cls, exam: Exam, specs: Sequence[str], asked: Sequence[str]) -> Sweep:
        """Return what `FACTOR` or `FACTOR=LEVEL,LEVEL` ask for; the first level is the base.

        Raises:
            AgentSpecError: there is no such factor or level, or a model does not take it.
        """
        factors: dict[str, Sequence[str]] = {}
        values: dict[tuple[str, str], Any] = {}
        models = {(agent_name(spec), ""): spec for spec in specs}
        if len(models) < len(specs):
            raise AgentSpecError("two of the models have one name: give each another with ?name=NAME")
        for text in asked:
            name, given, words = text.partition("=")
            if name in factors:
                raise AgentSpecError(f"--sweep {name} is given twice")
            if name == QUANT:
                models = _by_quant(specs)
                levels: Mapping[str, Any] = dict.fromkeys(quant for _, quant in models)
                if given:
                    raise AgentSpecError(f"--sweep {text}: its levels are those of the models' names")
            elif name in OPTIONS:
                levels = _given(name, words) if given else _usual(exam, name)
                values |= {(name, level): value for level, value in levels.items()}
                _check_taken(name, specs)
            else:
                raise AgentSpecError(f"--sweep {name}: a factor is one of {', '.join((QUANT, *OPTIONS))}")
            if len(levels) < 2:
                raise AgentSpecError(f"--sweep {text}: it takes two levels or more")
            factors[name] = list(levels)
        return cls(exam, models, factors, values)

    @property
    def options(self) -> dict[str, dict[str, Any]]:
        """What the exam's option is at each level of a factor."""
        found: dict[str, dict[str, Any]] = {}
        for (name, level), value in self.values.items():
            found.setdefault(name, {})[level] = value
        return found

    def words(self, setting: Setting) -> str:
        """Return a setting in words: what it has changed."""
        told = [f"{name}={level}" for (name, levels), level in self._each(setting) if level != levels[0]]
        return ", ".join(told) or "base"

    def _each(self, setting: Setting) -> Iterable[tuple[tuple[str, Sequence[str]], str]]:
        return zip(self.factors.items(), setting, strict=True)

    def exam_of(self, setting: Setting) -> Exam:
        """Return the exam of a setting."""
        options = {
            name: value
            for (name, _), level in self._each(setting)
            if (value := self.values.get((name, level))) is not None
        }
        return self.exam.varied(options)

    @property
    def names(self) -> list[str]:
        """The models, each once."""
        return list(dict.fromkeys(model for model, _ in self.models))

    def exams(self, suites: Sequence[MeasuredSuite]) -> list[ExamTaken]:
        """Return the exam of each setting, on these suites."""
        return [self.exam_of(setting).taken(suites) for setting in settings(self.factors)]

    def run(self, plan: BenchPlan, log: Path, tell: Tell, emit: Emit) -> list[int]:
        """Run what the log has not; return how many episodes each model has at each setting.

        Raises: as `Bench.run`.
        """
        names = self.names
        every = settings(self.factors)
        fresh = plan.fresh or FRESH
        tell(f"{len(every)} settings of {len(names)} models, {fresh} episodes each")
        budget = None if plan.budget is None else plan.budget / len(every)
        counts = []
        for number, setting in enumerate(every, 1):
            tell(f"setting {number} of {len(every)}: {self.words(setting)}")
            exam = self.exam_of(setting)
            quant = dict(zip(self.factors, setting, strict=True)).get(QUANT, "")
            own = [
                # Only that of the base is measured before it runs.
                candidate(
                    self.models[name, quant],
                    exam,
                    plan,
                    tell,
                    known=number > 1,
                    called=self._called(name, setting),
                )
                for name in names
            ]
            bench = Bench(
                replace(plan, exam=exam.taken(plan.suites), finalists=len(own), fresh=fresh, budget=budget),
                own,
                log,
                tell,
                emit,
            )
            counts.append(bench.run().fresh)
        return counts

    def rows(self, plan: BenchPlan, log: Path, counts: Sequence[int]) -> Swept:
        """Return the episodes of each model at each setting, of which a log has up to so many."""
        found: Swept = {}
        for setting, count in zip(settings(self.factors), counts, strict=True):
            bench = Bench(
                replace(plan, exam=self.exam_of(setting).taken(plan.suites)), (), log, no_line, ignore
            )
            for name in self.names:
                found[name, setting] = bench.fresh_rows(Candidate("", self._called(name, setting)), count)
        return found

    def _called(self, model: str, setting: Setting) -> str:
        words = self.words(setting)
        return model if words == "base" else f"{model}, {words}"

    def cards(self, rows: Swept) -> list[Card]:
        """Return a card of each model at each setting."""
        return [Card(model, None, None, self.words(setting), own) for (model, setting), own in rows.items()]


def _by_quant(specs: Sequence[str]) -> dict[tuple[str, str], str]:
    """Return the specifications by model and type of numbers.

    Raises:
        AgentSpecError: a name says no type, or the models have different ones.
    """
    found: dict[tuple[str, str], str] = {}
    for spec in specs:
        name = agent_name(spec)
        told = OF_QUANT.search(name)
        if told is None:
            raise AgentSpecError(
                f"--sweep {QUANT}: the name {name!r} ends with no type, such as Q4_K_M or F16"
            )
        found[name[: told.start()], told[1].upper()] = spec
    quants = {quant for _, quant in found}
    for model in {model for model, _ in found}:
        if missing := sorted(quants - {quant for one, quant in found if one == model}):
            raise AgentSpecError(f"--sweep {QUANT}: {model} is not given in {', '.join(missing)}")
    return found


def _given(name: str, words: str) -> dict[str, Any]:
    return {
        word: getattr(make_options("--sweep", {name: word}, BY_EXAM), name)
        for word in words.split(",")
        if word.strip()
    }


def _usual(exam: Exam, name: str) -> dict[str, Any]:
    """Return all levels of a factor, that of the exam first."""
    options = exam.content.options
    kind = ModelOptions.model_fields[name].annotation
    if name == "temperature":
        own = options.get(name)
        base = {"as stated": None} if own is None else {f"{own:g}": own}
        return base | {f"{value:g}": value for value in (0.0, LLAMA_CPP[name]) if value != own}
    if name == "thinking":
        every: dict[str, Any] = {"off": False, "on": True}
    else:
        every = {word: word for word in get_args(kind)}
    own = options.get(name, ModelOptions.model_fields[name].default)
    return dict(sorted(every.items(), key=lambda one: one[1] != own))


def _check_taken(name: str, specs: Iterable[str]) -> None:
    for spec in specs:
        form = parse_spec(spec).form.model
        if form is None or name not in form.options:
            raise AgentSpecError(f"--sweep {name}: {agent_name(spec)} has no option {name}")
