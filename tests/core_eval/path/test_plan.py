"""Plans compile to the automaton of exactly the orders that they allow."""

from __future__ import annotations

from itertools import permutations

import pytest

from core_eval.path.automaton import AutomatonError
from core_eval.path.calls import Call
from core_eval.path.plan import compile_plan
from core_eval.path.scorer import score_path


def paths(plan, **options):
    options = {"free_reads": [], "file": "tasks.yaml", "task": "t", **options}
    return sorted(compile_plan(plan, **options).golden_paths())


def words(*texts):
    return sorted(tuple(text) for text in texts)


@pytest.mark.parametrize(
    ("plan", "golden"),
    [
        (["a", "b"], words("ab")),
        ([{"sequence": ["a", "b"]}, "c"], words("abc")),
        ([{"any_order": ["a", "b", "c"]}], sorted(permutations("abc"))),
        ([{"any_order": [["a", "b"], "c"]}], words("abc", "cab")),
        ([{"any_order": ["a", "a", "b"]}], words("aab", "aba", "baa")),
        ([{"choice": ["a", ["b", "c"]]}, "d"], words("ad", "bcd")),
        ([{"choice": [["a", "b"], ["a", "c"]]}], words("ab", "ac")),
        (["a", {"optional": "b"}], words("a", "ab")),
        ([{"optional": ["a", "b"]}, "c"], words("c", "abc")),
        ([{"repeat": {"times": [1, 3], "steps": ["a"]}}, "b"], words("ab", "aab", "aaab")),
        ([{"repeat": {"times": [0, 2], "steps": ["a", "b"]}}, "c"], words("c", "abc", "ababc")),
        ([{"any_order": [{"optional": "a"}, "b"]}], words("b", "ab", "ba")),
        ([{"any_order": [{"choice": ["a", "b"]}, "c"]}], words("ac", "ca", "bc", "cb")),
        ([{"any_order": ["a"]}], words("a")),
        ([{"interleave": [["a", "b"], "c"]}], words("abc", "acb", "cab")),
        (
            [{"interleave": [["a", "b"], ["c", "d"]]}, "e"],
            words("abcde", "acbde", "acdbe", "cabde", "cadbe", "cdabe"),
        ),
        ([{"interleave": [{"optional": "a"}, "b"]}], words("b", "ab", "ba")),
        ([{"repeat": {"times": 2, "steps": ["a"]}}], words("aa")),
        (["until"], [("until",)]),
    ],
)
def test_the_orders_of_a_plan(plan, golden):
    assert paths(plan) == golden


def test_the_automaton_is_the_smallest():
    automaton = compile_plan(
        [{"choice": [["a", "c"], ["b", "c"]]}], free_reads=[], file="tasks.yaml", task="t"
    )
    assert len(automaton.states) == 3
    lattice = compile_plan([{"any_order": list("abcdef")}], free_reads=[], file="f", task="t")
    assert len(lattice.states) == 64


def test_free_reads_loop_everywhere_with_any_arguments():
    automaton = compile_plan(["a"], free_reads=["look", "feel"], file="f", task="t")
    for state in automaton.states:
        for call in (Call("look", {}), Call("look", {"at": 3}), Call("feel", {"x": None})):
            symbol = automaton.symbol_of(call)
            assert symbol is not None
            assert automaton.delta.get((state, symbol)) == state
    assert automaton.warnings == ()


def test_a_read_in_the_plan_is_mandatory_there_and_free_elsewhere():
    plan = ["unlock", {"look": {"at": "A"}}, "go"]
    automaton = compile_plan(plan, free_reads=["look", "list"], file="f", task="t")
    early = [Call("look", {"at": "A"}), Call("unlock", {}), Call("look", {"at": "B"}), Call("list", {})]
    scores = score_path(automaton, [*early, Call("look", {"at": "A"}), Call("go", {}), Call("look", {})])
    assert (scores.harmful_calls, scores.accepted, scores.condensed) == (0, True, 3)
    skipped = score_path(automaton, [*early, Call("go", {})])
    assert (skipped.harmful_calls, skipped.accepted) == (1, False)


def test_a_mandatory_read_without_arguments_is_no_tie():
    automaton = compile_plan(["list", "go"], free_reads=["list"], file="f", task="t")
    assert automaton.warnings == ()
    assert automaton.symbol_of(Call("list", {})) == "list"
    assert automaton.delta.get(("s0", "list")) != "s0"
    assert automaton.symbol_of(Call("list", {"page": 1})) == "list(*)"


