"""Ctrl-C during sampling: nutpie returns what it has, a fit must not."""

from dataclasses import dataclass

import numpy as np
import nutpie
import pytest
import xarray as xr
from toy import simulate

import hero_bayes as hb


@dataclass(frozen=True)
class Compiled:
    """What a compiled model offers to the sampler."""

    initial_point_func: object = None
    shared_var_keys: tuple = ()

    def with_data(self, **values):
        return self


@pytest.mark.parametrize("done", [0, 7, 19])
def test_fewer_draws_than_asked_for_are_an_interrupt(done, monkeypatch):
    draws = xr.Dataset({"prevalence": (("chain", "draw", "group"), np.full((2, done, 1), 0.5))})
    tree = xr.DataTree.from_dict({"posterior": draws, "sample_stats": draws})
    monkeypatch.setattr("hero_bayes.inference.sampling.compile_nuts", lambda model: Compiled())
    monkeypatch.setattr(nutpie, "sample", lambda *args, **options: tree)
    rounds = simulate(141, n_history=20, n_current=10, n_labelers=3, labels_per_item=2).rounds
    with pytest.raises(KeyboardInterrupt, match=f"after {done} of 20 draws"):
        hb.fit(*rounds, model="hero", draws=20, tune=5, chains=2, random_seed=1, progressbar=False)
