"""transformers' own continuous batching beside the decode loop of `hf/`, as a Markdown table.

    python benchmarks/continuous_batching.py [--conversations N] [--turns N] [--tokens N]

Both decode the same conversations of the bundled model in one process, greedily and without a stop
text, which transformers' does not take. A turn is asked when the answer before it is there. Tokens
of every answer are compared with those of a plain `generate` for it alone.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from time import perf_counter, process_time
from typing import Any

import torch
from transformers import ContinuousBatchingConfig, GenerationConfig

from ragen_bench.models import resolve
from ragen_bench.models.base import Message, Sampling
from ragen_bench.models.chat import sample_conversation
from ragen_bench.models.hf.cache import ATTENTION
from ragen_bench.models.hf.decoding import Decoder
from ragen_bench.models.hf.loading import LoadedModel
from ragen_envs.core.instances import RandomStream

BLOCK = 32
"""Tokens of a block of the paged cache; whole blocks of a prompt's beginning are read once."""
ROOM = 512
"""Tokens of cache for each conversation."""
Ids = list[int]
Ask = Callable[[str, Ids], None]
Collect = Callable[[], Sequence[tuple[str, Ids, Ids]]]
"""Returns the name, the prompt and the answer of each that has ended."""


def question(conversation: int, turn: int) -> Message:
    """Return the user's message of a turn."""
    cells = " ".join("#_O"[(conversation + turn * i) % 3] for i in range(36))
    return {"role": "user", "content": f"Turn {turn} of game {conversation}. You see: {cells}"}


def converse(
    loaded: LoadedModel, conversations: int, turns: int, ask: Ask, collect: Collect
) -> Any:
    """Hold all conversations, and return the answers by name with their prompts."""
    said = {str(n): [*sample_conversation()[:-1], question(n, 0)] for n in range(conversations)}
    answers: dict[str, tuple[Ids, Ids]] = {}
    for name, messages in said.items():
        ask(f"{name}/0", loaded.chat.tokenize(messages))
    while len(answers) < conversations * turns:
        for key, prompt, ids in collect():
            answers[key] = prompt, ids
            name, turn = key.split("/")[0], int(key.split("/")[1]) + 1
            if turn < turns:
                text = loaded.tokenizer.decode(ids, skip_special_tokens=True)
                said[name] += [{"role": "assistant", "content": text}, question(int(name), turn)]
                ask(f"{name}/{turn}", loaded.chat.tokenize(said[name]))
    return answers


def by_hf(loaded: LoadedModel, conversations: int, turns: int, tokens: int) -> Any:
    """Converse by the decode loop of `hf/`."""
    loaded.model.set_attn_implementation(ATTENTION)
    decoder = Decoder(loaded, Sampling(0, tokens, "", 0), conversations)
    keys: dict[Any, str] = {}

    def ask(key: str, prompt: Ids) -> None:
        keys[decoder.submit(prompt, RandomStream(key))] = key

    def collect() -> list[tuple[str, Ids, Ids]]:
        return [(keys.pop(answer), answer.prompt, answer.ids) for answer in decoder.collect()]

    return converse(loaded, conversations, turns, ask, collect)


def by_transformers(loaded: LoadedModel, conversations: int, turns: int, tokens: int) -> Any:
    """Converse by transformers' continuous batching."""
    loaded.model.set_attn_implementation("sdpa")
    paged = ContinuousBatchingConfig(
        block_size=BLOCK,
        num_blocks=conversations * ROOM // BLOCK,
        max_batch_tokens=conversations * ROOM // 2,
    )
    settings = greedy(loaded, tokens)
    with loaded.model.continuous_batching_context_manager(
        generation_config=settings, continuous_batching_config=paged
    ) as manager:

        def ask(key: str, prompt: Ids) -> None:
            manager.add_request(prompt, request_id=key, max_new_tokens=tokens)

        def collect() -> list[tuple[str, Ids, Ids]]:
            ended = manager.get_result(timeout=600)
            if ended is None or ended.error:
                raise RuntimeError(f"no answer: {ended}")
            return [(ended.request_id, ended.prompt_ids, ended.generated_tokens)]

        return converse(loaded, conversations, turns, ask, collect)


@torch.inference_mode()
def plain(loaded: LoadedModel, prompt: Ids, tokens: int) -> Ids:
    """Return the response of `generate` to a single prompt."""
    loaded.model.set_attn_implementation("sdpa")
    ids = torch.tensor([prompt])
    generated = loaded.model.generate(
        ids, attention_mask=torch.ones_like(ids), generation_config=greedy(loaded, tokens)
    )
    answer: Ids = generated[0, len(prompt) :].tolist()
    return answer


def greedy(loaded: LoadedModel, tokens: int) -> GenerationConfig:
    """Return the settings of transformers for both of its ways."""
    return GenerationConfig(  # type: ignore[no-untyped-call]
        do_sample=False, max_new_tokens=tokens, eos_token_id=sorted(loaded.ends)
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--conversations", type=int, default=8)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--tokens", type=int, default=24, help="in one answer at most")
    options = parser.parse_args()
    loaded = resolve("smollm2-135m")._loaded  # noqa: SLF001 - the model that the comparison shares
    size = options.conversations, options.turns, options.tokens
    print("| way | tokens | seconds | of CPU | tokens a second of CPU | as plain `generate` |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |", flush=True)
    rates = []
    for name, way in (("`hf/`", by_hf), ("transformers'", by_transformers)):
        way(loaded, 1, 1, 2)  # to warm up
        begin, begin_cpu = perf_counter(), process_time()
        answers = way(loaded, *size)
        clock, cpu = perf_counter() - begin, process_time() - begin_cpu
        sampled = sum(len(ids) for _, ids in answers.values())
        equal = sum(plain(loaded, prompt, size[2]) == ids for prompt, ids in answers.values())
        rates.append(sampled / cpu)
        print(
            f"| {name} | {sampled} | {clock:.1f} | {cpu:.1f} | {rates[-1]:.1f} "
            f"| {equal} of {len(answers)} |",
            flush=True,
        )
    print(f"\n`hf/` samples {rates[0] / rates[1]:.1f} times as many tokens a second of CPU.")


if __name__ == "__main__":
    main()
