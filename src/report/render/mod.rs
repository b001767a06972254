//! Blocks become a page or a text.

pub mod html;
pub mod text;
