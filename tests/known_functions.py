"""Functions whose sensitivity is known in closed form."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from tinker_nomics.uncertainty import LogNormal, Uniform

PI = np.pi


def ishigami(x):
    """a = 7, b = 0.1; x4, where given, is not used."""
    return jnp.sin(x["x1"]) + 7.0 * jnp.sin(x["x2"]) ** 2 + 0.1 * x["x3"] ** 4 * jnp.sin(x["x1"])


ISHIGAMI_INPUTS = {name: Uniform(-PI, PI) for name in ("x1", "x2", "x3")}
ISHIGAMI = {
    "mean": 3.5,
    "variance": 13.844587940719254,
    "s1": {"x1": 0.3139051911478115, "x2": 0.4424111447900409, "x3": 0.0},
    "s13": 0.2436836640621477,
    "st": {"x1": 0.5575888552099592, "x2": 0.4424111447900409, "x3": 0.2436836640621477},
    "shapley": {"x1": 0.4357470231788853, "x2": 0.4424111447900409, "x3": 0.1218418320310739},
    "dgsm": {"x1": 7.719587940719255, "x2": 24.5, "x3": 10.98730506943205},
    "mu": {"x1": 7.704054, "x2": 0.0, "x3": 0.0},
    "mu_star": {"x1": 7.704054, "x2": 7.875, "x3": 6.248796},
    "sigma": {"x1": 6.248796, "x2": 7.875, "x3": 8.837132},
}

G_WEIGHTS = dict(zip("abcdefgh", (0.0, 1.0, 4.5, 9.0, 99.0, 99.0, 99.0, 99.0)))


def sobol_g(x):
    product = 1.0
    for name, weight in G_WEIGHTS.items():
        product = product * (jnp.abs(4.0 * x[name] - 2.0) + weight) / (1.0 + weight)
    return product


G_INPUTS = {name: Uniform(0.0, 1.0) for name in G_WEIGHTS}
G = {
    "mean": 1.0,
    "variance": 0.4654244319022067,
    "s1": {"a": 0.7161921689, "b": 0.1790480422, "c": 0.0236757742, "d": 0.0071619217}
    | dict.fromkeys("efgh", 7.16192e-5),
    "st": {"a": 0.7871441267, "b": 0.2421981928, "c": 0.0343169102, "d": 0.0104603871}
    | dict.fromkeys("efgh", 1.049491e-4),
    "shapley": {"a": 0.7515188631, "b": 0.2104772937, "c": 0.0288804594, "d": 0.0087718929}
    | dict.fromkeys("efgh", 8.78727e-5),
}


def product(x):
    return x["x1"] * x["x2"] * x["x3"]


PRODUCT_INPUTS = {"x1": LogNormal(0.1, 0.3), "x2": LogNormal(-0.2, 0.2), "x3": LogNormal(0.0, 0.1)}
PRODUCT = {
    "s1": {"x1": 0.62668465, "x2": 0.27157611, "x3": 0.06687904},
    "st": {"x1": 0.65881546, "x2": 0.30013802, "x3": 0.07616375},
}
