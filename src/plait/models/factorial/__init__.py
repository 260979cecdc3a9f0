"""Factorial hidden Markov models: parallel chains whose contributions to the observations add up.

start_k           ~ Dir(start_prior_k)               for each of the chains k
transitions_k,a   ~ Dir(transition_prior_k,a)
covariance        ~ inverse Wishart(covariance_prior, covariance_weight); inverse gamma if diagonal
mean_k,s          ~ N(mean_prior_k,s, covariance / mean_weight_k,s)
p_k,t             ~ start_k at the first time of a sequence, else transitions_k,a with a = p_k,t-1
x_t               ~ N(sum_k mean_k,p_k,t, covariance)

phi are start, transitions, means and covariance. K chains of S states have S^K joint states, far too many to
enumerate. But given phi and the other chains, a few chains are a small hidden Markov model of the residuals
that the others leave.

The data do not determine the level of a single chain: a constant added to all means of one chain can be
subtracted from all means of another. The prior of the means determines it.
"""

from plait.models.factorial.model import MAX_JOINT_STATES, MAX_PAIRS, FactorialHmmModel
from plait.models.factorial.parameters import FactorialCounts, FactorialParameters, simulate
from plait.models.factorial.priors import COVARIANCES

__all__ = [
    "COVARIANCES",
    "MAX_JOINT_STATES",
    "MAX_PAIRS",
    "FactorialCounts",
    "FactorialHmmModel",
    "FactorialParameters",
    "simulate",
]
