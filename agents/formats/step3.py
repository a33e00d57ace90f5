"""Step 3: `<steptml:invoke name="NAME"><steptml:parameter name="KEY">VALUE...` between DeepSeek's marks."""

from __future__ import annotations

from agents.formats.parameters_form import ParametersForm, parameters_format

FORMAT = parameters_format(
    "step-3",
    ParametersForm(
        opening=r"(?:<｜tool_calls_begin｜>\s*)?(?:<｜tool_sep｜>\s*)?(?:<｜tool_call_begin｜>\s*(?:function\s*<｜tool_sep｜>\s*)?)?"
        r'<steptml:invoke name="(?P<name>[^"\n]+)">',
        closing=r"</steptml:invoke>(?:\s*<｜tool_call_end｜>)?(?:\s*<｜tool_calls_end｜>)?",
        parameter=r'<steptml:parameter name="(?P<key>[^"\n]+)">(?P<value>.*?)</steptml:parameter>',
        before='<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="',
        after_name='">',
        after="</steptml:invoke><｜tool_call_end｜>",
        before_key='<steptml:parameter name="',
        after_key='">',
        after_value="</steptml:parameter>",
        first="<｜tool_calls_begin｜>\n",
        last="\n<｜tool_calls_end｜>",
    ),
    families="Step 3",
    documented="vLLM's `step3` [parser](https://docs.vllm.ai/en/latest/features/tool_calling/)",
    detected_by=("steptml",),
    marks=("<｜tool_calls_begin｜>", "<｜tool_call_begin｜>", "<steptml:invoke", "<steptml:parameter"),
)
