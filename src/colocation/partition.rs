//! What a part of a GPU costs a tenant, and what another GPU would change.

use crate::colocation::demand::DriverView;
use crate::colocation::range::Range;
use crate::colocation::share::Slice;

/// placeholder
pub fn slice_slowdown(_view: DriverView, _slice: Slice) -> Option<Range> {
    None
}
