"""Hold the discarded share and Tinker's bill to the two measured runs that speak of them.

Marin (github.com/marin-community/marin/issues/8936): at a lag of at most one step 154,750 of 6,690,949 generated tokens
were discarded. Its group size and spread of group times are not given, so the check is a curve: for which training time
and spread does the queue discard that share? JustTinker (github.com/Guanghan/JustTinker): all runs together cost under
150 USD.

    python analysis/staleness_evidence.py
"""

from __future__ import annotations

import argparse

from scipy.optimize import brentq
from tinker_queue import simulate

from tinker_nomics import catalog
from tinker_nomics.boundary import x64
from tinker_nomics.formulas.staleness_queue import discarded_share

DISCARDED, GENERATED = 154_750, 6_690_949
SEQUENCES = 256  # of a Marin update
RESPONSES, RESPONSE_TOKENS = 32 * 8 * 158, 4_000  # JustTinker's first run; the mean length is "about 4,000"
PRICE_DATE = "2026-01-05"
SIMULATED = 128  # groups per step
NO_TIME = 1e-4  # rho of a trainer that takes no time to speak of


def spread_for(rho: float, batch: float, share: float, bound: float = 1.0) -> float | None:
    """The coefficient of variation of group times at which the queue discards `share`; None where none does."""
    with x64():

        def excess(variation: float) -> float:
            return float(discarded_share(rho, bound, batch, variation)) - share

        return float(brentq(excess, 0.02, 2.0)) if excess(0.02) < 0 < excess(2.0) else None


def _both(rho: float, variation: float) -> str:
    """The discarded share at k = 1 by the closed form and by the simulation."""
    with x64():
        closed = float(discarded_share(rho, 1.0, SIMULATED, variation))
    simulated = simulate(rho, 1, SIMULATED, variation, steps=1000, warm_up=100).discard
    return f"cv {variation:g} {closed:.3f} ({simulated:.3f})"


def main() -> None:
    argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0]).parse_args()
    share = DISCARDED / GENERATED
    print(f"Marin, lag 1: {share:.2%} discarded; 0.20/k for k >= 2 says 0 at k = 1")
    print("spread of group times at which the queue discards as much:")
    for group in (4, 8, 16):
        batch = SEQUENCES / group
        found = [(rho, spread_for(rho, batch, share)) for rho in (0.001, 0.01, 0.02, 0.05, 0.1, 0.2)]
        words = ", ".join(f"rho {rho:g}: " + ("none" if cv is None else f"cv {cv:.2f}") for rho, cv in found)
        print(f"  G = {group:2d} (B = {batch:g}): {words}")
    with x64():
        least = [float(discarded_share(rho, 1.0, 32.0, 0.02)) for rho in (0.05, 0.1, 0.2)]
    print(
        "with groups of equal length it discards about rho/2: "
        + ", ".join(f"{value:.3f}" for value in least)
        + " at rho 0.05, 0.1, 0.2"
    )
    print(
        "however fast the trainer, a step lasts until B fresh groups are there, about a mean group time, and a group that"
    )
    print(
        "takes longer than its two steps is stale. Discarded at k = 1, closed form and simulation, 128 groups a step:"
    )
    for rho in (NO_TIME, 0.1):
        print(f"  rho {rho:g}: " + ", ".join(_both(rho, variation) for variation in (0.1, 0.3, 1.0)))
    print(
        "so the rules of Tinker's queue give 2.3 % at k = 1 only if training takes under 5 % of a group's time and groups"
    )
    print("are equally long to a tenth, as rollouts are not; what Marin's engines do once the lag is used up (Tinker's")
    print("workers go on) is not stated there.")
    tokens = RESPONSES * RESPONSE_TOKENS
    price = catalog.price("Qwen/Qwen3-4B-Instruct-2507", PRICE_DATE)
    sampled, trained = tokens * price.sample / 1e6, tokens * price.train / 1e6
    print(
        f"\nJustTinker's first run: {tokens / 1e6:.0f}M tokens: {sampled:.1f} USD sampled, at most {trained:.1f} USD "
        "trained (positive advantages only):"
    )
    print(f"{sampled / 150:.2f}-{(sampled + trained) / 150:.2f} of the 150 USD that bound all its runs together")


if __name__ == "__main__":
    main()
