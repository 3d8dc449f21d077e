"""Episodes that the gateway plays through the base URL of a request."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from threading import Condition

from ragen_bench.episodes.runner import play
from ragen_bench.errors import UserError
from ragen_bench.export.episodes import Source
from ragen_bench.gateway.requests import PlayRequest, refuse
from ragen_bench.gateway.results import Result, make_result
from ragen_bench.gateway.table import GatewaySettings, Table
from ragen_bench.json_types import JsonObject
from ragen_bench.models.api.options import ServerOptions, is_address
from ragen_bench.models.api.request import RequestSender
from ragen_bench.models.api.server_model import OpenAIModel
from ragen_bench.models.base import Sampling
from ragen_bench.models.reasoning import stop_text
from ragen_envs.core.local_servers import new_secret
from ragen_envs.core.wording import pluralize


class Endpoint(OpenAIModel):
    """A server that is asked for the responses of episodes alone.

    A trainer's proxy records each request and learns from it. So it is not
    asked for the list of models, refused settings, or the rendering of a system message.
    """

    def __init__(self, request: PlayRequest, settings: GatewaySettings) -> None:
        options = ServerOptions(
            base_url=request.base_url,
            concurrency=1,
            timeout=settings.timeout,
            retries=settings.retries,
            key_variable="api_key",
        )
        super().__init__(request.model, options, key=request.api_key)
        self._entry, self._refused = {}, frozenset()
        self._knows_system = True

    def _sender(self, sampling: Sampling) -> RequestSender:
        sender = super()._sender(sampling)
        sender.limit_fits = True  # else an empty conversation is asked
        return sender


class Player:
    """Plays episodes; those of one id one after the other."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._busy: set[str] = set()
        self._changed = Condition()

    def play(self, request: PlayRequest) -> JsonObject:
        """Return the result of a request's episode, which is played unless its id is finished.

        Raises:
            RefusedError: The episode could not be played to its end, or its reward not posted.
        """
        table, id_ = self._table, request.id or request.reward_url or new_secret()
        with self._alone(id_):
            result = table.results.find(id_)
            try:
                self._check(request, result)
                if result is None or not result.is_finished:
                    result = self._play(id_, request, result)
                if result.error:
                    raise UserError(
                        f"{result.error}; {table.results.file} has "
                        f"{pluralize(result.turns, 'turn')} of the episode, and the same request "
                        "plays it anew",
                        exit_code=1,
                    )
                posted = table.deliver(result, request.reward_url, request.api_key)
            except UserError as error:
                is_request = error.exit_code == 2
                status = HTTPStatus.BAD_REQUEST if is_request else HTTPStatus.BAD_GATEWAY
                raise refuse(str(error), status) from error
        return {**vars(result), "posted": posted}

    def _check(self, request: PlayRequest, result: Result | None) -> None:
        """Raise a UserError if the id has the result of another episode, or the URL is invalid."""
        url, settings = request.reward_url, self._table.settings
        if url and not is_address(url):
            raise UserError(
                f"reward_url {url!r} is not a URL, such as http://127.0.0.1:8000/events"
            )
        if result is None:
            return
        noise_seed = result.noise_seed if request.noise_seed is None else request.noise_seed
        asked = settings.env, settings.split, request.instance, noise_seed
        if asked != (result.env, result.split, result.instance, result.noise_seed):
            raise UserError(
                f"the id {result.id!r} has an episode of {result.env}, {result.split} instance "
                f"{result.instance} with noise seed {result.noise_seed}; choose another id"
            )

    def _play(self, id_: str, request: PlayRequest, failed: Result | None) -> Result:
        """Play and keep an episode; after a failed one of the same id, with its noise seed."""
        table, settings = self._table, self._table.settings
        sampling = Sampling(
            settings.temperature,
            settings.max_tokens,
            stop_text(settings.response_format, constrain=False),
            seed=0,  # so that the noise seed is the number of the sample
        )
        model = Endpoint(request, settings)
        task, env = table.begin(
            request.instance, failed.noise_seed if failed else request.noise_seed
        )
        try:
            [played] = play(
                [task], model, sampling, settings.response_format, make=lambda *_names: env
            )
            record = played.record or played.given_up
            assert record is not None
            sampled = {"temperature": sampling.temperature, "max_tokens": sampling.max_tokens}
            source = Source(request.model, settings.response_format, task.split, (), sampled)
            result = make_result(id_, record, source)
            table.results.add(result)
        finally:
            table.end(task, env)
        return result

    @contextmanager
    def _alone(self, id_: str) -> Iterator[None]:
        """Wait until no other thread plays an id, and keep others from it."""
        with self._changed:
            self._changed.wait_for(lambda: id_ not in self._busy)
            self._busy.add(id_)
        try:
            yield
        finally:
            with self._changed:
                self._busy.discard(id_)
                self._changed.notify_all()
