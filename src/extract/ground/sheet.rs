//! The conversation prepared for many look-ups: folded once, with neighbours.

use crate::model::{Conversation, Evidence, Speaker, Turn};
use crate::text::words::fold;

/// One turn and its folded text.
pub(super) struct Page<'a> {
    pub turn: &'a Turn,
    pub folded: String,
}

/// All turns that hold text.
pub(super) struct Sheet<'a> {
    pub pages: Vec<Page<'a>>,
}

impl<'a> Sheet<'a> {
    pub fn of(conversation: &'a Conversation) -> Self {
        let pages = conversation.turns.iter().filter(|t| !t.text.trim().is_empty());
        Self { pages: pages.map(|turn| Page { turn, folded: quotable(&turn.text) }).collect() }
    }

    pub fn position(&self, turn: u32) -> Option<usize> {
        self.pages.iter().position(|p| p.turn.number == turn)
    }

    /// Texts of the quoted turns and `reach` turns around each. Tool output between two speakers is not counted as a
    /// turn of talk, but belongs to the window.
    pub fn window(&self, evidence: &[Evidence], reach: usize) -> String {
        self.texts(evidence, reach, |_| true)
    }

    /// The same, the user's turns and the quotes only.
    pub fn spoken(&self, evidence: &[Evidence], reach: usize) -> String {
        let quotes = evidence.iter().map(|e| e.quote.as_str()).collect::<Vec<_>>().join("\n");
        quotes + "\n" + &self.texts(evidence, reach, |speaker| speaker == Speaker::User)
    }

    fn texts(&self, evidence: &[Evidence], reach: usize, by: impl Fn(Speaker) -> bool) -> String {
        let mut wanted = vec![false; self.pages.len()];
        for at in evidence.iter().filter_map(|e| self.position(e.turn)) {
            self.mark(&mut wanted, (0..=at).rev(), reach);
            self.mark(&mut wanted, at..self.pages.len(), reach);
        }
        let chosen = self.pages.iter().zip(wanted).filter(|(page, wanted)| *wanted && by(page.turn.speaker));
        chosen.map(|(page, _)| page.turn.text.as_str()).collect::<Vec<_>>().join("\n")
    }

    fn mark(&self, wanted: &mut [bool], path: impl Iterator<Item = usize>, reach: usize) {
        let mut left = reach + 1;
        for at in path {
            let (Some(page), Some(slot)) = (self.pages.get(at), wanted.get_mut(at)) else { return };
            *slot = true;
            left -= usize::from(matches!(page.turn.speaker, Speaker::User | Speaker::Assistant));
            if left == 0 {
                return;
            }
        }
    }
}

/// The form in which quotes are looked up: folded, and without the marks of Markdown emphasis, which models drop.
pub(super) fn quotable(text: &str) -> String {
    fold(&text.replace(['*', '`'], ""))
}

impl super::Scene<'_> {
    /// What the memories say that a candidate points to: it may name what they name.
    pub fn pointed(&self, draft: &super::Draft) -> String {
        let points = |known: &&crate::extract::Known| {
            draft.candidate.relations.iter().any(|r| r.id == known.alias || r.id == known.memory.id.as_str())
        };
        let known = self.context.known.iter().filter(points);
        known.map(|k| format!("{}\n{}\n", k.memory.summary, k.memory.reason.as_deref().unwrap_or_default())).collect()
    }
}
