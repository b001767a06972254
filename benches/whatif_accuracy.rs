#[path = "whatif/generator.rs"]
mod generator;
use generator::*;
use rayon::prelude::*;
fn main(){
    let n:u64=std::env::args().nth(1).and_then(|it|it.parse().ok()).unwrap_or(40);
    for kind in [Kind::Mps,Kind::TimeSlicing,Kind::Mig]{
        let t=std::time::Instant::now();
        let trials:Vec<Trial>=(0..n).into_par_iter().map(|s|World::random(kind,s+1).trial()).collect();
        let mut errs=vec![];let mut cov=0;let mut tot=0;let mut refused=0;
        for (s,it) in trials.iter().enumerate(){
            match it.predicted.slowdown{
                None=>{refused+=1;println!("{kind:?} {s} {} refused {:?} played {:.2}",it.neighbour,it.predicted.refusal,it.played_p99)}
                Some(q)=>{let e=(q.p99.expected/it.played_p99-1.0);errs.push(e.abs());tot+=1;let c=q.p99.contains(it.played_p99);if c{cov+=1}
                if e.abs()>0.1||!c {println!("{kind:?} {s} {} prof {} pred {:.2} [{:.2} {:.2}] played {:.2} {}",it.neighbour,it.is_profiled,q.p99.expected,q.p99.low,q.p99.high,it.played_p99,if c{""}else{"MISS"});}}
            }
        }
        errs.sort_by(f64::total_cmp);
        println!("{kind:?}: median {:.3} p90 {:.3} coverage {}/{} refused {} {:?}",errs[errs.len()/2],errs[errs.len()*9/10],cov,tot,refused,t.elapsed());
    }
}
