"""Actions, automata, alignment and the CORE metrics: pure, and light to import."""

from core_eval.path.automaton import AutomatonError, TaskAutomaton
from core_eval.path.calls import Call, Kind, Status
from core_eval.path.core_json import CoreFile, CoreTask, parse_core_json
from core_eval.path.patterns import Anything, Exact, Excluded, Near, OneOf, Pattern, Range
from core_eval.path.plan import compile_plan
from core_eval.path.scorer import OnlineScorer, Scores, StepVerdict, score_path
from core_eval.path.symbols import Symbol

__all__ = [
    "Anything",
    "AutomatonError",
    "Call",
    "CoreFile",
    "CoreTask",
    "Exact",
    "Excluded",
    "Kind",
    "Near",
    "OneOf",
    "OnlineScorer",
    "Pattern",
    "Range",
    "Scores",
    "Status",
    "StepVerdict",
    "Symbol",
    "TaskAutomaton",
    "compile_plan",
    "parse_core_json",
    "score_path",
]
