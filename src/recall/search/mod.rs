//! Finding memories by words: candidates that share a word with the query, then a score whose parts can be read.
//!
//! Pure: [`search`] needs no index and gives what the index gives; both go through [`find`]. The recipe (BM25 for short
//! texts, `idf^1.5`, coverage, neighbouring words) and its measured worth: ARCHITECTURE.md, "Search". Not here: turns of
//! conversations (`turns`), the index (`store::index`), printing.

mod bm25;
mod filter;
mod memories;
pub mod query;
pub mod turns;
mod whole;
mod words;

pub use filter::{Gate, SearchOptions, gate, gate_by_text};
pub use memories::{CANDIDATES, Found, find, find_counted, is_match};
pub use whole::{Whole, WhyNot, why_not};

use crate::error::Result;
use crate::model::Id;
use crate::model::plan::MemoryRecord;
use crate::store::Snapshot;
use crate::store::index::Doc;

/// What a score is made of; the parts add up to the total.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct Breakdown {
    /// Words found in the topic.
    pub topic: f64,
    /// In the keywords.
    pub keywords: f64,
    /// In the summary.
    pub summary: f64,
    /// In the reason, what was turned down, how to apply.
    pub reason: f64,
    /// In the quotes.
    pub evidence: f64,
    /// How new it is, and whether it is of the time that the query names.
    pub recency: f64,
    /// How often it was used.
    pub usage: f64,
    /// The sum.
    pub total: f64,
}

/// One memory that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// Project it is in.
    pub project: String,
    /// Which.
    pub id: Id,
    /// [`Breakdown::total`].
    pub score: f64,
    /// Where the score comes from.
    pub breakdown: Breakdown,
    /// How much of the query it covers, 0 to 1, rare words counting more.
    pub coverage: f64,
    /// How many telling words it shares with the query (common words of any work count less): see [`is_match`].
    pub strength: f64,
    /// What it says.
    pub record: MemoryRecord,
}

/// Where [`find`] looks: a whole project in memory, or the index of one.
pub trait Corpus {
    /// Number of memories, and of their terms in all.
    fn size(&self) -> (usize, usize);
    /// In how many memories each of these terms is.
    fn holders(&self, terms: &[&str]) -> Result<Vec<usize>>;
    /// Terms that are one slip of the finger away from one that nobody holds.
    fn near(&self, term: &str) -> Result<Vec<String>>;
    /// The places of the memories that hold a term, and whether in what they say first (topic, keywords, summary); a place may
    /// come twice.
    fn having(&self, term: &str) -> Result<Vec<(i64, bool)>>;
    /// Brings places into the order of [`crate::store::index::Facts::when`], the latest first.
    fn sort(&self, places: &mut [i64]) -> Result<()>;
    /// The memories at these places, in their order.
    fn docs(&self, places: &[i64]) -> Result<Vec<Doc>>;
    /// What candidates of its own say in full, in their order.
    fn records(&self, docs: &[&Doc]) -> Result<Vec<MemoryRecord>>;
}

/// The memories that share words with the query, best first, at most `options.limit`. Without an index.
pub fn search(snapshots: &[&Snapshot], query: &str, options: &SearchOptions) -> Vec<Hit> {
    let whole: Vec<Whole> = snapshots.iter().map(|s| Whole::of(s)).collect();
    let corpora: Vec<&dyn Corpus> = whole.iter().map(|w| w as &dyn Corpus).collect();
    // What is in memory cannot fail.
    find(&corpora, query, options).unwrap_or_default()
}
