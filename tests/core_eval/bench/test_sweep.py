"""`pathrig bench --sweep`: known effects of a harness are found, and none is claimed where there is none."""

from __future__ import annotations

import hashlib
import json
import zipfile
from pathlib import Path

import pytest
from plugin import Plugin

from agents.agent import AgentSpecError
from agents.registry import AGENT_FORMS
from configs.exam import load_exam
from core_eval.bench.sweep import Sweep
from core_eval.cli.main import main
from core_eval.score.sweep import settings

SHOP = ("--suite", "crud", "--db", "sweep.db")
PLANNERS = """
    from agents.baselines.mutated import MutatedAgent
    from agents.agent import AgentSpecError
    from agents.options import PROMPTING, SAMPLING
    from agents.registry import AgentForm, ModelForm

    class Planner(MutatedAgent):
        def start(self, context):
            # Asked for a first answer only, it has none.
            self._actions, self._next = [], 0
            if context.automaton is not None:
                super().start(context)

    def make(rest, options):
        # Each part of the harness costs a known share of right calls; prompts cost none.
        if rest == "broken-by-react" and options.scaffold == "react":
            raise AgentSpecError("it has no room for the example")
        rate = rest.startswith("poor") * 0.9
        if options.tools == "short":
            rate = 1.0
        if options.scaffold == "react" and options.tools == "short":
            rate = 0.0
        rate = max(rate, rest.endswith("-q4"))
        return Planner(rate)

    FORM = AgentForm(
        ("planner:SKILL",),
        model=ModelForm(make, SAMPLING | PROMPTING),
    )
"""


@pytest.fixture(scope="module")
def planners(tmp_path_factory: pytest.TempPathFactory) -> Plugin:
    """Planners whose rate of mistakes depends on the options of a model."""
    folder = tmp_path_factory.mktemp("planners")
    return Plugin(
        folder, "planners", "pathrig.agents", {"planner": "planners:FORM"}, {"planners.py": PLANNERS}
    )


def test_a_model_that_fails_at_one_setting_has_no_effect_there(planners):
    words = ["planner:broken-by-react", "--sweep", "scaffold", "--sweep", "tools", "--fresh", "4"]
    found = swept(planners, *words)
    assert [one["pairs"] for one in found["effects"]] == [0, 4, 0]
    assert [one["episodes"] for one in found["settings"]] == [4, 0, 4, 0]


