"""The scripted operator: which topic a question is about, and which answer is due."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from configs.errors import ConfigError
from configs.operator import Conversation, Operator
from configs.tasks_loader import load_task
from core_eval.call_status import CallStatus
from core_eval.verify.task import verify_task
from devices.outcome import Outcome

HOW_MUCH = {"asked": ["how much", "amount", "many euro*"], "says": ["40 euros.", "No, 45 euros."]}
TO_WHOM = {"asked": ["who*", "which account"], "says": "To A100."}


def talk(**topics: Any) -> Conversation:
    return Conversation(Operator.model_validate({"topics": topics}))


def ask(conversation: Conversation, question: str) -> str:
    outcome = conversation.outcome("ask", {"question": question}, pytest.fail)
    assert outcome.status == CallStatus.OK and outcome.value is not None
    return str(outcome.value["answer"])


def made(conversation: Conversation, tool: str, arguments: dict[str, Any], status: str = "ok") -> None:
    done = Outcome(CallStatus(status))
    assert conversation.outcome(tool, arguments, lambda: done) is done


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How MUCH shall I send?", "40 euros."),
        ("much does it cost, and how?", "40 euros."),
        ("The amount, please", "40 euros."),
        ("How many EUROS?", "40 euros."),
        ("Many cars?", "I do not know that."),
        ("Which of the accounts?", "I do not know that."),
        ("Whom does it go to, and how much is it?", "40 euros. To A100."),
        ("?", "I do not know that."),
    ],
)
def test_a_question_is_about_a_topic_by_all_words_of_a_wording(question: str, answer: str) -> None:
    assert ask(talk(amount=HOW_MUCH, payee=TO_WHOM), question) == answer


def test_a_name_with_underscores_may_be_spelled_with_blanks() -> None:
    conversation = talk(b={"asked": ["plant_B"], "says": "Yes."})
    assert ask(conversation, "Is it plant B?") == ask(conversation, "plant_b then?") == "Yes."


def test_the_operator_revises_an_answer_and_stays_with_the_last() -> None:
    conversation = talk(amount=HOW_MUCH)
    assert [ask(conversation, "how much?") for _ in range(3)] == [
        "40 euros.",
        "No, 45 euros.",
        "No, 45 euros.",
    ]


def test_an_answer_depends_on_the_calls_that_were_executed() -> None:
    dose = {
        "asked": ["how much"],
        "replies": [
            {"before": [{"scan_plant": {"plant_id": "plant_B"}}], "says": "Scan it first."},
            {
                "after": [{"water_plant": {"plant_id": {"any": True}, "liters": {"min": 1}}}],
                "says": "Enough.",
            },
            {"says": ["1 liter.", "Or 2."]},
        ],
    }
    conversation = talk(dose=dose)
    made(conversation, "scan_plant", {"plant_id": "plant_A"})
    made(conversation, "scan_plant", {"plant_id": "plant_B"}, "rejected")
    assert ask(conversation, "how much?") == "Scan it first."
    made(conversation, "scan_plant", {"plant_id": "plant_B"})
    assert ask(conversation, "how much?") == "1 liter."
    made(conversation, "water_plant", {"plant_id": "plant_B", "liters": 0.5})
    assert ask(conversation, "how much?") == "Or 2."
    made(conversation, "water_plant", {"plant_id": "plant_B", "liters": 2})
    assert ask(conversation, "how much?") == "Enough."


def test_an_answer_depends_on_what_was_told_before() -> None:
    day = {"asked": ["day"], "replies": [{"told": ["place"], "says": "Then Friday."}, {"says": "Monday."}]}
    place = {"asked": ["where"], "says": "Here."}
    conversation = talk(place=place, day=day)
    assert ask(conversation, "which day, and where?") == "Here. Monday.", "not told before this question"
    assert ask(conversation, "which day?") == "Then Friday."


def test_without_an_operator_each_call_is_the_rigs() -> None:
    conversation = Conversation(None)
    outcome = Outcome(CallStatus.INVALID)
    assert "ask" not in conversation.taken
    assert conversation.outcome("ask", {"question": "how much?"}, lambda: outcome) is outcome


TASK = """tasks:
  - id: pay
    world: transactions
    prompt: Pay the bill from checking to A100. Ask me how much it is.
    operator: {operator}
    plan: {plan}
    goal: {{accounts.A100.balance: 125}}
