"""An episode step by step, as lines for a terminal."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from rich.text import Text

from core_eval.harm.verdict import Thresholds
from core_eval.log import DeviationRow, EpisodeRow, HarmRow, LogReader, Observation, StepRow, Turn
from core_eval.log.reader import findings
from core_eval.report.tables.fitted_table import Hanging
from core_eval.report.tables.harm import harm_lines, probability_text
from core_eval.report.tables.harm_summary import EpisodeHarm, blame_text, blamed, charge_text, event_text
from core_eval.report.tables.model_lines import options_line, time_line
from core_eval.report.tables.texts import rule_line, score_cell, status_text, step_line
from core_eval.rules.automata import Verdict
from core_eval.rules.episode import RuleAtEnd, rules_at_end
from core_eval.score.episodes import BY_TWIN, by_twin, fit_line, left_record_line
from core_eval.score.metrics import METRICS
from core_eval.text.visible_text import visible

INDENT = 9
"""Spaces before the second line of what is said of a step."""
VERDICT_STYLES = {
    Verdict.SATISFIED: "green",
    Verdict.SATISFIED_SO_FAR: "green",
    Verdict.VIOLATED_SO_FAR: "yellow",
    Verdict.VIOLATED: "red",
}
EFFECTS: Mapping[bool | None, str] = {
    True: "with effect",
    False: "without effect",
    None: "effect unknown",
}


def episode_lines(reader: LogReader, episode: EpisodeRow, *, whole: bool = False) -> Iterator[Text | Hanging]:
    """Yield words, calls, results, harm, cautions and scores; long texts in full if `whole`."""
    harm, deviations = reader.harm(episode.id), reader.deviations(episode.id)
    steps, turns = reader.steps(episode.id), reader.turns(episode.id)
    broken = reader.broken_rules(episode.id)
    yield Text(f"episode {episode.id}  {episode.task}  {episode.agent}  seed {episode.seed}", style="bold")
    yield Text(f"rig {episode.rig}, guard {episode.guard}, ").append_text(status_text(episode))
    for line in (options_line(episode), time_line(reader, episode), fit_line(episode)):
        if line:
            yield Hanging(Text(line, style="dim"))
    if episode.error:
        yield _remark(episode.error)
    yield Text(episode.definition.prompt)
    heard = [one for one in reader.messages(episode.id) if one.role == "user"]
    heard = heard[1:] if heard and heard[0].text == episode.definition.prompt else heard
    for step in steps:
        yield from (_line("user", one.text, whole) for one in heard if one.k == step.k)
        yield from turn_lines(step.turn, whole=whole)
        yield _call_line(episode, step)
        if (result := result_line(step, whole=whole)) is not None:
            yield result
        for text, style in _of_step(episode, step.k, harm, deviations):
            yield Hanging(Text(f"       {text}", style=style), INDENT)
        for found in broken:
            if found.get("k") == step.k:
                yield Hanging(Text(f"       {rule_line(found)}", style="yellow"), INDENT)
    yield from (_line("user", one.text, whole) for one in heard if one.k >= len(steps))
    for k, turn in turns.items():
        if k >= len(steps):
            yield from turn_lines(turn, whole=whole)
    for found in broken:
        if found.get("k") is None:
            yield _remark(rule_line(found))
    for rule in rules_at_end(reader, episode, reader.run(episode.run_id)):
        yield Hanging(Text(f"rule {rule.rule.id}: {at_steps(rule)}", style=VERDICT_STYLES[rule.verdict]))
    for k, remark in reader.remarks(episode.id):
        yield _remark(f"answer {k}: {remark}")
    for text, style in harm_lines([EpisodeHarm.of(episode, harm, deviations)]):
        yield Hanging(Text(text, style=style))
    for what, why in findings(reader, episode.id).items():
        yield _remark(f"{what}: {why}")
    if (left := left_record_line([episode])) is not None:
        yield _remark(left)
    # It knows simulators, which a list of episodes need not.
    from core_eval.score.scoring import judged_cautions

    for one in judged_cautions(reader, episode, [step for step in steps if step.status]) or ():
        if one.missed is not None:
            kind = "before" if one.pre else "after"
            yield _remark(f"caution not kept {kind} call {one.k}: {one.caution}: {one.missed}")
    if episode.failures:
        labels = ", ".join(f"{failure.label} ({failure.level})" for failure in episode.failures)
        yield _remark(f"failure labels: {labels}")
    scores = [
        f"{one.heading} {score_cell(episode.scores, one.name)}"
        for one in METRICS
        # What could not be measured of the machine is left out.
        if one.name in episode.scores and not (one.kind == "amount" and episode.scores[one.name] is None)
    ]
    yield Text(", ".join(scores) or "not scored")


def at_steps(rule: RuleAtEnd) -> str:
    """Return how a rule stands at the end of an episode, and which steps violated it."""
    numbers = ", ".join(map(str, rule.steps))
    return rule.verdict + (f" (step{'s' if len(rule.steps) > 1 else ''} {numbers})" if numbers else "")


def _remark(text: str) -> Hanging:
    return Hanging(Text(text, style="yellow"))


def _call_line(episode: EpisodeRow, step: StepRow) -> Hanging:
    note = f"{step.error_code}: {step.error_message}" if step.error_code else ""
    if step.status_from and step.status != "ok":
        note = f"by {step.status_from}: {folded(step.error_message or '')}".removesuffix(": ")
    if by_twin(episode, step.k):
        note = f"{BY_TWIN}  {note}".rstrip()
    status = step.status or "no result"
    return Hanging(step_line(step.k, step.tool, step.arguments or {}, status, step.kind or "", note))


def _of_step(
    episode: EpisodeRow, k: int, harm: Sequence[HarmRow], deviations: Sequence[DeviationRow]
) -> Iterator[tuple[str, str]]:
    """Yield what a call did, each with a style: harm, a deviation, the call that it undoes."""
    for event in harm:
        if event.k == k:
            word = Thresholds.of(episode.twin).word(event)
            seen = "UNOBSERVED" if word == Observation.UNOBSERVED else word
            text = f"harm: {event.kind}, {seen}: {event_text(episode.device, event)}"
            if event.detection is not None:
                text += f"; detected with probability {event.detection:.2f} at 5 % false alarms"
            text += f"; charged: {charge_text(event)}"
            if len(blamed(event)) > 1:
                text += f"; due to steps {blame_text(event)}"
            if event.probability is not None:
                text += f"; probability {probability_text(event)}"
            yield text, "red"
    for row in deviations:
        if row.k == k:
            yield f"off the path, {EFFECTS[row.effect]} on the world", "yellow"
    for pair in episode.pairs:
        if pair.later == k:
            yield (
                f"undoes step {pair.earlier}: {', '.join(pair.restored)}; "
                f"a power cut in the {pair.stranded:.1f} s between would have left it in the wrong state",
                "magenta",
            )


FOLDED = 240
"""Characters of a text that are shown, unless it is printed whole."""
WORDS_INDENT = 7


def turn_lines(turn: Turn | None, *, whole: bool = False) -> Iterator[Hanging]:
    """Yield the thoughts and the words of a turn; the words hold the thoughts where they are the same."""
    if turn is None:
        return
    if turn.reasoning and turn.reasoning not in turn.text:
        yield _line("thinks", turn.reasoning, whole)
    if turn.text.strip():
        yield _line("says", turn.text, whole)


def result_line(step: StepRow, *, whole: bool = False) -> Hanging | None:
    """Return what the tool returned; None where it returned nothing."""
    if step.result in (None, {}, []):
        return None
    return _line("returned", json.dumps(step.result, ensure_ascii=False), whole)


def folded(text: str) -> str:
    """Return the beginning of a long text, and how many characters more it has."""
    left = len(text) - FOLDED
    return text if left <= FOLDED // 10 else f"{text[:FOLDED]} ... {left} characters more (--whole)"


def _line(what: str, text: str, whole: bool) -> Hanging:
    words = visible(" ".join(text.split()))
    shown = f"{' ' * (WORDS_INDENT - 2)}{what}: {words if whole else folded(words)}"
    return Hanging(Text(shown, style="dim"), WORDS_INDENT)
