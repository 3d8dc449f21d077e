"""Hosts of engines and agent loops, the router, and the weights' way to vLLM."""

import ast
import asyncio
import importlib.util
import subprocess
import sys
import threading
from pathlib import Path
from threading import Event
from types import SimpleNamespace

import pytest
import torch

from ragen_starpo.cluster import hosts
from ragen_starpo.cluster.hosts import ENGINES, FORWARDED, PLAYER, Host, server_name
from ragen_starpo.cluster.router import Router
from ragen_starpo.cluster.verl_config import verl_config
from ragen_starpo.recipes.recipe import recipe_of


def public_methods(place):
    """Return the methods of a class, read from its file: vLLM is not installed here."""
    module, _, name = place.partition(":")
    package, _, rest = module.partition(".")
    root = Path(importlib.util.find_spec(package).origin).parent
    tree = ast.parse((root / f"{rest.replace('.', '/')}.py").read_text())
    [kind] = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name]
    return {
        node.name
        for node in kind.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name[0] != "_"
    }


def test_all_that_is_forwarded_is_a_method_of_an_engine_or_an_agent_loop():
    known = set().union(*(public_methods(place) for place in (*ENGINES.values(), PLAYER)))
    assert set(FORWARDED) <= known
    unused = {"get_rollout_config", "lora_as_adapter", "run_headless", "run_server", "set_pd_peer"}
    unused |= {"start_profile", "stop_profile"}
    # Of verl's own class of copies of vLLM, in whose place `VLLMReplica` is.
    unused |= {"abort_request", "open_submission_gate", "resume_engine_generation"}
    assert public_methods(ENGINES["vllm"]) - unused <= set(FORWARDED)


class Echo:
    """Something that is hosted."""

    def __init__(self, name, *, times):
        self.name, self.times = name, times

    def sleep(self):
        return self.name * self.times

    async def wake_up(self, tags=None):
        return tags


def test_a_host_makes_its_object_later_and_forwards_calls():
    async def use():
        host = Host(f"{__name__}:Echo")
        await host.begin("z", times=3)
        return await host.sleep(), await host.wake_up(tags=["weights"])

    assert asyncio.run(use()) == ("zzz", ["weights"])


@pytest.mark.parametrize("place", [PLAYER, *ENGINES.values()])
def test_all_but_vllm_leave_torchs_compiler_out_of_their_imports(place, monkeypatch):
    imported = []

    def load(name):
        imported.append(name)
        return SimpleNamespace(**{place.partition(":")[2]: object})

    monkeypatch.setattr(hosts, "import_transformers", lambda: imported.append("transformers"))
    monkeypatch.setattr(hosts.importlib, "import_module", load)
    Host(place)
    module = place.partition(":")[0]
    assert imported == ([module] if place == ENGINES["vllm"] else ["transformers", module])


def test_verls_end_of_vllm_finds_its_server_by_the_name():
    """See `_ensure_server_handle` of its `ServerAdapter`."""
    assert server_name("vllm", 3) == "vllm_server_3_0"


@pytest.mark.parametrize(
    ("modules", "imported"),
    [
        # Ray imports the modules of both classes wherever their handles go.
        ("ragen_starpo.cluster.hosts, ragen_starpo.cluster.router", []),
        # The command only checks the recipe before it starts Ray.
        ("ragen_starpo.cluster.train, ragen_starpo.cli.models", ["torch"]),
    ],
)
def test_what_need_not_be_imported_is_not(modules, imported):
    call = (
        f"import sys, {modules};"
        "print(sorted({'torch', 'verl', 'vllm', 'transformers'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", call], capture_output=True, text=True, check=True)
    assert done.stdout == f"{imported}\n"


def test_a_conversation_keeps_its_server_and_a_new_one_gets_the_idlest():
    router = Router({"a": "first", "b": "second"}, {})
    assert router.acquire_server("one") == ("a", "first")
    assert router.acquire_server("two") == ("b", "second")
    router.release_server("b")
    assert router.acquire_server("three") == ("b", "second")
    router.release_server("a")
    assert router.acquire_server("two") == ("b", "second")
    assert router.acquire_server("four") == ("a", "first")


@pytest.fixture
def vllm_adapter(tmp_path, monkeypatch):
    """The module, with a package that verl takes for vLLM by its version alone."""
    folder = tmp_path / "vllm-0.24.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: vllm\nVersion: 0.24.0\n")
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("ragen_starpo.cluster.vllm_adapter")
    assert "vllm" not in sys.modules
    return module


