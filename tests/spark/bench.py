"""Throughput for each core through Spark against the same binary on plain files, and what a second worker brings.

Every part is held to cores of its own (`taskset`), so that the time on the wall is the time of so many cores: the plain run and the
first worker with everything that it starts to core 0, the second worker to core 1, where the driver is too.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from cluster import ROOT, Cluster, ProcessorTime


def timed(*line):
    begun = time.monotonic()
    subprocess.run([str(it) for it in line], check=True, capture_output=True)
    return time.monotonic() - begun


def computing(lines):
    """Seconds of the job that computed and wrote the findings."""
    return float(re.search(r"in ([0-9.]+) s$", lines[-1])[1])


def shuffled(folder):
    """Bytes that went through the shuffle of all jobs whose events lie in a folder."""
    total = 0
    for path in folder.rglob("*"):
        if path.is_file():
            for line in path.read_text(errors="replace").splitlines():
                if '"SparkListenerTaskEnd"' in line:
                    metrics = json.loads(line).get("Task Metrics") or {}
                    total += metrics.get("Shuffle Write Metrics", {}).get("Shuffle Bytes Written", 0)
    return total


def overhead(options, made, folder):
    """What Spark itself takes for whole files: processor time with a program that only reads, for two fleets, one four times the other.

    The difference leaves out what is there once: virtual machines, Python, the first of everything.
    """
    host = next(made.glob("host=*"))
    canned = folder / "canned.arrows"
    subprocess.run([options.binary, "findings", host, "--no-keep", "--out", canned], check=True, capture_output=True)
    program = folder / "reads-only"
    program.write_text(f"#!/bin/sh\ncase \" $* \" in *\" --arrow \"*) cat > /dev/null;; esac\nfor it in \"$@\"; do if [ -d \"$it\" ]; then cat \"$it\"/* > /dev/null; fi; done\ncat {canned}\n")
    program.chmod(0o755)
    spent = []
    for copies in (1, 4):
        lake = folder / f"null-{copies}"
        for copy in range(copies * options.copies):
            for it in made.glob("host=*"):
                shutil.copytree(it, lake / f"{it.name}-{copy}")
        cluster = Cluster(1)
        clock = ProcessorTime(cluster.workers[0].pid)
        try:
            more = ["--rows"] if options.rows else []
            cluster.run(program, lake, folder / f"null-out-{copies}", *more, cores=1)
        finally:
            cluster.stop()
        spent.append((options.gpus * options.copies * copies, clock.stop()))
        print(f"a program that only reads, {spent[-1][0]} GPU-days: {spent[-1][1]:.1f} s of processor time on the worker", flush=True)
    (few, less), (many, more) = spent
    print(f"what Spark itself takes for a GPU-day more: {(more - less) / (many - few):.4f} core-seconds")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bench", action="store_true")
    parser.add_argument("--gpus", type=int, default=64, help="GPUs that are made; a day each at one sample a second")
    parser.add_argument("--copies", type=int, help="how often the hosts are there [16, and 4 with --overhead]: tasks of seconds would measure how Spark starts them")
    parser.add_argument("--lake", type=Path, help="recordings that are there already, instead")
    parser.add_argument("--binary", type=Path, default=ROOT / "target/release/cotenant")
    parser.add_argument("--skip-rows", action="store_true")
    parser.add_argument("--rows", action="store_true", help="with --overhead: row by row")
    parser.add_argument("--overhead", action="store_true", help="only what Spark itself takes; any build will do")
    options = parser.parse_args()
    options.copies = options.copies or (4 if options.overhead else 16)
    if not options.binary.exists():
        sys.exit(f"{options.binary} is not there: a debug build would hide what Spark costs; cargo build --release")
    folder = Path(tempfile.mkdtemp(prefix="cotenant-spark-bench-"))
    made, lake = options.lake or folder / "made", folder / "lake"
    if not options.lake:
        subprocess.run([ROOT / "target/debug/examples/made_fleet", made, "--gpus", str(options.gpus), "--hours", "24"], check=True)
    if options.overhead:
        overhead(options, made, folder)
        shutil.rmtree(folder)
        return
    for copy in range(options.copies):
        for host in made.glob("host=*"):
            shutil.copytree(host, lake / f"{host.name}-{copy}")
    size = sum(it.stat().st_size for it in lake.rglob("*.parquet"))
    days = options.gpus * options.copies
    binary = options.binary.resolve()
    results = {}

    def spark(name, workers, *more, source=lake):
        cluster = Cluster(workers, cores=list(range(workers)))
        events = folder / f"events-{name}"
        events.mkdir()
        try:
            lines = cluster.run(binary, source, folder / name, *more, pin=["taskset", "-c", "1"], cores=workers, events=events)
        finally:
            cluster.stop()
        results[name] = (computing(lines), shuffled(events))

    plain = timed("taskset", "-c", "0", binary, "--threads", "1", "findings", lake, "--no-keep", "--out", folder / "plain.parquet")
    spark("one", 1)
    spark("two", 2)
    plain = min(plain, timed("taskset", "-c", "0", binary, "--threads", "1", "findings", lake, "--no-keep", "--out", folder / "plain.parquet"))
    (one, moved), (two, _) = results["one"], results["two"]
    print(f"| what | {days} GPU-days, {size / 1e6:.0f} MB | GPU-days for each core and second |\n|---|---|---|")
    print(f"| plain files, one core | {plain:.1f} s | {days / plain:.2f} |")
    print(f"| Spark, whole files, one worker of one core | {one:.1f} s | {days / one:.2f} |")
    print(f"| Spark, whole files, two workers | {two:.1f} s | {days / two / 2:.2f} |")
    print(f"| shuffled, whole files | {moved / days / 1e6:.2f} MB for each GPU-day | |")
    print(f"throughput for each core against plain files: {100 * plain / one:.0f} % (at least 70 %)")
    print(f"one worker to two: {one / two:.2f} (at least 1.7)")
    if not options.skip_rows:
        part = folder / "part"
        for host in sorted(made.glob("host=*"))[:2]:
            shutil.copytree(host, part / host.name)
        alone = timed("taskset", "-c", "0", binary, "--threads", "1", "findings", part, "--no-keep", "--out", folder / "part.parquet")
        spark("rows", 1, "--rows", source=part)
        taken, moved = results["rows"]
        print(f"| Spark, row by row, one worker, 16 GPU-days | {taken:.1f} s | {16 / taken:.2f} |")
        print(f"| shuffled, row by row | {moved / 16 / 1e6:.1f} MB for each GPU-day | |")
        print(f"row by row against plain files: {100 * alone / taken:.0f} %")
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
