//! Text: cleaning, redaction, words, dates, tokens. Pure functions; nothing here does I/O or reads a clock.

pub mod dates;
pub mod sentences;
pub mod words;
