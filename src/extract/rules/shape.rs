//! From a clause to the fields of a candidate: summary, reason, end, scope, keywords, topic. Nothing is invented: each
//! field is cut out of what was said.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use super::clause::{Clause, identifiers, proper_names};
use super::cues::{Mark, known_nouns};
use crate::text::{dates, sentences, words};

/// Longest quote, in characters (facts: users-and-extraction §2.5, rule 9).
const QUOTE: usize = 160;

/// A clause without its reason, and the reason.
pub fn split_reason(clause: &Clause<'_>) -> (String, Option<String>) {
    let body = clause.body.as_str();
    if let Some((start, end)) = clause.table().find(Mark::Because, body) {
        let (before, after) = (body.get(..start).unwrap_or_default(), body.get(end..).unwrap_or_default());
        if words::width(before) >= 3.0 && after.chars().any(char::is_alphanumeric) {
            return (tidy(before), Some(tidy(after)));
        }
    }
    if let Some((start, end)) = clause.table().find(Mark::Therefore, body) {
        let (reason, rest) = (body.get(..start).unwrap_or_default(), body.get(end..).unwrap_or_default());
        // "A, so B": only if B says enough to stand alone.
        if subject_words(rest) >= 2 && reason.chars().any(char::is_alphanumeric) {
            return (tidy(rest), Some(tidy(reason)));
        }
    }
    (tidy(body), None)
}

fn subject_words(text: &str) -> usize {
    words::tokens(text).len()
}

/// Without marks at the ends and politeness; at most the width of a summary, cut at a clause where one ends.
pub fn tidy(text: &str) -> String {
    let text = open_part(text);
    let text = text.trim_matches(|c: char| {
        c.is_whitespace() || matches!(c, ',' | '，' | '、' | ';' | '；' | '。' | '.' | '!' | '！' | ':' | '：' | '-' | '–' | '—' | '…')
    });
    let text = ["please", "pls", "thanks", "thx", "btw"].iter().fold(text, |t, word| {
        let cut = t.len().saturating_sub(word.len());
        match t.get(cut..) {
            Some(end) if end.eq_ignore_ascii_case(word) && t.get(..cut).is_some_and(|b| b.ends_with([' ', ','])) => {
                t.get(..cut).unwrap_or(t).trim_end_matches([' ', ','])
            }
            _ => t,
        }
    });
    fit(text)
}

/// The things of a list inside one sentence: 一是 … 二是 …, "A and write B", "(1) … (2) …". One entry if it lists nothing.
pub fn listed(text: &str) -> Vec<String> {
    static BORDER: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(concat!(
            r"(?i)[，,；;。]?\s?(?:[一二三四五]是|其[一二三]|第[一二三四]|[（(]?[1-9一二三][)）、])\s?|[;；]",
            r"|,? and (?:also |then )?(write|rotate|remove|update|fix|add|clean|delete|migrate|move|rename|check|test|document|send|deploy|close|review|bump|replace|drop|finish|backfill)(?-u:\b)",
        ))
        .ok()
    });
    let Some(border) = BORDER.as_ref() else { return vec![text.to_owned()] };
    let (mut parts, mut from) = (Vec::new(), 0);
    for hit in border.captures_iter(text) {
        let Some(whole) = hit.get(0) else { continue };
        parts.push(text.get(from..whole.start()).unwrap_or_default());
        // The verb behind "and" belongs to the next one.
        from = hit.get(1).map_or(whole.end(), |verb| verb.start());
    }
    parts.push(text.get(from..).unwrap_or_default());
    parts.into_iter().map(tidy).filter(|p| words::tokens(p).len() >= 2).collect()
}

/// Cut to the width of a summary, at the last clause that fits.
pub fn fit(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if words::width(&text) <= words::MAX_WIDTH {
        return text;
    }
    let mut end = 0;
    for clause in sentences::clauses(&text) {
        let stop = text.get(end..).and_then(|rest| rest.find(clause)).map_or(end, |at| end + at + clause.len());
        if text.get(..stop).is_none_or(|t| words::width(t) > words::MAX_WIDTH) {
            break;
        }
        end = stop;
    }
    match text.get(..end) {
        Some(whole) if words::width(whole) >= 10.0 => whole.trim_end_matches([',', '，', ';', '；', '、', ' ', '-']).to_owned(),
        _ => words::clip(&text, words::MAX_WIDTH),
    }
}

/// The part of a turn that proves a claim: verbatim, at most 160 characters, cut at a character, without what was
/// redacted.
pub fn quote(text: &str) -> String {
    let text = open_part(text);
    let end = text.char_indices().nth(QUOTE).map_or(text.len(), |(at, _)| at);
    text.get(..end).unwrap_or(text).trim().to_owned()
}

