"""TRL's GRPOTrainer plays groups of episodes and learns two steps from them."""

import re
from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer, decoders, pre_tokenizers
from tokenizers.models import BPE
from tokenizers.trainers import BpeTrainer
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from transformers.utils import get_json_schema
from trl import GRPOConfig, GRPOTrainer
from trl.chat_template_utils import qwen2_5_chat_template

from ragen_envs.core.tool_calls import Call
from ragen_envs.core.tools import answer_of
from ragen_envs.integrations.bridging import tasks
from ragen_envs.integrations.trl import dataset, environment
from tests.ragen_envs.support import make

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:You are using 'environment_factory':UserWarning"),
]

LAKE = "ragen/FrozenLakeMild-v0"
CALL = Call("act", {"actions": ["Down", "Down", "Right"]})
FIRST, INSTANCES = 7, 2
"""Lakes in which the call wins by some noise, and not by other."""
GROUP = 4
LESSONS = 240
END = "<|im_end|>"
SHAPE = {
    "hidden_size": 32,
    "intermediate_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "max_position_embeddings": 4096,
}


@pytest.fixture(scope="module")
def conversations():
    """What is said to the end of the first and of the second call, in two games."""
    called = {"type": "function", "function": {"name": CALL.name, "arguments": CALL.arguments}}
    said = {"role": "assistant", "content": "", "tool_calls": [called]}
    env, made = environment(LAKE)(), []
    for seed in range(FIRST, FIRST + INSTANCES):
        first = [{"role": "user", "content": env.reset(seed=seed)}, said]
        heard = {"role": "tool", "name": CALL.name, "content": env.act(**CALL.arguments)}
        made += [first, [*first, heard, said]]
    return made


@pytest.fixture(scope="module")
def tokenizer(conversations):
    """One of few tokens, made of what is said, with a template that renders calls."""
    pieces = Tokenizer(BPE())
    pieces.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    pieces.decoder = decoders.ByteLevel()
    trainer = BpeTrainer(
        vocab_size=3000,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=["<|im_start|>", END, "<|endoftext|>"],
        show_progress=False,
    )
    said = [message.get("content") or str(CALL) for message in conversations[-1]]
    pieces.train_from_iterator([*said, qwen2_5_chat_template], trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=pieces,
        eos_token=END,
        pad_token="<|endoftext|>",
        chat_template=qwen2_5_chat_template,
    )


@pytest.fixture(scope="module")
def model(tokenizer, conversations):
    """A tiny model that has learnt to answer with the call."""
    torch.manual_seed(0)
    made = LlamaForCausalLM(LlamaConfig(vocab_size=len(tokenizer), **SHAPE))
    options = {"tools": [get_json_schema(environment(LAKE)().act)], "tokenize": False}
    lessons = []
    for conversation in conversations:
        asked = tokenizer.apply_chat_template(
            conversation[:-1], add_generation_prompt=True, **options
        )
        whole = tokenizer.apply_chat_template(conversation, **options).removesuffix("\n")
        ids = tokenizer(whole, return_tensors="pt").input_ids
        lessons.append((ids, ids.shape[1] - len(tokenizer(asked).input_ids)))
    # The rate falls to 0, so that the last lessons do not undo the first, whatever rounds where.
    optimizer = torch.optim.Adam(made.parameters(), lr=1e-2)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, total_iters=LESSONS)
    for step in range(LESSONS):
        ids, said = lessons[step % len(lessons)]
        logits = made(ids, logits_to_keep=said + 1).logits[0, :-1]
        loss = torch.nn.functional.cross_entropy(logits, ids[0, -said:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    return made


def test_two_steps_of_grpo(tokenizer, model, tmp_path):
    episodes = []

    def recorded(environments, completions, **_):
        for env, completion in zip(environments, completions, strict=True):
            episodes.append((env.episode.task, completion, env.get_reward()))
        return [0.0] * len(environments)

    args = GRPOConfig(
        output_dir=str(tmp_path),
        max_steps=2,
        num_generations=GROUP,
        per_device_train_batch_size=GROUP,
        max_completion_length=400,
        temperature=0.3,
        max_tool_calling_iterations=3,
        logging_steps=1,
        learning_rate=1e-5,
        report_to="none",
        save_strategy="no",
        use_cpu=True,
        disable_tqdm=True,
    )
    trainer = GRPOTrainer(
        model=model,
        args=args,
        reward_funcs=recorded,
        environment_factory=environment(LAKE),
        train_dataset=dataset(tasks(LAKE, INSTANCES, first_seed=FIRST)),
        processing_class=tokenizer,
    )
    trainer.train()
    # Each group is of one instance, and each of its members of other noise.
    played = [(task.seed, task.noise_seed) for task, *_ in episodes]
    asked = tasks(LAKE, INSTANCES, GROUP, first_seed=FIRST)
    assert sorted(played) == [(task.seed, task.noise_seed) for task in asked]
    assert len({seed for seed, _ in played[:GROUP]}) == 1
    for task, completion, total in episodes:
        assert total == replayed(task, completion)
    logged = trainer.state.log_history[:2]
    means = [row["rewards/FrozenLakeMild-v0/mean"] for row in logged]
    totals = [total for *_, total in episodes]
    assert means == pytest.approx([sum(totals[:GROUP]) / GROUP, sum(totals[GROUP:]) / GROUP])
    assert len(set(totals)) > 1
    assert min(row["tools/call_frequency"] for row in logged) >= 1
    assert max(row["grad_norm"] for row in logged) > 0


def test_the_example_of_the_docs_trains(tokenizer, model, tmp_path, monkeypatch):
    page = (Path(__file__).parents[4] / "docs" / "trainers.md").read_text(encoding="utf-8")
    [example] = [code for code in re.findall(r"```python\n([^`]*)```", page) if "train()" in code]
    for made in (model, tokenizer):
        made.save_pretrained(tmp_path / "model")
    small = {"Qwen/Qwen3-0.6B": str(tmp_path / "model"), "max_steps=100": "max_steps=1"}
    small |= {
        "4096": "64, use_cpu=True, per_device_train_batch_size=2",
        "num_generations=8": "num_generations=2",
    }
    for told, instead in small.items():
        assert told in example
        example = example.replace(told, instead)
    monkeypatch.chdir(tmp_path)
    played = {}
    exec(example, played)
    assert played["trainer"].state.global_step == 1


def replayed(task, completion):
    """Return what plain Gymnasium pays for the calls, once it has said what TRL's tools said."""
    lake = make(LAKE, response_format="tools")
    lake.reset(seed=task.seed, options={"noise_seed": task.noise_seed})
    total = 0.0
    for message in completion:
        for call in message.get("tool_calls", ()):
            name, arguments = call["function"]["name"], call["function"]["arguments"]
            answer = answer_of(lake, [Call(name, arguments)])
        if message["role"] == "tool" and lake.legal_actions:
            observation, reward, *_ = lake.step(answer)
            assert message["content"] == observation
            total += reward
    while lake.legal_actions:
        total += lake.step("")[1]
    return total
