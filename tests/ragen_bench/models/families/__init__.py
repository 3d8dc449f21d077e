# ruff: noqa: RUF001  (tokens of models have such letters)
"""Chat templates of model families, each written anew from the public description of its format.

`FAMILIES["qwen3"].tokenizer()` is a tokenizer of bytes with the family's template and tokens;
`write("thought", "answer")` is the text that its model then writes, as decoded with all tokens;
`call` is how it writes `look(place="door", times=2)`. The facts of a format are the fields below.
"""

from dataclasses import dataclass
from pathlib import Path

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

CALL = {
    "id": "call00001",
    "type": "function",
    "function": {"name": "look", "arguments": {"place": "door", "times": 2}},
}
LOOK = {
    "type": "function",
    "function": {
        "name": "look",
        "description": "Look at a place.",
        "parameters": {
            "type": "object",
            "properties": {"place": {"type": "string"}, "times": {"type": "integer"}},
            "required": ["place"],
        },
    },
}


@dataclass(frozen=True)
class Family:
    """The format of a model family.

    Attributes:
        name: Name of its template, next to this file.
        special: Special tokens, which decoding can skip; the first ends a turn.
        plain: Added tokens that are not special, which decoding never skips.
        bos: Token at the beginning; "" for none.
        ends: Tokens that end what a model writes.
        thought: Text of a thought `{}` before an answer; "" for a model without thoughts.
        answer: Text of an answer `{}` after a thought.
        opens: Beginning of `thought` that the template writes into the generation prompt.
        off: Template setting without thoughts; with it the prompt ends with `empty`.
        empty: Empty thought that the template then writes into the generation prompt.
        system: What becomes of a system message: "own" turn, "merged" into another, or "refused".
        keeps: The template keeps the thoughts of earlier answers.
        call: `look(place="door", times=2)`; "" for a template without functions.
    """

    name: str
    special: tuple[str, ...]
    thought: str = ""
    answer: str = "{}"
    plain: tuple[str, ...] = ()
    bos: str = ""
    ends: tuple[str, ...] = ()
    opens: str = ""
    off: tuple[tuple[str, object], ...] = ()
    empty: str = ""
    system: str = "own"
    keeps: bool = True
    call: str = ""

    def tokenizer(self, **settings):
        """Return a tokenizer of bytes with the template, and fixed settings for it."""
        vocabulary = {byte: i for i, byte in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
        bare = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
        bare.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
        bare.decoder = decoders.ByteLevel()
        bare.add_special_tokens(list(dict.fromkeys([*self.special, *self.ends, self.bos or "\0"])))
        bare.add_tokens([AddedToken(text, normalized=False) for text in self.plain])
        made = PreTrainedTokenizerFast(
            tokenizer_object=bare, eos_token=self.special[0], bos_token=self.bos or None
        )
        fixed = "".join(
            f"{{%- set {name} = {str(value).lower() if isinstance(value, bool) else value} %}}"
            for name, value in settings.items()
        )
        made.chat_template = fixed + (Path(__file__).parent / f"{self.name}.jinja").read_text()
        return made

    def write(self, thought, answer):
        """Return the text of a whole answer after the generation prompt, without its end."""
        return (self.thought.format(thought) + self.answer.format(answer)).removeprefix(self.opens)


_CHATML = ("<|im_end|>", "<|im_start|>", "<|endoftext|>")
_HERMES = ("<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>")
_HERMES_CALL = (
    '<tool_call>\n{"name": "look", "arguments": {"place": "door", "times": 2}}\n</tool_call>'
)
_LIST = '[{"name": "look", "arguments": {"place": "door", "times": 2}}]'
_QWEN3 = {"special": _CHATML, "plain": ("<think>", "</think>", *_HERMES), "call": _HERMES_CALL}
_THINK = "<think>\n{}\n</think>\n\n"
_HEADERS = ("<|start_header_id|>", "<|end_header_id|>")
_MISTRAL = (
    *("</s>", "[INST]", "[/INST]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[AVAILABLE_TOOLS]"),
    *("[/AVAILABLE_TOOLS]", "[TOOL_RESULTS]", "[/TOOL_RESULTS]", "[TOOL_CALLS]", "[ARGS]"),
)
_DEEPSEEK = (
    *("<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>", "<｜tool▁sep｜>", "<｜tool▁call▁end｜>"),
    *("<｜tool▁calls▁end｜>", "<｜tool▁outputs▁begin｜>", "<｜tool▁output▁begin｜>"),
    *("<｜tool▁output▁end｜>", "<｜tool▁outputs▁end｜>"),
)
_KIMI = (
    *("<|im_end|>", "<|im_system|>", "<|im_user|>", "<|im_assistant|>", "<|im_middle|>"),
    *("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>", "<|tool_call_begin|>"),
    *("<|tool_call_argument_begin|>", "<|tool_call_end|>"),
)
_COHERE = (
    *("<|END_OF_TURN_TOKEN|>", "<|START_OF_TURN_TOKEN|>", "<|USER_TOKEN|>", "<|CHATBOT_TOKEN|>"),
    *("<|SYSTEM_TOKEN|>", "<|START_THINKING|>", "<|END_THINKING|>", "<|START_RESPONSE|>"),
    *("<|END_RESPONSE|>", "<|START_ACTION|>", "<|END_ACTION|>", "<|START_TOOL_RESULT|>"),
    "<|END_TOOL_RESULT|>",
)
_GEMMA4 = (
    *("<turn|>", "<|turn>", "<|think|>", "<|channel>", "<channel|>", "<|tool>", "<tool|>"),
    *("<|tool_call>", "<tool_call|>", "<|tool_response>", "<tool_response|>", '<|"|>'),
)
_GRANITE = ("<|end_of_text|>", "<|start_of_role|>", "<|end_of_role|>", "<|tool_call|>")
_GLM = ("<|user|>", "<|assistant|>", "<|observation|>", "<|system|>", "[gMASK]", "<sop>")

FAMILIES = {
    family.name: family
    for family in (
        Family("qwen25", _CHATML, plain=_HERMES, call=_HERMES_CALL),
        Family(
            "qwen3",
            thought=_THINK,
            off=(("enable_thinking", False),),
            empty="<think>\n\n</think>\n\n",
            keeps=False,
            **_QWEN3,
        ),
        Family("qwen3-thinking", thought=_THINK, opens="<think>\n", keeps=False, **_QWEN3),
        Family(
            "llama3",
            ("<|eot_id|>", "<|eom_id|>", *_HEADERS),
            bos="<|begin_of_text|>",
            call='{"name": "look", "parameters": {"place": "door", "times": 2}}',
        ),
        Family(
            "llama4",
            ("<|eot|>", "<|header_start|>", "<|header_end|>"),
            bos="<|begin_of_text|>",
            call='[look(place="door", times=2)]',
        ),
        Family(
            "mistral",
            _MISTRAL,
            bos="<s>",
            system="merged",
            call=f'[TOOL_CALLS] {_LIST[:-2]}, "id": "call00001"}}]',
        ),
        Family(
            "magistral",
            (*_MISTRAL, "[THINK]", "[/THINK]"),
            "[THINK]{}[/THINK]",
            bos="<s>",
            call='[TOOL_CALLS]look[ARGS]{"place": "door", "times": 2}',
        ),
        Family(
            "deepseek-r1",
            ("<｜end▁of▁sentence｜>", "<｜User｜>", "<｜Assistant｜>", *_DEEPSEEK),
            _THINK,
            plain=("<think>", "</think>"),
            bos="<｜begin▁of▁sentence｜>",
            opens="<think>\n",
            system="merged",
            keeps=False,
            call="<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>look\n```json\n"
            '{"place": "door", "times": 2}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
        ),
        Family(
            "kimi",
            _KIMI,
            "◁think▷{}◁/think▷",
            keeps=False,
            call="<|tool_calls_section_begin|><|tool_call_begin|>functions.look:0"
            '<|tool_call_argument_begin|>{"place": "door", "times": 2}<|tool_call_end|>'
            "<|tool_calls_section_end|>",
        ),
        Family(
            "gpt-oss",
            ("<|return|>", "<|start|>", "<|message|>", "<|channel|>", "<|constrain|>", "<|end|>"),
            "<|channel|>analysis<|message|>{}<|end|><|start|>assistant",
            "<|channel|>final<|message|>{}",
            ends=("<|return|>", "<|call|>"),
            system="merged",  # into the developer's turn
            keeps=False,
            call='<|channel|>commentary to=functions.look <|constrain|>json<|message|>{"place": '
            '"door", "times": 2}',
        ),
        Family(
            "seed-oss",
            ("<seed:eos>", "<seed:think>", "</seed:think>"),
            "<seed:think>{}</seed:think>",
            plain=("<seed:tool_call>", "</seed:tool_call>"),
            bos="<seed:bos>",
            off=(("thinking_budget", 0),),
            empty="<seed:think>The budget is 0, so I answer at once.</seed:think>",
            call="<seed:tool_call>\n<function=look>\n<parameter=place>door</parameter>\n"
            "<parameter=times>2</parameter>\n</function>\n</seed:tool_call>",
        ),
        Family(
            "cohere",
            _COHERE,
            "<|START_THINKING|>{}<|END_THINKING|>",
            "<|START_RESPONSE|>{}<|END_RESPONSE|>",
            bos="<BOS_TOKEN>",
            off=(("reasoning", False),),
            empty="<|START_THINKING|><|END_THINKING|>",
            call='<|START_ACTION|>[{"tool_call_id": "0", "tool_name": "look", "parameters": '
            '{"place": "door", "times": 2}}]<|END_ACTION|>',
        ),
        Family("gemma2", ("<end_of_turn>", "<start_of_turn>"), bos="<bos>", system="refused"),
        Family(
            "gemma4",
            _GEMMA4,
            "<|channel>thought\n{}<channel|>",
            bos="<bos>",
            off=(("enable_thinking", False),),
            empty="<|channel>thought\n<channel|>",
            keeps=False,
            call='<|tool_call>call:look{place:<|"|>door<|"|>,times:2}<tool_call|>',
        ),
        Family(
            "granite32",
            _GRANITE,
            "Here is my thought process:\n{}\n",
            "Here is my response:\n{}",
            call=f"<|tool_call|>{_LIST}",
        ),
        Family(
            "granite33",
            _GRANITE,
            "<think>{}</think>",
            "<response>{}</response>",
            call=f"<|tool_call|>{_LIST}",
        ),
        Family(
            "nemotron",
            ("<SPECIAL_12>", "<SPECIAL_10>", "<SPECIAL_11>"),
            _THINK,
            plain=("<think>", "</think>", "<TOOLCALL>", "</TOOLCALL>"),
            opens="<think>\n",
            empty="<think></think>",  # after /no_think in a message
            keeps=False,
            call=f"<TOOLCALL>{_LIST}</TOOLCALL>",
        ),
        Family(
            "exaone-deep",
            ("[|endofturn|]", "[|system|]", "[|user|]", "[|assistant|]"),
            "<thought>\n{}\n</thought>\n\n",
            plain=("<thought>", "</thought>"),
            opens="<thought>\n",
            keeps=False,
        ),
        Family(
            "glm4",
            ("<|endoftext|>", *_GLM),
            "\n<think>{}</think>\n",
            plain=("<think>", "</think>", "<tool_call>", "</tool_call>", "<arg_key>", "</arg_key>"),
            ends=("<|endoftext|>", "<|user|>", "<|observation|>"),
            off=(("enable_thinking", False),),
            empty="\n<think></think>",
            keeps=False,
            call="<tool_call>look\n<arg_key>place</arg_key>\n<arg_value>door</arg_value>\n"
            "<arg_key>times</arg_key>\n<arg_value>2</arg_value>\n</tool_call>",
        ),
        Family(
            "phi4",
            ("<|end|>", "<|user|>", "<|assistant|>", "<|system|>", "<|endoftext|>"),
            "<think>{}</think>\n",
            plain=("<|tool_call|>", "<|/tool_call|>", "<|tool|>", "<|/tool|>"),
            call=f"<|tool_call|>{_LIST}<|/tool_call|>",
        ),
        Family(
            "hunyuan",
            ("<|eos|>", "<|extra_0|>", "<|extra_4|>"),
            "<think>\n{}\n</think>\n",
            "<answer>\n{}\n</answer>",
            bos="<|startoftext|>",
            off=(("enable_thinking", False),),
            empty="<think>\n\n</think>\n",
            keeps=False,
        ),
    )
}
