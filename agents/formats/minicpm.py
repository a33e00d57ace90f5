"""MiniCPM 5: `<function name="NAME"><param name="KEY">VALUE</param></function>`."""

from __future__ import annotations

from agents.formats.parameters_form import ParametersForm, parameters_format

FORMAT = parameters_format(
    "minicpm",
    ParametersForm(
        opening=r'<function name="(?P<name>[^"\n]+)">',
        closing=r"</function>",
        parameter=r'<param name="(?P<key>[^"\n]+)">(?P<value>.*?)</param>',
        before='<function name="',
        after_name='">',
        after="</function>",
        before_key='<param name="',
        after_key='">',
        after_value="</param>",
    ),
    families="MiniCPM 5",
    documented="the template in llama.cpp: `openbmb-MiniCPM5-1B.jinja`",
    detected_by=('<function name="',),
    marks=('<function name="', "<param name=", "</function>"),
)
