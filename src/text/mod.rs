//! Text: cleaning, redaction, words, dates, tokens. Pure functions; nothing here does I/O or reads a clock.

pub mod amounts;
pub mod phrases;
pub mod polarity;
pub mod words;
