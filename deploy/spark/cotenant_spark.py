"""Findings of every GPU of a fleet, on Apache Spark 4: Spark reads, partitions and retries; cotenant computes.

    spark-submit --files /usr/local/bin/cotenant cotenant_spark.py s3a://lake/recordings s3a://lake/findings
    cotenant plan findings/

Recordings of cotenant go to a task as whole files. Tables of anybody else (`--mapping`), windows of time (`--window`) and devices
with too many rows (`--split-rows`) go row by row, sorted by device. docs/SPARK.md says what each option does and costs.
"""

import argparse
import hashlib
import heapq
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import unquote

import pyarrow as pa
from pyspark import SparkFiles
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

COLUMNS = {
    "findings_version": "long", "cotenant_version": "string", "thresholds": "string", "recording": "string",
    "host": "string", "gpu": "string", "window": "string", "index": "long", "model": "string", "total_mib": "double",
    "from_us": "long", "until_us": "long", "seen_s": "double", "interval_s": "double", "busy_mean_ratio": "double",
    "tenants": "long", "error": "string", "finding": "string",
}
ARROW_TYPES = {"long": pa.int64(), "double": pa.float64(), "string": pa.string()}
RESULT = dict(COLUMNS, input_key="string")
SPARK_SCHEMA = ", ".join(f"`{name}` {kind}" for name, kind in RESULT.items())
ARROW_SCHEMA = pa.schema([(name, ARROW_TYPES[kind]) for name, kind in RESULT.items()])
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def seconds(text):
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd])", text)
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r} is no length of time: write 90s, 15m, 24h or 7d")
    return float(found[1]) * UNITS[found[2]]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("input", help="folder that Spark can read: recordings, or Parquet files of rows")
    parser.add_argument("output", help="folder for findings; the last run's are kept where nothing changed")
    parser.add_argument("--binary", default="cotenant", help="name under which --files ships it, or its path on every machine")
    parser.add_argument("--policy", help="name of a shipped file of thresholds (TOML); `cotenant plan` needs the same")
    parser.add_argument("--mapping", help="name of a shipped mapping file, or a preset: the input is foreign Parquet")
    parser.add_argument("--gpu-column", default="gpu", help="foreign input: column of the GPU")
    parser.add_argument("--host-column", default="host", help="foreign input: column of the host")
    parser.add_argument("--time-column", default="time", help="foreign input: column of the stamp")
    parser.add_argument("--rows", action="store_true", help="recordings go row by row, too")
    parser.add_argument("--window", type=seconds, help="a finding for each such stretch of a device, as 24h; `plan` joins them")
    parser.add_argument("--overlap", type=seconds, default=0.0, help="how far a window reaches into its neighbours, as 5m")
    parser.add_argument("--split-rows", type=int, help="devices with more rows are cut into windows of about so many")
    parser.add_argument("--partitions", type=int, help="tasks [default: four for each core]")
    parser.add_argument("--fresh", action="store_true", help="compute everything anew")
    return parser.parse_args()


# ---- on every machine ----------------------------------------------------------------------------------------------------------

def command(options, *more):
    shipped = lambda name: SparkFiles.get(name) if os.path.exists(SparkFiles.get(name)) else name
    binary = shipped(options.binary)
    if os.path.isfile(binary) and not os.access(binary, os.X_OK):
        os.chmod(binary, 0o755)
    line = [binary, "--threads", "1", "findings", *more, "-o", "arrow"]
    return line + (["--policy", shipped(options.policy)] if options.policy else [])


def started(line, **pipes):
    """The program on its way; an error that says what is to be shipped where it is not there."""
    try:
        return subprocess.Popen(line, **pipes)
    except FileNotFoundError as error:
        raise RuntimeError(f"{line[0]} is not on this machine: ship it with --files, and give its name or its path with --binary") from error


def finished(process, stderr):
    """Refuses the answer of a program that failed: Spark tries the task again, or tells its message."""
    if process.wait() != 0:
        stderr.seek(0)
        raise RuntimeError(f"cotenant ended with code {process.returncode}: {stderr.read()[-2000:].decode(errors='replace')}")


