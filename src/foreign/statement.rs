//! From any text to a summary that fits and the rest of it. Nothing is ever cut.

use crate::text::{sentences, words};

/// A sentence with fewer words than this guides nobody.
const FEWEST_WORDS: usize = 3;

/// One line, single spaces.
pub fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A statement that fits a summary, and what else the text says: whole sentences only. `None` if no sentence fits.
pub fn split(text: &str) -> Option<(String, Option<String>)> {
    let text = one_line(text);
    let fits = |text: &str| words::width(text) <= words::MAX_WIDTH;
    if fits(&text) {
        return (!text.is_empty()).then_some((text, None));
    }
    let parts = sentences::split(&text);
    let says = |part: &&str| fits(part) && words::tokens(part).len() >= FEWEST_WORDS;
    let at = parts.iter().position(says)?;
    let first = parts.get(at)?.trim_end_matches([';', '；']);
    let rest: Vec<&str> = parts.iter().enumerate().filter(|(n, _)| *n != at).map(|(_, part)| *part).collect();
    Some((first.to_owned(), Some(rest.join(" ")).filter(|r| !r.is_empty())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_keep_every_sentence() {
        let long = "a very long clause that goes on ".repeat(8);
        let wide = "这是一个非常长的说明".repeat(12);
        for (text, summary, rest) in [
            ("Use tabs.", Some("Use tabs."), None),
            (&*format!("Use tabs in Go files. {long}."), Some("Use tabs in Go files."), Some(format!("{}.", long.trim_end()))),
            (&format!("{long}. Run the tests before a push."), Some("Run the tests before a push."), Some(format!("{}.", long.trim_end()))),
            (&format!("缓存统一用 Redis 哨兵模式。{wide}。"), Some("缓存统一用 Redis 哨兵模式。"), Some(format!("{wide}。"))),
            (&format!("{long}. See it."), None, None),
            (&wide, None, None),
            ("  \n ", None, None),
        ] {
            let found = split(text);
            assert_eq!(found.as_ref().map(|f| f.0.as_str()), summary, "{text}");
            if let Some(rest) = rest {
                let flat = |t: &str| t.replace(' ', "");
                assert_eq!(found.and_then(|f| f.1).map(|r| flat(&r)), Some(flat(&rest)), "{text}");
            }
        }
    }
}
