//! What models cost and accept: the dated table `prices.toml`, read once.

use std::sync::LazyLock;

use serde::Deserialize;

use super::Usage;

/// US dollars per million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub struct Rates {
    /// Input not from cache.
    pub input: f64,
    /// Output, thinking included.
    pub output: f64,
    /// Input read from cache.
    pub cache_read: f64,
    /// Input written to cache (kept five minutes).
    pub cache_write: f64,
}

/// One model of the table.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Model {
    /// Id without the date suffix.
    pub id: String,
    /// The usual prices.
    #[serde(flatten)]
    pub rates: Rates,
    /// Whether `temperature` is accepted.
    pub temperature: bool,
    /// Whether `output_config.format` is accepted.
    pub format: bool,
    /// Prices of requests with a larger input.
    pub above: Option<Above>,
}

/// Prices above a threshold of one request.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub struct Above {
    /// Input tokens, cache included, up to which the usual prices hold.
    pub tokens: u64,
    /// The prices beyond.
    #[serde(flatten)]
    pub rates: Rates,
}

#[derive(Default, Deserialize)]
struct Table {
    checked: String,
    model: Vec<Model>,
}

// A table that does not parse leaves every model unknown; a test holds that it parses.
static TABLE: LazyLock<Table> = LazyLock::new(|| toml::from_str(include_str!("prices.toml")).unwrap_or_default());

/// The day on which the table was last compared with the public price list.
pub fn checked() -> &'static str {
    &TABLE.checked
}

/// The row of a model; a date suffix (`-20251001`) does not matter. `None` for a model that is not in the table.
pub fn find(model: &str) -> Option<&'static Model> {
    let bare = match model.rsplit_once('-') {
        Some((head, tail)) if tail.len() == 8 && tail.bytes().all(|b| b.is_ascii_digit()) => head,
        _ => model,
    };
    TABLE.model.iter().find(|m| m.id == bare)
}

/// Dollars for one request with this usage. `None` for a model that is not in the table.
pub fn cost(model: &str, usage: &Usage) -> Option<f64> {
    let model = find(model)?;
    let prompt = usage.input + usage.cache_read + usage.cache_write;
    let rates = model.above.filter(|a| prompt > a.tokens).map_or(model.rates, |a| a.rates);
    let millionths = usage.input as f64 * rates.input
        + usage.output as f64 * rates.output
        + usage.cache_read as f64 * rates.cache_read
        + usage.cache_write as f64 * rates.cache_write;
    Some(millionths / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_parses_and_is_dated() {
        let table: Table = toml::from_str(include_str!("prices.toml")).unwrap();
        assert!(table.model.len() >= 10 && table.checked.len() == 10);
    }

    #[test]
    fn haiku_is_dearer_above_its_threshold() {
        let price = |input, cache_read| cost("claude-haiku-5-5", &Usage { input, cache_read, ..Usage::default() }).unwrap();
        assert!((price(100_000, 0) - 0.01).abs() < 1e-12);
        assert!((price(100_001, 0) - 0.050_000_5).abs() < 1e-12);
        assert!(price(60_000, 40_001) > price(60_000, 40_000) * 4.0, "cache counts too");
    }

    #[test]
    fn dated_ids_are_found_and_strangers_are_not() {
        assert!(find("claude-haiku-4-5-20251001").is_some_and(|m| m.temperature));
        assert!(find("qwen3:8b").is_none() && find("claude-haiku-9").is_none());
        assert_eq!(cost("qwen3:8b", &Usage::default()), None);
    }
}
