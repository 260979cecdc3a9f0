"""A minimal model of your own: biased coins of two kinds, each tossed a few times."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import betaln

from plait.models.path_model import PathModel


@dataclass(frozen=True, eq=False)
class Coins(PathModel):
    """Coin i shows heads[i] of `tosses` heads; its kind is p_i."""

    heads: np.ndarray
    tosses: int = 3
    n_states: int = 2
    kind = "coins"
    site_name = "coin"

    @property
    def n_sites(self):
        return len(self.heads)

    def statistics(self, path):
        n = np.bincount(path, minlength=self.n_states)
        return {"n": n, "heads": np.bincount(path, self.heads, self.n_states)}

    def _shapes(self, statistics):
        return 2 + statistics["heads"], 2 + self.tosses * statistics["n"] - statistics["heads"]

    def draw(self, statistics, rng):
        return {"shares": rng.dirichlet(2 + statistics["n"]), "chances": rng.beta(*self._shapes(statistics))}

    def _log_weights(self, parameters):
        log_yes, log_no = np.log(parameters["chances"]), np.log1p(-parameters["chances"])
        heads = self.heads[:, None]
        return np.log(parameters["shares"]) + heads * log_yes + (self.tosses - heads) * log_no

    def update(self, path, parameters, rng):
        steps = np.cumsum(np.exp(self._log_weights(parameters)), axis=1)
        path[:] = (steps < rng.random((len(path), 1)) * steps[:, -1:]).sum(axis=1)

    def log_density(self, path, parameters):
        return self._log_weights(parameters)[np.arange(len(path)), path].sum()

    def mean(self, statistics):
        a, b = self._shapes(statistics)
        return {"shares": (2 + statistics["n"]) / (2 + statistics["n"]).sum(), "chances": a / (a + b)}

    def update_collapsed(self, path, statistics, rng):
        for i, heads in enumerate(self.heads):
            statistics["n"][path[i]] -= 1
            statistics["heads"][path[i]] -= heads
            a, b = self._shapes(statistics)
            logs = betaln(a + heads, b + self.tosses - heads) - betaln(a, b)
            steps = np.cumsum((2 + statistics["n"]) * np.exp(logs))
            path[i] = np.searchsorted(steps, rng.random() * steps[-1], side="right")
            statistics["n"][path[i]] += 1
            statistics["heads"][path[i]] += heads

    def simulate(self, rng):
        nothing = {"n": np.zeros(self.n_states), "heads": np.zeros(self.n_states)}
        parameters = self.draw(nothing, rng)
        path = rng.choice(self.n_states, self.n_sites, p=parameters["shares"])
        heads = rng.binomial(self.tosses, parameters["chances"][path])
        return type(self)(heads, self.tosses, self.n_states), path, parameters
