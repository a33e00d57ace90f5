"""`<invoke name="NAME"><parameter name="KEY">VALUE</parameter></invoke>`, under the prefix of each family."""

from __future__ import annotations

from typing import Any

from agents.formats.format import Format
from agents.formats.parameters_form import ParametersForm, parameters_format

BLOCK = r"(?:function_calls|tool_calls|tool_call)"


def _format(
    name: str,
    prefix: str,
    block: str,
    families: str,
    documented: str,
    typed: str = "",
    gap: str = "\n",
    **facts: Any,
) -> Format:
    tag = f"{block.rpartition(':')[0]}:{BLOCK}" if ":" in block and not prefix else f"{prefix}{BLOCK}"
    return parameters_format(
        name,
        ParametersForm(
            opening=rf'(?:<{tag}>\s*)?<{prefix}invoke name="(?P<name>[^"\n]+)">',
            closing=rf"</{prefix}invoke>(?:\s*</{tag}>)?",
            parameter=rf'<{prefix}parameter name="(?P<key>[^"\n]+)"[^>]*>(?P<value>.*?)</{prefix}parameter>',
            before=f'<{prefix}invoke name="',
            after_name=f'">{gap}',
            after=f"</{prefix}invoke>",
            before_key=f'<{prefix}parameter name="',
            after_key=f'"{typed}>',
            after_value=f"</{prefix}parameter>{gap}",
            first=f"<{block}>\n",
            last=f"\n</{block}>",
        ),
        families=families,
        documented=documented,
        detected_by=(f"<{block}>",),
        marks=(f"<{block}>", f"<{prefix}invoke name=", f"</{prefix}invoke>"),
        **facts,
    )


MINIMAX = _format(
    "minimax",
    "",
    "minimax:tool_call",
    "MiniMax M2",
    "vLLM's [minimax_m2](https://docs.vllm.ai/en/latest/features/tool_calling/)",
    thoughts=(("<mm:think>", "</mm:think>"),),
)
DEEPSEEK_DSML = _format(
    "deepseek-dsml",
    "｜DSML｜",
    "｜DSML｜function_calls",
    "DeepSeek V3.2, V4",
    "vLLM's `deepseek_v32` and `deepseek_v4` [parsers](https://docs.vllm.ai/en/latest/features/tool_calling/)",
)
MUSE = _format(
    "muse",
    "atem:",
    "atem:function_calls",
    "Muse Glimmer",
    "the template in llama.cpp: `muse-glimmer.jinja`",
)
