"""Kill fits at random moments for as long as asked, and compare the bits with fits that nobody killed.

    python tests/soak/soak.py --seconds 3600
    python tests/soak/soak.py --sweeps 100000    # memory over many sweeps, instead

Each round fits one of several models through the command, with a checkpoint after every sweep. The process is
killed after a random time, by SIGKILL most of the time, else by SIGTERM, SIGHUP or Ctrl-C, and resumed, again
and again, until it ends by itself. Then everything in its file but the times must equal that of a fit that
was never stopped. Both are deterministic given `--seed`; only the moments of the kills vary.
"""

from __future__ import annotations

import argparse
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from plait.progress import describe_seconds
from plait.storage import read_file

SIGNALS = (signal.SIGKILL,) * 5 + (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
MOST_STOPS = 200  # of one fit; then it may run to its end

FITS = {
    "lda": "fit lda texts.txt --topics 8 --paths 3 --sweeps 150",
    "lda, collapsed": "fit lda texts.txt --topics 8 --sweeps 150 --method collapsed",
    "hmm": "fit hmm walk.csv --states 3 --emissions gaussian --sweeps 60 --restarts 3 --keep-previous",
    "hmm, collapsed": "fit hmm dice.csv --states 2 --emissions categorical --sweeps 150 --method collapsed",
    "hmm, EM": "fit hmm walk.csv --states 4 --emissions gaussian --sweeps 100 --method em --restarts 5",
}


@dataclass
class Tally:
    """What happened: finished fits, how often which signal stopped one, and what went wrong."""

    fits: Counter[str] = field(default_factory=Counter)
    stops: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)

    def fail(self, what: str) -> None:
        """Note and print what went wrong."""
        self.failures.append(what)
        print(f"FAILED: {what}", flush=True)

    def __str__(self) -> str:
        stops = ", ".join(f"{name} {n}" for name, n in sorted(self.stops.items()))
        return (
            f"{self.fits.total()} fits, {self.stops.total()} stops ({stops}), {len(self.failures)} failures"
        )


def write_data(folder: Path) -> None:
    """Write small data sets of each kind."""
    rng = np.random.default_rng(1)
    words = [f"{a}{b}" for a in "bdfgklmnprst" for b in ("ato", "ilu", "omi", "una")]
    documents = (" ".join(rng.choice(words, rng.integers(5, 40))) for _ in range(150))
    (folder / "texts.txt").write_text("\n".join(documents) + "\n")
    walk = np.repeat(rng.normal(0, 4, 60), 25) + rng.normal(size=1500)
    (folder / "walk.csv").write_text("x\n" + "\n".join(map(str, walk)) + "\n")
    (folder / "dice.csv").write_text("x\n" + "\n".join(map(str, rng.integers(0, 6, 1500))) + "\n")


def command(arguments: Sequence[str]) -> list[str]:
    """Return the command line of a plait command."""
    code = "from plait.cli import main; main(prog_name='plait')"
    return [sys.executable, "-c", code, *arguments, "--quiet", "--checkpoint-every", "0"]


def contents(path: Path) -> dict[str, object]:
    """Return everything in a run's file but the times that it took."""
    header, arrays = read_file(path)
    bits: dict[str, object] = {
        name: array.tobytes() for name, array in arrays.items() if "seconds" not in name
    }
    for part in (header, header.get("best", {})):
        part.pop("seconds", None)
    header.pop("checksums"), header.pop("checksum")
    return bits | {"header": header}


def accept_signals() -> None:
    """Let a process be stopped by signals, even if this one runs in the background or under nohup."""
    for number in set(SIGNALS) - {signal.SIGKILL}:
        signal.signal(number, signal.SIG_DFL)


def run_and_stop(arguments: Sequence[str], folder: Path, seconds: float, number: int) -> tuple[int, str]:
    """Run a command and send it a signal after some time; return its exit status and what it printed."""
    process = subprocess.Popen(
        command(arguments),
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=accept_signals,
    )
    try:
        _, printed = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(number)
        _, printed = process.communicate(timeout=60)
    return process.returncode, printed


