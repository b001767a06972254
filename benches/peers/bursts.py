"""Burst profile of one series with numpy and with pandas; prints `name<TAB>version<TAB>seconds`.

The same figures as the program: levels from percentiles, bursts by hysteresis, lengths, heights and masses of bursts, gaps,
time by length and height, index of dispersion, Allan factor at scales that double. Processor time of one thread, best of three.
"""

import os
import sys
import time

for threads in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ[threads] = "1"

try:
    import numpy
except ImportError:
    sys.exit(0)

STEP_S = 0.1


def levels(values):
    low, high = numpy.percentile(values, [10, 95])
    rare, top = numpy.percentile(values, [99.9, 100])
    if high - low < 0.1:
        high = rare if rare - low >= 0.5 else top
    return low + 0.5 * (high - low), low + 0.3 * (high - low)


def is_on(values, on, off):
    """Each sample takes the state of the last one that was beyond a level."""
    state = numpy.where(values >= on, 1, numpy.where(values < off, 0, -1))
    state[0] = max(state[0], 0)
    last = numpy.where(state >= 0, numpy.arange(len(state)), 0)
    return state[numpy.maximum.accumulate(last)] == 1


def rhythm(first, count):
    onsets = numpy.zeros(count)
    onsets[first] = 1
    tens = onsets[: count // 10 * 10].reshape(-1, 10).sum(axis=1)
    dispersion = tens.var() / tens.mean()
    allan, scale = [], 1
    while count // scale >= 20:
        windows = onsets[: count // scale * scale].reshape(-1, scale).sum(axis=1)
        allan.append(((windows[1:] - windows[:-1]) ** 2).mean() / (2 * windows.mean()))
        scale *= 2
    return dispersion, allan


def by_numpy(values):
    busy = is_on(values, *levels(values))
    edges = numpy.diff(numpy.concatenate(([0], busy.astype(numpy.int8), [0])))
    first, end = numpy.flatnonzero(edges == 1), numpy.flatnonzero(edges == -1)
    lengths, gaps = end - first, first[1:] - end[:-1]
    heights = numpy.array([numpy.percentile(values[a:b], 95) for a, b in zip(first, end)])
    masses = numpy.add.reduceat(values, first) if len(first) else numpy.zeros(0)
    classes = numpy.minimum((values[busy] * 20).astype(int), 19)
    extents, *_ = numpy.histogram2d(numpy.repeat(lengths, lengths), classes, bins=[numpy.unique(lengths).size, 20])
    found = [numpy.percentile(it, [50, 90, 100]) for it in (lengths, gaps, heights, masses)]
    return len(first), found, extents.sum(), rhythm(first, len(values))


def by_pandas(values):
    series = pandas.Series(values)
    on, off = levels(series)
    busy = pandas.Series(numpy.where(series >= on, 1.0, numpy.where(series < off, 0.0, numpy.nan))).ffill().fillna(0) == 1
    run = (busy != busy.shift()).cumsum()
    runs = series.groupby(run)
    table = pandas.DataFrame({"length": runs.size(), "height": runs.quantile(0.95), "mass": runs.sum(), "busy": busy.groupby(run).first()})
    first = numpy.flatnonzero(busy & ~busy.shift(fill_value=False))
    found = [table[table.busy][it].quantile([0.5, 0.9, 1]) for it in ("length", "height", "mass")]
    found.append(table[~table.busy].length.quantile([0.5, 0.9, 1]))
    length = table.length.reindex(run).to_numpy()
    extents = pandas.crosstab(length[busy], numpy.minimum((series[busy] * 20).astype(int), 19))
    return len(first), found, extents.to_numpy().sum(), rhythm(first, len(values))


def best(work, values):
    seconds = []
    for _ in range(3):
        start = time.process_time()
        found = work(values)
        seconds.append(time.process_time() - start)
    print(found[0], "bursts", file=sys.stderr)
    return min(seconds)


values = numpy.fromfile(sys.argv[1], dtype="<f8")
print("numpy", numpy.__version__, best(by_numpy, values), sep="\t")
try:
    import pandas

    print("pandas", pandas.__version__, best(by_pandas, values), sep="\t")
except ImportError:
    pass
