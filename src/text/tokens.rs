//! How many tokens a text costs: an estimate, always shown with `≈`, corrected elsewhere by the `usage` of real answers.
//!
//! Not here: prices and the ratio learned per model (`extract::ledger`).

use crate::text::words::is_cjk;

/// Tokens of one CJK character, in tenths.
const CJK_TENTHS: u64 = 12;
/// Other characters per token, in tenths.
const OTHER_PER_TOKEN_TENTHS: u64 = 36;

/// Estimated tokens of a text: a CJK character or full-width mark counts 1.2, 3.6 other characters count 1, rounded up.
/// Source: facts, users-and-extraction §2.7; the usual characters ÷ 4 counts Chinese three times too low.
pub fn estimate(text: &str) -> u64 {
    let (mut wide, mut other) = (0u64, 0u64);
    for c in text.chars() {
        if is_wide(c) {
            wide += 1;
        } else {
            other += 1;
        }
    }
    // Both parts over the common denominator 10 × 36.
    (wide * CJK_TENTHS * OTHER_PER_TOKEN_TENTHS + other * 100).div_ceil(10 * OTHER_PER_TOKEN_TENTHS)
}

/// CJK letters and the full-width punctuation that goes with them.
fn is_wide(c: char) -> bool {
    c >= '\u{1100}' && (is_cjk(c) || matches!(c, '\u{3000}'..='\u{303f}' | '\u{ff00}'..='\u{ffef}'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chinese_is_dearer_than_english() {
        assert_eq!(estimate(""), 0);
        assert_eq!(estimate("a"), 1);
        assert_eq!(estimate(&"a".repeat(36)), 10);
        assert_eq!(estimate("订单支付需要幂等校验"), 12);
        assert_eq!(estimate("，。"), 3);
        assert_eq!(estimate("カナ한글"), 5);
    }
}
