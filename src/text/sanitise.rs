//! Foreign text made safe to show: a terminal or a review page must not be steered by what a model or a file says.
//!
//! Escape sequences go, other control characters are shown as `\x07`, marks that reorder or hide text go.
//! Not here: escaping for Markdown, YAML or our injected block (each writer escapes for its own format).

use std::iter::Peekable;
use std::str::Chars;

/// One line: as [`block`], with line breaks and tabs turned into spaces.
pub fn line(text: &str) -> String {
    block(text).replace(['\n', '\t'], " ")
}

/// Several lines: line feeds and tabs stay, CR LF becomes LF. Applying it twice changes nothing.
pub fn block(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\n' | '\t' => out.push(c),
            '\r' if rest.peek() == Some(&'\n') => {}
            '\u{2028}' | '\u{2029}' | '\u{85}' => out.push('\n'),
            '\u{1b}' => skip_escape(&mut rest),
            '\u{9b}' => skip_control_sequence(&mut rest),
            '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}' => skip_string(&mut rest),
            c if c.is_control() => out.extend(format!("\\x{:02x}", u32::from(c)).chars()),
            '\u{200c}' | '\u{200d}' => {
                if joins(out.chars().next_back()) && joins(rest.peek().copied()) {
                    out.push(c);
                }
            }
            c if hides(c) => {}
            c => out.push(c),
        }
    }
    out
}

/// Whether a zero-width joiner beside this character means something (emoji, Persian, Indic scripts).
fn joins(c: Option<char>) -> bool {
    c.is_some_and(|c| !c.is_ascii() && !c.is_whitespace() && !c.is_control() && (!hides(c) || matches!(c, '\u{fe0e}' | '\u{fe0f}')))
}

/// Marks that reorder text, show nothing, or smuggle ASCII (tag characters, supplementary variation selectors).
fn hides(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// What follows ESC: a control sequence, a string, or one character. The ESC itself is gone in any case.
fn skip_escape(rest: &mut Peekable<Chars<'_>>) {
    match rest.peek() {
        Some('[') => {
            rest.next();
            skip_control_sequence(rest);
        }
        Some(']' | 'P' | 'X' | '^' | '_') => {
            rest.next();
            skip_string(rest);
        }
        // Intermediate bytes and a final one (ECMA-35), such as ESC ( B.
        Some(' '..='/') => {
            while rest.next_if(|c| matches!(c, ' '..='/')).is_some() {}
            rest.next_if(|c| matches!(c, '0'..='~'));
        }
        Some('0'..='~') => {
            rest.next();
        }
        _ => {}
    }
}

/// Parameters, intermediates and the final byte of a CSI sequence (ECMA-48 §5.4).
fn skip_control_sequence(rest: &mut Peekable<Chars<'_>>) {
    while rest.next_if(|c| matches!(c, ' '..='?')).is_some() {}
    rest.next_if(|c| matches!(c, '@'..='~'));
}

/// A control string up to BEL or ST. Without an end only its introducer goes, so that no words are lost.
fn skip_string(rest: &mut Peekable<Chars<'_>>) {
    let mut ahead = rest.clone();
    while let Some(c) = ahead.next() {
        match c {
            '\u{7}' | '\u{9c}' => {
                *rest = ahead;
                return;
            }
            '\u{1b}' if ahead.peek() == Some(&'\\') => {
                ahead.next();
                *rest = ahead;
                return;
            }
            '\u{1b}' | '\n' => return,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sequences_go_and_words_stay() {
        for (input, want) in [
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("\u{1b}]8;;http://x.test\u{7}link\u{1b}]8;;\u{1b}\\", "link"),
            ("\u{1b}]0;never ended", "0;never ended"),
            ("\u{9b}2Jgone", "gone"),
            ("a\u{1b}(Bb\u{1b}c", "ab"),
            ("bell\u{7} back\u{8}", "bell\\x07 back\\x08"),
            ("a\r\nb\rc", "a\nb\\x0dc"),
            ("abc\u{202e}txt.exe\u{2066}", "abctxt.exe"),
            ("pass\u{200b}word\u{e0041}", "password"),
            ("👩\u{200d}💻 می\u{200c}خواهم ❤\u{fe0f}", "👩\u{200d}💻 می\u{200c}خواهم ❤\u{fe0f}"),
            ("a\u{200d}b", "ab"),
            ("订单\u{feff}支付", "订单支付"),
        ] {
            assert_eq!(block(input), want, "{input:?}");
        }
        assert_eq!(line("a\n\tb"), "a  b");
    }

    proptest! {
        #[test]
        fn nothing_left_that_steers(text in any::<String>()) {
            let once = block(&text);
            let steers = |c: char| (c.is_control() && c != '\n' && c != '\t') || (hides(c) && !matches!(c, '\u{200c}' | '\u{200d}'));
            prop_assert!(!once.contains(steers));
            prop_assert_eq!(&block(&once), &once);
            prop_assert!(!line(&text).contains(['\n', '\t']));
        }
    }
}
