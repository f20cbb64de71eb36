"""When requests are due: an open model, in which arrivals do not depend on replies."""

from __future__ import annotations

from array import array
from random import Random
from typing import Literal

Arrivals = Literal["poisson", "fixed"]


def schedule(rate: float, seconds: float, *, arrivals: Arrivals = "poisson", seed: int = 0) -> array[float]:
    """The moments at which requests are due, in seconds from the beginning, ascending, all below `seconds`.

    `fixed`: one every 1 / `rate` seconds, the first at once. `poisson`: independent callers, who sometimes come all at
    once; the times between them are exponential with that mean. The same seed gives the same moments. Raises
    ValueError if rate or seconds are not positive.
    """
    if rate <= 0 or seconds <= 0:
        raise ValueError("rate and seconds must be positive")
    moments = array("d")
    if arrivals == "fixed":
        number = 0
        while (moment := number / rate) < seconds:
            moments.append(moment)
            number += 1
        return moments
    chance = Random(seed)  # noqa: S311  # repeatable on purpose
    moment = chance.expovariate(rate)
    while moment < seconds:
        moments.append(moment)
        moment += chance.expovariate(rate)
    return moments
