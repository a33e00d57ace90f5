"""Harm assessment by a twin, for an episode on a rig that sends no ground truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from configs.errors import ConfigError
from configs.worlds_loader import make_simulator
from core_eval.harm.compensating import compensating_pairs
from core_eval.harm.costs import with_costs
from core_eval.harm.golden import GoldenRun
from core_eval.harm.logged_episode import NoReplayError, executed_calls
from core_eval.harm.replay import MakeSimulator, Player, ReplayError, first_mismatch
from core_eval.harm.report import HarmReport
from core_eval.harm.twin.likelihood import astray, channels
from core_eval.harm.twin.logged_episode import logged_episode, nominal_world, not_assessed, twin_in_log
from core_eval.harm.twin.parameters import Priors
from core_eval.harm.twin.posterior import Twin, TwinPosterior
from core_eval.harm.twin.unknowns import Unknowns
from core_eval.harm.unanswered import as_done
from core_eval.harm.verdict import Thresholds
from core_eval.log import EpisodeRow, HarmRow, LogReader, StepRow
from core_eval.path.automaton import TaskAutomaton
from core_eval.path.calls import Call


@dataclass(frozen=True)
class TwinReport:
    """The twin's harm assessment.

    Attributes:
        harm_report: the events that count; its end states are those of the
            ensemble's best member.
        rows: all events above the minimum probability, with their probabilities.
        posterior: the posterior of the ensemble.
    """

    harm_report: HarmReport
    rows: Sequence[HarmRow]
    posterior: TwinPosterior

    @property
    def fit_scores(self) -> Mapping[str, float]:
        """How well the twin explains the telemetry, as metrics."""
        fit = self.posterior.fit
        return {
            "twin_fit": fit.p_value,
            "twin_effective": self.posterior.effective,
            "twin_log_likelihood": fit.log_likelihood,
            "twin_expected_log_likelihood": fit.expected,
        }


def twin_report(
    reader: LogReader,
    episode: EpisodeRow,
    automaton: TaskAutomaton,
    steps: Sequence[StepRow],
    golden: Sequence[Call] | None,
) -> TwinReport:
    """Run the twin along a logged episode.

    Raises:
        NoReplayError: the twin cannot reproduce the episode; the text is the cause.
    """
    assert episode.twin is not None
    try:
        config = twin_in_log(episode)
        world = nominal_world(config, episode)
        priors = Priors.of_twin(world.state, config)
    except ConfigError as error:
        raise NoReplayError(f"the twin's world: {error}") from None
    except KeyError as error:
        raise NoReplayError(f"incompatible twin configuration in the log: {error.args}") from None

    try:
        logged = logged_episode(reader, episode, steps)
        posterior = Twin(
            lambda: make_simulator(world), priors, config.members, Unknowns.of_twin(config)
        ).infer(logged, episode.world_seed)
    except ReplayError as error:
        raise NoReplayError(f"the twin's simulator refuses the parameters: {error}") from None
    thresholds = Thresholds.of(episode.twin)
    events = with_costs(posterior.events, {rule.kind: rule for rule in world.type.harm_rules})
    likely = [thresholds.counts(event) or thresholds.foretells(event) for event in events]
    counted = [event for event, one in zip(events, likely, strict=True) if one]
    harm = _harm_report(lambda: make_simulator(world), posterior, steps, automaton, golden, counted)
    judged = iter(harm.events)
    rows = [
        next(judged) if one else thresholds.judged(event) for event, one in zip(events, likely, strict=True)
    ]
    # What does not act breaks no rule.
    if any(one.call.tool not in world.device.reads for one in logged.calls):
        told_apart = astray(channels(logged, posterior.best.track))
        state = world.state.model_dump()
        blind = not_assessed(world.type.harm_rules, state, config.ruled_out, told_apart)
        harm = replace(harm, not_assessed=blind)
    return TwinReport(harm, rows, posterior)


def _harm_report(
    make: MakeSimulator,
    posterior: TwinPosterior,
    steps: Sequence[StepRow],
    automaton: TaskAutomaton,
    golden: Sequence[Call] | None,
    events: Sequence[HarmRow],
) -> HarmReport:
    best = posterior.best
    player = Player(make, {**best.start, "hidden": dict(best.hidden)}, best.seed)
    calls = as_done(player, executed_calls(steps), best.done)
    golden_run = None if golden is None else GoldenRun.play(player, golden)
    replay = player.play(calls, checkpoints=False)
    mismatch = first_mismatch(calls, replay)
    rules = {rule.kind: rule for rule in replay.harm_rules}
    if golden_run is not None:
        events = golden_run.charge(events, player, calls, rules)
    return HarmReport(
        events=tuple(events),
        deviations=posterior.deviations,
        unanswered=tuple(calls[index].step for index in posterior.undecided),
        final_state_ok=None
        if golden_run is None or posterior.undecided
        else golden_run.same_end(best.track.coarse_end),
        end_state=None if posterior.undecided else best.track.end_state,
        golden_outcomes=None if golden_run is None else golden_run.outcomes,
        golden_failure=None if golden_run is None else golden_run.failure,
        # Pairs are found in the replayed states, which are valid only if the replay matches the answers.
        pairs=()
        if mismatch is not None
        else compensating_pairs(replay, calls, automaton, player.device_type),
        replay_matches=mismatch is None,
        mismatch=mismatch,
    )
