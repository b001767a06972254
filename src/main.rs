//! Parses, runs, prints errors with their remedy.

fn main() {}
