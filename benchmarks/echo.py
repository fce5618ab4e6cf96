"""Echo cancellation with 256 taps: echo-return-loss enhancement and speed, compared with padasip's filters.

``python -m benchmarks.echo`` simulates a room; ``--data FOLDER`` uses aec_pyaec.csv.gz in that folder (columns x, the far
end, and d, the microphone, 8,000 samples a second). ``--picture FILE`` plots the enhancement over time.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import padasip

import driftline as dl
from benchmarks.data import Array
from benchmarks.report import Report, Table
from benchmarks.timing import Case, compare, pin
from driftline.features import Lags

TAPS, RATE, EPS = 256, 0.5, 1e-3
FORGETTING, RIDGE = 0.9999, 1e-2
SECOND = 8000  # samples
WINDOW = SECOND // 2
OURS = {"NLMS": "driftline NLMS", "RLS": "driftline RLS"}
THEIRS = {"NLMS": "padasip FilterNLMS", "RLS": "padasip FilterRLS"}


def synthetic(rows: int, seed: int = 0) -> tuple[Array, Array]:
    """Coloured noise, and its echo by a decaying impulse response, with noise 30 dB below it."""
    rng = np.random.default_rng(seed)
    far = np.convolve(rng.standard_normal(rows), 0.9 ** np.arange(50))[:rows]
    room = rng.standard_normal(TAPS) * 0.98 ** np.arange(TAPS)
    echo = np.convolve(far, room)[:rows]
    return far, echo + 10**-1.5 * echo.std() * rng.standard_normal(rows)


def recorded(folder: Path) -> tuple[Array, Array]:
    """The far-end and microphone signals, scaled to at most 1."""
    samples = np.loadtxt(folder / "aec_pyaec.csv.gz", delimiter=",", skiprows=1) / 2**15
    return samples[:, 0].copy(), samples[:, 1].copy()


def filters() -> dict[str, Callable[[Array, Array], Array]]:
    """Functions by filter: the residual of the microphone signal, given the far end or, for padasip, the taps."""
    nlms, rls = dl.NLMS(rate=RATE, eps=EPS, intercept=False), dl.RLS(forgetting=FORGETTING, ridge=RIDGE, intercept=False)
    return {
        OURS["NLMS"]: lambda far, near: (Lags(x=TAPS) | nlms).run(far[:, None], near).errors,
        OURS["RLS"]: lambda far, near: (Lags(x=TAPS) | rls).run(far[:, None], near).errors,
        THEIRS["NLMS"]: partial(_padasip, padasip.filters.FilterNLMS, mu=RATE, eps=EPS),
        THEIRS["RLS"]: partial(_padasip, padasip.filters.FilterRLS, mu=FORGETTING, eps=RIDGE),
    }


def _padasip(kind: Any, taps: Array, near: Array, **options: float) -> Array:
    _, errors, _ = kind(n=TAPS, w="zeros", **options).run(near, taps)
    return np.asarray(errors)


def enhancement(near: Array, left: Array) -> Array:
    """Echo-return-loss enhancement in dB, window by window: the power of the microphone signal relative to the residual."""
    windows = len(near) // WINDOW
    powers = [np.mean(signal[: windows * WINDOW].reshape(windows, WINDOW) ** 2, axis=1) for signal in (near, left)]
    return np.asarray(10 * np.log10(powers[0] / powers[1]))


def measure(quick: bool) -> Report:
    """Speed in the simulated room, with interleaved cases, and the enhancement over its last second."""
    far, near = synthetic(2 * SECOND)
    few = {THEIRS["RLS"]: 20 if quick else 100, THEIRS["NLMS"]: 1000, OURS["RLS"]: 1000 if quick else 4000}
    taps = Lags(x=TAPS).run(far[:, None])
    cases = []
    for name, run in filters().items():
        rows = few.get(name, len(near))
        source = taps if name in THEIRS.values() else far
        cases.append(Case(name, partial(run, source[:rows], near[:rows]), rows))
    timed = compare(cases, 3 if quick else 9)
    lines = []
    for kind in OURS:
        ours, theirs = OURS[kind], THEIRS[kind]
        lines += [(ours, 1e6 * timed.median(ours), 1.0), (theirs, 1e6 * timed.median(theirs), timed.ratio(theirs, ours))]
    left = {name: enhancement(near, filters()[name](far, near)) for name in OURS.values()}
    said = ", ".join(f"{name} {values[-2:].mean():.1f} dB" for name, values in left.items())
    note = f"Ratio: to driftline's filter of the kind, which also makes the taps; padasip is given them. At the end: {said}."
    return Report([Table(f"Echo cancellation, {TAPS} taps", ("filter", "microseconds a sample", "ratio"), lines, note)])


def follow(far: Array, near: Array, quick: bool) -> dict[str, Array]:
    """The enhancement over time of every filter on one recording."""
    taps = Lags(x=TAPS).run(far[:, None])
    curves = {}
    for name, run in filters().items():
        if quick and name == THEIRS["RLS"]:
            continue
        curves[name] = enhancement(near, run(taps if name in THEIRS.values() else far, near))
    return curves


def table(curves: dict[str, Array]) -> Table:
    """The enhancement over each half of the recording."""
    lines = [(name, *(np.mean(half) for half in np.array_split(values, 2))) for name, values in curves.items()]
    title = "Echo-return-loss enhancement, dB, mean over windows of 0.5 s"
    return Table(title, ("filter", "first half", "second half"), lines)


def draw(curves: dict[str, Array], path: Path) -> None:
    """A line for each filter."""
    from driftline.evaluate.plots import COLOURS, legend, new_axes, save

    ax = new_axes(None)
    for number, (name, values) in enumerate(curves.items()):
        time = (np.arange(len(values)) + 0.5) * WINDOW / SECOND
        ours = name in OURS.values()
        ax.plot(time, values, color=COLOURS[number % 2], linewidth=3.2 if ours else 1.4, alpha=0.45 if ours else 1.0,
                linestyle="-" if ours else "--", label=name)  # fmt: skip
    ax.set_xlabel("seconds")
    ax.set_ylabel("echo-return-loss enhancement, dB")
    legend(ax)
    save(ax, path)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.echo", description=__doc__)
    parser.add_argument("--data", type=Path, metavar="FOLDER")
    parser.add_argument("--picture", type=Path, metavar="FILE")
    parser.add_argument("--quick", action="store_true", help="few rounds; with --data, without padasip's RLS")
    options = parser.parse_args()
    if options.data is None:
        print(measure(options.quick).text())
        return
    curves = follow(*recorded(options.data), options.quick)
    print(table(curves).text())
    if options.picture is not None:
        draw(curves, options.picture)


if __name__ == "__main__":
    pin()
    main()