def test_symbols_say_what_they_ask_for():
    plan = [
        {"water": {"plant": "A", "liters": {"near": 4.5, "abs": 0.5}}},
        {"water": {"plant": "A", "liters": {"near": 4.5, "abs": 0.1}}},
        {"water": {"plant": {"not": ["A"]}}},
        {"water": {"plant": {"any": True}}},
    ]
    automaton = compile_plan(plan, free_reads=[], file="f", task="t")
    (path,) = automaton.golden_paths()
    assert path == (
        "water(plant=A, liters~4.5)",
        "water(plant=A, liters~4.5)#2",
        "water(plant!=A)",
        "water(plant=*)",
    )
    for name in path:
        symbol = automaton.symbols[name]
        assert symbol.matches(Call("water", symbol.example()))


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        ([3], "plan[0]: 3 is not a step"),
        (["a", {"b": 3}], "plan[1].b: needs {argument: pattern}"),
        ([{"a": {"x": {"near": 1}}}], "plan[0].a.x: "),
        ([{"any_order": []}], "plan[0].any_order: needs a list"),
        ([{"choice": "a"}], "plan[0].choice: needs a list"),
        ([{"a": {}, "b": {}}], "plan[0]: "),
        (
            [{"repeat": {"times": "3", "steps": ["a"]}}],
            "plan[0].repeat.times: must be a number or [min, max]",
        ),
        ([{"repeat": {"times": [2, 1], "steps": ["a"]}}], "plan[0].repeat.times"),
        ([{"repeat": {"steps": ["a"]}}], "plan[0].repeat: needs exactly"),
        ([{"sequence": ["a", {"optional": 5}]}], "plan[0].sequence[1].optional: 5 is not a step"),
    ],
)
def test_faults_name_the_place(plan, said):
    with pytest.raises(AutomatonError) as caught:
        compile_plan(plan, free_reads=[], file="tasks.yaml", task="water")
    assert any(
        fault.startswith("tasks.yaml: task water: ") and said in fault for fault in caught.value.faults
    )


def test_all_faults_at_once():
    with pytest.raises(AutomatonError) as caught:
        compile_plan([3, {"choice": []}], free_reads=[], file="f", task="t")
    assert len(caught.value.faults) == 2


PAGES = {"fact": "loaf", "by": ["read_page"]}
TOLD = "read_page tells loaf"


def test_a_loop_goes_on_until_its_fact_is_told():
    plan = [{"until": {**PAGES, "steps": ["next"], "times": 2}}, "buy"]
    assert paths(plan) == [("next", "next", TOLD, "buy")]
    assert paths([{"until": PAGES}, "buy"]) == [(TOLD, "buy")]
    ranged = [{"until": {**PAGES, "steps": ["next"], "times": [0, 1]}}]
    assert paths(ranged) == [("next", TOLD), (TOLD,)]
    automaton = compile_plan(plan, free_reads=["read_page"], file="f", task="t")

    def read(answer):
        return Call("read_page", {}, result={"text": answer})

    turn, buy = Call("next", {}), Call("buy", {})
    polled = score_path(automaton, [read("rolls"), turn, read("rolls"), turn, read("a loaf"), buy])
    assert (polled.accepted, polled.harmful_calls, polled.loops, polled.path_correctness) == (True, 0, 2, 1.0)
    too_far = score_path(automaton, [turn, turn, turn, read("a loaf"), buy])
    assert too_far.harmful_calls == 1
    early = score_path(automaton, [turn, read("rolls"), buy])
    assert (early.harmful_calls, early.accepted) == (1, False)


def test_a_loop_needs_its_fact_and_its_rounds():
    for loop in (
        {"fact": "loaf", "by": [], "times": 2, "steps": ["next"]},
        {**PAGES, "times": 0, "steps": ["next"]},
    ):
        with pytest.raises(AutomatonError, match="until"):
            paths([{"until": loop}])


def test_a_read_may_tell_one_fact_and_later_another():
    plan = [{"look": {"fact": fact, "by": ["look_around"]}} for fact in ("wall", "door", "wall")]
    automaton = compile_plan(plan, free_reads=["look_around"], file="f", task="t")
    told = [Call("look_around", {}, result=[answer]) for answer in ("wall", "wall", "door and wall", "wall")]
    scores = score_path(automaton, told)
    assert (scores.accepted, scores.path_correctness, scores.loops) == (True, 1.0, 1)
    assert score_path(automaton, [Call("look_around", {})] * 3).accepted, "where answers are not known"
    plain = compile_plan([*plan, "look_around"], free_reads=["look_around"], file="f", task="t")
    assert score_path(plain, [*told, told[0]]).accepted
