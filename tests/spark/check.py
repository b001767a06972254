"""Findings from Spark equal those of one machine, whatever happens to a worker, and one poisoned file costs one row."""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from cluster import ROOT, Cluster, told

BEGUN = time.monotonic()
MAPPING = """name = "exported"
about = "samples of a warehouse"
[time]
column = "ts"
unit = "milliseconds"
[gpu]
column = "uuid"
host_column = "node"
[[metric]]
column = "util"
metric = "gpu_utilization_pct"
[[metric]]
column = "used"
metric = "framebuffer_used_bytes"
"""


def say(text):
    print(f"[{time.monotonic() - BEGUN:4.0f} s] {text}", flush=True)


def run(*line, cwd=None):
    done = subprocess.run([str(it) for it in line], cwd=cwd, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{line} ended with code {done.returncode}: {done.stderr[-2000:]}")
    return done.stdout


def rows(place):
    """Rows of a table of findings, in order, without what names folders."""
    table = ds.dataset(str(place), format="parquet").to_table().to_pylist()
    for row in table:
        row["recording"] = row["recording"] and row["recording"].rsplit("/", 1)[-1]
        row.pop("input_key", None)
    return sorted(table, key=lambda it: (it["recording"] or "", it["host"] or "", it["gpu"] or "", it["window"] or ""))


def same(found, expected, what):
    """Equal rows; of an error only that it is there, since it names a folder."""
    for it in (*found, *expected):
        it["error"] = it["error"] and "an error"
    assert len(found) == len(expected), f"{what}: {len(found)} rows, and {len(expected)} were expected"
    for one, other in zip(found, expected):
        different = [it for it in other if one[it] != other[it]]
        assert not different, f"{what}: {one['host']} {one['gpu']} differs in {different}"
    say(f"{what}: {len(found)} rows are equal")


def check(options, folder):
    binary, make = options.binary.resolve(), ROOT / "target/debug/examples/made_fleet"
    lake = folder / "here" / "lake"
    run(make, lake, "--gpus", options.gpus, "--hours", options.hours)
    poisoned = lake / "host=poisoned"
    poisoned.mkdir()
    whole = next(lake.glob("host=node-000/segment-*.parquet")).read_bytes()
    (poisoned / "segment-000000.parquet").write_bytes(whole[: len(whole) // 2])
    say(f"{options.gpus} GPUs x {options.hours} h at 1 s: {sum(it.stat().st_size for it in lake.rglob('*.parquet')) / 1e6:.0f} MB, and a torn file")
    run(binary, "findings", lake, "--no-keep", "--out", folder / "plain.parquet")
    say("one machine is done")
    cluster = Cluster(workers=2)
    try:
        say("a cluster of two workers is up")
        by_files(options, folder, lake, binary, cluster)
        shutil.rmtree(poisoned)
        again = cluster.run(binary, lake, folder / "out")
        assert "0 recordings to look at" in again[0], again
        assert told(again) == (options.gpus, 0), again
        say("a second run looks at nothing that did not change")
        if options.plan_all:
            plans(folder / "here", folder / "out", binary)
        small = folder / "small" / "lake"
        run(make, small, "--gpus", 4, "--hours", 2)
        run(binary, "findings", small, "--no-keep", "--out", folder / "small.parquet", "--one-of-many")
        cluster.run(binary, small, folder / "rows", "--rows")
        same(rows(folder / "rows"), rows(folder / "small.parquet"), "row by row")
        plans(folder / "small", folder / "rows", binary)
        windows(folder, small, binary, cluster)
        foreign(folder, small, binary, cluster)
    finally:
        cluster.stop()


def by_files(options, folder, lake, binary, cluster):
    """The first run, in the middle of which a worker dies."""
    job = cluster.submit(binary, lake, folder / "out")
    deadline, victim = time.monotonic() + 300, None
    while victim is None:
        assert job.poll() is None and time.monotonic() < deadline, f"no worker was seen computing: {job.communicate()[0][-3000:]}"
        victim = next((it for it in cluster.workers if cluster.is_computing(it)), None)
        time.sleep(0.02)
    cluster.kill(victim)
    say("a worker was killed while it computed")
    text, _ = job.communicate(timeout=900)
    assert job.returncode == 0, text[-4000:]
    lines = [it for it in text.splitlines() if it.startswith("cotenant:")]
    assert told(lines) == (options.gpus, 1), lines
    same(rows(folder / "out"), rows(folder / "plain.parquet"), "with a dead worker and a torn file")


def plans(here, found, binary):
    """The plan from findings is the plan from recordings, byte for byte."""
    there = found.parent / f"plan-of-{found.name}"
    there.mkdir()
    shutil.copytree(found, there / "lake")
    one = run(binary, "plan", "lake", "--no-keep", "-o", "json", cwd=here)
    other = run(binary, "plan", "lake", "--no-keep", "-o", "json", cwd=there)
    assert one == other, "the plan from findings of Spark is another one"
    say(f"the plan is the same, byte for byte ({len(one)} bytes)")


def windows(folder, small, binary, cluster):
    """Windows hold the rows that lie in them, with an edge; devices with too many rows are cut, and add up."""
    hour, edge, step = 3600 * 10**6, 300 * 10**6, 10**6
    stamps = sorted({it for file in small.rglob("*.parquet") for it in pc.cast(pq.read_table(file)["time"], pa.int64()).to_pylist()})
    gpus = {it["gpu"] for it in rows(folder / "rows")}
    cluster.run(binary, small, folder / "windows", "--window", "1h", "--overlap", "5m")
    expected = {}
    for number in range((stamps[0] - edge) // hour, (stamps[-1] + edge) // hour + 1):
        inside = [it for it in stamps if number * hour - edge <= it < (number + 1) * hour + edge]
        expected |= {(gpu, str(number)): len(inside) for gpu in gpus if inside}
    found = {(it["gpu"], it["window"]): (it["until_us"] - it["from_us"]) / step for it in rows(folder / "windows")}
    assert found.keys() == expected.keys(), f"windows: {sorted(found)} are found, and {sorted(expected)} were expected"
    wrong = {it: (found[it], expected[it]) for it in expected if abs(found[it] - expected[it]) > 1.5}
    assert not wrong, f"windows: seconds that are found, and expected: {wrong}"
    say(f"windows with edges: {len(found)} findings, each of the stretch that was asked for")
    count = sum(len(pq.read_table(it)) for it in small.rglob("*.parquet")) // len(gpus)
    cluster.run(binary, small, folder / "split", "--split-rows", count * 2 // 3)
    found = rows(folder / "split")
    assert len(found) == 2 * len(gpus), [(it["gpu"], it["window"]) for it in found]
    for whole in rows(folder / "rows"):
        first, last = sorted((it for it in found if it["gpu"] == whole["gpu"]), key=lambda it: it["from_us"])
        same_ends = abs(first["from_us"] - whole["from_us"]) < step and abs(last["until_us"] - whole["until_us"]) < step
        assert same_ends and 0 <= last["from_us"] - first["until_us"] <= step, f"split: {whole['gpu']} has a hole or an overlap"
        seen = first["seen_s"] + last["seen_s"]
        assert abs(seen - whole["seen_s"]) <= 2, f"split: {whole['gpu']} was seen for {seen} s, and for {whole['seen_s']} s as a whole"
        busy = (first["busy_mean_ratio"] * first["seen_s"] + last["busy_mean_ratio"] * last["seen_s"]) / seen
        assert abs(busy - whole["busy_mean_ratio"]) < 1e-3, f"split: {whole['gpu']} is busy {busy}, and {whole['busy_mean_ratio']} as a whole"
    halves, plan = folder / "halves", ("--no-keep", "-o", "json")
    halves.mkdir()
    shutil.copytree(folder / "split", halves / "lake")
    one = json.loads(run(binary, "plan", "lake", *plan, cwd=halves))["plan"]["summary"]
    other = json.loads(run(binary, "plan", "lake", *plan, cwd=folder / "small"))["plan"]["summary"]
    assert one["gpus"] == other["gpus"] == len(gpus), (one, other)
    say("devices that are cut have the same busy time in sum, and the plan has each of them once")


def plain(table):
    """The same without views of texts, which pyarrow cannot filter."""
    fields = [pa.field(it.name, pa.string() if it.type == pa.string_view() else it.type) for it in table.schema]
    return table.cast(pa.schema(fields))


def foreign(folder, small, binary, cluster):
    """A table of somebody else, in which one device has stamps that are none."""
    table = pa.concat_tables([plain(pq.read_table(it)) for it in small.rglob("*.parquet")], promote_options="default")
    table = table.filter(pc.is_null(table["pid"]))
    uuid = pc.replace_substring(pc.cast(table["gpu"], pa.string()), "GPU-", "GPU-5f1c")
    stamps = pc.cast(pc.divide(pc.cast(table["time"], pa.int64()), 1000), pa.string())
    stamps = pc.if_else(pc.equal(uuid, "GPU-5f1c0001"), "yesterday", stamps)
    place = folder / "warehouse"
    place.mkdir()
    cells = {"ts": stamps, "uuid": uuid, "node": pa.array(["n"] * len(table)),
             "util": table["gpu_utilization_pct"], "used": table["framebuffer_used_bytes"]}
    pq.write_table(pa.table(cells), place / "samples.parquet")
    mapping = folder / "exported.toml"
    mapping.write_text(MAPPING)
    line = (place, folder / "foreign", "--mapping", "exported.toml", "--gpu-column", "uuid", "--host-column", "node", "--time-column", "ts")
    lines = cluster.run(binary, *line, files=[mapping])
    found = rows(folder / "foreign")
    bad = [it for it in found if it["error"]]
    assert len(found) == 4 and len(bad) == 1 and bad[0]["gpu"] == "GPU-5f1c0001", [(it["gpu"], it["error"]) for it in found]
    assert told(lines) == (3, 1), lines
    say(f"a foreign table with a poisoned device: 3 findings, and one row says: {bad[0]['error'][:90]}")
    again = cluster.run(binary, *line, files=[mapping])
    assert "0 devices to look at, 4 unchanged" in again[0] and told(again) == (3, 1), again
    same(rows(folder / "foreign"), found, "a foreign table again, of which nothing is looked at")
    more = {name: it.slice(len(table) - 1) for name, it in cells.items()}
    more["ts"] = pa.array([str(int(more["ts"][0].as_py()) + 1000)])
    pq.write_table(pa.table(more), place / "later.parquet")
    again = cluster.run(binary, *line, files=[mapping])
    assert "1 devices to look at, 3 unchanged" in again[0] and told(again) == (3, 1), again
    changed = [it["gpu"] for it, before in zip(rows(folder / "foreign"), found) if it["until_us"] != before["until_us"]]
    assert changed == [more["uuid"][0].as_py()], changed
    say(f"of a foreign table with a row more only {changed[0]} is looked at")
    numbered(folder, binary, cluster)


def numbered(folder, binary, cluster):
    """GPUs with numbers for names, of which one ends in another, and one with a bare UUID."""
    place = folder / "numbered"
    place.mkdir()
    cells = {"ts": [], "uuid": [], "node": [], "util": [], "used": []}
    bare = "34319582-d595-d1c7-d1d2-179bcfa61660"
    for gpu in ("1", "11", bare):
        for second in range(300):
            row = (str(1_700_000_000_000 + second * 1000), gpu, "n", 90.0 * (second % 10 < 5), 2e9)
            for column, cell in zip(cells.values(), row):
                column.append(cell)
    pq.write_table(pa.table(cells), place / "samples.parquet")
    line = (place, folder / "few", "--mapping", "exported.toml", "--gpu-column", "uuid", "--host-column", "node", "--time-column", "ts")
    for expected in ("3 devices to look at, 0 unchanged", "0 devices to look at, 3 unchanged"):
        lines = cluster.run(binary, *line, files=[folder / "exported.toml"])
        assert expected in lines[0] and told(lines) == (3, 0), lines
    names = [it["gpu"] for it in rows(folder / "few")]
    assert names == [f"GPU-{bare}", "gpu1", "gpu11"], names
    say("GPUs 1 and 11 and one of a bare UUID stay three, and are known again")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gpus", type=int, default=64)
    parser.add_argument("--hours", type=float, default=24)
    parser.add_argument("--plan-all", action="store_true", help="plan the large fleet, too: minutes with a debug build")
    parser.add_argument("--binary", type=Path, default=ROOT / "target/debug/cotenant")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="cotenant-spark-", dir=os.environ.get("TMPDIR")))
    try:
        check(options, folder)
    except (AssertionError, RuntimeError, subprocess.TimeoutExpired) as error:
        say(f"FAILED: {error}")
        sys.exit(1)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    say("all held")


if __name__ == "__main__":
    main()
