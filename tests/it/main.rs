//! The one integration binary. Each module is an area; cases are folders below `tests/cases`.

mod support;
mod text;
mod tidy;
mod transcripts;