def soak_fit(name: str, folder: Path, seconds: float, rng: random.Random, tally: Tally) -> None:
    """Run one fit to its end through many stops, and compare it with one that was not stopped."""
    output = folder / "soaked.plait"
    output.unlink(missing_ok=True)
    for stop in range(MOST_STOPS + 1):
        start = ["resume", output.name] if output.exists() else [*FITS[name].split(), "-o", output.name]
        number = rng.choice(SIGNALS)
        patience = rng.uniform(0, seconds) if stop < MOST_STOPS else 600.0
        status, printed = run_and_stop(start, folder, patience, number)
        if status == 0:
            break
        if status == 2 and "is finished" in printed:  # stopped between its last checkpoint and its end
            break
        at_start = number == signal.SIGINT and "KeyboardInterrupt" in printed  # while Python imports plait
        if status not in (-number, 128 + number) and not at_start:
            tally.fail(f"{name}: exit status {status} after signal {number}: {printed[-300:]!r}")
            return
        tally.stops[signal.Signals(number).name] += 1
    leftovers = sorted(path.name for path in folder.glob(".plait-*"))
    if leftovers:
        tally.fail(f"{name}: left behind {leftovers}")
    tally.fits[name] += 1
    if contents(output) != contents(folder / f"{name}.plait"):
        kept = folder / f"failure {len(tally.failures)}.plait"
        output.rename(kept)
        tally.fail(f"{name}: other bits, kept in {kept}")


def soak(seconds: float, seed: int, folder: Path) -> Tally:
    """Soak all fits in turn until the time is up."""
    write_data(folder)
    whole: dict[str, float] = {}
    for name, arguments in FITS.items():
        for _ in range(2):  # the first time, kernels are compiled
            begun = time.monotonic()
            more = ["-o", f"{name}.plait", "--overwrite"]
            status, printed = run_and_stop([*arguments.split(), *more], folder, 600.0, signal.SIGKILL)
            assert status == 0, printed
            whole[name] = time.monotonic() - begun
    rng, tally, end, shown = random.Random(seed), Tally(), time.monotonic() + seconds, 0.0
    while time.monotonic() < end:
        for name in FITS:
            soak_fit(name, folder, whole[name], rng, tally)
            if time.monotonic() > shown + 30:
                shown = time.monotonic()
                print(f"{tally}; {describe_seconds(max(0, end - shown))} left", flush=True)
    return tally


def resident_megabytes() -> float:
    """Return the memory that this process occupies."""
    fields = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(fields["VmRSS"].split()[0]) / 1024


def measure_memory(sweeps: int) -> bool:
    """Sample small models for many sweeps; print the memory along the way, and return whether it is flat."""
    import plait
    from plait.data.synthetic import bands

    rng = np.random.default_rng(0)
    values = plait.Sequences.from_values(rng.normal(size=(200, 1)))
    models = {
        "lda": plait.LdaModel(bands(30, seed=1, n_topics=3, n_words=30, document_length=20).corpus, 5),
        "hmm": plait.HmmModel(plait.GaussianEmissions(values, 3)),
        "mixture": plait.MixtureModel(plait.GaussianEmissions(values, 3)),
        "potts": plait.PottsModel(plait.GaussianEmissions(values, 3), (10, 20)),
    }
    flat = True
    for name, model in models.items():
        memory: list[float] = []

        def note(progress: plait.sampler.Progress, memory: list[float] = memory) -> None:
            if progress.state.sweep % (sweeps // 10) == 0:
                memory.append(resident_megabytes())

        plait.sample(model, n_paths=3, n_sweeps=sweeps, thin=max(1, sweeps // 1000), n_jobs=2, callback=note)
        growth = memory[-1] - memory[0]
        flat &= growth < 2.0
        print(f"{name}: {', '.join(f'{m:.1f}' for m in memory)} MB, growth {growth:.2f} MB", flush=True)
    return flat


def main() -> int:
    """Run the script; the exit status is 0 if nothing went wrong."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=60.0, help="how long to kill and resume fits")
    parser.add_argument("--sweeps", type=int, help="measure memory over this many sweeps instead")
    parser.add_argument("--seed", type=int, default=0, help="seed of the moments and signals")
    parser.add_argument("--folder", type=Path, help="folder for files  [default: a temporary one]")
    options = parser.parse_args()
    if options.sweeps:
        return 0 if measure_memory(options.sweeps) else 1
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        tally = soak(options.seconds, options.seed, folder)
    print(tally)
    return 1 if tally.failures else 0


if __name__ == "__main__":
    sys.exit(main())
