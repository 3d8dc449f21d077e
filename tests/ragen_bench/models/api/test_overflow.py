"""Overflows in the words of servers, and other errors, which are none."""

import pytest

from ragen_bench.models.api.errors import (
    ContextError,
    RefusedRequestError,
    RetryableError,
    UnreadableAnswerError,
    raise_error_response,
)
from ragen_bench.models.api.options import ServerKey

URL, KEY = "http://server/v1", ServerKey("")
OVERFLOWS = {
    "vLLM": (400, "This model's maximum context length is 2048 tokens. However, you requested 3"),
    "vLLM, engine": (
        400,
        "The decoder prompt (length 9) is longer than the maximum model length 2",
    ),
    "vLLM, renderer": (400, "However, the model's context length is only 2048 tokens, resulting"),
    "SGLang": (400, "The input (9 tokens) is longer than the model's context length (2 tokens)."),
    "SGLang, sum": (400, "Requested token count exceeds the model's maximum context length of 2"),
    "SGLang, allowed": (
        400,
        "Input length (9 tokens) exceeds the maximum allowed length (2)",
    ),
    "llama.cpp": (400, "request (9031 tokens) exceeds the available context size (1024 tokens)"),
    "llama.cpp, old": (500, "the request exceeds the available context size, try increasing it"),
    "llama.cpp, full": (500, "Context size has been exceeded."),
    "llama.cpp, shift": (500, "context shift is disabled"),
    "vLLM, no room": (400, "max_tokens must be at least 1, got -512."),
    "SiliconFlow": (400, "The total length of your prompt and max_tokens exceeds 8192."),
    "SiliconFlow, prompt": (400, "length of prompt_tokens (9) must be less than max_seq_len (8)."),
    "Databricks": (400, "BAD_REQUEST: prompt token count cannot exceed 4096. Prompt token count"),
    "Bedrock, letters": (400, "Malformed input request: expected maxLength: 4096, actual: 9000,"),
    "SambaNova, sum": (
        400,
        "but the maximum supported sequence length is just 4096!",
    ),
    "AI21": (422, "Prompt length + maxTokens (9000) exceeds max allowed 8192 tokens"),
    "MLC, prompt": (400, "5000 tokens in total, larger than the model input length limit 4096."),
    "Hyperbolic": (400, "Requested tokens exceed model's limit of 4096"),
    "LM Studio": (
        400,
        "The number of tokens to keep from the initial prompt is greater than the context length",
    ),
    "LM Studio, rest": (400, "Trying to keep the first 9031 tokens when context the overflows."),
    "Ollama": (400, "prompt too long; exceeded max context length by 65590 tokens"),
    "Ollama, input": (500, "the input length exceeds the context length"),
    "TGI": (422, "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096."),
    "TGI, inputs": (422, "`inputs` must have less than 1024 tokens. Given: 2000"),
    "TensorRT-LLM": (
        400,
        "The sum of prompt length (9.0), query length (0) should not exceed max_num_tokens (8)",
    ),
    "Triton": (400, "Prompt length (9031) exceeds maximum input length (8192). Set log level"),
    "Together": (422, "The input (516368 tokens) is longer than the model's context length (2)."),
    "Fireworks": (400, "The prompt is too long: 9031, model maximum context length: 8191"),
    "Groq": (400, "Please reduce the length of the messages or completion."),
    "DeepSeek": (400, "This model's maximum context length is 65536 tokens. However, you"),
    "Mistral": (400, "Prompt contains 9 tokens, too large for model with 2 maximum context length"),
    "Anthropic": (400, "prompt is too long: 213462 tokens > 200000 maximum"),
    "Anthropic, sum": (400, "input length and `max_tokens` exceed context limit: 188240 + 64000"),
    "Google": (400, "The input token count (9) exceeds the maximum number of tokens allowed (2)."),
    "Vertex": (400, "the input token count is 32800 but the model only supports up to 32768"),
    "Bedrock": (400, "Input is too long for requested model."),
    "Azure": (400, "Input tokens exceed the configured limit of 272000 tokens."),
    "OpenAI": (400, "Your input exceeds the context window of this model. Please adjust"),
    "OpenRouter": (400, "This endpoint's maximum context length is 128000 tokens. However, you"),
    "xAI": (400, "This model's maximum prompt length is 131072 but the request contains 537812"),
    "Moonshot": (400, "Invalid request: Your request exceeded model token limit: 8192"),
    "MiniMax": (400, "invalid params, context window exceeds limit (2013)"),
    "Zhipu": (400, "Prompt exceeds max length"),
    "Qwen": (400, "Range of input length should be [1, 129024]"),
    "Cohere": (400, "too many tokens: total number of tokens in the prompt cannot exceed 4081"),
    "GitHub": (413, "Request body too large for gpt-4o model. Max size: 8000 tokens."),
    "Copilot": (400, "prompt token count of 200000 exceeds the limit of 128000"),
    "Cloudflare": (400, "input tokens (9) exceeded this model context window limit (2)."),
    "SambaNova": (400, "Requested generation length 6 + prompt length 9 exceeds context length 2"),
    "watsonx": (400, "number of input tokens 9 cannot exceed the total tokens limit 2"),
    "MLC": (400, "Request prompt has 9 tokens in total, larger than the model capacity 2."),
    "TabbyAPI": (400, "Prompt length 9031 is greater than max_seq_len 4096"),
    "LMDeploy": (400, "the input length exceeds session_len 4096"),
    "DeepInfra": (400, "Requested input length 39818 exceeds maximum input length 32767"),
}
OTHERS = [
    (400, "stop is too long"),
    (400, "max_tokens is too large: 5000. This model supports at most 4096 completion tokens"),
    (400, "Range of max_tokens should be [1, 8192]"),
    (400, "max_tokens exceeds the configured limit of 8192"),
    (400, "`max_tokens` must be greater than `thinking.budget_tokens`"),
    (400, "max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens"),
    (400, "Invalid value for 'temperature': must be less than or equal to 2"),
    (400, "messages: text content blocks must be non-empty"),
    (400, "Invalid 'messages[1].tool_calls[0].id': string too long. Expected maximum length 40"),
    (400, "image exceeds 5 MB maximum: 6 MB"),
    (400, "Invalid schema for function 'act': In context=('properties', 'a'), 'type' is required"),
    (400, "function calling is not supported in this context"),
    (413, "Request too large for model `m` on tokens per minute (TPM): Limit 6000, Requested 9"),
    (400, "Too many tokens, please wait before trying again."),
    (400, "Daily token limit exceeded"),
    (422, "value is not a valid enumeration member"),
]


