//! A trace in which each sample of a process can be told from every other.

/// Time between two entries of the driver's rings, microseconds.
pub(crate) const RING_US: i64 = 139_000;
/// Time between two samples of the process in the trace, microseconds.
pub(crate) const PROCESS_US: i64 = 150_000;

/// A busy device whose load climbs in steps, and one process that does the same.
const STEPS: &str = "t_s,gpu,pid,quantity,value
0,0,,gpu-util-percent,10
0,0,,mem-util-percent,5
0,0,,fb-total-bytes,80000000000
0,0,,fb-used-bytes,2000000000
0,0,,power-milliwatts,200000
0,0,4242,process-fb-used-bytes,1000000000
1,0,,gpu-util-percent,40
2,0,,gpu-util-percent,70
20,0,,gpu-util-percent,70
";

/// The trace with a sample of the process every 150 ms, numbered by its percent.
pub(crate) fn trace() -> String {
    let (head, rest) = STEPS.split_once("1,0").expect("a step");
    let rows: Vec<(f64, String)> = format!("1,0{rest}")
        .lines()
        .map(|it| {
            (it.split(',').next().and_then(|it| it.parse().ok()).expect("a time"), it.to_owned())
        })
        .chain((1..=100).map(|it| {
            let at = f64::from(it) * PROCESS_US as f64 / 1e6;
            (at, format!("{at},0,4242,process-sm-util-percent,{it}"))
        }))
        .collect();
    let mut rows = rows;
    rows.sort_by(|a, b| a.0.total_cmp(&b.0));
    head.to_owned() + &rows.into_iter().map(|it| it.1 + "\n").collect::<String>()
}
