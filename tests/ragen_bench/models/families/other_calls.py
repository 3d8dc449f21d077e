# ruff: noqa: RUF001  (marks of models have such letters)
"""Calls of further families, each as the pieces of a template and as its model writes it."""

from . import FAMILIES

HEAD = """{%- if tools %}[tools]{{ tools | tojson }}[/tools]{% endif %}
{%- for m in messages %}
{%- if m.role != "assistant" %}<|{{ m.role }}|>{{ m.content }}<|end|>
{%- else %}<|assistant|>{{ m.content }}
{%- if m.tool_calls %}BEFORE
{%- for c in m.tool_calls %}{% set f = c.function %}"""
TAIL = """{%- endfor %}AFTER{% endif %}<|end|>{% endif %}{% endfor %}
{%- if add_generation_prompt %}<|assistant|>{% endif %}"""
JSON = '{"place": "door", "times": 2}'
TAGS = (
    "{%- for k, v in f.arguments | items %}{ONE}{{ v if v is string else v | tojson }}{END}"
    "{% endfor %}"
)
DONE = "</｜DSML｜invoke>\n"
OTHERS = {
    "qwen3-coder": (
        *("", "\n<tool_call>\n<function={{ f.name }}>\n" + TAGS + "</function>\n</tool_call>", ""),
        *("<parameter={{ k }}>\n", "\n</parameter>\n"),
        "<tool_call>\n<function=look>\n<parameter=place>\ndoor\n</parameter>\n<parameter=times>\n2\n"
        "</parameter>\n</function>\n</tool_call>",
    ),
    "minimax": (
        *("<minimax:tool_call>\n", '<invoke name="{{ f.name }}">\n' + TAGS + "</invoke>\n"),
        *("</minimax:tool_call>", '<parameter name="{{ k }}">', "</parameter>\n"),
        '<minimax:tool_call>\n<invoke name="look">\n<parameter name="place">door</parameter>\n'
        '<parameter name="times">2</parameter>\n</invoke>\n</minimax:tool_call>',
    ),
    "deepseek-v3.2": (
        *("<｜DSML｜function_calls>\n", '<｜DSML｜invoke name="{{ f.name }}">\n' + TAGS + DONE),
        "</｜DSML｜function_calls>",
        '<｜DSML｜parameter name="{{ k }}" string="{{ "true" if v is string else "false" }}">',
        "</｜DSML｜parameter>\n",
        '<｜DSML｜function_calls>\n<｜DSML｜invoke name="look">\n<｜DSML｜parameter name="place" '
        'string="true">door</｜DSML｜parameter>\n<｜DSML｜parameter name="times" string="false">2'
        "</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
    ),
    "deepseek-v3.1": (
        "<｜tool▁calls▁begin｜>",
        "<｜tool▁call▁begin｜>{{ f.name }}<｜tool▁sep｜>{{ f.arguments | tojson }}"
        "<｜tool▁call▁end｜>",
        *("<｜tool▁calls▁end｜>", "", ""),
        f"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>look<｜tool▁sep｜>{JSON}<｜tool▁call▁end｜>"
        "<｜tool▁calls▁end｜>",
    ),
    "mistral with ids": (
        "",
        "[TOOL_CALLS]{{ f.name }}[CALL_ID]{{ c.id }}[ARGS]{{ f.arguments | tojson }}",
        *("", "", ""),
        f"[TOOL_CALLS]look[CALL_ID]Ab3dE6gH9[ARGS]{JSON}",
    ),
    "lfm2": (
        "<|tool_call_start|>[",
        "{{ f.name }}({% for k, v in f.arguments.items() %}{{ k }}={{ v | tojson }}"
        "{% if not loop.last %}, {% endif %}{% endfor %}){% if not loop.last %}, {% endif %}",
        *("]<|tool_call_end|>", "", ""),
        '<|tool_call_start|>[look(place="door", times=2)]<|tool_call_end|>',
    ),
    "olmo": (
        "<function_calls>",
        "{{ f.name }}({% for k, v in f.arguments.items() %}{{ k }}={{ v | tojson }}"
        "{% if not loop.last %}, {% endif %}{% endfor %}){% if not loop.last %}\n{% endif %}",
        *("</function_calls>", "", ""),
        "<function_calls>look(place='door', times=2)</function_calls>",
    ),
    "functiongemma": (
        "",
        "<start_function_call>call:{{ f.name }}{ {%- for k, v in f.arguments | items %}{{ k }}:"
        "{% if v is string %}<escape>{{ v }}<escape>{% elif v is iterable %}[{% for x in v %}"
        "<escape>{{ x }}<escape>{% endfor %}]{% else %}{{ v }}{% endif %}"
        "{{ '' if loop.last else ',' }}{% endfor %}}<end_function_call>",
        *("", "", ""),
        "<start_function_call>call:look{place:<escape>door<escape>,times:2}<end_function_call>",
    ),
    "apertus": (
        "<|tools_prefix|>[",
        '{"{{ f.name }}": {{ f.arguments | tojson }}}{{ "" if loop.last else ", " }}',
        *("]<|tools_suffix|>", "", ""),
        f'<|tools_prefix|>[{{"look": {JSON}}}]<|tools_suffix|>',
    ),
    "functionary": (
        "",
        "<function={{ f.name }}>{{ f.arguments | tojson }}</function>",
        *("", "", ""),
        f"<function=look>{JSON}</function>",
    ),
    "kimi by ids": (
        "<|tool_calls_section_begin|>",
        "<|tool_call_begin|>{{ c.id }}<|tool_call_argument_begin|>{{ f.arguments | tojson }}"
        "<|tool_call_end|>",
        *("<|tool_calls_section_end|>", "", ""),
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.look:3<|tool_call_argument_begin|>"
        f"{JSON}<|tool_call_end|><|tool_calls_section_end|>",
    ),
    "arguments as text": (
        "",
        "<|tool_call|>{{ f.name + '\n```json\n' + f.arguments + '\n```' }}<|/tool_call|>",
        *("", "", ""),
        f"<|tool_call|>look\n```json\n{JSON}\n```<|/tool_call|>",
    ),
    "internlm": (
        "",
        '<|action_start|><|plugin|>{"name": "{{ f.name }}", "parameters": '
        "{{ f.arguments | tojson }}}<|action_end|>",
        *("", "", ""),
        f'<|action_start|><|plugin|>{{"name": "look", "parameters": {JSON}}}<|action_end|>',
    ),
    "a function inside": (
        "<tools>",
        '{"id": "{{ c.id }}", "function": {"name": "{{ f.name }}", "arguments": '
        "{{ f.arguments | tojson }}}}",
        *("</tools>", "", ""),
        f'<tools>{{"id": "x", "function": {{"name": "look", "arguments": {JSON}}}}}</tools>',
    ),
}


def make_other(name):
    """Return a tokenizer whose template shows calls in a form, and a call in it."""
    before, call, after, one, end, text = OTHERS[name]
    tokenizer = FAMILIES["qwen3"].tokenizer()
    call = call.replace("{ONE}", one).replace("{END}", end)
    tokenizer.chat_template = HEAD.replace("BEFORE", before) + call + TAIL.replace("AFTER", after)
    return tokenizer, text
