//! The one integration binary. Each module is an area; cases are folders below `tests/cases`.

mod ground;
mod damage;
mod reconcile;