def result(batch, **same):
    """A batch of the program's table in the types of the result, with cells that are the same in every row."""
    table = pa.Table.from_batches([batch])
    none = lambda name: pa.nulls(len(table), ARROW_TYPES[RESULT[name]])
    cells = {name: table[name] if name in table.column_names else none(name) for name in RESULT}
    for name, value in same.items():
        cells[name] = pa.array([value] * len(table), ARROW_TYPES[RESULT[name]])
    return pa.table(cells, schema=ARROW_SCHEMA).to_batches()


def from_files(options, keys):
    """A task of whole files: each recording into a folder of its own, through the program, and away."""
    def one(recording, folder):
        with tempfile.TemporaryFile() as stderr:
            place = os.path.join(folder, unquote(recording.rstrip("/").split("/")[-1]))
            parent = re.search(r"host=[^/]+", unquote(recording))
            named = os.path.join(folder, parent[0], os.path.basename(place)) if parent and "host=" not in os.path.basename(place) else place
            if named != place:
                os.makedirs(os.path.dirname(named))
                os.rename(place, named)
            process = started(
                command(options, "--no-keep", "--one-of-many", named), stdout=subprocess.PIPE, stderr=stderr)
            batches, broken = [], None
            try:
                with pa.ipc.open_stream(process.stdout) as stream:
                    batches = list(stream)
            except pa.ArrowInvalid as error:
                broken = error
            finished(process, stderr)
            if broken:
                raise broken
        for batch in batches:
            if len(batch):
                table = pa.table(batch.columns, schema=batch.schema)
                place = table.column_names.index("error")
                told = [it and it.replace(named, unquote(recording)) for it in table["error"].to_pylist()]
                table = table.set_column(place, "error", pa.array(told, pa.string()))
                for part in table.to_batches():
                    yield from result(part, recording=unquote(recording), input_key=keys.value.get(recording))

    def recordings(batches):
        """Whose files lie in which folder, for one recording after the other."""
        current, folder = None, None
        try:
            for batch in batches:
                for row in batch.to_pylist():
                    if row["recording"] != current:
                        if current is not None:
                            yield current, folder
                            shutil.rmtree(folder)
                        current, folder = row["recording"], tempfile.mkdtemp(prefix="cotenant-")
                    place = os.path.join(folder, unquote(current.rstrip("/").split("/")[-1]))
                    os.makedirs(place, exist_ok=True)
                    with open(os.path.join(place, unquote(row["path"].split("/")[-1])), "wb") as file:
                        file.write(row["content"])
            if current is not None:
                yield current, folder
        finally:
            if folder is not None:
                shutil.rmtree(folder, ignore_errors=True)

    def task(batches):
        for recording, folder in recordings(batches):
            yield from one(recording, folder)
    return task


def with_outlines(batches, outlines):
    """Puts what the footers know in front of the rows of each device."""
    last = None
    for batch in batches:
        if not len(batch):
            continue
        keys = [batch.column(batch.schema.get_field_index(it)).to_pylist() for it in ("recording", "device", "window")]
        keys = list(zip(*keys))
        first = 0
        for row in range(len(keys) + 1):
            if row < len(keys) and keys[row] == last:
                continue
            if row > first:
                yield batch.slice(first, row - first)
            if row == len(keys):
                break
            first, last = row, keys[row]
            told = outlines.value.get(last[0], [])
            cells = dict(zip(("recording", "device", "window"), last), host=batch.column("host")[row].as_py())
            facts = [dict(cells, outline=it) for it in told]
            if facts:
                yield pa.RecordBatch.from_pylist(facts, schema=batch.schema)


