"""Command-R+: `Action:` and a fenced JSON list of `{"tool_name": ..., "parameters": {...}}`."""

from __future__ import annotations

from agents.formats.json_form import JsonForm, json_format

FORMAT = json_format(
    "command-r-plus",
    JsonForm(
        "Action: ```json\n",
        also=r"Action:\s*```(?:json)?\s*(?=\[)",
        trail="\n```",
        listed=True,
        head='{"tool_name": ',
        middle=', "parameters": ',
    ),
    families="Command-R, Command-R+",
    documented="[Command R+](https://huggingface.co/CohereForAI/c4ai-command-r-plus)",
    detected_by=("Write 'Action:' followed by a json-formatted list of actions",),
    marks=("Action: ```json",),
)
