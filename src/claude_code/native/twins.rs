//! Whether two memory files say the same. What is compared is worked out once for each file.

use std::collections::BTreeSet;

use super::file::{File, Type};
use crate::text::{alike, words};

/// From this share of common words on, two texts are near duplicates.
const NEAR: f64 = 0.6;

/// What a file says, as far as it is compared.
#[derive(Clone, Debug)]
pub struct Said {
    kind: Option<Type>,
    statement: String,
    key: String,
    statement_words: BTreeSet<String>,
    body: String,
    body_words: BTreeSet<String>,
    exact: BTreeSet<String>,
}

impl Said {
    /// What this file says.
    pub fn of(file: &File) -> Self {
        let statement = file.statement();
        Self {
            kind: file.kind,
            key: alike::key(&statement),
            statement_words: words::token_set(&statement),
            statement,
            body: words::fold(file.body()).split_whitespace().collect::<Vec<_>>().join(" "),
            body_words: words::token_set(file.body()),
            exact: words::exact(file.body()),
        }
    }

    /// Whether both say the same: the texts are one, or nothing in one statement differs and no text names or counts what
    /// the other does not.
    pub fn is(&self, other: &Self) -> bool {
        let one_text = !self.body.is_empty() && self.body == other.body;
        // Equal words in the end are needed for a claim to be the same, and quick to compare.
        let one_claim = || self.key == other.key && alike::alike(&self.statement, &other.statement);
        let agree = || self.exact.is_subset(&other.exact) || other.exact.is_subset(&self.exact);
        self.kind == other.kind && (one_text || (one_claim() && agree()))
    }

    /// How much of their words both share, if that is enough to look at them together.
    pub fn nearness(&self, other: &Self) -> Option<f64> {
        let (body, statement) =
            (words::jaccard(&self.body_words, &other.body_words), words::jaccard(&self.statement_words, &other.statement_words));
        (body >= NEAR || statement >= alike::LEAST_SIMILAR).then_some(body.max(statement))
    }
}