def from_rows(options, outlines):
    """A task of rows, sorted by device: all of them through one program."""
    def task(batches):
        batches = with_outlines(batches, outlines) if outlines else batches
        first = next(batches, None)
        if first is None:
            return
        failure = []
        with tempfile.TemporaryFile() as stderr:
            mapping = []
            if options.mapping:
                shipped = SparkFiles.get(options.mapping)
                mapping = ["--mapping", shipped if os.path.exists(shipped) else options.mapping]
            process = started(
                command(options, "--arrow", *mapping), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr)

            def feed():
                try:
                    with process.stdin, pa.ipc.new_stream(process.stdin, first.schema) as stream:
                        stream.write_batch(first)
                        for batch in batches:
                            stream.write_batch(batch)
                except BrokenPipeError:
                    pass
                except BaseException as error:
                    failure.append(error)
                    process.kill()

            feeder = threading.Thread(target=feed, daemon=True)
            feeder.start()
            broken = None
            try:
                with pa.ipc.open_stream(process.stdout) as stream:
                    for batch in stream:
                        if len(batch):
                            yield from result(batch)
            except pa.ArrowInvalid as error:
                broken = error
            feeder.join()
            if failure:
                raise failure[0]
            finished(process, stderr)
            if broken:
                raise broken
    return task


# ---- on the driver -------------------------------------------------------------------------------------------------------------

def listed(spark, folder):
    """Recordings of cotenant below a folder: their files, with what changes when a file does."""
    files = (spark.read.format("binaryFile").option("recursiveFileLookup", True).option("pathGlobFilter", "segment-*.parquet")
             .load(folder).select("path", "length", F.col("modificationTime").cast("double")).collect())
    recordings = {}
    for path, length, changed in sorted(files):
        recordings.setdefault(path.rsplit("/", 1)[0], []).append((path, length, changed))
    return recordings


def footers(spark, paths):
    """The outline of each segment, through Hadoop; `None` where a footer cannot be read."""
    jvm, conf = spark._jvm, spark._jsc.hadoopConfiguration()

    def footer(path):
        try:
            file = jvm.org.apache.parquet.hadoop.util.HadoopInputFile.fromPath(jvm.org.apache.hadoop.fs.Path(path), conf)
            reader = jvm.org.apache.parquet.hadoop.ParquetFileReader.open(file)
            try:
                return reader.getFooter().getFileMetaData().getKeyValueMetaData().get("cotenant")
            finally:
                reader.close()
        except Exception as error:
            return error

    with ThreadPoolExecutor(16) as pool:
        return dict(zip(paths, pool.map(footer, paths)))


def shares(spark, sizes, tasks):
    """For each recording a number that Spark's partitioner sends to one of so many tasks, the tasks about equal in bytes."""
    numbers = spark.range(64 * tasks).select(F.col("id"), F.pmod(F.hash("id"), F.lit(tasks))).collect()
    sent_to = {task: number for number, task in reversed(numbers)}
    loads = sorted((0, number) for number in sent_to.values())
    found = {}
    for recording, size in sorted(sizes.items(), key=lambda it: (-it[1], it[0])):
        load, found[recording] = loads[0]
        heapq.heapreplace(loads, (load + size, found[recording]))
    return found


def by_files(spark, options, todo):
    keys = spark.sparkContext.broadcast({it: key for it, (key, _) in todo.items()})
    paths = [path for _, files in todo.values() for path, _, _ in files]
    options.partitions = min(options.partitions, len(todo))
    share = shares(spark, {it: sum(size for _, size, _ in files) for it, (_, files) in todo.items()}, options.partitions)
    # As a table of Arrow it is there at once; as a list it would be a job of its own, with Python on every machine.
    share = spark.createDataFrame(pa.table({"recording": list(share), "task": pa.array(share.values(), pa.int64())}))
    files = (spark.read.format("binaryFile").load(paths)
             .select(F.regexp_replace("path", "/[^/]*$", "").alias("recording"), "path", "content"))
    # A recording without a number would still be looked at.
    return (files.join(F.broadcast(share), "recording", "left").repartition(options.partitions, "task").drop("task")
            .sortWithinPartitions("recording", "path").mapInArrow(from_files(options, keys), SPARK_SCHEMA))


