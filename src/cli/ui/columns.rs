//! Two texts beside each other. Wide characters and styles keep their places.

use super::wrap::{cells, steps, wrap};

/// Between the columns.
const BETWEEN: &str = " │ ";

/// Cells of each of two columns on a screen; `None` if it is too narrow for two.
pub fn width_of(screen: usize) -> Option<usize> {
    (screen >= 72).then(|| (screen - cells(BETWEEN)) / 2)
}

/// A text as lines of at most `width` cells; each ends the styles it begins. A word that is too long is broken.
pub fn lines(text: &str, width: usize) -> Vec<String> {
    let (mut out, mut active) = (Vec::new(), String::new());
    for line in wrap(text, width, 0).split('\n') {
        let (mut part, mut used) = (active.clone(), 0);
        for (step, n) in steps(line) {
            if step.starts_with('\u{1b}') {
                // `ESC [ 0 m` ends all.
                if step == "\u{1b}[0m" { active.clear() } else { active.push_str(step) }
            } else if used + n > width {
                out.push(ended(part, &active));
                (part, used) = (active.clone(), 0);
            }
            part.push_str(step);
            used += n;
        }
        out.push(ended(part, &active));
    }
    out
}

fn ended(line: String, active: &str) -> String {
    if active.is_empty() { line } else { line + "\u{1b}[0m" }
}

/// Lines of two columns of `width` cells each, as the lines of a screen.
pub fn beside(left: &[String], right: &[String], width: usize) -> Vec<String> {
    let none = String::new();
    let row = |n: usize| {
        let (a, b) = (left.get(n).unwrap_or(&none), right.get(n).unwrap_or(&none));
        let gap = " ".repeat(width.saturating_sub(cells(a)));
        format!("{a}{gap}{BETWEEN}{b}").trim_end().to_owned()
    };
    (0..left.len().max(right.len())).map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::ui::{paint, style};
    use proptest::prelude::*;

    #[test]
    fn wide_characters_keep_the_column() {
        let rows = beside(&lines("支付回调用订单号", 9), &lines("one two three", 9), 9);
        assert_eq!(rows, ["支付回调  │ one two", "用订单号  │ three"]);
    }

    #[test]
    fn a_style_ends_with_its_line() {
        let styled = lines(&paint(style::BAD, "one two"), 4);
        assert_eq!(styled.len(), 2);
        assert!(styled.iter().all(|l| l.starts_with('\u{1b}') && l.ends_with("\u{1b}[0m")), "{styled:?}");
    }

    proptest! {
        #[test]
        fn no_line_is_too_wide_and_nothing_is_lost(text in "[a-z/支付，。\\[\\] ]{0,80}", width in 8usize..40) {
            let kept = |t: &str| t.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            let all = lines(&text, width);
            prop_assert!(all.iter().all(|l| cells(l) <= width), "{all:?}");
            prop_assert_eq!(kept(&all.concat()), kept(&text));
        }
    }
}
