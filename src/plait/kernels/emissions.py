"""Kernels of emissions: log-densities of observations, and sums over the observations of each state.

Observations are symbols, `rows` (N,), or numbers, `values` (N, D); a missing observation is the last row of a
table of symbols, or NaN in all features. It adds nothing to sums and has log-density 0 in every state.

Sums go over the sites first to last. What each observation counts for is either the paths, (m, N), one for
each path that is in the state, or `posteriors` (n, S), whose row 0 is the site `first`. Sums for numbers are
rows of one array, a row a state: the number of observations, then the sums of x, then those of x x' (D x D)
or of x^2 (D), where these are wanted. x is the observation minus `centre`, lest large numbers cancel.
"""

from __future__ import annotations

from plait.jit import kernel


@kernel
def count_symbols(first, last, rows, paths, counts):
    """Add the symbols in each state of all paths to `counts` (W + 1, S)."""
    for i in range(first, last):
        for j in range(paths.shape[0]):
            counts[rows[i], paths[j, i]] += 1.0


@kernel
def add_symbols(first, last, rows, posteriors, counts):
    """Add the expected symbols in each state to `counts` (W + 1, S)."""
    for i in range(first, last):
        for s in range(counts.shape[1]):
            counts[rows[i], s] += posteriors[i - first, s]


@kernel
def add_observation(weight, values, i, centre, state, sums):
    """Add one observation to the sums of one state."""
    n_features = values.shape[1]
    n_sums = sums.shape[1]
    sums[state, 0] += weight
    for d in range(n_features):
        sums[state, 1 + d] += weight * (values[i, d] - centre[d])
    if n_sums == 1 + 2 * n_features:
        for d in range(n_features):
            x = values[i, d] - centre[d]
            sums[state, 1 + n_features + d] += weight * x * x
    elif n_sums > 1 + n_features:
        for d in range(n_features):
            x = weight * (values[i, d] - centre[d])
            for e in range(d + 1):
                sums[state, 1 + n_features + d * n_features + e] += x * (values[i, e] - centre[e])


@kernel
def sum_values(first, last, values, centre, paths, sums):
    """Add the sums over the observations in each state of all paths; of x x' the lower half only."""
    for i in range(first, last):
        if values[i, 0] == values[i, 0]:
            for j in range(paths.shape[0]):
                add_observation(1.0, values, i, centre, paths[j, i], sums)


@kernel
def add_values(first, last, values, centre, posteriors, sums):
    """Add the expected sums over the observations in each state; of x x' the lower half only."""
    for i in range(first, last):
        if values[i, 0] == values[i, 0]:
            for s in range(sums.shape[0]):
                if posteriors[i - first, s] > 0.0:
                    add_observation(posteriors[i - first, s], values, i, centre, s, sums)


@kernel
def log_normal(first, last, values, means, whitening, constants, logs):
    """Set `logs` (n, S) to log N(x_i; mean, covariance), for covariances that are diagonal or full.

    `whitening` turns x - mean into standard normal numbers. It is (S, D, D), a lower triangular matrix a
    state, or (S, 1, D), the diagonals of diagonal ones. `constants` (S,) is the log-density at the mean.
    """
    n_features = values.shape[1]
    diagonal = whitening.shape[1] == 1
    for i in range(first, last):
        for s in range(means.shape[0]):
            if values[i, 0] != values[i, 0]:
                logs[i - first, s] = 0.0
                continue
            square = 0.0
            for d in range(n_features):
                z = 0.0
                if diagonal:
                    z = whitening[s, 0, d] * (values[i, d] - means[s, d])
                else:
                    for e in range(d + 1):
                        z += whitening[s, d, e] * (values[i, e] - means[s, e])
                square += z * z
            logs[i - first, s] = constants[s] - 0.5 * square


@kernel
def log_poisson(first, last, values, constants, rates, log_rates, logs):
    """Set `logs` (n, S) to log P(x_i) under independent Poisson laws with the rates (S, D).

    `constants` (N,) is the sum over features of log x!.
    """
    for i in range(first, last):
        for s in range(rates.shape[0]):
            if values[i, 0] != values[i, 0]:
                logs[i - first, s] = 0.0
                continue
            x = -constants[i]
            for d in range(values.shape[1]):
                x -= rates[s, d]
                if values[i, d] > 0.0:
                    x += values[i, d] * log_rates[s, d]
            logs[i - first, s] = x


@kernel
def log_bernoulli(first, last, values, log_yes, log_no, logs):
    """Set `logs` (n, S) to log P(x_i) for features that are 0 or 1, given the logarithms (S, D) of both."""
    for i in range(first, last):
        for s in range(log_yes.shape[0]):
            x = 0.0
            if values[i, 0] == values[i, 0]:
                for d in range(values.shape[1]):
                    x += log_yes[s, d] if values[i, d] > 0.5 else log_no[s, d]
            logs[i - first, s] = x


# ---------------------------------------------------------------------------------------------------------
# Documents: row i holds words[offsets[i]:offsets[i + 1]], each as often as `numbers` says
# ---------------------------------------------------------------------------------------------------------


@kernel
def log_multinomial(first, last, offsets, words, numbers, constants, log_laws, logs):
    """Set `logs` (n, S) to the log-probability of the documents, given the logarithms (W, S) of the laws.

    `constants` (N,) is the logarithm of the multinomial coefficient.
    """
    for i in range(first, last):
        for s in range(log_laws.shape[1]):
            logs[i - first, s] = constants[i]
        for k in range(offsets[i], offsets[i + 1]):
            for s in range(log_laws.shape[1]):
                logs[i - first, s] += numbers[k] * log_laws[words[k], s]


@kernel
def count_documents(first, last, offsets, words, numbers, paths, counts):
    """Add the words in each state of all paths to `counts` (W, S)."""
    for i in range(first, last):
        for k in range(offsets[i], offsets[i + 1]):
            for j in range(paths.shape[0]):
                counts[words[k], paths[j, i]] += numbers[k]


@kernel
def add_documents(first, last, offsets, words, numbers, posteriors, counts):
    """Add the expected words in each state to `counts` (W, S)."""
    for i in range(first, last):
        for k in range(offsets[i], offsets[i + 1]):
            for s in range(counts.shape[1]):
                counts[words[k], s] += numbers[k] * posteriors[i - first, s]