def windowed(rows, options, keys, time):
    """Rows with the window that each is in; twice where windows overlap."""
    if not (options.window or options.split_rows):
        return rows.withColumn("window", F.lit(None).cast("string"))
    micros = F.unix_micros(F.col(time).cast("timestamp"))
    if options.window:
        rows = rows.withColumn("_length", F.lit(int(options.window * 1e6))).withColumn("_start", F.lit(0)).withColumn("_end", F.lit(0))
    else:
        sizes = rows.groupBy(*keys).agg(F.count(F.lit(1)).alias("_rows"), F.min(micros).alias("_start"), F.max(micros).alias("_end"))
        pieces = F.ceil(F.col("_rows") / options.split_rows)
        sizes = sizes.select(*[F.col(it).alias(f"_{it}") for it in keys], "_start", "_end",
                             F.ceil((F.col("_end") - F.col("_start") + 1) / pieces).alias("_length"))
        same = [F.col(it).eqNullSafe(F.col(f"_{it}")) for it in keys]
        rows = rows.join(F.broadcast(sizes), on=same, how="inner").drop(*[f"_{it}" for it in keys])
    place = (micros - F.col("_start")) / F.col("_length")
    edge = F.lit(options.overlap * 1e6) / F.col("_length")
    whose = F.array_distinct(F.array(F.floor(place), F.floor(place - edge), F.floor(place + edge)))
    if not options.window:
        # Nothing is before the first window of a device; the last ends after its last row.
        whose = F.filter(whose, lambda it: (it >= 0) & (it * F.col("_length") <= F.col("_end") - F.col("_start")))
    rows = rows.withColumn("window", F.explode(whose)).withColumn("window", F.col("window").cast("string"))
    return rows.drop("_length", "_start", "_end")


def by_rows(spark, options, todo):
    paths = [path for _, files in todo.values() for path, _, _ in files]
    told = footers(spark, paths)
    broken, outlines, only = [], {}, {}
    for recording, (key, files) in todo.items():
        wrong = [path for path, _, _ in files if not isinstance(told[path], str)]
        if wrong:
            broken.append((unquote(recording), key, f"damaged segment: {unquote(wrong[0])}: its footer cannot be read"))
            paths = [it for it in paths if not it.startswith(recording + "/")]
            continue
        own = [json.loads(told[path])["outline"] for path, _, _ in files]
        outlines[unquote(recording)] = [json.dumps(it) for it in own]
        gpus = {subject_gpu(it) for outline in own for it in outline["subjects"]} - {None}
        only[unquote(recording)] = gpus.pop() if len(gpus) == 1 else None
    empty = spark.createDataFrame([], SPARK_SCHEMA)
    errors = empty
    if broken:
        rows = [tuple({"recording": name, "error": why, "input_key": key, "host": host_of(name)}.get(it) for it in RESULT) for name, key, why in broken]
        errors = spark.createDataFrame(rows, SPARK_SCHEMA)
    if not paths:
        return errors
    rows = spark.read.option("mergeSchema", True).parquet(*paths)
    rows = rows.select("*", F.regexp_replace(F.col("_metadata.file_path"), "/[^/]*$", "").alias("_folder"),
                       F.col("_metadata.file_path").alias("_file"), F.col("_metadata.row_index").alias("_row"))
    names = [(it, unquote(it), host_of(unquote(it)), only.get(unquote(it))) for it in todo]
    names = spark.createDataFrame(names, "_folder string, recording string, host string, _only string")
    rows = rows.join(F.broadcast(names), "_folder").withColumn("device", F.coalesce("gpu", "_only")).drop("_folder", "_only")
    rows = windowed(rows, options, ["recording", "device"], "time").withColumn("outline", F.lit(None).cast("string"))
    keys = ["recording", "device", "window"]
    shared = spark.sparkContext.broadcast(outlines)
    found = (rows.repartition(options.partitions, *keys).sortWithinPartitions(*keys, "_file", "_row").drop("_file", "_row")
             .mapInArrow(from_rows(options, shared), SPARK_SCHEMA))
    keyed = spark.createDataFrame([(unquote(it), key) for it, (key, _) in todo.items()], "recording string, _key string")
    found = found.join(F.broadcast(keyed), "recording", "left").withColumn("input_key", F.col("_key")).select(*RESULT)
    return found.unionByName(errors)


