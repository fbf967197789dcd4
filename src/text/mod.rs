//! Text: cleaning, redaction, words, dates, tokens. Pure functions; nothing here does I/O or reads a clock.
//!
//! [`clean()`] is the one way from a conversation as read to a conversation that may leave the process or be stored.

pub mod alike;
pub mod amounts;
pub mod clean;
pub mod dates;
pub mod gate;
pub mod links;
pub mod mentions;
mod pasted;
pub mod phrases;
pub mod polarity;
pub mod redact;
mod redact_value;
pub mod sanitise;
pub mod sentences;
pub mod stems;
pub mod strip;
pub mod tags;
pub mod terms;
pub mod tokens;
pub mod words;

pub use clean::{CleanReport, clean, clean_text};
pub use gate::{Gate, gate};
pub use redact::{Redacted, has_secret, redact};
