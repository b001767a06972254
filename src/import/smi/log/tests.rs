use super::*;
use crate::domain::ident::{MigInstanceId, Subject};
use crate::import::ImportOptions;
use crate::import::testing::{Outcome, every_second, gpu, process, read};

fn import(text: &str) -> Outcome {
    read(&SmiLog, text, &ImportOptions::default())
}

const HEAD: &str = "
==============NVSMI LOG==============

Timestamp                                 : Tue Jul 14 09:00:44 2026
Driver Version                            : 600.10
CUDA Version                              : 13.9

Attached GPUs                             : 1
";

const GPU: &str = "GPU 00000000:1B:00.0
    Product Name                          : NVIDIA H100 80GB HBM3
    MIG Mode
        Current                           : Disabled
        Pending                           : Enabled
    GPU UUID                              : GPU-1a2b3c4d-0000-4000-8000-00000000000a
    PCI
        Tx Throughput                     : 9139 KB/s
        Rx Throughput                     : 2 MB/s
        Replays Since Reset               : 9
    Fan Speed                             : 30 %
    Performance State                     : P2
    Clocks Event Reasons
        Idle                              : Not Active
        SW Power Cap                      : Active
        HW Slowdown                       : Not Active
            HW Thermal Slowdown           : Active
    Clocks Event Reasons Counters
        SW Power Capping                  : 7 us
    FB Memory Usage
        Total                             : 81559 MiB
        Used                              : 11125 MiB
    Utilization
        GPU                               : 97 %
        Memory                            : N/A
    ECC Errors
        Volatile
            SRAM Correctable              : 5
            SRAM Uncorrectable Parity     : 1
            DRAM Uncorrectable            : 2
        Aggregate
            DRAM Uncorrectable            : 70
    Temperature
        GPU Current Temp                  : 53 C
    GPU Power Readings
        Average Power Draw                : 432.21 W
        Instantaneous Power Draw          : 444.72 W
        Current Power Limit               : 700.00 W
    Clocks
        SM                                : 1980 MHz
    Max Clocks
        SM                                : 2100 MHz
";

const PROCESSES: &str = "    Processes
        GPU instance ID                   : 2
        Compute instance ID               : 0
        Process ID                        : 21180
            Type                          : C
            Name                          : /opt/secret/train --key=x
            Used GPU Memory               : 2296 MiB
        GPU instance ID                   : N/A
        Compute instance ID               : N/A
        Process ID                        : 77
            Type                          : C+G
            Name                          : C:\\Program Files\\A B\\c d.exe
            Used GPU Memory               : Not available in WDDM driver model
";

const INSTANCE: &str = "    MIG Device
        Index                             : 0
        GPU Instance ID                   : 2
        Compute Instance ID               : 0
        Device Attributes
            Shared
                Multiprocessor count      : 60
                Copy Engine count         : 3
        Shared FB Memory Usage
            Total                         : 40448 MiB
            Used                          : 11091 MiB
";

#[test]
fn every_line_that_holds_a_metric_is_read_in_its_unit() {
    let it = import(&format!("{HEAD}{GPU}"));
    let subject = gpu("GPU-1a2b3c4d-0000-4000-8000-00000000000a");
    for (metric, value) in [
        (Metric::PcieTransmit, 9_139_000.0),
        (Metric::PcieReceive, 2_000_000.0),
        (Metric::PcieReplays, 9.0),
        (Metric::FanSpeed, 30.0),
        (Metric::PerformanceState, 2.0),
        (Metric::ThrottleReasons, 68.0),
        (Metric::PowerViolation, 7000.0),
        (Metric::FramebufferTotal, 81_559.0 * MIB),
        (Metric::FramebufferUsed, 11_125.0 * MIB),
        (Metric::GpuUtilization, 97.0),
        (Metric::EccUncorrected, 3.0),
        (Metric::GpuTemperature, 53.0),
        (Metric::Power, 432_210.0),
        (Metric::PowerInstant, 444_720.0),
        (Metric::PowerLimit, 700_000.0),
        (Metric::SmClock, 1980.0),
    ] {
        assert_eq!(it.values(&subject, metric), [value], "{}", metric.key());
    }
    let spots = it.blind_spots();
    assert_eq!(spots.len(), 3, "{spots:?}");
    assert!(spots[0].starts_with("ClockAssumed"));
    assert_eq!(spots[1], "TooShort all all");
    assert!(spots[2].ends_with("memory_utilization_pct"));
    let device = it.recording.outline.devices[0].clone();
    assert_eq!((device.index, device.is_mig), (Some(0), Some(false)));
    assert_eq!(it.recording.outline.sources[0].tool_version.as_deref(), Some("600.10"));
}

