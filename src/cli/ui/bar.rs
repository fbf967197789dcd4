//! Bars of a chart: eighths of a cell where the terminal can show them, `#` where not.

use crate::env::Env;

/// Whether the terminal says that it shows UTF-8.
pub fn shows_unicode(env: &Env) -> bool {
    // The first of these that is set decides; Windows sets none and shows it.
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(|name| env.var(name).filter(|v| !v.is_empty()));
    locale.map_or(cfg!(windows), |locale| {
        let locale = locale.to_ascii_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    })
}

/// `part` of `whole` as a bar of at most `cells` cells; what is not nothing is seen.
pub fn bar(part: usize, whole: usize, cells: usize, unicode: bool) -> String {
    if part == 0 || whole == 0 {
        return String::new();
    }
    let steps = if unicode { 8 } else { 1 };
    let filled = (part.min(whole) * cells * steps).div_ceil(whole).max(1);
    if !unicode {
        return "#".repeat(filled);
    }
    let rest = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"].get(filled % 8).copied().unwrap_or_default();
    format!("{}{rest}", "█".repeat(filled / 8))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::ui::wrap::cells;

    #[test]
    fn bars_fit_and_grow() {
        for unicode in [true, false] {
            let all: Vec<usize> = (0..=300).map(|n| cells(&bar(n, 200, 20, unicode))).collect();
            assert_eq!((all[0], all[1], all[200], all[300]), (0, 1, 20, 20));
            assert!(all.is_sorted());
        }
        assert_eq!(bar(1, 2, 5, true), "██▌");
        assert_eq!(bar(1, 2, 5, false), "###");
        assert_eq!(bar(3, 0, 5, true), "");
    }
}
