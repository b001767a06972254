"""Conditional Granger tests of a victim's first two suspects with statsmodels and with numpy; prints `name<TAB>version<TAB>seconds for a pair`.

The same columns as the program: 8 own lags, load at lags 0 to 8, its square at 0 to 2, suspects at lags 0 to 5, drift out of
every column stretch by stretch. Making the columns is counted once for all suspects of the victim. Processor time of one thread.
"""

import os
import sys
import time

for threads in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ[threads] = "1"

import numpy

OWN, SQUARES, REACH, NEAR, TESTED = 8, 2, 5, 1, 2


def lag(series, by):
    return series[OWN - by : len(series) - by]


def columns(victim, load, suspects):
    parts = [lag(victim, by) for by in range(1, OWN + 1)]
    parts += [lag(load, by) for by in range(OWN + 1)] + [lag(load, by) ** 2 for by in range(SQUARES + 1)]
    parts += [lag(suspect, by) for suspect in suspects for by in range(REACH + 1)]
    return numpy.column_stack(parts + [lag(victim, 0)])


def without_drift(table, bins):
    count = -(-bins // 600)
    spent = 0
    for it in range(count):
        first, end = bins * it // count, bins * (it + 1) // count
        rows = numpy.arange(max(first, OWN), end)
        waves = max(2, (end - first) // 100)
        basis = numpy.cos(numpy.pi * numpy.outer(rows - first + 0.5, numpy.arange(waves + 1)) / (end - first))
        q, _ = numpy.linalg.qr(basis)
        part = table[rows - OWN]
        table[rows - OWN] = part - q @ (q.T @ part)
        spent += waves + 1
    return spent


def pair(fit, table, suspect, spent):
    first = table.shape[1] - 1 - (REACH + 1) * suspect_count + suspect * (REACH + 1)
    own = list(range(first, first + REACH + 1))
    rest = [it for it in range(table.shape[1] - 1) if it not in own]
    found = []
    reduced = fit(table[:, -1], table[:, rest])
    for reach in (NEAR, REACH):
        full = fit(table[:, -1], table[:, rest + own[: reach + 1]])
        spare = len(table) - spent - len(rest) - reach - 1
        f = (reduced - full) / (reach + 1) / (full / spare)
        found.append(stats.f.sf(f, reach + 1, spare))
    return found


numbers = numpy.fromfile(sys.argv[1], dtype="<f8")
series = numbers[1:].reshape(int(numbers[0]), -1)
suspect_count = len(series) - 2
try:
    import statsmodels
    import statsmodels.api
    from scipy import stats
except ImportError:
    sys.exit(0)
start = time.process_time()
table = columns(series[0], series[1], series[2:])
spent = without_drift(table, series.shape[1])
made = time.process_time() - start
for name, version, fit in [
    ("statsmodels OLS", statsmodels.__version__, lambda y, x: statsmodels.api.OLS(y, x).fit().ssr),
    ("statsmodels OLS by QR", statsmodels.__version__, lambda y, x: statsmodels.api.OLS(y, x).fit(method="qr").ssr),
    ("numpy lstsq", numpy.__version__, lambda y, x: numpy.linalg.lstsq(x, y)[1][0]),
]:
    start = time.process_time()
    found = [pair(fit, table, it, spent) for it in range(TESTED)]
    seconds = (time.process_time() - start) / TESTED + made / suspect_count
    print(name, version, seconds, sep="\t")
    print(found, file=sys.stderr)
