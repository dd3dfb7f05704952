"""Run by test_collecting.py in processes of its own: every output kept, on several devices or by one of two processes."""

from __future__ import annotations

import sys

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from hand_config import hand_config
from streaming.layout_program import Model, points

import tinker_nomics as tn
from tinker_nomics import streaming as st
from tinker_nomics.streaming import collecting
from tinker_nomics.sweeps.grid_reduction import reduce_grid

AXES = {
    "schedule.kind": ["sync", "async"],
    "workload.completion_tokens": np.linspace(100, 4000, 300),
    "cluster.gpus": np.arange(1.0, 301.0),
}


class TwoFigures(eqx.Module):
    """Model of points in host memory, with one output that nothing varied touches."""

    def __call__(self, block):
        return st.Evaluation({"a": jnp.exp(block["x"]) / block["y"], "fixed": jnp.float64(7.0)})


class HostRows:
    """40 chunks of 100 rows."""

    strata, stratum_chunks, chunk_size, size = 1, 40, 100, 4000

    def host_chunk(self, number: int):
        x = np.linspace(-1, 1, self.size)[number * 100 : number * 100 + 100]
        return {"x": x, "y": 2 + np.sin(9 * x)}


def used(work) -> tuple[dict[str, np.ndarray], int]:
    """What `work()` gives, and on how many devices it was computed."""
    seen, real = set(), collecting._Crew.send

    def send(crew, number):
        outputs = real(crew, number)
        seen.update(next(iter(outputs.values())).devices())
        return outputs

    collecting._Crew.send = send
    try:
        return work(), len(seen)
    finally:
        collecting._Crew.send = real


def everything(mesh) -> tuple[dict[str, np.ndarray], list[int]]:
    found, counts = {}, []
    for name, place, model in (("device", points(), Model()), ("host", HostRows(), TwoFigures())):
        outputs, count = used(lambda place=place, model=model: st.collect(place, model, mesh=mesh).outputs)
        counts.append(count)
        found |= {f"{name}_{key}": np.asarray(value) for key, value in outputs.items()}
    return found, counts


def reduced() -> dict[str, np.ndarray]:
    """What reducers find in the grid of AXES, whose schedules are programs of their own."""
    by = {"schedule.kind": ("sync", "async")}
    reducers = {"top": st.TopK("self_hosted.total", 50), "front": st.Pareto(["self_hosted.total", "self_hosted.hours"])}
    reducers |= {"sides": st.Winners(["tinker.total", "self_hosted.total"], by), "groups": st.Groups(by)}
    found = reduce_grid(hand_config(), AXES, reducers)
    leaves = jax.tree_util.tree_leaves_with_path(found.results)
    return {jax.tree_util.keystr(path): np.asarray(leaf) for path, leaf in leaves if not isinstance(leaf, str)}


def main(target: str, rank: int, ranks: int, port: int) -> None:
    if ranks > 1:
        jax.distributed.initialize(f"127.0.0.1:{port}", ranks, rank)
        assert len(jax.devices()) == ranks
    else:
        devices = jax.devices()
        assert len(devices) == 3
        for count in (1, 2, 3):
            found, counts = everything(devices[:count])
            assert counts == [count, count], counts
            np.savez(f"{target}_{count}", **found)
        # without being told: all devices once that pays, which here is from the start
        waiting = collecting.time.monotonic
        collecting.time.monotonic = iter(range(10**9)).__next__
        try:
            found, counts = everything(None)
        finally:
            collecting.time.monotonic = waiting
        assert counts == [3, 3], counts
        np.savez(f"{target}_all", **found)
    np.savez(f"{target}_reduced", **reduced())
    batch = tn.sweep(hand_config(), AXES, outputs=["self_hosted.total", "tinker.total"])
    found, _ = everything(None)
    np.savez(f"{target}_own", **found)
    np.savez(f"{target}_sweep", **{name: batch[name] for name in batch.outputs})


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
