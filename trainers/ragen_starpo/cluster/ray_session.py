"""Ray for the time of a run: started here, or joined by its address."""

from __future__ import annotations

import contextlib
import functools
import logging
import os
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path

import ray
from ray.exceptions import (
    LocalRayletDiedError,
    NodeDiedError,
    ObjectLostError,
    RayActorError,
    RayError,
    RayTaskError,
    WorkerCrashedError,
)

from ragen_bench.errors import UserError, described
from ragen_starpo.cluster.names import collect_garbage_rarely
from ragen_starpo.engine.computing import Device
from ragen_starpo.local.run import iterations_done
from ragen_starpo.recipes.run_sections import ClusterSettings

VERL_VARIABLES = {
    "NCCL_DEBUG": "WARN",
    "VLLM_LOGGING_LEVEL": "WARN",
    "VLLM_ALLOW_RUNTIME_LORA_UPDATING": "true",
    # Its entries are corrupted now and then.
    "VLLM_DISABLE_COMPILE_CACHE": "1",
}
"""verl's variables for NVIDIA's GPUs; the module that has them opens a context on the GPU."""
_DEATHS = (
    LocalRayletDiedError,
    NodeDiedError,
    ObjectLostError,
    RayActorError,
    WorkerCrashedError,
)
"""Errors of a process or a machine that ended, where another one waits for it."""
_ANSWER_SECONDS = 5.0
_CPUS_A_PROCESS, _CPUS_BESIDE = 4, 12
"""Ray's CPUs are only counts. verl reserves 3 per training process, and some for others."""


@contextlib.contextmanager
def ray_session(cluster: ClusterSettings, device: Device, address: str | None) -> Iterator[None]:
    """Run a block with Ray, and leave no process of it behind; UserError if it does not fit.

    Without an address, the `HOST:PORT` of a cluster's head, Ray belongs to this run: neither
    `RAY_ADDRESS` nor another Ray on this machine is used.
    """
    variables = run_variables(device, cluster.dtype)
    # Ray sets further variables of its own.
    with environment(variables):
        os.environ.pop("RAY_ADDRESS", None)
        try:
            _init(cluster, device, address, variables)
            yield
        finally:
            ray.shutdown()


@contextlib.contextmanager
def explain_death(run: Path) -> Iterator[None]:
    """Turn the end of a process that Ray reports into a UserError that names the checkpoint."""
    try:
        yield
    except RayError as error:
        cause: object = error
        while isinstance(cause, RayTaskError):
            cause = cause.cause
        if not isinstance(cause, _DEATHS):
            raise
        done = iterations_done(run)
        kept = f"the checkpoint of iteration {done} is kept" if done else "no checkpoint"
        raise UserError(
            f"a process of the run ended, or was killed ({kept}): {_name_process(cause)}; run the "
            "same command to continue; Ray's logs are in /tmp/ray/session_latest/logs",
            exit_code=1,
        ) from error


def _name_process(error: RayError) -> str:
    """Return the class and the process of an error, without its lines of advice."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    named = [line for line in lines if line.startswith(("class_name:", "pid:", "ip:"))]
    return ", ".join([type(error).__name__, *named[:3]])


@contextlib.contextmanager
def environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables, and at the end restore all, also those that a library changed."""
    before = dict(os.environ)
    os.environ.update(variables)
    try:
        yield
    finally:
        for name in set(os.environ) - set(before):
            del os.environ[name]
        os.environ.update(before)


def check_address(address: str) -> None:
    """Raise UserError if the address is invalid or no server listens at it."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit():
        raise UserError(f"{address!r} is not an address of Ray; give HOST:PORT, as 10.0.0.1:6379")
    try:
        socket.create_connection((host.strip("[]"), int(port)), _ANSWER_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise UserError(
            f"no Ray cluster answers at {address} ({described(error)}); start one there by "
            "ray start --head"
        ) from None


def run_variables(device: Device, dtype: str) -> dict[str, str]:
    """Return the environment variables of all processes of the run.

    Those of verl that users may set keep the value that they have here.
    """
    variables = {
        # verl's own way would read them only where it starts Ray itself.
        "TRANSFER_QUEUE_ENABLE": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "VERL_PLATFORM": {"cpu": "cpu", "cuda": "nvidia"}[device],
        "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
        # Processes that are ready for tasks without these variables would have no use.
        "RAY_prestart_worker_first_driver": "0",
    }
    if device == "cpu":
        # Imported by verl before it asks for its platform, which this module registers.
        variables["VERL_USE_EXTERNAL_MODULES"] = "ragen_starpo.cluster.cpu"
    usual = dict(VERL_VARIABLES)
    if device == "cuda" and dtype == "float32":
        # Else the products in vLLM's attention have 10 bits of a mantissa.
        usual["TRITON_F32_DEFAULT"] = "ieee"
    return variables | {name: os.environ.get(name, value) for name, value in usual.items()}


def _init(
    cluster: ClusterSettings, device: Device, address: str | None, variables: dict[str, str]
) -> None:
    init = functools.partial(
        ray.init,
        runtime_env={
            "env_vars": variables,
            "worker_process_setup_hook": collect_garbage_rarely,
        },
        log_to_driver=False,
        logging_level=logging.ERROR,
    )
    try:
        if address is not None:
            init(address=address)
        else:
            cpus = _CPUS_A_PROCESS * cluster.processes + _CPUS_BESIDE
            # On a CPU Ray's GPUs are counts too: one for each process that trains.
            gpus = cluster.processes if device == "cpu" else None
            init("local", num_cpus=cpus, num_gpus=gpus, include_dashboard=False)
    except Exception as error:  # a plain one where its processes need more than half a minute
        raise UserError(
            f"Ray does not start: {described(error).rstrip('.')}; if the machine is busy, try "
            "again when it is less so, else see Ray's logs in /tmp/ray/session_latest/logs"
        ) from error
    nodes = ray.nodes()  # type: ignore[no-untyped-call]
    sizes = [node["Resources"].get("GPU", 0) for node in nodes if node["Alive"]]
    fitting = sum(size >= cluster.processes for size in sizes)
    if fitting < cluster.nodes:
        place = f"the cluster at {address}" if address else "this machine"
        raise UserError(
            f"the recipe wants cluster.nodes={cluster.nodes} with cluster.processes="
            f"{cluster.processes} each, and {place} has {fitting} such; without GPUs a node says "
            f"how many processes it takes by ray start --num-gpus={cluster.processes}"
        )
