//! The one integration binary. Each module is an area; cases are folders below `tests/cases`.

#[cfg(feature = "crash-test")]
mod crash;
mod store;
mod store_edits;
mod store_projects;