/// The clauses before the first redacted one, or behind the last: a secret's place in a sentence says nothing.
fn open_part(text: &str) -> &str {
    const HIDDEN: &str = "[REDACTED";
    let (Some(first), Some(last)) = (text.find(HIDDEN), text.rfind(HIDDEN)) else { return text };
    let is_border = |c: char| matches!(c, ',' | '，' | ';' | '；' | '。');
    let before = text.get(..first).unwrap_or_default();
    let before = before.rfind(is_border).and_then(|at| before.get(..at)).unwrap_or_default();
    let after = text.get(last..).and_then(|rest| rest.split_once(is_border)).map_or("", |(_, rest)| rest);
    if before.chars().count() >= after.chars().count() { before } else { after }
}

/// The day and the event at which a clause stops holding. A day counts only beside a word that makes it an end.
pub fn ends(clause: &Clause<'_>, day: &str) -> (Option<String>, Option<String>) {
    let body = clause.body.as_str();
    let event = clause.table().group(Mark::UntilEvent, body).map(str::to_owned);
    let found = dates::find(body, day);
    let near = |f: &&dates::Found| {
        let before = tail(body.get(..f.start).unwrap_or_default(), 24);
        let after = head(body.get(f.end..).unwrap_or_default(), 6);
        clause.table().has(Mark::Until, before)
            || ["前", "之前", "以前", "まで", "までに", "까지", "为止", "要", "内", "再", "전"]
                .iter()
                .any(|w| after.trim_start().starts_with(w))
    };
    let date = found.iter().find(near).or(found.first().filter(|_| event.is_some() && found.len() == 1)).map(|f| f.day.clone());
    let date = date.filter(|d| d.as_str() >= day);
    let is_date = event.as_deref().is_some_and(|e| dates::find(e, day).iter().any(|f| f.end - f.start + 6 >= e.len()));
    (date, event.filter(|e| !is_date && e.chars().count() >= 2))
}

fn tail(text: &str, chars: usize) -> &str {
    let start = text.char_indices().rev().nth(chars.saturating_sub(1)).map_or(0, |(at, _)| at);
    text.get(start..).unwrap_or(text)
}

fn head(text: &str, chars: usize) -> &str {
    let end = text.char_indices().nth(chars).map_or(text.len(), |(at, _)| at);
    text.get(..end).unwrap_or(text)
}

/// Where a claim holds: a folder, file or environment named with "in", "only for", 只在, 仅限.
pub fn scope(body: &str) -> Option<String> {
    static PATTERN: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(concat!(
            r"(?i)(?:^|[ ,(])(?:in|for|under|inside|within) (?:the )?((?:[\w@.-]+/)+[\w@.*-]*|this (?:one )?(?:file|repo|module|package|branch)|(?:the )?(?:tests?|staging|production|prod|e2e tests?|core crate))(?:[ ,.;:)]|$)",
            r"|(?:只在|仅在|仅限|只对|仅对)\s?([^，。,. ]{2,12})",
            r"|([^、。 ]{2,12})(?:だけ|のみ)(?:で|に|は)",
        ))
        .ok()
    });
    let hit = PATTERN.as_ref()?.captures(body)?;
    hit.iter().skip(1).flatten().next().map(|m| m.as_str().trim().trim_end_matches(['.', '。']).to_owned())
}

/// Two to five words to find a claim by: identifiers and names first, then known nouns, then the longest other words.
pub fn keywords(text: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut seen = BTreeSet::new();
    let others = content_words(text);
    // `-stg-2` of `db-stg-2` is a part of a name, not a flag.
    let compounds = text.split_whitespace().map(|w| w.trim_matches(|c: char| !c.is_ascii_alphanumeric())).filter(|w| is_compound(w));
    let names = identifiers(text).into_iter().filter(|w| !w.starts_with('-') || text.contains(&format!(" {w}")));
    for word in compounds.map(str::to_owned).chain(names).chain(proper_names(text)).chain(known_nouns(text)).chain(others) {
        let folded = words::fold(&word);
        let fresh = !seen.iter().any(|s: &String| s.contains(&folded) || folded.contains(s.as_str()));
        if fresh && (2..=20).contains(&word.chars().count()) && out.len() < 5 {
            seen.insert(folded);
            out.push(word);
        }
    }
    out
}

/// `db-stg-2`, `gpt-5`: a name with hyphens and a number.
fn is_compound(word: &str) -> bool {
    word.contains('-')
        && word.starts_with(|c: char| c.is_ascii_alphabetic())
        && word.bytes().any(|b| b.is_ascii_digit())
        && word.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
}

/// Words that nobody would look for.
const EMPTY: &[&str] = &[
    "about",
    "after",
    "again",
    "also",
    "always",
    "another",
    "anymore",
    "anything",
    "back",
    "because",
    "been",
    "before",
    "being",
    "both",
    "doing",
    "done",
    "each",
    "either",
    "ever",
    "every",
    "everything",
    "from",
    "going",
    "goes",
    "have",
    "here",
    "into",
    "instead",
    "just",
    "keep",
    "make",
    "more",
    "most",
    "must",
    "need",
    "needs",
    "never",
    "nothing",
    "only",
    "other",
    "over",
    "please",
    "prefer",
    "same",
    "should",
    "since",
    "some",
    "something",
    "still",
    "than",
    "that",
    "their",
    "them",
    "then",
    "there",
    "these",
    "they",
    "thing",
    "this",
    "those",
    "under",
    "until",
    "using",
    "very",
    "want",
    "when",
    "where",
    "which",
    "while",
    "will",
    "with",
    "without",
    "would",
    "your",
    "named",
    "keyed",
    "比较喜欢",
    "喜欢",
    "习惯",
    "统一",
    "保持",
    "麻烦",
    "这些",
    "那些",
    "所有",
    "任何",
    "必须",
    "一律",
    "直接",
    "一起",
    "同样",
    "因为",
    "所以",
    "今後",
    "必ず",
    "항상",
    "앞으로",
    "써줘",
    "해줘",
];

