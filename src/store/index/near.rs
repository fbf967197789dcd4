//! Slips of the finger: terms one edit away from a word that no memory holds.

/// Shorter words have too many neighbours.
const SHORTEST: usize = 5;
/// From this length on two edits are one slip too many, but still the same word.
const LONG: usize = 9;
/// The most neighbours to take.
const MOST: usize = 3;

/// Whether a word can be a slip at all: not too short, and of plain letters.
pub fn can_slip(word: &str) -> bool {
    word.len() >= SHORTEST && word.bytes().all(|b| b.is_ascii_lowercase())
}

/// The terms nearest to a word that is spelled as nobody spells it, sorted; none if it [`can_slip`] not. A swap of two neighbouring letters counts one edit, as a missing, added or changed one (optimal string alignment).
pub fn nearest<'a>(word: &str, terms: impl Iterator<Item = &'a str>) -> Vec<String> {
    if !can_slip(word) {
        return Vec::new();
    }
    let allowed = if word.len() >= LONG { 2 } else { 1 };
    let mut found: Vec<(usize, &str)> = terms
        .filter(|t| t.len().abs_diff(word.len()) <= allowed && t.bytes().all(|b| b.is_ascii_lowercase()))
        .filter_map(|t| Some((distance(word.as_bytes(), t.as_bytes(), allowed)?, t)))
        .collect();
    found.sort_unstable();
    let best = found.first().map_or(0, |(d, _)| *d);
    found.into_iter().filter(|(d, _)| *d == best).take(MOST).map(|(_, t)| t.to_owned()).collect()
}

/// Edits between two words; `None` if more than `most`.
fn distance(a: &[u8], b: &[u8], most: usize) -> Option<usize> {
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let mut cost = (last[j] + usize::from(x != y)).min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && a[i - 1] == *y && b[j - 1] == *x {
                cost = cost.min(before[j - 1] + 1);
            }
            row.push(cost);
        }
        if row.iter().min().is_some_and(|m| *m > most) {
            return None;
        }
        before = std::mem::replace(&mut last, row);
    }
    last.last().copied().filter(|d| *d <= most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips() {
        let terms = ["postgr", "payment", "payments", "worker", "idempot", "kubernet"];
        for (word, wanted) in [
            ("paymnet", vec!["payment"]),
            ("wroker", vec!["worker"]),
            ("worke", vec!["worker"]),
            ("kubernte", vec!["kubernet"]),
            ("work", vec![]),
            ("v2port", vec![]),
            ("banana", vec![]),
        ] {
            assert_eq!(nearest(word, terms.into_iter()), wanted, "{word}");
        }
    }
}
