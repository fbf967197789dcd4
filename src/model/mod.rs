//! Plain types: what a conversation, a memory and a plan are. No I/O, no clock, no policy.

pub mod candidate;
pub mod conversation;
pub mod difference;
pub mod memory;
pub mod plan;

pub use candidate::{Candidate, Code, Pointer, Quote, Strength};
pub use conversation::{Conversation, Cursor, Speaker, Turn};
pub use difference::{Difference, differences};
pub use memory::{Evidence, Id, Kind, Layer, Memory, Origin, Relation, RelationType, State, Validity};
pub use plan::{Change, Plan, ReviewItem, Tombstone};
