//! Sentences and clauses as slices of the text they stand in, so that a quote is verbatim by construction.
//!
//! English, Chinese, Japanese and Korean punctuation; file names, versions, addresses and abbreviations hold together.
//! What a sentence means is not decided here.

/// Words whose full stop ends no sentence.
const ABBREVIATIONS: &[&str] = &[
    "al", "approx", "aka", "cf", "dept", "dr", "eg", "e.g", "esp", "etc", "fig", "ie", "i.e", "inc", "incl", "jr", "ltd", "max", "min",
    "mr", "mrs", "ms", "nr", "prof", "resp", "sr", "st", "vs",
];

/// A line this long that ends without a mark was wrapped by an editor, not ended by its writer.
const WRAPPED: usize = 60;

/// The sentences of a text, in order, trimmed, without list markers; empty ones are left out.
pub fn split(text: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut start = 0;
    let mut marks = text.char_indices().peekable();
    let mut depth = 0usize; // inside `code`
    while let Some((at, c)) = marks.next() {
        let after = at + c.len_utf8();
        let end = match c {
            '`' => {
                depth ^= 1;
                None
            }
            '\n' if !wrapped(text, start, at) => {
                depth = 0;
                Some(after)
            }
            _ if depth == 1 => None,
            '。' | '！' | '？' | '；' | '．' => Some(closing(text, after)),
            '!' | '?' | ';' | '…' if breaks(text, after) => Some(closing(text, after)),
            '.' if full_stop(text, start, at) => Some(closing(text, after)),
            _ => None,
        };
        if let Some(end) = end {
            push(&mut out, text, start, end);
            start = end;
            while marks.peek().is_some_and(|&(next, _)| next < end) {
                marks.next();
            }
        }
    }
    push(&mut out, text, start, text.len());
    out
}

/// The clauses of a sentence: cut at commas, semicolons and dashes that join clauses, not inside code, brackets,
/// quotation marks or numbers. Marks stay with the clause before them; slices are trimmed.
pub fn clauses(sentence: &str) -> Vec<&str> {
    let kana = sentence.chars().any(|c| matches!(c, '\u{3040}'..='\u{30ff}'));
    let (mut out, mut start) = (Vec::new(), 0);
    let (mut code, mut brackets) = (false, 0i32);
    for (at, c) in sentence.char_indices() {
        let after = at + c.len_utf8();
        match c {
            '`' => code = !code,
            '(' | '（' | '[' | '{' | '“' | '「' | '『' => brackets += 1,
            ')' | '）' | ']' | '}' | '”' | '」' | '』' => brackets = (brackets - 1).max(0),
            _ => {}
        }
        let joins = match c {
            _ if code || brackets > 0 => false,
            '，' | '；' => true,
            '、' => kana,
            ',' | ';' | ':' => breaks(sentence, after) || next_is_wide(sentence, after),
            '—' | '–' => true,
            '-' => sentence[..at].ends_with(' ') && sentence[after..].starts_with([' ', '-']),
            _ => false,
        };
        if joins {
            push(&mut out, sentence, start, after);
            start = after;
        }
    }
    push(&mut out, sentence, start, sentence.len());
    out
}

/// A line without the marker that makes it an item of a list, and the marker itself without its marks: `("2", "Redis")`.
pub fn item(line: &str) -> Option<(&str, &str)> {
    let line = line.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '>' | '#')).trim_start_matches("**");
    for word in ["Option ", "option ", "方案", "选项", "案"] {
        if let Some(rest) = line.strip_prefix(word) {
            return label(rest);
        }
    }
    label(line)
}

fn label(line: &str) -> Option<(&str, &str)> {
    let line = line.trim_start_matches(['(', '（', '[']);
    let end = line.char_indices().find(|(_, c)| !is_label(*c)).map_or(line.len(), |(at, _)| at);
    let (name, rest) = (line.get(..end)?, line.get(end..)?);
    let short = !name.is_empty() && name.chars().count() <= 2;
    let mark = rest.chars().next()?;
    let marked = matches!(mark, '.' | ')' | '）' | '、' | '：' | ':' | ']');
    let body = rest.get(mark.len_utf8()..)?;
    // `v1.2` and `a.b` are no items: a Latin mark needs a space behind it.
    let spaced = !mark.is_ascii() || body.starts_with([' ', '*', '\t']) || next_is_wide(rest, mark.len_utf8());
    (short && marked && spaced).then(|| (name, body.trim_matches(|c: char| c.is_whitespace() || c == '*')))
}

fn is_label(c: char) -> bool {
    c.is_ascii_digit() || c.is_ascii_uppercase() || matches!(c, '一' | '二' | '三' | '四' | '五' | '①' | '②' | '③' | '④')
}

/// Keeps a slice if anything but marks is in it, without the marker of a list item.
fn push<'a>(out: &mut Vec<&'a str>, text: &'a str, start: usize, end: usize) {
    let Some(piece) = text.get(start..end).map(str::trim) else { return };
    let piece = piece.trim_start_matches(['-', '*', '•', '·', '+', '#', '>']).trim_start();
    let piece = match item(piece) {
        Some((name, body)) if name.chars().all(|c| c.is_ascii_digit()) && !body.is_empty() => body,
        _ => piece,
    };
    if piece.chars().any(char::is_alphanumeric) {
        out.push(piece);
    }
}