"""
OPERATOR = "{topics: {amount: {asked: [how much], says: ['40 euros.', 'No, 45 euros.']}}}"
LOOK = "{look: {fact: 45 euros, by: [ask]}}"
PAY = "{transfer: {from_account: checking, to_account: A100, amount: 45}}"


def written(folder: Path, plan: str, operator: str = OPERATOR) -> str:
    (folder / "task.yaml").write_text(TASK.format(plan=plan, operator=operator))
    return str(folder / "task.yaml")


@pytest.mark.parametrize(
    ("plan", "operator", "fault"),
    [
        ("[ask]", OPERATOR, "plan: a step that asks is written {look: {fact: .., by: [ask]}}"),
        ("[{look: {fact: 50, by: [ask]}}]", OPERATOR, "plan: no answer of the operator holds the fact 50"),
        (f"[{PAY}]", "{topics: {}}", "operator.topics"),
        (f"[{PAY}]", "{topics: {a: {asked: [how]}}}", "give one of says and replies"),
        (f"[{PAY}]", "{topics: {a: {asked: ['?'], says: Yes.}}}", "each wording of asked needs a word"),
        (
            f"[{PAY}]",
            "{topics: {a: {asked: [how], replies: [{told: [b], says: Yes.}]}}}",
            "operator.topics.a.replies.0.told: no topic 'b'; there are a",
        ),
        (
            f"[{PAY}]",
            "{topics: {a: {asked: [how], replies: [{after: [fly], says: Yes.}]}}}",
            "operator.topics.a.replies.0.after.0: transactions has no tool 'fly'",
        ),
        (
            f"[{PAY}]",
            "{topics: {a: {asked: [how], replies: [{before: [3], says: Yes.}]}}}",
            "operator.topics.a.replies.0.before",
        ),
    ],
)  # fmt: skip
def test_a_mistake_in_an_operator_is_one_line_with_its_key(
    tmp_path: Path, plan: str, operator: str, fault: str
) -> None:
    with pytest.raises(ConfigError) as wrong:
        load_task(written(tmp_path, plan, operator))
    assert fault in str(wrong.value) and "task.yaml:" in str(wrong.value)
    assert "\n" not in str(wrong.value)


def test_a_plan_cannot_ask_where_nobody_answers(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no tool 'ask'"):
        load_task(written(tmp_path, f"[{LOOK}, {PAY}]", "null"))


def test_what_precedes_a_decline_only_reads(tmp_path: Path) -> None:
    text = TASK.format(plan=f"[{PAY}]", operator=OPERATOR).replace(
        "    goal:", "    answer: decline\n    goal:"
    )
    (tmp_path / "task.yaml").write_text(text)
    with pytest.raises(ConfigError, match="transfer is no read, which `answer: decline` does not allow"):
        load_task(str(tmp_path / "task.yaml"))


def test_verification_asks_the_operator(tmp_path: Path) -> None:
    found = verify_task(load_task(written(tmp_path, f"[{LOOK}, {PAY}]")))
    assert not found.faults and not any("demands reads" in remark for remark in found.remarks)
    late = "{topics: {amount: {asked: [how much], replies: [{after: [transfer], says: 45 euros.}]}}}"
    (fault,) = verify_task(load_task(written(tmp_path, f"[{LOOK}, {PAY}]", late))).faults
    assert "does not tell 45 euros: the answer is {'answer': 'I do not know that.'}" in fault


def test_a_prompt_that_says_what_the_plan_asks_for_is_a_fault(tmp_path: Path) -> None:
    from core_eval.verify.wording import check_wording

    text = Path(written(tmp_path, f"[{LOOK}, {PAY}]")).read_text()
    (tmp_path / "task.yaml").write_text(text.replace("Ask me how much it is", "It is 45 euros"))
    task = load_task(str(tmp_path / "task.yaml"))
    faults, _ = check_wording(task, [], None, 0)  # type: ignore[arg-type]
    assert faults == ["the plan asks the operator for 45 euros, which the prompt says"]


def test_two_questions_in_another_order_are_not_accepted_by_their_words(tmp_path: Path) -> None:
    """The plan is not too wide: what is asked alike is told apart by what the operator answers."""
    twice = f"[{{look: {{fact: 40 euros, by: [ask]}}}}, {LOOK}, {PAY}]"
    found = verify_task(load_task(written(tmp_path, twice)))
    assert found.mutants > 0 and not found.faults
