"""One way to fit a model, which estimators and the command share.

    for each start:                    random restarts
        sample                         m paths, n sweeps
        EM, from the sampled solution  the polish: the exact local maximum
    keep the fit with the highest score

The same data, settings and seed give the same bits either way. Ctrl-C keeps the best fit so far.

    plan       how to fit, and one fit
    restarts   the best of several fits
    stored     the same in a file that can be resumed
    monitor    whether EM has converged
    collect    counts added up over late sweeps

Learnt priors, a schedule for the number of paths and averages over late sweeps belong here: a `Plan` is what
they are part of, `Fit.late` is where averages go.
"""