/// Whether a line break inside a paragraph is only the width of somebody's editor.
fn wrapped(text: &str, start: usize, at: usize) -> bool {
    let (before, after) = (text[start..at].trim_end(), &text[at + 1..]);
    let line = before.rsplit('\n').next().unwrap_or(before);
    line.len() >= WRAPPED
        && before.ends_with(|c: char| c.is_alphanumeric() || c == ',')
        && after.trim_start_matches(' ').starts_with(|c: char| c.is_lowercase())
}

/// Whether a Latin mark that ends at `after` is followed by a space, the end, or a closing mark.
fn breaks(text: &str, after: usize) -> bool {
    text[after..].chars().next().is_none_or(|c| c.is_whitespace() || matches!(c, '"' | '\'' | ')' | '”' | '’' | '!' | '?' | '*'))
}

fn next_is_wide(text: &str, after: usize) -> bool {
    text[after..].chars().next().is_some_and(super::words::is_cjk)
}

/// Whether the full stop at `at` ends the sentence that began at `start`.
fn full_stop(text: &str, start: usize, at: usize) -> bool {
    let after = at + 1;
    let follows = text[after..].trim_start_matches([')', '"', '\'', '”', '*']);
    if !follows.is_empty() && !follows.starts_with(char::is_whitespace) && !next_is_wide(text, after) {
        return false;
    }
    if next_is_wide(text, after) && !text[..at].ends_with(super::words::is_cjk) {
        return false; // `v1.2.版本`, `a.中`: no sentence ends like this
    }
    let word = text[start..at].rsplit(|c: char| c.is_whitespace() || c == '(').next().unwrap_or_default();
    let word = word.trim_end_matches('.').to_lowercase();
    // "1." at the beginning of a line is a marker; "etc." may end a sentence only before a capital.
    let marker = text[start..at].trim() == word && word.chars().count() <= 2;
    let capital = follows.trim_start().starts_with(char::is_uppercase);
    !marker && (!ABBREVIATIONS.contains(&word.as_str()) || (word == "etc" && capital))
}

/// Where the sentence really ends: behind repeated and closing marks.
fn closing(text: &str, mut at: usize) -> usize {
    for c in text[at..].chars() {
        match c {
            '.' | '!' | '?' | '。' | '！' | '？' | '"' | '\'' | ')' | '）' | '”' | '’' | '」' | '』' | '…' | '*' => {
                at += c.len_utf8();
            }
            _ => break,
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_in_four_languages() {
        for (text, want) in [
            ("Use a.rs and v1.2.3. no new deps", vec!["Use a.rs and v1.2.3.", "no new deps"]),
            ("e.g. this vs. that. Next!", vec!["e.g. this vs. that.", "Next!"]),
            ("好的。就用 pnpm！别用npm，会乱", vec!["好的。", "就用 pnpm！", "别用npm，会乱"]),
            ("必ず英語で。あと触らないで", vec!["必ず英語で。", "あと触らないで"]),
            ("항상 영어로 써줘. 건드리지 마", vec!["항상 영어로 써줘.", "건드리지 마"]),
            ("- first item\n- second\n1. third", vec!["first item", "second", "third"]),
            ("see https://x.io/?a=1&b=2 please", vec!["see https://x.io/?a=1&b=2 please"]),
            ("Really?! \"Yes.\" Fine...", vec!["Really?!", "\"Yes.\"", "Fine..."]),
            ("run `a; b. c` first; then stop", vec!["run `a; b. c` first;", "then stop"]),
            ("...\n\n---", vec![]),
        ] {
            assert_eq!(split(text), want, "{text}");
        }
        let long = "we keep the acceptance test as it is because it only tests the\noutput format";
        assert_eq!(split(long), [long]);
    }

    #[test]
    fn clauses_hold_numbers_and_code_together() {
        assert_eq!(clauses("加索引吧，缓存先不搞"), ["加索引吧，", "缓存先不搞"]);
        assert_eq!(clauses("1,000 rows, at most"), ["1,000 rows,", "at most"]);
        assert_eq!(clauses("use `a, b` - not c"), ["use `a, b` -", "not c"]);
        assert_eq!(clauses("やめて、S3にする"), ["やめて、", "S3にする"]);
    }

    #[test]
    fn items_have_labels() {
        assert_eq!(item("2. **RabbitMQ**, robust"), Some(("2", "RabbitMQ**, robust")));
        assert_eq!(item("B) later"), Some(("B", "later")));
        assert_eq!(item("方案一：用 Redis"), Some(("一", "用 Redis")));
        assert_eq!(item("Option 3: wait"), Some(("3", "wait")));
        assert_eq!(item("2.3 is out"), None);
        assert_eq!(item("OK, fine"), None);
    }
}

#[cfg(test)]
mod properties {
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_sentence_is_a_slice_in_order(text in "[a-c。，\\.\\?!\\n 1-3`'）é中]{0,60}") {
            let mut at = 0;
            for piece in super::split(&text) {
                let found = text[at..].find(piece);
                prop_assert!(found.is_some());
                at += found.unwrap_or(0) + piece.len();
                for clause in super::clauses(piece) {
                    prop_assert!(piece.contains(clause));
                }
            }
        }
    }
}