def test_weights_go_to_vllm_in_its_dtype(vllm_adapter):
    weights = {"w": torch.full((1 << 11, 1 << 10), 1.0 + 2**-12), "n": torch.tensor([3])}
    # A router's, or of a layer's norm: vLLM may keep it in float32.
    weights["gate"] = torch.full((1 << 8, 1 << 12), 1.0 + 2**-12)
    sent = dict(vllm_adapter.cast_weights(weights.items(), "bfloat16"))
    assert sent["w"].unique().tolist() == [1.0]
    assert (sent["w"].dtype, sent["n"].dtype) == (torch.bfloat16, torch.int64)
    assert sent["gate"] is weights["gate"]
    same = dict(vllm_adapter.cast_weights(weights.items(), "float32"))
    assert same["w"] is weights["w"]


def test_the_adapter_sends_what_was_cast(vllm_adapter, monkeypatch):
    sent = {}

    async def send(_self, weights, **settings):
        sent.update(weights=dict(weights), settings=settings)

    monkeypatch.setattr(vllm_adapter.ServerAdapter, "update_weights", send)
    adapter = object.__new__(vllm_adapter.VLLMAdapter)
    adapter.config = SimpleNamespace(dtype="bfloat16")
    asyncio.run(adapter.update_weights(iter([("w", torch.ones(1 << 21))]), global_steps=4))
    assert sent["weights"]["w"].dtype == torch.bfloat16
    assert sent["settings"] == {"global_steps": 4}


class Served:
    """A server whose methods are those of an actor, and which records their calls."""

    def __init__(self):
        self.calls = []

    def __getattr__(self, name):
        async def answer(**given):
            self.calls.append((name, given))
            return {
                "get_master_address": ("m", 1, 2),
                "get_server_address": ("here", 3),
            }.get(name)

        return SimpleNamespace(remote=answer)


@pytest.mark.parametrize(
    ("memory", "fitting", "gpus", "early"),
    [
        (1 << 20, 1 << 30, 1, 1 << 20),
        (None, 1 << 30, 1, 1 << 30),
        (None, None, 1, None),
        (1 << 20, None, 2, None),
    ],
)
def test_vllm_starts_beside_its_training_process(small, monkeypatch, memory, fitting, gpus, early):
    """Where it is known which GPU it gets, and it need not measure the memory left on it."""
    from ragen_starpo.cluster import vllm_replica

    settings = {"envs": ["Bandit-v0"], "cluster": {"engine": "vllm", "device": "gpu"}}
    recipe = recipe_of({**settings, "model": str(small)}, "a test")
    config = verl_config(recipe, small, "cuda")
    config.actor_rollout_ref.rollout.engine_kwargs.vllm.kv_cache_memory_bytes = memory
    config.actor_rollout_ref.rollout.n_gpus_per_node = 1
    server = Served()
    node = {"NodeID": "n", "Alive": True, "Resources": {"GPU": gpus}}
    monkeypatch.setattr(vllm_replica.ray, "nodes", lambda: [node])
    monkeypatch.setattr(vllm_replica, "find_server", lambda *_: server)
    monkeypatch.setattr(vllm_replica.VLLMReplica, "max_concurrency", 7)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "5")
    vllm_replica.launch_early(config, fitting)
    if early:
        vllm_replica._LAUNCHED[0].result(60)
    begun = ["begin", "get_master_address", "launch_server", "get_server_address"]
    assert [name for name, _ in server.calls] == (begun if early else [])

    async def place(_):
        return "n", "5"

    worker = SimpleNamespace(__ray_call__=SimpleNamespace(remote=place))
    replica = vllm_replica.VLLMReplica(
        0, config.actor_rollout_ref.rollout, config.actor_rollout_ref.model, 1
    )
    asyncio.run(replica.init_hybrid(SimpleNamespace(workers=[worker])))
    assert [name for name, _ in server.calls] == begun
    assert (replica.servers, replica._server_address) == ([server], "here:3")
    given = server.calls[0][1]
    assert (given["cuda_visible_devices"], given["gpus_per_node"]) == ("5", 1)
    assert given["rollout_mode"] == replica.rollout_mode
    if early:
        assert given["config"].engine_kwargs["vllm"]["kv_cache_memory_bytes"] == early


def test_an_error_elsewhere_does_not_wait_for_vllm():
    from ragen_starpo.cluster import vllm_replica

    waiting, over = Event(), Event()

    async def launch():
        waiting.set()
        over.wait()
        raise OSError("gone")

    future = vllm_replica.in_background(launch())
    assert waiting.wait(60)
    threads = [one for one in threading.enumerate() if one.name == vllm_replica.LAUNCH]
    assert threads
    assert all(thread.daemon for thread in threads)
    assert not future.done()
    over.set()
    with pytest.raises(OSError, match="gone"):
        future.result(60)
