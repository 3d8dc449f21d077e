"""How servers say that a conversation does not fit into the model's context."""

from __future__ import annotations

import re
from collections.abc import Set

_STATUSES = {200, 400, 413, 422}
"""HTTP statuses of an overflow, as are all from 500; 200 is that of an error in a reply's body."""
_NAMES = re.compile(
    r"context_?(length|window|size)|exceed_context|prompt_?too_?long|input_?too_?long"
    r"|tokens_limit_reached|max_prompt_tokens|prompt_length_exceeded"
)
"""Codes and types of the error, in lower case."""
_NUMBER = r"[\d.,_]+"
_WORDINGS = {
    "OpenAI": "maximum context length|exceeds the context window|input tokens exceed the configured"
    "|maximum context window",
    "vLLM": "maximum model length|context length is only"
    f"|is too long and exceeds limit of {_NUMBER}|exceeds? max_model_len"
    "|longer than (the )?(max_model_len|maximum model)"
    "|exceeds the maximum sequence length|max_tokens must be at least 1, got -",
    "SGLang": "longer than the model.?s context length"
    f"|input length \\({_NUMBER} tokens?\\) exceeds|exceeds? the maximum allowed (input )?length",
    "llama.cpp": "exceeds? the available context|context size has been exceeded"
    "|context size exceeded|exceeds? the (server.?s )?context size|prompt exceeds n_ctx"
    "|context shift is disabled",
    "LM Studio": "tokens to keep from the initial prompt|keep the first .{1,40} tokens when context"
    "|reached context length of|model is loaded with context length of",
    "Ollama": "prompt too long; exceeded|input length exceeds .{0,20}context"
    "|exceeded (the )?(max )?context length|input exceeds maximum context",
    "Text Generation Inference, Together": r"inputs.{0,3} tokens \+ .{0,3}max_new_tokens"
    rf"|inputs.{{0,3}} must have less than {_NUMBER} tokens",
    "TensorRT-LLM": "exceeds? (the )?maximum input length(?! of [0-9]+ characters)"
    "|should not exceed max_num_tokens|should not exceed max_seq_len|exceeds? max_seq_len"
    "|must be less than max_(seq|model)_len"
    "|max_seq_len .{0,20}- prompt_len|exceeds? the (limit of )?max_input_len",
    "LMDeploy, MLC, TabbyAPI": "exceeds? (the )?session.?len|larger than the model capacity"
    "|larger than the model input length limit"
    "|exceeds? (the )?context window size|(greater|longer) than (the model.?s )?max_seq_len"
    f"|configured context size is {_NUMBER}",
    "Anthropic, Fireworks": "prompt is too long|exceed context limit|exceeds? the context limit",
    "Groq, Cerebras": "reduce the length of the (messages|prompt|conversation)",
    "Mistral": "too large for model with",
    "Google": "input token count.{0,80}(exceeds the maximum|only supports up to)",
    "Bedrock": "input (is )?too long|too many input tokens"
    f"|max(imum)? input tokens? .{{0,20}}exceeded|expected maxlength: {_NUMBER}, actual",
    "xAI": "maximum prompt length is|too long for this model.?s context",
    "Moonshot": f"exceeded model token limit|message size {_NUMBER} exceeds limit",
    "MiniMax": "context window exceeds limit",
    "Zhipu, Qwen": "prompt exceeds max length|range of input length should be|prompt.{0,3}超长",
    "Cohere": "total number of tokens in the prompt cannot exceed|too many tokens: ",
    "Databricks, AI21": "prompt token count cannot exceed"
    r"|prompt length \+ max_?tokens .{0,20}exceeds max allowed",
    "GitHub": f"prompt token count of {_NUMBER} exceeds|body too large for .{{0,60}} tokens",
    "Cloudflare, SambaNova, watsonx": "exceeded this model context window|exceeds context length"
    "|input tokens .{0,20}cannot exceed the total tokens limit"
    "|tokens in request more than max tokens allowed|maximum supported sequence length is"
    "|requested tokens exceed",
    "any": "total length of (your |the )?(prompt|messages|input)"
    "|(conversation|prompt|input) is too long for (this|the) (model|context)"
    "|context[ _](length|window|size|limit)[ _](is |was |has been )?exceeded"
    "|exceeds? (the |its |this )?(model.?s )?(maximum |max )?context (length|window|size|limit)"
    "|(greater|longer|larger) than (the |its )?(model.?s )?(maximum )?context (length|window|size)"
    "|(does|do|will|would) not fit (in|into|within) (the |its )?(model.?s )?context"
    "|no room .{0,40}context|token limit exceeded"
    "|(prompt|input|conversation)( tokens?| length)? exceeds? (the |this )?"
    "(model|configured|allowed|context|token|maximum number of tokens)",
}
"""By server, in lower case; publicly reported."""
_WORDS = re.compile("|".join(_WORDINGS.values()))
_RATE = re.compile(
    r"rate.?limit|per (minute|min|hour|day|second)\b|\bt[pr]m\b|\btpd\b|too many requests|throttl"
    r"|please wait|daily|monthly|quota"
)
"""Words about tokens in a time, which pass."""


def is_overflow(status: int, names: Set[str], words: str) -> bool:
    """Return whether an error says that the conversation does not fit into the context.

    `names` are the error's code and type, `words` its whole text.
    """
    text = words.lower()
    if not (status in _STATUSES or status >= 500) or _RATE.search(text):
        return False
    return bool(_NAMES.search(" ".join(names).lower()) or _WORDS.search(text))
