//! Lines that fit a screen: cut or wrapped by the cells they take there. Styles take none; a wide character takes two.
//!
//! Not here: how wide the screen is, and whether there is one (`ui`).

use unicode_width::UnicodeWidthChar;

/// Punctuation that does not begin a line.
const CLOSING: &str = "，。、；：！？）》」』】〉”’…％,.;:!?)]}";
/// Punctuation that does not end a line.
const OPENING: &str = "（《「『【〈“‘([{";

/// Characters and escape sequences of styles in order, each with the cells it takes.
pub(super) fn steps(text: &str) -> impl Iterator<Item = (&str, usize)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let style = rest.strip_prefix("\u{1b}[").and_then(|tail| tail.find('m'));
        let (length, cells) = match style {
            Some(end) => ("\u{1b}[".len() + end + 1, 0),
            None => (first.len_utf8(), first.width().unwrap_or(0)),
        };
        let (step, tail) = rest.split_at_checked(length)?;
        rest = tail;
        Some((step, cells))
    })
}

/// How many cells a text takes.
pub fn cells(text: &str) -> usize {
    steps(text).map(|(_, n)| n).sum()
}

/// `text` and spaces behind it up to `width` cells.
pub fn padded(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(cells(text))))
}

/// Cells of a column of a table: as its widest text takes, within a bound that leaves room for the others.
pub fn column(texts: impl IntoIterator<Item = impl AsRef<str>>, most: usize) -> usize {
    texts.into_iter().map(|text| cells(text.as_ref())).max().unwrap_or(0).min(most)
}

/// `text` in at most `width` cells, with `…` where something was cut off. Styles end where they would have.
pub fn cut(text: &str, width: usize) -> String {
    if cells(text) <= width {
        return text.to_owned();
    }
    let (mut out, mut used, mut full) = (String::new(), 0, false);
    for (step, n) in steps(text) {
        if step.starts_with('\u{1b}') {
            out.push_str(step);
        } else if !full && used + n < width {
            out.push_str(step);
            used += n;
        } else if !full {
            full = true;
            out.push('…');
        }
    }
    out
}

/// A stretch that stays on one line, and the spaces before it.
#[derive(Default)]
struct Word {
    spaces: usize,
    text: String,
    cells: usize,
}

fn words(text: &str) -> Vec<Word> {
    let mut words = vec![Word::default()];
    let mut before = None;
    for (step, n) in steps(text) {
        let c = step.chars().next().filter(|c| *c != '\u{1b}');
        let joined = |a: char, b: char| (n < 2 && a.width().unwrap_or(0) < 2) || CLOSING.contains(b) || OPENING.contains(a);
        let begins = c.zip(before).is_some_and(|(c, before)| c != ' ' && (before == ' ' || !joined(before, c)));
        if begins && words.last().is_some_and(|w| w.cells > 0) {
            words.push(Word::default());
        }
        if c == Some(' ') && words.last().is_some_and(|w| w.cells > 0) {
            words.push(Word::default());
        }
        if let Some(word) = words.last_mut() {
            if c == Some(' ') {
                word.spaces += 1;
            } else {
                word.text.push_str(step);
                word.cells += n;
            }
        }
        before = c.or(before);
    }
    words
}

/// One line as several of at most `width` cells, broken between words and between wide characters; those after the first are
/// indented by `indent`. A word that is wider than a line stays whole.
pub fn wrap(line: &str, width: usize, indent: usize) -> String {
    if cells(line) <= width || width <= indent {
        return line.to_owned();
    }
    let (mut out, mut used, mut fresh) = (String::new(), 0, true);
    for word in words(line) {
        if !fresh && used + word.spaces + word.cells > width {
            out.push('\n');
            out.push_str(&" ".repeat(indent));
            used = indent;
        } else {
            out.push_str(&" ".repeat(word.spaces));
            used += word.spaces;
        }
        out.push_str(&word.text);
        used += word.cells;
        fresh = false;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lines_are_cut_by_cells() {
        assert_eq!(cut("short", 10), "short");
        assert_eq!(cut("支付回调用订单号做唯一索引", 9), "支付回调…");
        assert_eq!(cut("\u{1b}[1mbold and long\u{1b}[0m", 5), "\u{1b}[1mbold…\u{1b}[0m");
    }

    #[test]
    fn lines_are_wrapped_at_words_and_between_wide_characters() {
        assert_eq!(wrap("  one two three", 9, 4), "  one two\n    three");
        assert_eq!(wrap("支付回调，用订单号", 8, 2), "支付回\n  调，用\n  订单号");
        assert_eq!(wrap("a /very/long/path/without/spaces b", 10, 2), "a\n  /very/long/path/without/spaces\n  b");
        assert_eq!(wrap("日本語の決まり", 6, 0), "日本語\nの決ま\nり");
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_nothing_is_too_wide(text in "[a-c 支付，。]{0,60}", width in 6usize..30) {
            let kept = |t: &str| t.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            prop_assert_eq!(kept(&wrap(&text, width, 2)), kept(&text));
            prop_assert!(cells(&cut(&text, width)) <= width);
        }
    }
}
