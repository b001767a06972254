"""Watches all GPUs with nvitop until it is killed; the bench measures what that costs.

watch_nvitop.py collector|devices|all SECONDS: its collector of resource metrics, snapshots of the
GPUs, or snapshots of the GPUs and of the processes on them, once in so many seconds.
The first line says the version and what was seen at first.
"""

import sys
import time


def main():
    import nvitop
    from nvitop import Device, ResourceMetricCollector, take_snapshots

    how, period = sys.argv[1], float(sys.argv[2])
    devices = Device.all()
    taken = take_snapshots(devices)
    print(f"nvitop\t{nvitop.__version__}\t{len(devices)}\t{len(taken.gpu_processes)}", flush=True)
    if how == "collector":
        collector = ResourceMetricCollector(devices, root_pids={1}, interval=period)
        collector.daemonize(on_collect=lambda metrics: True, interval=period)
        while True:
            time.sleep(3600)
    due = time.monotonic()
    while True:
        due += period
        time.sleep(max(0.0, due - time.monotonic()))
        if how == "devices":
            for device in devices:
                device.as_snapshot()
        else:
            take_snapshots(devices)


if __name__ == "__main__":
    main()