def subject_gpu(subject):
    """The GPU of a subject in the JSON of a footer."""
    inside = subject.get("instance") or subject
    return inside.get("gpu")


def host_of(recording):
    """The host that a folder names, or else the name of the recording."""
    named = re.findall(r"host=([^/]+)", recording)
    return named[-1] if named else recording.rstrip("/").split("/")[-1].split(".")[0]


def made_by(options):
    """What other than rows decides on a finding, in 16 characters: the options, and the content of what is shipped."""
    decides = hashlib.sha256()
    for name in (options.binary, options.policy, options.mapping):
        decides.update(b"\0" + str(name).encode() + b"\0")
        places = (SparkFiles.get(name), name, shutil.which(name)) if name else ()
        path = next((it for it in places if it and os.path.isfile(it)), None)
        if path:
            with open(path, "rb") as file:
                decides.update(hashlib.sha256(file.read()).digest())
        elif name == options.binary:
            print(f"cotenant: {name} is not on the driver's machine: give --fresh after it changed", file=sys.stderr)
    for it in (options.window, options.overlap, options.split_rows, options.host_column, options.gpu_column, options.time_column):
        decides.update(f"{it}|".encode())
    return decides.hexdigest()[:16]


def is_device(finding, cell):
    """Whether the GPU of a finding is the one of a foreign cell.

    The program writes a number, and a name that ends in one, as gpuN; puts GPU- in front of a bare UUID; and leaves out which
    replica of a shared GPU it is. A spelling that is missed here is looked at again each time.
    """
    bare = F.regexp_replace(F.trim(cell), "::[0-9]+$", "")
    number = F.regexp_extract(bare, r"0*([0-9]+)(?:\.0+)?$", 1)
    forms = [cell, bare, F.concat(F.lit("GPU-"), bare), F.concat(F.lit("gpu"), number)]
    return F.coalesce(finding.isin(forms), F.lit(False)) | (finding.isNull() & cell.isNull())


def foreign(spark, options, before):
    """Rows of anybody's tables, and the devices of the last run that did not change."""
    rows = spark.read.option("mergeSchema", True).option("recursiveFileLookup", True).parquet(options.input)
    columns = rows.columns
    keys = [it for it in (options.host_column, options.gpu_column) if it in columns]
    rows = rows.withColumn("_file", F.col("_metadata.file_path")).withColumn("_row", F.col("_metadata.row_index"))
    # A sum of hashes does not depend on the order in which Spark reads.
    content = F.concat_ws("-", F.lit(made_by(options)), F.count(F.lit(1)), F.sum(F.xxhash64(*columns).cast("decimal(38,0)")))
    devices = rows.groupBy(*keys).agg(content.alias("_key")).cache()
    kept = None
    if before is not None:
        known = before.select(F.col("host").alias("_h"), F.col("gpu").alias("_g"), "input_key").distinct()
        gpu = F.col(options.gpu_column).cast("string") if options.gpu_column in keys else F.lit(None)
        host = F.col(options.host_column).cast("string") if options.host_column in keys else F.lit(None)
        same = host.eqNullSafe(F.col("_h")) & F.col("_key").eqNullSafe(F.col("input_key"))
        same = same & is_device(F.col("_g"), gpu) if options.gpu_column in keys else same
        unchanged = devices.join(known, same, "left_semi").cache()
        kept = before.join(unchanged.select(F.col("_key").alias("input_key")), "input_key", "left_semi")
        settled = unchanged.select(*[F.col(it).alias(f"_{it}") for it in keys], F.lit(True).alias("_settled"))
        same = [F.col(it).eqNullSafe(F.col(f"_{it}")) for it in keys] or F.col("_settled")
        rows = rows.join(F.broadcast(settled), same, "left_anti")
    settled = 0 if kept is None else unchanged.count()
    print(f"cotenant: {devices.count() - settled} devices to look at, {settled} unchanged", file=sys.stderr)
    rows = windowed(rows, options, keys, options.time_column)
    order = [*keys, "window"]
    found = (rows.repartition(options.partitions, *order).sortWithinPartitions(*order, options.time_column, "_file", "_row")
             .drop("_file", "_row").mapInArrow(from_rows(options, None), SPARK_SCHEMA))
    gpu = F.col(options.gpu_column).cast("string").alias("_g") if options.gpu_column in keys else F.lit(None).alias("_g")
    host = F.col(options.host_column).cast("string").alias("_h") if options.host_column in keys else F.lit(None).alias("_h")
    keyed = devices.select(host, gpu, "_key")
    same = F.col("host").eqNullSafe(F.col("_h"))
    same = same & is_device(F.col("gpu"), F.col("_g")) if options.gpu_column in keys else same
    found = found.join(F.broadcast(keyed), same, "left").withColumn("input_key", F.col("_key")).select(*RESULT)
    return found if kept is None else found.unionByName(kept.select(*RESULT))


