//! Part after part comes over; what is there is not asked for again, and what stays out is a hole.

use crate::prometheus::client::Client;
use crate::prometheus::problem::Problem;
use crate::prometheus::query::{Order, Part, SHORTEST_MS, seconds, selected};
use serde::Deserialize;
use std::time::Duration;

/// So many parts in a row that stay out mean that the server is gone.
const MOST_IN_A_ROW: usize = 3;

/// Where answers are kept, and whoever waits is told.
pub trait Shelf {
    /// Whether a part is there already.
    fn has(&self, part: &Part) -> bool;

    /// Keeps the answers of a part: one, or several one after the other.
    ///
    /// A part that is not whole is not there for [`Shelf::has`].
    fn put(&mut self, part: &Part, body: &str, is_whole: bool) -> std::io::Result<()>;

    /// Notes that a part, or a piece of it, could not be had.
    fn hole(&mut self, part: &Part, name: &str, reason: &str) -> std::io::Result<()>;

    /// Waits before a question is asked again.
    fn pause(&mut self, length: Duration, problem: &Problem);

    /// Hears how many parts are done.
    fn progress(&mut self, done: usize, all: usize);
}

/// How a download ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Outcome {
    /// Parts that are kept, those that were there before among them.
    pub kept: usize,
    /// Parts of which something is missing.
    pub holes: usize,
    /// Questions that were answered.
    pub asked: usize,
}

/// Names of all metrics that the server has in a stretch of time, narrowed down by matchers.
pub fn names(
    client: &Client,
    order: &Order,
    pause: &mut dyn FnMut(Duration, &Problem),
) -> Result<Vec<String>, Problem> {
    #[derive(Deserialize)]
    struct Names {
        #[serde(default)]
        data: Vec<String>,
    }
    let mut parameters = vec![("start", seconds(order.from_ms)), ("end", seconds(order.until_ms))];
    if !order.selector.is_empty() {
        parameters.push(("match[]", selected("", &order.selector)));
    }
    let body = client.ask("/api/v1/label/__name__/values", &parameters, pause)?;
    let names: Names = serde_json::from_str(&body)
        .map_err(|_| Problem::Broken("its list of names is none".to_owned()))?;
    Ok(names.data)
}

/// Whether the server gives raw samples, of which each keeps its own stamp.
///
/// Errors: it gives no answer at all.
pub fn gives_raw_samples(
    client: &Client,
    order: &Order,
    pause: &mut dyn FnMut(Duration, &Problem),
) -> Result<bool, Problem> {
    let order = Order { step_ms: None, ..order.clone() };
    let from_ms = order.until_ms - SHORTEST_MS;
    let part = Part { slice: 0, name: 0, from_ms, until_ms: order.until_ms };
    let (path, parameters) = order.question(&part);
    match client.ask(path, &parameters, pause) {
        Ok(body) => Ok(body.contains("\"matrix\"")),
        Err(Problem::Refused { .. }) => Ok(false),
        Err(problem) => Err(problem),
    }
}

/// Gets every part that the shelf does not have.
///
/// With `is_partial` a server that is gone ends in holes, not in an error. Errors: the server wants a
/// password, refuses the question as such, or is gone; the shelf is full.
pub fn download(
    client: &Client,
    order: &Order,
    is_partial: bool,
    shelf: &mut dyn Shelf,
) -> Result<Outcome, Problem> {
    let all = order.count();
    let mut outcome = Outcome::default();
    let mut in_a_row = 0;
    for (done, part) in order.parts().enumerate() {
        shelf.progress(done, all);
        if shelf.has(&part) {
            outcome.kept += 1;
            continue;
        }
        if is_partial && in_a_row >= MOST_IN_A_ROW {
            outcome.holes += 1;
            keep(shelf.hole(&part, &order.names[part.name], "the server stayed out"))?;
            continue;
        }
        let mut piece =
            Piece { client, order, bodies: String::new(), missing: Vec::new(), asked: 0 };
        let last = piece.get(&part, shelf)?;
        outcome.asked += piece.asked;
        let is_whole = piece.missing.is_empty();
        if is_whole || piece.asked > 0 {
            keep(shelf.put(&part, &piece.bodies, is_whole))?;
        }
        if is_whole {
            (outcome.kept, in_a_row) = (outcome.kept + 1, 0);
            continue;
        }
        in_a_row = if piece.asked == 0 { in_a_row + 1 } else { 0 };
        outcome.holes += 1;
        for (missing, problem) in &piece.missing {
            keep(shelf.hole(missing, &order.names[part.name], &problem.to_string()))?;
        }
        if let Some(last) = last.filter(|_| in_a_row >= MOST_IN_A_ROW && !is_partial) {
            return Err(Problem::StayedOut { done: outcome.kept, all, last: Box::new(last) });
        }
    }
    shelf.progress(all, all);
    Ok(outcome)
}

fn keep(kept: std::io::Result<()>) -> Result<(), Problem> {
    kept.map_err(|it| Problem::Shelf(it.to_string()))
}

/// One part under way.
struct Piece<'p> {
    client: &'p Client,
    order: &'p Order,
    bodies: String,
    missing: Vec<(Part, Problem)>,
    asked: usize,
}

impl Piece<'_> {
    /// Gets a part, in halves where it is too much; what stays out is noted, and the last reason returned.
    fn get(&mut self, part: &Part, shelf: &mut dyn Shelf) -> Result<Option<Problem>, Problem> {
        let (path, parameters) = self.order.question(part);
        let answer =
            self.client.ask(path, &parameters, &mut |length, problem| shelf.pause(length, problem));
        let problem = match answer {
            Ok(body) => {
                self.asked += 1;
                self.bodies.push_str(&body);
                self.bodies.push('\n');
                return Ok(None);
            }
            Err(problem) => problem,
        };
        if problem.is_too_much()
            && let Some((first, second)) = part.halves(self.order.step_ms)
        {
            let one = self.get(&first, shelf)?;
            // A server that is slow even with the half would let every other piece wait as long.
            if let Some(problem @ Problem::Slow(_)) = one {
                self.missing.push((second, problem.clone()));
                return Ok(Some(problem));
            }
            let other = self.get(&second, shelf)?;
            return Ok(other.or(one));
        }
        match problem {
            Problem::TooMuch(_) => {}
            ref it if it.is_transient() => {}
            fatal => return Err(fatal),
        }
        self.missing.push((part.clone(), problem.clone()));
        Ok(Some(problem))
    }
}
