"""Run by test_layouts.py in processes of its own: a run on this process's devices, or shared over processes."""

from __future__ import annotations

import sys

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh

import tinker_nomics as tn
from tinker_nomics import streaming as st
from tinker_nomics.boundary import x64
from tinker_nomics.streaming.devices import _merged_tree, share

REDUCERS = {
    "moments": st.Moments(),
    "histogram": st.Histogram(),
    "extremes": st.Extremes(),
    "events": st.Events(["a < 1 and b > a"]),
    "top": st.TopK("a", 5),
}


class Model(eqx.Module):
    """Two outputs of three inputs, with logarithms and powers, so that rounding could show."""

    def __call__(self, u):
        x, y, z = u
        a = jnp.exp(jnp.sin(5 * x) - jnp.log(y)) * (1 + z)
        return st.Evaluation({"a": a, "b": jnp.sqrt(x * x + z) / y - 0.7}, {"x": x, "y": y})


def points(seed: int = 0) -> st.SobolPoints:
    return st.SobolPoints(3, 10, replicates=4, seed=seed, log2_chunk=5)


def save(target: str, states) -> None:
    """Write every leaf of some states under its path."""
    leaves = jax.tree_util.tree_leaves_with_path(states)
    np.savez(target, **{jax.tree_util.keystr(path): leaf for path, leaf in leaves})


def whole_run(mesh=None, seed: int = 0):
    run = st.run(points(seed), Model(), REDUCERS, mesh=mesh)
    assert run.complete and run.points == 4096 and run.stop == 128
    return run.states


def on_several_devices(target: str) -> None:
    """Two devices, all five, and five states merged over five devices as if each were a process."""
    devices = jax.devices()
    assert len(devices) == 5
    save(f"{target}_two", whole_run(devices[:2]))
    save(f"{target}_five", whole_run())
    parts = [
        st.run(points(), Model(), REDUCERS, chunks=share(range(128), rank, 5), mesh=devices[:1]).states
        for rank in range(5)
    ]
    with x64():
        peers = Mesh(np.array(devices), ("processes",))
        stacked = jax.tree_util.tree_map(lambda *leaves: np.stack(leaves), *parts)
        both = _merged_tree(peers, REDUCERS, stacked)
        leaves, structure = jax.tree_util.tree_flatten(jax.tree_util.tree_map(np.asarray, both))
    for rank in (0, 3, 4):
        save(f"{target}_tree{rank}", jax.tree_util.tree_unflatten(structure, [leaf[rank] for leaf in leaves]))


def grid_on_two_devices(target: str) -> None:
    """A grid of runs on one device and on two: its formulas are large enough that another program would round otherwise."""
    config = tn.Config.from_recipe("math_rl", model="Qwen/Qwen3-8B")
    axes = {
        "workload.completion_tokens": np.linspace(100, 900, 300),
        "workload.length_growth": np.linspace(1, 3, 50),
        "cluster.price_per_gpu_hour": np.linspace(1, 5, 20),
    }
    reducers = {"top": st.TopK("difference.total", 20), "extremes": st.Extremes()}
    for count in (1, 2):
        found = tn.reduce_grid(config, axes, reducers, mesh=jax.devices()[:count])
        save(f"{target}_{count}", found.states)


if __name__ == "__main__":
    what, name, *numbers = sys.argv[1:]
    if what == "devices":
        on_several_devices(name)
    elif what == "grid":
        grid_on_two_devices(name)
    else:
        place, count, port = map(int, numbers)
        jax.distributed.initialize(f"127.0.0.1:{port}", count, place)
        save(name, whole_run(seed=place if what == "different" else 0))
