//! Blocks become a page or a text.

pub mod csv;
pub mod html;
pub mod json;
pub mod text;
