"""The public figures of the CORE paper (spec: core, section 6), one test each."""

from __future__ import annotations

import pytest
from paths import ROOT

from core_eval.path.automaton import TaskAutomaton
from core_eval.path.calls import Call
from core_eval.path.scorer import score_path
from core_eval.path.symbols import Symbol


def chain(golden: str, loops: dict[int, str] | None = None, extra: str = "") -> TaskAutomaton:
    """One golden path of one-letter tools; `loops` are the legal reads by place."""
    tokens = golden.split()
    delta = {(f"q{place}", token): f"q{place + 1}" for place, token in enumerate(tokens)}
    for place, reads in (loops or {}).items():
        delta.update({(f"q{place}", read): f"q{place}" for read in reads})
    names = dict.fromkeys([*tokens, *extra, *(symbol for _, symbol in delta)])
    return TaskAutomaton(
        states=[f"q{place}" for place in range(len(tokens) + 1)],
        symbols=[Symbol(name, name, {}) for name in names],
        start="q0",
        accepting=[f"q{len(tokens)}"],
        delta=delta,
    )


def calls(path: str) -> list[Call]:
    return [Call(name, {}) for name in path.split()]


def test_one_wrong_step():
    scores = score_path(chain("A B C"), calls("A B D"))
    assert scores.path_correctness == pytest.approx(1 - 2 / 7, abs=1e-12)


def test_the_worked_example_of_the_page_on_metrics():
    scores = score_path(
        chain("unlock move water lock", {1: ["read"]}), calls("unlock read water move water lock")
    )
    rows = (ROOT / "docs" / "metrics.md").read_text().split("### A worked example")[1].splitlines()
    told = {row.split("|")[1].strip(): row.split("|")[3].strip() for row in rows if row.count("|") == 4}
    assert told["PC"] == f"{scores.path_correctness:.3f}"
    assert told["PC-KTC"] == f"{scores.pc_ktc:.3f}"
    assert told["PrefixCrit"] == f"{scores.prefix_criticality:.3f}"
    assert told["harm rate"] == f"{scores.harmful_call_rate:.3f}"
    assert told["efficiency"] == f"{scores.efficiency:.3f}"
    assert told["PC+HLR"] == f"{scores.path_correctness_hlr:.3f}"
    assert (told["accepted"] == "yes") is scores.accepted


def test_reads_are_condensed_away():
    scores = score_path(chain("A B", {1: "R"}), calls("A R R B"))
    assert scores.path_correctness == 1.0
    assert (scores.calls, scores.condensed) == (4, 2)
    assert scores.efficiency == 0.5


def test_empty_path():
    scores = score_path(chain("X Y Z"), [])
    assert scores.path_correctness == 0.0
    assert scores.efficiency is None
    assert scores.prefix_criticality == 1.0
    assert scores.harmful_call_rate == 0.0


def test_harm_repaired_by_a_legal_read():
    scores = score_path(chain("A B C", {2: "B"}), calls("A B X C"))
    assert scores.path_correctness == pytest.approx(0.75, abs=1e-12)
    assert scores.path_correctness_hlr == pytest.approx(7 / 9, abs=1e-12)


def test_skipped_first_step():
    scores = score_path(chain("A B"), calls("B"))
    assert scores.harmful_calls == 1
    assert scores.path_correctness == pytest.approx(0.5, abs=1e-12)
    # The paper prints efficiency 0.0 and PC-KTC 0.25 here; by its own text they are undefined and 0.5.
    assert scores.efficiency is None
    assert scores.pc_ktc == pytest.approx(0.5, abs=1e-12)


def test_one_message_sent_three_times():
    scores = score_path(chain("A", {1: "R"}), calls("A A A"))
    assert scores.harmful_calls == 2
    assert scores.efficiency == pytest.approx(1 / 3, abs=1e-12)
    assert scores.prefix_criticality == pytest.approx(0.571, abs=5e-4)
    assert scores.path_correctness == pytest.approx(1 / 3, abs=1e-12)
    assert scores.path_correctness_hlr == pytest.approx(0.5, abs=1e-12)


def test_harmful_calls_of_the_alphabet_keep_their_symbols():
    scores = score_path(chain("A C E G C' H"), calls("A C G C' H"), beta=0.25)
    assert scores.path_correctness == pytest.approx(0.833, abs=5e-4)
    assert scores.pc_ktc == pytest.approx(0.917, abs=5e-4)
    assert scores.harmful_calls == 3
    assert scores.prefix_criticality == pytest.approx(0.938, abs=5e-4)


def test_two_empty_paths_are_equal():
    automaton = TaskAutomaton(
        states=["q"], symbols=[Symbol("R", "R", {})], start="q", accepting=["q"], delta={("q", "R"): "q"}
    )
    scores = score_path(automaton, [])
    assert (scores.path_correctness, scores.path_correctness_hlr, scores.pc_ktc) == (1.0, 1.0, 0.75)
    assert scores.accepted
    assert scores.efficiency == 1.0


def test_a_refused_call_keeps_a_token_of_its_own():
    automaton = chain("A B")
    refused = score_path(automaton, [Call("A", {}, "rejected"), Call("B", {})])
    swapped = score_path(automaton, calls("B A"))
    # The refused A matches nothing. The early B keeps its symbol, and A is progress: they are reversed.
    assert refused.pc_ktc == pytest.approx(0.5 * 0.6 + 0.5 * 0.5, abs=1e-12)
    assert swapped.pc_ktc == pytest.approx(0.5 * (1 - 4 / 6) + 0.5 * 0.0, abs=1e-12)


def test_faults_are_left_out_unless_asked_for():
    automaton = chain("A B")
    path = [Call("A", {}, "fault"), Call("A", {}), Call("nothing", {}, "fault"), Call("B", {})]
    scores = score_path(automaton, path)
    assert (scores.path_correctness, scores.harmful_calls, scores.faults, scores.calls) == (1.0, 0, 2, 2)
    assert scores.efficiency == 1.0
    harm = score_path(automaton, path, faults_are_harm=True)
    assert (harm.harmful_calls, harm.faults, harm.calls, harm.efficiency) == (2, 2, 4, 0.5)


@pytest.mark.parametrize("option", [{"beta": -0.1}, {"beta": 1.1}, {"lam": 2.0}])
def test_parameters_out_of_range(option):
    with pytest.raises(ValueError, match="must be from 0 to 1"):
        score_path(chain("A"), [], **option)


def test_a_path_into_a_dead_end_is_its_own_repair():
    automaton = TaskAutomaton(
        states=["start", "done", "trap"],
        symbols=[Symbol(name, name, {}) for name in "AB"],
        start="start",
        accepting=["done"],
        delta={("start", "A"): "done", ("start", "B"): "trap"},
    )
    scores = score_path(automaton, calls("B"))
    assert scores.path_correctness == pytest.approx(1 / 3, abs=1e-12)
    assert scores.path_correctness_hlr == 1.0
    assert not scores.accepted
