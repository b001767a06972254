#[path = "whatif/generator.rs"]
mod generator;
use generator::*;
use rayon::prelude::*;
fn main(){
    let n:u64=std::env::args().nth(1).and_then(|it|it.parse().ok()).unwrap_or(40);
    if let Some(k)=std::env::args().nth(2){ let kind=match k.as_str(){"mps"=>Kind::Mps,"ts"=>Kind::TimeSlicing,_=>Kind::Mig}; let w=World::random(kind,n+1); println!("{}",w.describe()); let d=[w.recorded(0),w.recorded(1)]; for d in &d {println!("{} pace {:?} busy {:.4} n {} host {:.5} width {:?} bw {:?} power {:?} meanwork {:.5} ass {:?} doubts {:?}",d.name,d.pace,d.busy_share(),d.timeline.len(),d.host_s,d.width,d.bandwidth,d.power_w,d.busy_share()*d.timeline.span_s()/d.timeline.len() as f64,d.assumptions,d.doubts.as_ref().map(|x|(x[0].len(),x[1].len())));} println!("{:#?}",w.predicted(&d)); for s in [900.0,3600.0]{println!("played {}",w.played(s));} return;}
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
