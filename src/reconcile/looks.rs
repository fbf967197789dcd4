//! What a word of a claim looks like by itself: a number, a day, a path, a name.

use super::claim::Look;
use super::roles::{self, Role};
use crate::text::amounts::{Dimension, measure};

/// Digits with what stands behind them in the word: a version may begin with v.
pub(super) fn number_of(word: &str) -> Option<(String, &str)> {
    let digits = word.strip_prefix('v').unwrap_or(word);
    let end = digits.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | ','))).unwrap_or(digits.len());
    let (number, rest) = digits.split_at(end);
    let plain =
        number.starts_with(|c: char| c.is_ascii_digit()) && (rest.is_empty() || measure(rest).is_some_and(|(.., n)| n == rest.len()));
    plain.then(|| (number.replace(',', ""), rest))
}

/// The look of a word that is a value by itself.
pub(super) fn look_of(word: &str, next: &str) -> Option<Look> {
    const DAYS: &[&str] = &["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
    const COUNTS: &[&str] = &[
        "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "fifteen", "twenty", "thirty", "forty",
        "fifty", "sixty", "ninety",
    ];
    let often = matches!(word, "once" | "twice") && matches!(next, "a" | "per" | "every" | "each");
    let digits = |c: char| c.is_ascii_digit();
    let number = word.strip_prefix('v').unwrap_or(word);
    if DAYS.contains(&word.trim_end_matches('s')) {
        return Some(Look::Day);
    }
    if often {
        return Some(Look::Number(Some(Dimension::Time)));
    }
    if COUNTS.contains(&word) || word == "one" && !next.is_empty() && roles::of_word(next).is_none_or(|role| role == Role::Owns) {
        return Some(Look::Number(None));
    }
    if word.contains('/') {
        return Some(Look::Path);
    }
    if !number.starts_with(digits) {
        return None;
    }
    let parts: Vec<&str> = number.split('-').collect();
    if parts.len() == 3 && parts.iter().all(|p| p.chars().all(digits)) {
        return Some(Look::Date);
    }
    if number.contains(':') && number.chars().all(|c| digits(c) || c == ':') {
        return Some(Look::Time);
    }
    Some(Look::Name)
}

/// A day, a date or a counted number at the beginning of CJK letters; with its length and its spelling.
pub(super) fn wide_value(rest: &[char], before: Option<char>, after_number: bool) -> Option<(Look, usize, String)> {
    const NUMERALS: &str = "零一二两三四五六七八九十百千万半";
    const COUNTERS: &str = "个次天台条人份副周月年小分秒倍层种行位件名遍字元块页章句段斤克米度岁楼";
    const PERIODS: &str = "天日周月季年";
    let text: String = rest.iter().take(4).collect();
    for (n, names) in [(2, ["周", "週"]), (3, ["星期", "礼拜"])] {
        let day = names.iter().find_map(|name| text.strip_prefix(name)).and_then(|t| t.chars().next());
        if let Some(day) = day.filter(|d| "一二三四五六日天".contains(*d)) {
            return Some((Look::Day, n, day.to_string()));
        }
    }
    if let Some(day) = text.chars().next().filter(|d| "月火水木金土日월화수목금토일".contains(*d)) {
        if text.chars().skip(1).take(2).eq("요일".chars()) {
            return Some((Look::Day, 3, day.to_string()));
        }
        if text.chars().nth(1) == Some('曜') {
            return Some((Look::Day, 2, day.to_string()));
        }
    }
    if after_number {
        return None;
    }
    let is = |at: usize, any: &str| rest.get(at).is_some_and(|c| any.contains(*c));
    // 每周, 每半年: how often.
    let weekday = is(1, "周") && is(2, "一二三四五六日天");
    if is(0, "每") && is(1 + usize::from(is(1, "半")), PERIODS) && !weekday {
        let n = 2 + usize::from(is(1, "半"));
        return Some((Look::Number(Some(Dimension::Time)), n, rest.iter().take(n).collect()));
    }
    let numerals = |from: usize| rest.iter().skip(from).take_while(|c| NUMERALS.contains(**c)).count();
    let run = numerals(0);
    // 十点半, 九点十五分; 一点 by itself is "a bit".
    let bit = run == 1 && is(0, "一") && !before.is_some_and(|c| "上午晚晨早夜".contains(c));
    if run > 0 && is(run, "点") && !bit && !is(run + 1, "评赞击子") {
        let half = usize::from(is(run + 1, "半整"));
        let minutes = if half > 0 { 0 } else { numerals(run + 1) };
        let n = run + 1 + half + minutes + usize::from(minutes > 0 && is(run + 1 + minutes, "分刻"));
        return Some((Look::Time, n, rest.iter().take(n).collect()));
    }
    // 五十, 三千: a number, whatever is counted.
    let scaled = run > 1 && rest.iter().take(run).any(|c| "十百千".contains(*c)) && !is(0, "百千万");
    let counted = rest.get(run).is_some_and(|c| COUNTERS.contains(*c));
    let free = !before.is_some_and(|c| "统第唯周期拜万之同".contains(c));
    let time = is(run, "天周年秒") || is(run, "个") && is(run + 1, "月星小") || is(run, "小分") && is(run + 1, "时钟");
    let of = time.then_some(Dimension::Time);
    (run > 0 && (counted || scaled) && free).then(|| (Look::Number(of), run, rest.iter().take(run).collect::<String>().replace('两', "二")))
}
