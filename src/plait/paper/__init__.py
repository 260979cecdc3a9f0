"""The paper's experiments, on the public interface of plait.

An experiment (`table1`, `hmm`, `sotu`, `ablation`) is a list of jobs and what is to be told of their results.

    figures        how all figures look
    results, work  jobs in parallel, which can be killed and gone on with, and the file of their results
    findings       what can be told: claims with verdicts, figures, tables
    bands, hard    the synthetic topics and the hard sequence, which experiments share
    power          the sampler that the paper warns of
    *_findings     what the runs of an experiment show
    page           the page
    reproduce      all of it together
"""