def generations(spark, folder):
    """Whole results of earlier runs, the newest last, and all others."""
    path = spark._jvm.org.apache.hadoop.fs.Path(folder)
    system = path.getFileSystem(spark._jsc.hadoopConfiguration())
    if not system.exists(path):
        return system, [], []
    all = sorted(it.getPath().toString() for it in system.listStatus(path) if it.getPath().getName().startswith("generation="))
    whole = [it for it in all if system.exists(spark._jvm.org.apache.hadoop.fs.Path(it + "/_SUCCESS"))]
    return system, whole, [it for it in all if it not in whole]


def main():
    options = arguments()
    spark = SparkSession.builder.appName("cotenant findings").getOrCreate()
    options.partitions = options.partitions or 4 * spark.sparkContext.defaultParallelism
    # Tasks are known to be of equal kind: Spark must not join them, and files are too large to come by the thousand.
    spark.conf.set("spark.sql.adaptive.coalescePartitions.enabled", False)
    system, whole, torn = generations(spark, options.output)
    before = spark.read.parquet(whole[-1]) if whole and not options.fresh else None
    recordings = {} if options.mapping else listed(spark, options.input)
    if not recordings:
        found = foreign(spark, options, before)
    else:
        decides = made_by(options)
        key = lambda files: hashlib.sha256(repr((decides, files)).encode()).hexdigest()[:32]
        todo = {it: (key(files), files) for it, files in recordings.items()}
        same = set()
        if before is not None:
            known = {(row[0], row[1]) for row in before.select("recording", "input_key").distinct().collect()}
            same = {it for it, (key, _) in todo.items() if (unquote(it), key) in known}
        work = {it: todo[it] for it in todo if it not in same}
        print(f"cotenant: {len(work)} recordings to look at, {len(same)} unchanged", file=sys.stderr)
        rows_wanted = options.rows or options.window or options.split_rows
        if not rows_wanted:
            spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", 1)
        found = spark.createDataFrame([], SPARK_SCHEMA)
        if work:
            found = (by_rows if rows_wanted else by_files)(spark, options, work)
        if same:
            kept = before.where(F.col("recording").isin([unquote(it) for it in same]))
            found = found.unionByName(kept.select(*RESULT))
    last = max([int(it.rsplit("=", 1)[1]) for it in whole + torn], default=0)
    place = f"{options.output.rstrip('/')}/generation={last + 1:06d}"
    begun = time.monotonic()
    found.write.parquet(place)
    took = time.monotonic() - begun
    for old in whole + torn:
        system.delete(spark._jvm.org.apache.hadoop.fs.Path(old), True)
    found, failed = spark.read.parquet(place).agg(F.count("finding"), F.count("error")).first()
    print(f"cotenant: {found} findings, {failed} rows say why there is none, in {place}, in {took:.1f} s", file=sys.stderr)
    spark.stop()


if __name__ == "__main__":
    main()
