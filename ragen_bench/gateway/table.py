"""The settings, environments, noise seeds and results that the episodes of a gateway share."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock

from ragen_bench.environments import AnyEnv
from ragen_bench.episodes.episode import Task
from ragen_bench.errors import UserError
from ragen_bench.gateway.results import Result, ResultFile, post_reward
from ragen_bench.models.api.options import is_address
from ragen_bench.suites import EnvPool, env_id, find_choice, held_out_size, response_format_of
from ragen_envs.core.instances import Split
from ragen_envs.core.protocol import ResponseFormat

_SPLITS: tuple[Split, ...] = ("train", "val", "test")


@dataclass(frozen=True, kw_only=True)
class GatewaySettings:
    """Settings of all episodes.

    Attributes:
        env: Full id of the environment.
        split: Split of the instances.
        out: File of the results.
        response_format: Format of the responses.
        temperature: Sampling temperature.
        max_tokens: Maximum tokens of a response.
        timeout: Seconds until a silent endpoint or client ends its episode.
        retries: Retries of a failed request to an endpoint.
        post: URL to post rewards to where a request names none; "" for none.
    """

    env: str
    split: Split = "train"
    out: Path = Path("gateway.jsonl")
    response_format: ResponseFormat = "think"
    temperature: float = 1.0
    max_tokens: int = 512
    timeout: float = 600.0
    retries: int = 7
    post: str = ""

    def __post_init__(self) -> None:
        for name, is_valid in (
            ("temperature", 0 <= self.temperature <= 100),
            ("max-tokens", self.max_tokens >= 1),
            ("timeout", 0 < self.timeout <= 10**6),
            ("retries", self.retries >= 0),
        ):
            if not is_valid:
                value = getattr(self, name.replace("-", "_"))
                raise UserError(f"--{name} {value:g} is out of range")
        if self.post and not is_address(self.post):
            raise UserError(
                f"--post {self.post!r} is not a URL, such as http://127.0.0.1:8000/events"
            )


def make_settings(env: str, split: str, response_format: str, **others: object) -> GatewaySettings:
    """Return the settings of a command line; UserError for an unknown name."""
    return GatewaySettings(
        env=env_id(env),
        split=find_choice("split", split, _SPLITS),
        response_format=response_format_of(response_format),
        **others,  # type: ignore[arg-type]
    )


class Table:
    """Environments to play in, and the results of ended episodes."""

    def __init__(self, settings: GatewaySettings) -> None:
        self.settings = settings
        self.results = ResultFile(settings.out)
        self._lock = Lock()
        self._envs = EnvPool(settings.response_format)
        self._running: Counter[Task] = Counter()
        self._next_noise: Counter[int] = Counter()
        env, split = settings.env, settings.split
        # An environment that cannot be made is reported at once.
        self._envs.give_back(env, split, self._envs.take(env, split))

    @property
    def instances(self) -> int:
        """Number of instances of the split."""
        settings = self.settings
        return (1 << 63) if settings.split == "train" else held_out_size(settings.env)

    def begin(self, instance: int, noise_seed: int | None = None) -> tuple[Task, AnyEnv]:
        """Return an episode of an instance, and an environment that no other episode uses.

        The default noise seed is the smallest one that no other episode of the instance has.

        A UserError says that the instance is out of range.
        """
        env, split, size = self.settings.env, self.settings.split, self.instances
        if not 0 <= instance < size:
            upper = "2^63 - 1" if split == "train" else size - 1
            raise UserError(
                f"instance {instance} is out of range; the {split} split of {env} has 0 to {upper}"
            )
        with self._lock:
            if noise_seed is None:
                task = Task(env, split, instance, self._next_noise[instance])
                while task.key in self.results.played or self._running[task]:
                    task = replace(task, sample=task.sample + 1)
                self._next_noise[instance] = task.sample
            else:
                task = Task(env, split, instance, noise_seed)
            made = self._envs.take(env, split)
            self._running[task] += 1
        return task, made

    def end(self, task: Task, env: AnyEnv) -> None:
        """Free an episode's environment, and its noise seed if the episode has no result."""
        with self._lock:
            self._envs.give_back(task.env, task.split, env)
            self._running[task] -= 1
            if not self._running[task]:
                del self._running[task]
            self._next_noise[task.index] = min(self._next_noise[task.index], task.sample)

    def deliver(self, result: Result, url: str = "", key: str = "") -> bool:
        """Post the reward of a finished episode, unless it was posted; return whether it is.

        Raises:
            UserError: It could not be posted.
        """
        url = url or self.settings.post
        if url and result.is_finished and not self.results.is_posted(result.id):
            post_reward(result, url, key)
            self.results.mark_posted(result.id)
        return self.results.is_posted(result.id)