def raised(status, body):
    with pytest.raises(Exception) as caught:  # noqa: PT011 (the test compares the type)
        raise_error_response(URL, KEY, status, body)
    return type(caught.value)


@pytest.mark.parametrize("server", OVERFLOWS)
def test_an_overflow_is_known_by_its_words(server):
    status, words = OVERFLOWS[server]
    assert raised(status, {"message": words}) is ContextError
    assert raised(status, words) is ContextError
    # A gateway repeats the words of another server, also where a message would be cut.
    raw = {"message": "Provider returned error", "metadata": {"raw": "x" * 400 + words}}
    assert raised(status, raw) is ContextError
    assert raised(429, {"message": words}) is RetryableError


@pytest.mark.parametrize(
    "name",
    ["context_length_exceeded", "exceed_context_size_error", "ContextWindowExceededError"],
)
def test_an_overflow_is_known_by_its_code_or_type(name):
    for field in ("code", "type"):
        assert raised(400, {"message": "No.", field: name}) is ContextError


@pytest.mark.parametrize(("status", "words"), OTHERS)
def test_other_errors_are_not_an_overflow(status, words):
    assert raised(status, {"message": words}) is RefusedRequestError


@pytest.mark.parametrize(
    ("status", "body", "text"),
    [
        (400, {"code": "tool_use_failed", "failed_generation": "<function=act>"}, "<function=act>"),
        (400, {"code": "json_validate_failed", "failed_generation": ""}, ""),
        (500, {"message": "Failed to parse input at pos 12: <tool_call>"}, ""),
        (500, {"message": "Failed to parse tool call arguments as JSON: parse_error.101"}, ""),
    ],
)
def test_an_answer_that_its_server_cannot_read_is_the_models_doing(status, body, text):
    with pytest.raises(UnreadableAnswerError) as caught:
        raise_error_response(URL, KEY, status, {"message": "No.", **body})
    assert caught.value.text == text
