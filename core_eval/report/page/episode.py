"""All that the report shows of one episode: map, time line, automaton, transcript, scores and facts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from markupsafe import Markup

from core_eval.harm.verdict import NOT_COUNTED
from core_eval.log import DeviationRow, EpisodeRow, LogReader, PairRow, RunRow, StepRow, logged_calls
from core_eval.path.calls import StepKind
from core_eval.report.page.event_choice import HarmView, harm_views
from core_eval.report.page.transcript import (
    Facts,
    Folded,
    ToolSet,
    cost_text,
    episode_facts,
    first_prompt,
    folded,
    result_text,
    thoughts,
    told_of,
)
from core_eval.report.pictures.automaton_drawing import NarrowDrawing, narrow_drawing
from core_eval.report.pictures.episode_time_line import EpisodeTimeLine, episode_time_line, play_data
from core_eval.report.pictures.event_pictures import EventPicture
from core_eval.report.pictures.field_shapes import driven_way, field_of
from core_eval.report.pictures.field_view import FieldView, field_view, key_words
from core_eval.report.tables.harm_summary import EpisodeHarm
from core_eval.report.tables.texts import call_text, expected_calls, score_cell
from core_eval.rules.episode import RuleAtEnd, rules_at_end
from core_eval.score.episodes import by_twin, fit_words, is_bad_fit
from core_eval.score.metrics import METRICS, RANKING, Metric
from core_eval.score.repeated import passed


@dataclass(frozen=True)
class StepView:
    """A step: what the agent wrote, the call, the tool's answer, and its effect on the world.

    `expected`: of a call off the path, which calls the task expects in its place.
    """

    row: StepRow
    call: str
    thoughts: Folded | None
    words: Folded | None
    result: Folded | None
    cost: str
    harm: list[HarmView]
    deviation: DeviationRow | None
    by_twin: bool
    undoes: PairRow | None
    expected: str


@dataclass(frozen=True)
class EpisodeView:
    """An episode shown in full; `last_words` were written after the last call."""

    row: EpisodeRow
    passed: bool | None
    steps: list[StepView]
    last_words: Folded | None
    last_cost: str
    way: NarrowDrawing | None
    field: FieldView | None
    field_key: Mapping[str, str]
    time_line: EpisodeTimeLine | None
    play: str | None
    prompt: list[tuple[str, str]]
    tools: ToolSet | None
    remarks: list[tuple[int, str]]
    rules: list[RuleAtEnd]
    scores: list[tuple[str, str, str]]
    facts: list[tuple[str, Facts]]
    fit: str | None
    bad_fit: bool


def episode_view(
    reader: LogReader,
    found: EpisodeHarm,
    run: RunRow | None,
    drawings: Mapping[int, Markup],
    pictures: Mapping[int, EventPicture],
) -> EpisodeView:
    """Return the view of an episode.

    Args:
        reader: its log.
        found: the episode with its harm.
        run: its run.
        drawings, pictures: those of its harm events, by their index.

    Raises:
        LogError: the log cannot be read.
    """
    row, events, thresholds = found.row, found.events, found.thresholds
    steps, samples, truth = reader.steps(row.id), reader.samples(row.id), reader.truth(row.id)
    harm = harm_views(found, samples, drawings, pictures)
    off_path = {deviation.k: deviation for deviation in found.deviations}
    undone = {pair.later: pair for pair in row.pairs}
    driven = driven_way(truth)
    field = field_of(row, steps, truth, samples, [at for _, at in driven])
    told = [event for event in events if thresholds.word(event) != NOT_COUNTED]
    seen = None if field is None else field_view(field, steps, told)
    line = episode_time_line(row, steps, samples, truth, told)
    automaton = reader.automaton(row)
    due = [
        expected_calls(automaton, step.state_before) if automaton and step.kind == StepKind.HARMFUL else ""
        for step in steps
    ]
    # Of several wrong calls in a row the first tells it.
    due = [words if not place or words != due[place - 1] else "" for place, words in enumerate(due)]
    last = list(reader.turns(row.id, len(steps) - 1).values())
    return EpisodeView(
        row=row,
        passed=passed(row),
        steps=[
            StepView(
                row=step,
                call=call_text(step.tool, step.arguments or {}),
                thoughts=thoughts(step.turn),
                words=folded(step.turn.text) if step.turn and step.turn.text else None,
                result=result_text(step.result),
                cost=cost_text(step.turn),
                harm=[view for view in harm if view.row.k == step.k],
                deviation=off_path.get(step.k),
                by_twin=by_twin(row, step.k),
                undoes=undone.get(step.k),
                expected=due[place],
            )
            for place, step in enumerate(steps)
        ],
        last_words=folded(last[-1].text) if last and last[-1].text else None,
        last_cost=cost_text(last[-1]) if last else "",
        way=None if automaton is None else narrow_drawing(automaton, logged_calls(steps)),
        field=seen,
        field_key={} if field is None or seen is None else key_words(seen, field),
        time_line=line,
        play=play_data(line, steps, field, driven, None if seen is None else seen.at),
        prompt=first_prompt(reader.prompt(row.id)),
        tools=told_of(row.definition)[0],
        remarks=reader.remarks(row.id),
        rules=[] if run is None else rules_at_end(reader, row, run),
        scores=[
            (metric.heading, score_cell(row.scores, metric.name), _good_or_bad(row, metric))
            for metric in METRICS
            if metric.name in row.scores
        ],
        facts=episode_facts(reader, row, run),
        fit=fit_words(row),
        bad_fit=is_bad_fit(row),
    )


def _good_or_bad(row: EpisodeRow, metric: Metric) -> str:
    """Return `good` or `bad` for a score that is plainly so; empty for the others."""
    value = row.scores.get(metric.name)
    if value is None or not (metric.kind == "flag" or metric.name in (*RANKING[1:], "unobserved_cost")):
        return ""
    return "bad" if bool(value) == metric.less_is_better else "good"