#[test]
fn a_process_belongs_to_the_instance_that_it_sits_on_and_only_its_program_is_kept() {
    let gpu = GPU.replace(": Disabled", ": Enabled");
    let it = import(&format!("{HEAD}{gpu}{INSTANCE}{PROCESSES}"));
    let uuid = "GPU-1a2b3c4d-0000-4000-8000-00000000000a";
    let outline = &it.recording.outline;
    let [instance] = outline.mig_instances.as_slice() else { panic!("{outline:?}") };
    assert_eq!(instance.tenants[0].as_str(), "train (pid 21180)");
    assert_eq!((instance.tenants.len(), instance.profile.as_deref()), (1, Some("3g.40gb")));
    let names: Vec<_> = outline.processes.iter().map(|it| it.name.clone().unwrap()).collect();
    assert_eq!(names, ["train", "c d.exe"]);
    assert_eq!(outline.processes[1].tenant, None);
    let (first, second) = (process(uuid, 21180), process(uuid, 77));
    assert_eq!(it.values(&first, Metric::FramebufferUsed), [2296.0 * MIB]);
    assert!(it.values(&second, Metric::FramebufferUsed).is_empty());
    let own = Subject::MigInstance {
        instance: MigInstanceId {
            gpu: GpuId::new(uuid),
            gpu_instance: 2,
            compute_instance: None,
            generation: 0,
        },
    };
    assert_eq!(it.values(&own, Metric::FramebufferUsed), [11_091.0 * MIB]);
}

#[test]
fn a_masked_uuid_yields_to_the_index_and_without_all_gpus_to_the_bus_id() {
    let masked = GPU.replace("1a2b3c4d-0000-4000-8000-00000000000a", "XXXXXXXX");
    let all = import(&format!("{HEAD}{masked}"));
    assert_eq!(all.values(&gpu("gpu0"), Metric::SmClock), [1980.0]);
    let one_of_two = import(&format!("{}{masked}", HEAD.replace(": 1\n", ": 2\n")));
    assert_eq!(one_of_two.values(&gpu("00000000:1B:00.0"), Metric::SmClock), [1980.0]);
}

#[test]
fn captures_in_a_row_are_samples() {
    let later = HEAD.replace("09:00:44", "09:00:45");
    let it = import(&format!("{HEAD}{GPU}{later}{}", GPU.replace("97 %", "98 %")));
    let subject = gpu("GPU-1a2b3c4d-0000-4000-8000-00000000000a");
    assert_eq!(it.values(&subject, Metric::GpuUtilization), [97.0, 98.0]);
    let millis = it.millis(&subject, Metric::GpuUtilization);
    assert_eq!(millis[1] - millis[0], 1000);
}

#[test]
fn an_old_driver_spells_power_reasons_and_errors_otherwise() {
    let text = "GPU 0000:1B:00.0
    Clocks Throttle Reasons
        SW Power Cap                      : Active
    Utilization
        Gpu                               : 3 %
    Ecc Mode
        Current                           : Enabled
    ECC Errors
        Volatile
            Single Bit
                Total                     : 9
            Double Bit
                Device Memory             : 1
                Total                     : 1
    Power Readings
        Power Draw                        : 40.00 W
        Power Limit                       : 290.00 W
        Enforced Power Limit              : 300.00 W
";
    let it = import(&format!("{HEAD}{text}"));
    for (metric, value) in [
        (Metric::ThrottleReasons, 4.0),
        (Metric::GpuUtilization, 3.0),
        (Metric::EccUncorrected, 1.0),
        (Metric::Power, 40_000.0),
        (Metric::PowerLimit, 300_000.0),
    ] {
        assert_eq!(it.values(&gpu("gpu0"), metric), [value], "{}", metric.key());
    }
}

#[test]
fn damage_costs_the_line_or_the_capture_and_missing_stamps_can_be_made() {
    let later = HEAD.replace("Tue Jul 14 09:00:44 2026", "yesterday");
    let odd = GPU.replace("53 C", "53 W").replace("97 %", "137 %");
    let pid = PROCESSES.replace("21180", "many");
    let it = import(&format!("{HEAD}{odd}{pid}| NVIDIA-SMI 1 |\n| 1 |\n{later}{GPU}"));
    let subject = gpu("GPU-1a2b3c4d-0000-4000-8000-00000000000a");
    assert_eq!(it.values(&subject, Metric::SmClock).len(), 1);
    assert!(it.values(&subject, Metric::GpuTemperature).is_empty());
    assert_eq!(it.summary().rejections.count(), 5);
    let unstamped = HEAD.replace("Timestamp", "Times");
    let text = format!("{unstamped}{GPU}{unstamped}{GPU}");
    assert_eq!(import(&text).error().0, "log: has no time stamps");
    let made = read(&SmiLog, &text, &every_second());
    assert_eq!(made.millis(&subject, Metric::SmClock), [0, 1000]);
    assert_eq!(SmiLog.recognise(b"| NVIDIA-SMI 600 |\n"), Likeness::No);
}
