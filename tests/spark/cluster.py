"""A Spark standalone cluster on this machine, and jobs on it."""

import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pyspark

ROOT = Path(__file__).resolve().parents[2]
HOME = Path(pyspark.__file__).parent
LOG = """rootLogger.level = warn
rootLogger.appenderRef.stderr.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n
"""


def free_port():
    with socket.socket() as it:
        it.bind(("127.0.0.1", 0))
        return it.getsockname()[1]


def descendants(pid):
    """A process and everything that it started, as far as it still lives."""
    parents = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                stat = Path(f"/proc/{entry}/stat").read_text().rsplit(")", 1)[1].split()
                parents.setdefault(int(stat[1]), []).append(int(entry))
            except (OSError, IndexError):
                pass
    found, left = [], [pid]
    while left:
        one = left.pop()
        found.append(one)
        left.extend(parents.get(one, []))
    return found


class ProcessorTime:
    """Processor time of a process and of all that it starts, by looking five times a second until `stop`."""

    def __init__(self, pid):
        self.pid, self.spent, self.is_on = pid, {}, True
        self.thread = threading.Thread(target=self.look, daemon=True)
        self.thread.start()

    def look(self):
        while self.is_on:
            for pid in descendants(self.pid):
                try:
                    stat = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
                    self.spent[pid] = (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")
                except (OSError, IndexError):
                    pass
            time.sleep(0.2)

    def stop(self):
        self.is_on = False
        self.thread.join()
        return sum(self.spent.values())


class Cluster:
    """A master and workers of one core each, on 127.0.0.1."""

    def __init__(self, workers, cores=None):
        self.folder = Path(tempfile.mkdtemp(prefix="cotenant-cluster-"))
        conf = self.folder / "conf"
        conf.mkdir()
        (conf / "log4j2.properties").write_text(LOG)
        python = sys.executable
        self.environment = dict(
            os.environ, SPARK_HOME=str(HOME), SPARK_CONF_DIR=str(conf), SPARK_LOCAL_IP="127.0.0.1", PYSPARK_PYTHON=python,
            PYSPARK_DRIVER_PYTHON=python, SPARK_LOCAL_DIRS=str(self.folder / "scratch"), SPARK_WORKER_DIR=str(self.folder / "work"),
            PYTHONWARNINGS="ignore")
        self.port = free_port()
        self.url = f"spark://127.0.0.1:{self.port}"
        self.processes = []
        self.master = self.start("master.Master", "--host", "127.0.0.1", "--port", str(self.port), "--webui-port", str(free_port()))
        self.wait_for(self.port)
        self.workers = []
        for number in range(workers):
            pin = ["taskset", "-c", str(cores[number])] if cores else []
            self.workers.append(self.start(
                "worker.Worker", "--host", "127.0.0.1", "--cores", "1", "--memory", "1500m", "--webui-port", str(free_port()),
                self.url, pin=pin))
        # A job waits for workers that are not ready yet; only those that never will be are looked for.
        time.sleep(2)
        if any(it.poll() is not None for it in self.processes):
            told = "".join(it.read_text()[-1000:] for it in self.folder.glob("*.log"))
            raise RuntimeError(f"the cluster does not start: {told}")

    def start(self, name, *arguments, pin=()):
        with open(self.folder / f"{name}.log", "ab") as log:
            line = [*pin, str(HOME / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", *arguments]
            process = subprocess.Popen(line, env=self.environment, stdout=log, stderr=log, start_new_session=True)
        self.processes.append(process)
        return process

    @staticmethod
    def wait_for(port):
        for _ in range(120):
            with socket.socket() as it:
                if it.connect_ex(("127.0.0.1", port)) == 0:
                    return
            time.sleep(0.5)
        raise RuntimeError("the master does not answer")

    def submit(self, binary, *arguments, files=(), cores=None, pin=(), events=None):
        """Starts the driver on the cluster."""
        shipped = ",".join(str(it) for it in (binary, *files))
        line = [*pin, str(HOME / "bin" / "spark-submit"), "--master", self.url, "--files", shipped, "--executor-memory", "1g",
                "--driver-memory", "1g", "--conf", "spark.executor.cores=1", "--conf", "spark.ui.enabled=false",
                "--conf", "spark.driver.bindAddress=127.0.0.1", "--conf", "spark.driver.host=127.0.0.1"]
        if events:
            line += ["--conf", "spark.eventLog.enabled=true", "--conf", "spark.eventLog.compress=false", "--conf", f"spark.eventLog.dir=file://{events}"]
        if cores:
            line += ["--conf", f"spark.cores.max={cores}"]
        line += [str(ROOT / "deploy" / "spark" / "cotenant_spark.py"), "--binary", Path(binary).name, *map(str, arguments)]
        return subprocess.Popen(line, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def run(self, binary, *arguments, **options):
        """Runs the driver on the cluster, and returns what it told."""
        process = self.submit(binary, *arguments, **options)
        text, _ = process.communicate(timeout=900)
        if process.returncode != 0:
            raise RuntimeError(f"the job ended with code {process.returncode}:\n{text[-4000:]}")
        return [it for it in text.splitlines() if it.startswith("cotenant:")]

    def is_computing(self, worker):
        """Whether our program runs below this worker."""
        for pid in descendants(worker.pid):
            try:
                if b"findings" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0"):
                    return True
            except OSError:
                pass
        return False

    def kill(self, worker):
        """Ends a worker with everything that it started, without a word to the master."""
        for pid in descendants(worker.pid):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def stop(self):
        for process in self.processes:
            self.kill(process)
            process.wait()
        subprocess.run(["rm", "-rf", str(self.folder)], check=False)


def told(lines):
    """The numbers of the last line that the driver told: findings, and rows that say why there is none."""
    found = re.search(r"(\d+) findings, (\d+) rows", lines[-1])
    return int(found[1]), int(found[2])
