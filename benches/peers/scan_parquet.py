"""Collects a whole recording with polars.scan_parquet, file by file; prints `name<TAB>version<TAB>seconds` (best of three)."""

import glob
import sys
import time

try:
    import polars
except ImportError:
    sys.exit(0)

files = sorted(glob.glob(sys.argv[1] + "/*.parquet"))
seconds = []
for _ in range(3):
    start = time.perf_counter()
    for file in files:
        polars.scan_parquet(file).collect()
    seconds.append(time.perf_counter() - start)
print("polars.scan_parquet", polars.__version__, min(seconds), sep="\t")
