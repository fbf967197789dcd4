//! Which memory comes first when not all fit, and which match a keyword.
//!
//! Only what the store holds counts: age is measured against the newest memory, never against a clock. More hits never
//! lower a rank, so that an injection, which counts as a use, does not change the next one.

use std::collections::BTreeSet;

use jiff::civil::Date;

use super::select::Known;
use crate::model::{Layer, Memory, State};
use crate::text::words;

/// Above everything else taken together.
const PINNED: f64 = 1.0;
/// A used memory rises by up to this much.
const USE: f64 = 0.2;
/// Hits at which half of [`USE`] is reached.
const HALF_USE: f64 = 3.0;
/// The newest memory rises by this much.
const RECENCY: f64 = 0.2;
/// Days in which recency halves.
const HALF_LIFE_DAYS: f64 = 60.0;
/// A memory that matches every keyword rises by this much.
const KEYWORDS: f64 = 0.2;

/// What a layer weighs: close enough that a fresh, used working memory outranks a forgotten preference.
fn layer_weight(layer: Layer) -> f64 {
    match layer {
        Layer::LongTerm => 0.20,
        Layer::Working => 0.15,
        Layer::Transient => 0.05,
    }
}

/// Rank of a memory: pinned first, then layer, use and recency. `newest` is the newest day among the candidates,
/// `asked` the number of keywords.
pub fn score(known: &Known<'_>, newest: Option<Date>, asked: usize) -> f64 {
    let memory = known.memory;
    let pinned = if memory.pinned { PINNED } else { 0.0 };
    // What was turned down helps less often than what holds.
    let layer = layer_weight(memory.layer) * if memory.state == State::Rejected { 0.5 } else { 1.0 };
    let hits = known.hits as f64;
    let used = USE * hits / (hits + HALF_USE);
    let age = known.day.zip(newest).map(|(day, newest)| f64::from(days_between(day, newest)));
    let recency = age.map_or(0.0, |age| RECENCY * (-age / HALF_LIFE_DAYS).exp2());
    let keywords = if asked == 0 { 0.0 } else { KEYWORDS * known.matched as f64 / asked as f64 };
    pinned + layer + used + recency + keywords
}

/// Days from `from` to `to`; negative if `to` is earlier.
pub fn days_between(from: Date, to: Date) -> i32 {
    from.until(to).map_or(0, |span| span.get_days())
}

/// A keyword, taken apart once: Chinese, Japanese and Korean runs match as they stand, other words by their stem.
#[derive(Clone, Debug)]
pub struct Keyword {
    runs: Vec<String>,
    stems: BTreeSet<String>,
    /// For a keyword without letters of either sort (`&&`), the folded text itself.
    plain: Option<String>,
}

impl Keyword {
    /// Takes a keyword apart.
    pub fn of(text: &str) -> Self {
        let folded = words::fold(text);
        let runs: Vec<String> = folded.split(|c| !words::is_cjk(c)).filter(|r| !r.is_empty()).map(str::to_owned).collect();
        let rest: String = folded.chars().map(|c| if words::is_cjk(c) { ' ' } else { c }).collect();
        let stems = words::token_set(&rest);
        let plain = (runs.is_empty() && stems.is_empty() && !folded.is_empty()).then_some(folded);
        Self { runs, stems, plain }
    }

    /// Whether it occurs in a folded text with these stems. An empty keyword matches nothing.
    fn occurs(&self, folded: &str, stems: &BTreeSet<String>) -> bool {
        match &self.plain {
            Some(plain) => folded.contains(plain.as_str()),
            None if self.runs.is_empty() && self.stems.is_empty() => false,
            None => self.runs.iter().all(|r| folded.contains(r.as_str())) && self.stems.is_subset(stems),
        }
    }
}

/// How many keywords occur in a memory's topic, keywords, summary or reason.
pub fn matched(keywords: &[Keyword], memory: &Memory) -> usize {
    if keywords.is_empty() {
        return 0;
    }
    let fields = [memory.topic.as_deref(), Some(memory.summary.as_str()), memory.reason.as_deref()];
    let text: Vec<&str> = fields.into_iter().flatten().chain(memory.keywords.iter().map(String::as_str)).collect();
    let folded = words::fold(&text.join(" | "));
    let stems = words::token_set(&folded);
    keywords.iter().filter(|k| k.occurs(&folded, &stems)).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Id, Kind};

    fn memory(summary: &str, keywords: &[&str]) -> Memory {
        let mut memory = Memory::new(Id::from_bits(1), Layer::Working, Kind::Decision, summary);
        memory.keywords = keywords.iter().map(|k| (*k).to_owned()).collect();
        memory
    }

    #[test]
    fn keywords_match_by_stem_and_by_substring() {
        let english = memory("Log every retry of the payment worker", &["order_no"]);
        let chinese = memory("支付回调接口加幂等校验，用 Redis 锁", &["订单号"]);
        for (keyword, memory, wanted) in [
            ("logging", &english, true),
            ("payments", &english, true),
            ("pay", &english, false),
            ("retry payment", &english, true),
            ("retry kafka", &english, false),
            ("order_no", &english, true),
            ("幂等", &chinese, true),
            ("redis锁", &chinese, true),
            ("ＲＥＤＩＳ", &chinese, true),
            ("订单", &chinese, true),
            ("缓存", &chinese, false),
            ("", &chinese, false),
        ] {
            assert_eq!(matched(&[Keyword::of(keyword)], memory) == 1, wanted, "{keyword}");
        }
    }
}
