"""A ReAct loop (arXiv 2210.03629): a model thinks, uses a tool, reads what it says, and so on.

It uses the server of OPENAI_BASE_URL with the key in OPENAI_API_KEY, and the model of MODEL:

MODEL=NAME ragen-bench evaluate python:react:ReAct --env WebShop-v0 --format answer
"""

from __future__ import annotations

import os
import re

from openai import AsyncOpenAI

from ragen_bench.agents import Answer, EpisodeStart, Message, Turn
from ragen_envs.core.protocol import format_answer

STEPS = 4
"""Calls of the model for one answer, at most."""
CLIENT = AsyncOpenAI()
USE = re.compile(r"Action: *(\w+)\[(.*)\]")
HOW = """
Before you answer you may use tools. Write one line of thought, then one line with one of
Action: actions[WORD]   (lists the actions of this turn that contain a word; all without one)
Action: recall[WORD]    (lists the lines of this game so far that contain a word)
Action: finish[ANSWER]  (answers with an action, or with several and || between them)
and nothing after it."""


class ReAct:
    """Plays one episode."""

    def reset(self, episode: EpisodeStart) -> None:
        """Keep the form of the answers, and a clean page for the notes."""
        self.form = episode.response_format

    async def act(self, messages: list[Message], turn: Turn) -> Answer:
        """Let the model use tools until it finishes, or until it has used up its steps."""
        *before, last = messages
        chat = [*before, Message(role="user", content=last["content"] + HOW)]
        thoughts: list[str] = []
        text, words, read, written = "", "", 0, 0
        for _ in range(STEPS):
            reply = await CLIENT.chat.completions.create(
                model=os.environ["MODEL"],
                messages=chat,  # type: ignore[arg-type]
                max_tokens=100,
                stop=["Observation:"],
            )
            text = reply.choices[0].message.content or ""
            if reply.usage:
                read += reply.usage.prompt_tokens
                written += reply.usage.completion_tokens
            thoughts.append(text)
            tool, words = used(text)
            if tool == "finish":
                break
            seen = observed(tool, words, messages, turn)
            thoughts.append(f"Observation: {seen}")
            chat += [
                Message(role="assistant", content=text),
                Message(role="user", content=f"Observation: {seen}"),
            ]
        else:
            words = text  # it never finished: what it said last is its answer
        return self.answer(words, "\n".join(thoughts), read, written)

    def answer(self, words: str, thoughts: str, read: int, written: int) -> Answer:
        """Return words in the form of the run, with the thoughts where they belong to."""
        thoughts = thoughts.replace("<", "(")  # no tags in what is put into tags
        text = format_answer([words], self.form, thoughts)
        return Answer(text, "" if self.form == "think" else thoughts, read, written)


def used(text: str) -> tuple[str, str]:
    """Return the tool that a reply uses and what for; an unknown one if it uses none."""
    found = USE.search(text)
    return (found[1], found[2].strip()) if found else ("", "")


def observed(tool: str, words: str, messages: list[Message], turn: Turn) -> str:
    """Return what a tool shows."""
    if tool == "actions":
        lines = list(turn.legal_actions)
    elif tool == "recall":
        lines = [line for message in messages for line in message["content"].splitlines()]
    else:
        return "use one of actions[WORD], recall[WORD], finish[ANSWER]"
    found = [line for line in lines if words.lower() in line.lower()]
    return "; ".join(found[:20]) or "nothing"