/// Latin words of four letters and more that mean something, longest first, and pieces of CJK between particles.
fn content_words(text: &str) -> Vec<String> {
    const PARTICLES: &[char] = &[
        '的', '了', '是', '在', '用', '把', '和', '与', '就', '都', '不', '要', '先', '后', '再', '做', '给', '个', '每', '请', '它', '并',
        '或', '但', '只', '也', '因', '为', '太', '很', '没', '看', '里', '改', '换', '走', '选', '放', '存', '由', '该', '会', '时', '得',
        '从', '到', '也', '这', '那', '我', '你', '们', '别', '还', '给', '让', '一', 'は', 'が', 'を', 'に', 'で', 'の', 'と', 'も', 'へ',
        'し', 'て', 'る', 'す', 'ま', 'い', 'な', 'だ',
    ];
    let mut latin: Vec<String> = text
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|w| w.len() >= 4 && !words::tokens(w).is_empty() && !w.bytes().all(|b| b.is_ascii_digit()))
        .map(str::to_lowercase)
        .collect();
    latin.sort_by_key(|w| std::cmp::Reverse(w.len()));
    let wide = text
        .split(|c: char| !words::is_cjk(c) || PARTICLES.contains(&c))
        .filter(|w| (2..=6).contains(&w.chars().count()))
        .map(str::to_owned);
    latin.into_iter().chain(wide).filter(|w| !EMPTY.contains(&w.as_str())).collect()
}

/// The noun of the trade among the keywords, else a name written with a capital, as a heading.
pub fn topic(keywords: &[String]) -> Option<String> {
    let noun = |k: &&String| known_nouns(k).first().is_some_and(|n| n.eq_ignore_ascii_case(k));
    let name =
        |k: &&String| k.len() >= 3 && k.starts_with(|c: char| c.is_ascii_uppercase()) && k.bytes().all(|b| b.is_ascii_alphanumeric());
    keywords.iter().find(noun).or_else(|| keywords.iter().find(name)).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::words::language;

    fn clause(text: &str) -> Clause<'_> {
        Clause::new(text, language(text))
    }

    #[test]
    fn reasons_come_off() {
        let (summary, reason) = split_reason(&clause("ok, we pin node to 20 because the image ships it."));
        assert_eq!((summary.as_str(), reason.as_deref()), ("we pin node to 20", Some("the image ships it")));
        let (summary, reason) = split_reason(&clause("用轮询，因为一天才几百条"));
        assert_eq!((summary.as_str(), reason.as_deref()), ("用轮询", Some("一天才几百条")));
    }

    #[test]
    fn ends_need_a_word_that_ends() {
        assert_eq!(ends(&clause("freeze main until Friday"), "2026-04-14").0.as_deref(), Some("2026-04-17"));
        assert_eq!(ends(&clause("it broke on Friday"), "2026-04-14").0, None);
        assert_eq!(ends(&clause("月底前下线"), "2026-04-14").0.as_deref(), Some("2026-04-30"));
        assert_eq!(
            ends(&clause("only until ops renews the cert, they said Friday"), "2026-04-14"),
            (Some("2026-04-17".into()), Some("ops renews the cert".into()))
        );
        assert_eq!(ends(&clause("金曜日まで触らないで"), "2026-04-14").0.as_deref(), Some("2026-04-17"));
    }

    #[test]
    fn keywords_are_names_first() {
        assert_eq!(keywords("store jobs in Postgres, table import_jobs")[..2], ["import_jobs", "Postgres"]);
        assert!(keywords("提交信息统一用英文").contains(&"提交信息".to_owned()));
        assert!(keywords("支付回调做幂等校验").contains(&"支付回调".to_owned()));
        assert_eq!(keywords("staging is on db-stg-2, always before anything"), ["db-stg-2", "staging"]);
    }

    #[test]
    fn scopes() {
        assert_eq!(scope("In packages/web we use pnpm").as_deref(), Some("packages/web"));
        assert_eq!(scope("仅限测试环境").as_deref(), Some("测试环境"));
        assert_eq!(scope("before you push anything under src/payments.").as_deref(), Some("src/payments"));
        assert_eq!(scope("we use pnpm"), None);
    }

    #[test]
    fn long_summaries_end_at_a_clause() {
        let long = format!("use pnpm here, {}", "and many more words ".repeat(20));
        assert!(words::width(&fit(&long)) <= words::MAX_WIDTH);
    }
}
