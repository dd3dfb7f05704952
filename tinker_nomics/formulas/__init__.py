"""The cost model by chapter: pure functions of parameter pytrees, jittable, vmappable, differentiable."""
