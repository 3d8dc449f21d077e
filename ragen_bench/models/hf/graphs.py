"""CUDA graphs of decoding steps: the host launches hundreds of kernels by one call."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

LOG = logging.getLogger("ragen_bench.models.hf")
Tensors = tuple[torch.Tensor, ...]
Step = Callable[..., Tensors]
"""Takes and returns tensors of the same shapes each time, without waiting for the device."""


class StepGraphs:
    """Runs steps on a device by CUDA graphs, one for each key.

    A step that cannot be captured, since it waits for the device, for instance, is run without
    graphs, and so are all after it.
    """

    def __init__(self, device: torch.device) -> None:
        self.enabled = device.type == "cuda"
        self._graphs: dict[object, _StepGraph] = {}
        self._shape: object = None

    def keep_for(self, shape: object) -> None:
        """Drop all graphs if their memory has moved: `shape` differs from that of the last call."""
        if shape != self._shape:
            self._graphs, self._shape = {}, shape
            if self.enabled:
                # Graphs share memory, as only one runs at a time and its results are copied.
                self._pool = torch.cuda.graph_pool_handle()
                self._stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]

    def run(self, key: object, step: Step, inputs: Tensors, *, capture: bool) -> Tensors:
        """Return the step's results, by the graph of this key if there is one.

        With `capture`, a missing one is made, which takes as long as two or three steps.
        """
        if not self.enabled:
            return step(*inputs)
        if graph := self._graphs.get(key):
            return graph.replay(inputs)
        if not capture:
            return step(*inputs)
        try:
            graph = _StepGraph(step, inputs, self._pool, self._stream)
        except torch.OutOfMemoryError:
            raise
        except RuntimeError as refusal:
            self.enabled, self._graphs = False, {}
            reason = str(refusal).partition("\n")[0]
            LOG.warning("the model is sampled without CUDA graphs, which is slower: %s", reason)
            return step(*inputs)
        self._graphs[key] = graph
        return graph.first


class _StepGraph:
    """One captured step; `first` are the results of the run before it, which warms up."""

    def __init__(self, step: Step, inputs: Tensors, pool: Any, stream: torch.cuda.Stream) -> None:
        self._inputs = tuple(tensor.clone() for tensor in inputs)
        self._graph = torch.cuda.CUDAGraph()
        current = torch.cuda.current_stream()
        stream.wait_stream(current)
        try:
            with torch.cuda.stream(stream):
                with _refusing_waits():
                    self.first = step(*self._inputs)
                self._capture(step, pool)
        finally:
            current.wait_stream(stream)
        for tensor in self.first:
            tensor.record_stream(current)

    def _capture(self, step: Step, pool: Any) -> None:
        torch.cuda.synchronize()
        # Outside of inference mode, as the state of the global generator is allocated here, which
        # other graphs of this process share.
        with torch.inference_mode(mode=False):
            self._graph.capture_begin(pool=pool, capture_error_mode="thread_local")
        try:
            self._outputs = step(*self._inputs)
        finally:
            self._graph.capture_end()

    def replay(self, inputs: Tensors) -> Tensors:
        """Return the results for other inputs of the same shapes."""
        for static, tensor in zip(self._inputs, inputs, strict=True):
            static.copy_(tensor)
        self._graph.replay()
        return tuple(tensor.clone() for tensor in self._outputs)


@contextmanager
def _refusing_waits() -> Iterator[None]:
    """Raise RuntimeError where the host would wait for the device, which no graph can.

    torch has one such mode for all threads of a process; it lasts for one step here.
    """
    before = torch.cuda.get_sync_debug_mode()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it is a prototype, once per process
        torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        torch.cuda.set_sync_debug_mode(before)