def swept(planners: Plugin, *words: str) -> dict:
    done = planners.main(AGENT_FORMS, "bench", *SHOP, *words, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_known_effect_is_found_and_none_is_claimed(planners):
    found = swept(
        planners, "planner:good", "--sweep", "tools", "--sweep", "prompts=written,typos", "--fresh", "12"
    )
    effects = {one["what"]: one for one in found["effects"]}
    tools = effects["tools full to short"]["right"]
    assert tools["told"] and tools["difference"] < -0.3 and tools["p_corrected"] <= 0.05
    assert tools["interval"][0] < tools["difference"] < tools["interval"][1] < 0
    none = effects["prompts written to typos"]["right"]
    assert (none["difference"], none["told"]) == (0.0, False)
    assert f"{tools['difference']:+.0%} by tools full to short" in found["sentence"]
    assert len(found["settings"]) == 4 and found["settings"][0]["right"]["mean"] == 1.0


def test_a_sweep_is_a_bundle_that_others_check(planners, tmp_path, capsys):
    words = ["planner:good", "--sweep", "tools", "--sweep", "prompts=written,typos", "--fresh", "2"]
    words += ["--db", "own.db"]
    bundle = tmp_path / "bundles" / "sweep.zip"
    bundle.parent.mkdir()
    found = swept(planners, *words, "--bundle", str(bundle))
    page = tmp_path / "board.html"

    def board() -> tuple[int, dict]:
        status = main(["board", "build", str(bundle.parent), "-o", str(page), "--json"])
        return status, json.loads(capsys.readouterr().out)

    other = ["openai:http://localhost:1/v1#a", *words[1:3], "--db", str(planners.folder / "own.db")]
    assert main(["bench", *SHOP[:2], *other, "--bundle", str(tmp_path / "b.zip")]) == 2
    assert "has runs of other exams" in capsys.readouterr().err
    status, told = board()
    (one,) = told["bundles"]
    assert (status, one["sentence"], one["effects"]) == (0, found["sentence"], found["effects"])
    assert one["standing"] == "consistent, not proven"
    assert "tools full to short" in page.read_text() and found["sentence"] in page.read_text()
    # What it states of its levels and numbers must be that of the log.
    for key, value, said in (
        ("options", {"tools": {"full": "short", "short": "none"}}, "is of another exam"),
        ("episodes", [2, 2], "the settings of its sweep are not those of its log"),
        ("factors", {"tools": [f"{k}" for k in range(17)]}, "cannot be read"),
        ("models", ["planner:best"], "has no episode of planner:best"),
        ("episodes", [2, 2, 2, 10**6], "fresh episodes"),
    ):
        changed(bundle, key, value)
        status, told = board()
        assert status == 1 and said in told["refused"][bundle.name], told
        changed(bundle, key, None)


KEPT: dict[str, bytes] = {}


def changed(bundle: Path, key: str, value: object) -> None:
    """Change what a bundle says of its sweep, with its hashes; None: back."""
    if value is None:
        bundle.write_bytes(KEPT.pop(key))
        return
    KEPT[key] = bundle.read_bytes()
    with zipfile.ZipFile(bundle) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    told = json.loads(files["bench.json"])
    told["sweep"][key] = value
    files["bench.json"] = json.dumps(told).encode()
    hashes = {name: hashlib.sha256(files[name]).hexdigest() for name in ("bench.db", "bench.json")}
    files["sha256.json"] = json.dumps(hashes).encode()
    with zipfile.ZipFile(bundle, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)


def test_two_together_do_more_than_their_sum(planners):
    words = ["planner:good", "--sweep", "tools", "--sweep", "scaffold=native,react", "--fresh", "12"]
    found = swept(planners, *words)
    effects = {one["what"]: one for one in found["effects"]}
    alone = effects["tools full to short"]["right"]["difference"]
    both = effects["tools full to short and scaffold native to react"]
    # React alone does nothing; with short tools it takes their harm away.
    assert effects["scaffold native to react"]["right"]["difference"] == 0.0
    assert both["right"]["difference"] == pytest.approx(-alone) and both["right"]["told"]
    assert both["factors"] == ["tools", "scaffold"]
    assert "beyond their sum: +" in found["sentence"]


def test_the_model_and_the_type_of_its_numbers_are_factors(planners, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    models = [f"planner:{skill}-{quant}" for skill in ("good", "poor") for quant in ("q8", "q4")]
    page = tmp_path / "sweep.html"
    found = swept(planners, *models, "--sweep", "quant", "--fresh", "12", "-o", str(page))
    effects = {one["what"]: one for one in found["effects"]}
    assert effects["model planner:good to planner:poor"]["right"]["told"]
    # Over both models, each paired with itself.
    assert effects["quant Q8 to Q4"]["pairs"] == 24 and effects["quant Q8 to Q4"]["right"]["told"]
    assert "the model: -" in found["sentence"] and "the harness: -" in found["sentence"]
    told = page.read_text()
    assert found["sentence"] in told.replace("&gt;", ">") and told.index("quant Q8 to Q4") < told.index(
        "setting"
    )
    again = planners.main(AGENT_FORMS, "bench", *models, "--sweep", "quant", "--fresh", "12", *SHOP)
    assert "episodes\n" not in again.stderr.partition("each\n")[2]
    lines = [line.rstrip() for line in again.stdout.splitlines()]
    assert max(map(len, lines)) <= 80 and "-25%" in again.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["oracle", "--sweep", "tools"], "oracle has no option tools"),
        (["openai:http://localhost:1/v1#a", "--sweep", "colour"], "a factor is one of quant, scaffold"),
        (["openai:http://localhost:1/v1#a", "--sweep", "tools=full"], "two levels or more"),
        (["openai:http://localhost:1/v1#a", "--sweep", "tools=full,long"], "option tools=long"),
        (["openai:http://localhost:1/v1#a", "--sweep", "quant"], "ends with no type"),
        (["openai:http://localhost:1/v1#a", "--prompts", "sung"], "is not one of"),
    ],
)
def test_what_cannot_be_swept_is_one_line(words, said, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["bench", *words, *SHOP]) == 2
    assert said in " ".join(capsys.readouterr().err.replace("│", " ").split())


def test_levels_begin_with_the_exams_own():
    exam = load_exam("model")
    sweep = Sweep.of(exam, ["openai:http://localhost:1/v1#a"], ["temperature", "tools", "thinking"])
    assert sweep.factors["temperature"] == ["as stated", "0", "0.8"]
    assert sweep.factors["tools"] == ["full", "short"]
    every = settings(sweep.factors)
    assert every[0] == ("as stated", "full", "off") and len(every) == 1 + 4 + 2 + 2 + 1
    cold = sweep.exam_of(("0", "full", "off"))
    # 0 is an option's default, which a specification leaves out.
    assert "temperature" not in cold.spec("openai:http://localhost:1/v1#a")
    assert "temperature=0.8" in exam.spec("openai:http://localhost:1/v1#a")
    assert cold.taken(()) != exam.taken(())
    with pytest.raises(AgentSpecError, match="is given twice"):
        Sweep.of(exam, ["openai:http://localhost:1/v1#a"], ["tools", "tools"])


def test_prompts_of_a_bench_are_part_of_its_exam(planners):
    heard = planners.main(
        AGENT_FORMS,
        "bench",
        "planner:good",
        "--prompts",
        "typos",
        "--fresh",
        "1",
        *SHOP[:2],
        "--db",
        "t.db",
        "--json",
    )
    plain = planners.main(
        AGENT_FORMS, "bench", "planner:good", "--fresh", "1", *SHOP[:2], "--db", "p.db", "--json"
    )
    exams = [json.loads(done.stdout)["exam"] for done in (heard, plain)]
    assert exams[0]["name"] == "model, prompts=typos" and exams[0]["digest"] != exams[1]["digest"]
