"""Run by test_faults.py in processes of its own: a run of a few seconds whose progress is kept in a file."""

from __future__ import annotations

import resource
import sys

import equinox as eqx
import jax.numpy as jnp

from tinker_nomics import streaming as st
from tinker_nomics.errors import TinkerNomicsError
from tinker_nomics.streaming.progress_file import ProgressFile
from tinker_nomics.uncertainty.sample_states import state_shapes

REDUCERS = {"moments": st.Moments(), "histogram": st.Histogram(), "extremes": st.Extremes(), "top": st.TopK("y", 3)}
POINTS = st.SobolPoints(2, 20, replicates=4, seed=9, log2_chunk=8)


class Model(eqx.Module):
    """Some work per point, so that a run takes seconds."""

    def __call__(self, u):
        y = u[0]
        for _ in range(40):
            y = jnp.sin(y + u[1]) + 1.01 * jnp.cos(y)
        return st.Evaluation({"y": y}, {"a": u[0], "b": u[1]})


def main(path: str, seed: str, largest_file: str = "") -> None:
    if largest_file:  # what a full disk does, without filling one
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(largest_file), int(largest_file)))
    like = state_shapes(REDUCERS, ["y"], ["a", "b"], POINTS.chunk_size, POINTS.strata)
    store = ProgressFile(path, {"seed": int(seed)}, like, resume=True, every=0.02)
    run = st.run(POINTS, Model(), REDUCERS, store=store, progress=False)
    print(f"done {run.first} {run.stop} {run.complete}")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except TinkerNomicsError as error:
        print(f"refused: {error}")
        sys.exit(2)
