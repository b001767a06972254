//! Who looks: one thread goes from GPU to GPU, and another takes over when a call does not return.
//!
//! To wake up costs more than a look, and calls of all GPUs wait for one lock of the driver anyway.

use crate::sampler::run::STACK_BYTES;
use crate::sampler::source::Pace;
use crate::sampler::watch::{LOOK_UP_US, Shared, Watch};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Whoever is at one GPU for longer than this is relieved, so that the others are seen, microseconds.
const PATIENCE_US: i64 = 50_000;

/// A look of one pace gives way to those of a quicker one unless it is so much later, microseconds.
const PRECEDENCE_US: i64 = 25_000;

/// The place of a GPU among those that are looked at.
#[derive(Default)]
struct Post {
    /// `None` while somebody looks, and while the GPU's own thread has it.
    watch: Option<Box<Watch>>,
    due_us: [i64; Pace::ALL.len()],
    /// Done with, for the GPU's own thread.
    back: Option<Box<Watch>>,
}

#[derive(Default)]
struct Table {
    posts: Vec<Post>,
    /// Number of the thread on duty; one that finds another number here ends.
    on_duty: u32,
    /// Since when the thread on duty is at a GPU.
    busy_us: Option<i64>,
    is_closed: bool,
}

/// The GPUs that are looked at, and the thread that does it.
pub(crate) struct Crew {
    shared: Arc<Shared>,
    table: Mutex<Table>,
    returned: Condvar,
}

/// What the thread on duty does next.
enum Next {
    Look(usize, Pace, Box<Watch>),
    SleepUntil(i64),
    End,
}

impl Crew {
    pub(crate) fn new(shared: &Arc<Shared>, gpus: usize) -> Arc<Self> {
        let posts = (0..gpus).map(|_| Post::default()).collect();
        let table = Mutex::new(Table { posts, ..Table::default() });
        Arc::new(Self { shared: Arc::clone(shared), table, returned: Condvar::new() })
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets the thread on duty look at this GPU until it is lost or the recording is over.
    pub(crate) fn look_at(&self, place: usize, watch: Box<Watch>) -> Box<Watch> {
        let mut table = self.table();
        if table.is_closed {
            return watch;
        }
        table.posts[place].due_us = watch.due_us();
        table.posts[place].watch = Some(watch);
        loop {
            if let Some(watch) = table.posts[place].back.take() {
                return watch;
            }
            table = self.returned.wait(table).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Puts a thread on duty; the one before ends when it comes back.
    pub(crate) fn relieve(self: &Arc<Self>) {
        let mut table = self.table();
        table.on_duty += 1;
        table.busy_us = None;
        let (number, crew) = (table.on_duty, Arc::clone(self));
        drop(table);
        let builder = std::thread::Builder::new().name("looks".to_owned());
        let thread = builder.stack_size(STACK_BYTES).spawn(move || crew.work(number));
        if thread.is_err() {
            // Without a thread nothing can be seen any more.
            self.shared.is_over.store(true, Ordering::Release);
            self.close();
        }
    }

    /// Relieves a thread that does not come back from a GPU.
    pub(crate) fn look_after(self: &Arc<Self>, now_us: i64) {
        if self.table().busy_us.is_some_and(|it| now_us - it > PATIENCE_US) {
            self.relieve();
        }
    }

    fn work(&self, number: u32) {
        loop {
            match self.next(number) {
                Next::Look(place, pace, mut watch) => {
                    watch.look(pace);
                    self.put_back(number, place, watch);
                }
                Next::SleepUntil(at_us) => self.shared.clock.sleep_until(at_us),
                Next::End => return,
            }
        }
    }

    /// The most urgent look; what is nearly due is due, for to wake up again costs more.
    fn next(&self, number: u32) -> Next {
        let now_us = self.shared.clock.now().monotonic_us;
        let mut table = self.table();
        if table.on_duty != number {
            return Next::End;
        }
        if self.shared.is_over.load(Ordering::Acquire) {
            drop(table);
            self.close();
            return Next::End;
        }
        let soon_us = now_us + self.shared.slack_us;
        let looks = |place: usize, post: &Post| {
            let due_us = post.due_us;
            Pace::ALL.map(|pace| (due_us[pace as usize], place, pace))
        };
        let waiting = table.posts.iter().enumerate().filter(|it| it.1.watch.is_some());
        let looks: Vec<_> = waiting.flat_map(|(place, post)| looks(place, post)).collect();
        let urgency = |it: &&(i64, usize, Pace)| it.0.saturating_add(PRECEDENCE_US * it.2 as i64);
        let first = looks.iter().filter(|it| it.0 <= soon_us).min_by_key(urgency);
        if let Some((_, place, pace)) = first
            && let Some(watch) = table.posts[*place].watch.take()
        {
            table.busy_us = Some(now_us);
            return Next::Look(*place, *pace, watch);
        }
        let next_us = looks.iter().map(|it| it.0).min().unwrap_or(i64::MAX);
        Next::SleepUntil(next_us.min(now_us + LOOK_UP_US))
    }

    fn put_back(&self, number: u32, place: usize, watch: Box<Watch>) {
        let mut table = self.table();
        if table.on_duty == number {
            table.busy_us = None;
        }
        if table.is_closed || watch.is_lost() {
            table.posts[place].back = Some(watch);
            self.returned.notify_all();
        } else {
            table.posts[place].due_us = watch.due_us();
            table.posts[place].watch = Some(watch);
        }
    }

    /// Gives everybody back to their own threads.
    fn close(&self) {
        let mut table = self.table();
        table.is_closed = true;
        for post in &mut table.posts {
            post.back = post.back.take().or(post.watch.take());
        }
        self.returned.notify_all();
    }
}
