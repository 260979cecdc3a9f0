"""The paper's experiments, run in parallel and compared with what the paper reports.

An experiment (`table1`, `hmm`, `sotu`, `ablation`) is a list of jobs and a report on their results.

    internals      measurements that are not part of the public interface
    results, work  run jobs in parallel, resume them after a kill, store their results
    findings       the parts of a report: claims with verdicts, figures, tables
    bands, hard    the synthetic topics and the hard sequence, which several experiments use
    power          the samplers that the paper advises against
    *_findings     claims, tables and figures of one experiment
    sotu_rows      reads the rows of `sotu`; `sotu_figures` draws them
    page           index.html and summary.md
    reproduce      runs experiments and writes the page

The experiments use the public interface of plait: `sample`, `resume`, `load`, the models, `plait.datasets`
and `plait.evaluate`. They also need some internals, which `tests/test_architecture.py` lists by name:

    internals      the point estimate of phi in the middle of a run, before there is a `Run`, and that of
                   topics in double precision; EM that reports every iteration, so that a job can be stopped;
                   the initial parameters of a seed, so that EM starts where the samplers do
    power          is a separate sampler: it subclasses models and has a kernel, with random streams and
                   scratch buffers
    hard           the parameters of categorical emissions, a part of the true `HmmParameters`
    sotu           the import of the addresses, to fail early if they are not installed
    page, reproduce, results, work
                   files that are replaced atomically, checks of arguments, progress on the terminal

Types that appear in annotations only (`Progress`, `Model`, `Paths`, `Bands`) may be used anywhere.
"""
