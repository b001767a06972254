"""Reads a CSV file with pandas and polars, each alone; prints `name<TAB>version<TAB>seconds` (best of five)."""

import sys
import time


def best(read):
    seconds = []
    for _ in range(5):
        start = time.perf_counter()
        read()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


path = sys.argv[1]
try:
    import pandas

    print("pandas.read_csv", pandas.__version__, best(lambda: pandas.read_csv(path)), sep="\t")
except ImportError:
    pass
try:
    import polars

    print("polars.read_csv", polars.__version__, best(lambda: polars.read_csv(path)), sep="\t")
except ImportError:
    pass
