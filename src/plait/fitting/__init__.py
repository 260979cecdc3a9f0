"""Fitting of models, shared by the estimators and the command.

    for each start:                    random restarts
        sample                         m paths, n sweeps
        EM, from the sampled solution  the polish: the exact local maximum
    keep the fit with the highest score

The same data, settings and seed give the same bits in both. Ctrl-C keeps the best fit so far.

    plan          the plan of a fit, and a fit from one start
    restarts      the best of several fits
    stored        fits with restarts in a file, which can be resumed
    checkpointed  fits of estimators, which continue in a file when they are called again
    monitor       convergence of EM
    collect       sums over late sweeps

Extensions such as learnt priors, a schedule for the number of paths or averages over late sweeps belong here:
in `Plan`, with averages in `Fit.late`.
"""
