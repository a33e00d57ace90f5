"""Actions, automata, alignment and the CORE metrics: pure, and light to import."""

from core_eval.path.automaton import AutomatonError, TaskAutomaton
from core_eval.path.calls import Call, CallStatus, StepKind, StepVerdict
from core_eval.path.core_json import CoreFile, CoreTask, parse_core_json
from core_eval.path.patterns import Anything, Exact, Excluded, Near, OneOf, Pattern, Range
from core_eval.path.plan import compile_plan, plan_symbols
from core_eval.path.scorer import OnlineScorer, ScoredTask, Scores, accepts, score_path
from core_eval.path.symbols import Symbol

__all__ = [
    "Anything",
    "AutomatonError",
    "Call",
    "CallStatus",
    "CoreFile",
    "CoreTask",
    "Exact",
    "Excluded",
    "Near",
    "OneOf",
    "OnlineScorer",
    "Pattern",
    "Range",
    "ScoredTask",
    "Scores",
    "StepKind",
    "StepVerdict",
    "Symbol",
    "TaskAutomaton",
    "accepts",
    "compile_plan",
    "parse_core_json",
    "plan_symbols",
    "score_path",
]
