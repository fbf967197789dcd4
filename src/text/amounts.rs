//! Numbers however they are written: digits of any width, thousands separators, number words, Chinese numerals.
//!
//! [`said`] gives all readings of a text (for "was this number said?"); [`counts`] those that a text claims in words.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use super::words::nfkc;

/// English number words; `one` only counts as said, never as claimed.
const ENGLISH: &[(&str, u64)] = &[
    ("zero", 0),
    ("one", 1),
    ("two", 2),
    ("three", 3),
    ("four", 4),
    ("five", 5),
    ("six", 6),
    ("seven", 7),
    ("eight", 8),
    ("nine", 9),
    ("ten", 10),
    ("eleven", 11),
    ("twelve", 12),
    ("thirteen", 13),
    ("fourteen", 14),
    ("fifteen", 15),
    ("sixteen", 16),
    ("seventeen", 17),
    ("eighteen", 18),
    ("nineteen", 19),
    ("twenty", 20),
    ("thirty", 30),
    ("forty", 40),
    ("fifty", 50),
    ("sixty", 60),
    ("seventy", 70),
    ("eighty", 80),
    ("ninety", 90),
    ("hundred", 100),
    ("thousand", 1000),
    ("dozen", 12),
    ("once", 1),
    ("twice", 2),
    ("double", 2),
    ("triple", 3),
    ("half", 50),
    ("first", 1),
    ("second", 2),
    ("third", 3),
    ("fourth", 4),
    ("fifth", 5),
    ("both", 2),
    ("hourly", 1),
    ("daily", 1),
    ("weekly", 1),
    ("single", 1),
];

/// Korean native counters, as they stand before a counted noun.
const KOREAN: &[(&str, u64)] =
    &[("한 ", 1), ("두 ", 2), ("세 ", 3), ("네 ", 4), ("다섯", 5), ("여섯", 6), ("일곱", 7), ("여덟", 8), ("아홉", 9), ("열 ", 10)];

/// What a suffix multiplies by: 10k, 5M, 1.5万.
const SCALES: &[(&str, u64)] =
    &[("k", 1000), ("m", 1_000_000), ("万", 10_000), ("萬", 10_000), ("亿", 100_000_000), ("千", 1000), ("百", 100), ("만", 10_000)];

static DIGITS: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"[0-9]+(?:,[0-9]{3})*(?:\.[0-9]+)*").ok());
static WORDS: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"[a-z]+").ok());
static HAN: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"[零〇一二两兩三四五六七八九十百千万萬亿]+").ok());

/// Numbers written with digits, without thousands separators, in the order of the text.
pub fn digits(text: &str) -> Vec<String> {
    let text = nfkc(text);
    DIGITS.as_ref().map(|p| p.find_iter(&text).map(|m| m.as_str().replace(',', "")).collect()).unwrap_or_default()
}

/// Every number that a text can be read to say, digits and words, as plain digits.
pub fn said(text: &str) -> BTreeSet<String> {
    let text: String = nfkc(text).chars().flat_map(char::to_lowercase).collect();
    let mut out: BTreeSet<String> = counts(&text).into_iter().map(|n| n.to_string()).collect();
    for found in DIGITS.iter().flat_map(|p| p.find_iter(&text)) {
        let plain = found.as_str().replace(',', "");
        let rest = text.get(found.end()..).unwrap_or_default().trim_start();
        for (_, scale) in SCALES.iter().filter(|(suffix, _)| rest.starts_with(suffix)) {
            out.extend(scaled(&plain, *scale));
        }
        // 0.50 is 0.5, 07 is 7, and 30000 was said by who said 30k.
        let short = plain.trim_start_matches('0');
        out.insert(if short.is_empty() || short.starts_with('.') { format!("0{short}") } else { short.to_owned() });
        out.insert(plain);
    }
    out
}

/// Numbers claimed in words: `four` pods, 三次, 十五分钟, 세 번. A lone 一 or `one` is grammar, not a count.
pub fn counts(folded: &str) -> BTreeSet<u64> {
    let mut out = BTreeSet::new();
    let mut pending = None;
    for word in WORDS.iter().flat_map(|p| p.find_iter(folded)) {
        let value = ENGLISH.iter().find(|(name, _)| *name == word.as_str()).map(|(_, v)| *v);
        match (pending, value) {
            (Some(tens @ 20..=90), Some(ones @ 1..=9)) => {
                out.insert(tens + ones);
            }
            (Some(n @ 1..=99), Some(scale @ (100 | 1000))) => {
                out.insert(n * scale);
            }
            _ => {}
        }
        out.extend(value);
        pending = value;
    }
    out.extend(HAN.iter().flat_map(|p| p.find_iter(folded)).filter_map(|m| han(m.as_str())));
    out.extend(KOREAN.iter().filter(|(word, _)| folded.contains(word)).map(|(_, v)| *v));
    out
}

/// Numbers and the unit or counted word right behind each: `30s` and `30 seconds` are `("30", "s")`; 15 分钟 is
/// `("15", "min")`; two approvals is `("2", "approv")`; Monday is `("1", "weekday")`. Without a word behind it: the empty unit.
pub fn with_units(text: &str) -> Vec<(String, String)> {
    let text: String = nfkc(text).chars().flat_map(char::to_lowercase).collect();
    let rest = |end: usize| text.get(end..).unwrap_or_default();
    let mut out: Vec<(String, String)> =
        DIGITS.iter().flat_map(|p| p.find_iter(&text)).map(|m| (m.as_str().replace(',', ""), unit_of(rest(m.end())))).collect();
    for word in WORDS.iter().flat_map(|p| p.find_iter(&text)) {
        let value = CARDINALS.iter().position(|name| *name == word.as_str());
        let unit = unit_of(rest(word.end()));
        out.extend(value.filter(|_| !unit.is_empty()).map(|value| ((value + 1).to_string(), unit)));
    }
    for run in HAN.iter().flat_map(|p| p.find_iter(&text)) {
        let before = text.get(..run.start()).unwrap_or_default().chars().next_back();
        let unit = unit_of(rest(run.end()));
        // 统一, 第一, 周一 and 一律 count nothing.
        let counts = !before.is_some_and(|c| "统第唯周期拜万之同".contains(c))
            && !unit.starts_with(['律', '直', '样', '致', '般', '些', '起', '定', '旦', '下']);
        if let Some(value) = han(run.as_str()).filter(|_| counts && !unit.is_empty()) {
            out.push((value.to_string(), unit));
        }
    }
    for (day, names) in WEEKDAYS.iter().enumerate() {
        if super::phrases::has_any(&text, names) {
            out.push(((day + 1).to_string(), "weekday".to_owned()));
        }
    }
    out
}

/// What can be told apart by a number alone: two numbers of one dimension are comparable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dimension {
    /// Milliseconds to months.
    Time,
    /// Bytes.
    Size,
    /// Parts of a hundred.
    Share,
}

/// The unit of measure at the beginning of a text: its one spelling, its dimension, and its length in bytes.
pub fn measure(text: &str) -> Option<(&'static str, Dimension, usize)> {
    if text.starts_with('%') {
        return Some(("%", Dimension::Share, 1));
    }
    let dimension = |unit: &str| match unit {
        "kb" | "mb" | "gb" => Some(Dimension::Size),
        "times" | "items" => None,
        _ => Some(Dimension::Time),
    };
    let latin = text.chars().take_while(char::is_ascii_alphabetic).count();
    let names = UNITS.iter().flat_map(|(unit, names)| names.iter().map(move |name| (*unit, *name)));
    let fits = |name: &str| if latin > 0 { text.get(..latin) == Some(name) } else { text.starts_with(name) };
    let (unit, name) = names.filter(|(_, name)| fits(name)).max_by_key(|(_, name)| name.len())?;
    Some((unit, dimension(unit)?, name.len()))
}

/// The unit or counted word at the beginning of a text, in its one spelling.
fn unit_of(rest: &str) -> String {
    let rest = rest.trim_start_matches([' ', '-']);
    let word: String = match rest.chars().next() {
        Some(c) if c.is_ascii_alphabetic() => rest.chars().take_while(char::is_ascii_alphabetic).collect(),
        Some('%') => "%".to_owned(),
        Some(c) if super::words::is_cjk(c) => UNITS
            .iter()
            .flat_map(|(_, names)| names.iter())
            .filter(|name| rest.starts_with(**name))
            .max_by_key(|name| name.len())
            .map_or_else(|| c.to_string(), |name| (*name).to_owned()),
        _ => String::new(),
    };
    UNITS
        .iter()
        .find(|(_, names)| names.contains(&word.as_str()))
        .map_or_else(|| super::words::stem(&word).into_owned(), |(unit, _)| (*unit).to_owned())
}

/// Counts in words that stand before a counted thing.
const CARDINALS: &[&str] = &["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];

/// Days of the week, Monday first.
const WEEKDAYS: [&[&str]; 7] = [
    &["monday", "mondays", "周一", "星期一", "礼拜一", "月曜", "월요일"],
    &["tuesday", "tuesdays", "周二", "星期二", "礼拜二", "火曜", "화요일"],
    &["wednesday", "wednesdays", "周三", "星期三", "礼拜三", "水曜", "수요일"],
    &["thursday", "thursdays", "周四", "星期四", "礼拜四", "木曜", "목요일"],
    &["friday", "fridays", "周五", "星期五", "礼拜五", "金曜", "금요일"],
    &["saturday", "saturdays", "周六", "星期六", "礼拜六", "土曜", "토요일"],
    &["sunday", "sundays", "周日", "星期日", "周天", "礼拜天", "日曜", "일요일"],
];

/// One unit, many spellings.
const UNITS: &[(&str, &[&str])] = &[
    ("ms", &["ms", "millis", "milliseconds", "millisecond", "毫秒", "ミリ秒", "밀리초"]),
    ("s", &["s", "sec", "secs", "second", "seconds", "秒", "秒钟", "초"]),
    ("min", &["min", "mins", "minute", "minutes", "分钟", "分", "분"]),
    ("h", &["h", "hr", "hrs", "hour", "hours", "小时", "个小时", "時間", "시간"]),
    ("d", &["d", "day", "days", "天", "日", "일"]),
    ("wk", &["week", "weeks", "周", "週間", "주"]),
    ("mo", &["month", "months", "个月", "ヶ月", "か月", "개월"]),
    ("kb", &["kb", "kib"]),
    ("mb", &["mb", "mib", "m"]),
    ("gb", &["gb", "gib", "g"]),
    ("times", &["times", "time", "retries", "attempts", "tries", "次", "回", "번", "회"]),
    ("items", &["entries", "items", "records", "rows", "条", "件", "건", "개"]),
];

fn scaled(plain: &str, scale: u64) -> Option<String> {
    let value = plain.parse::<f64>().ok()? * scale as f64;
    (value.fract() == 0.0 && value < 1e15).then(|| format!("{value:.0}"))
}

/// The value of a run of Chinese numerals: 十五 = 15, 三百二十 = 320, 两万 = 20000.
fn han(run: &str) -> Option<u64> {
    let (mut total, mut section, mut digit) = (0u64, 0u64, None);
    for c in run.chars() {
        match c {
            '十' | '百' | '千' => {
                let scale = match c {
                    '十' => 10,
                    '百' => 100,
                    _ => 1000,
                };
                section += digit.take().unwrap_or(1) * scale;
            }
            '万' | '萬' | '亿' => {
                section += digit.take().unwrap_or(0);
                let scale = if c == '亿' { 100_000_000 } else { 10_000 };
                total = total.checked_add(section.max(1).checked_mul(scale)?)?;
                section = 0;
            }
            _ => {
                let value = "零一二三四五六七八九".chars().position(|d| d == c).or(match c {
                    '〇' => Some(0),
                    '两' | '兩' => Some(2),
                    _ => None,
                })?;
                // 二〇二六 is read digit by digit.
                digit = Some(digit.unwrap_or(0).checked_mul(10)?.checked_add(value as u64)?);
            }
        }
    }
    total.checked_add(section)?.checked_add(digit.unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_however_they_are_written() {
        for (text, wanted) in [
            ("1,000 requests", "1000"),
            ("retry ３ times", "3"),
            ("four pods", "4"),
            ("twenty-five users", "25"),
            ("two hundred", "200"),
            ("重试三次", "3"),
            ("十五分钟", "15"),
            ("三百二十台", "320"),
            ("两万条", "20000"),
            ("10k entries", "10000"),
            ("1.5万", "15000"),
            ("세 번", "3"),
            ("v1.84.0", "1.84.0"),
            ("on the 8th", "8"),
        ] {
            assert!(said(text).contains(wanted), "{text}: {:?}", said(text));
        }
        assert!(!said("four pods").contains("5"));
        assert_eq!(digits("30s, 1,000 and 2.0"), ["30", "1000", "2.0"]);
    }

    #[test]
    fn units_have_one_spelling() {
        let one = |text: &str| with_units(text).first().cloned().unwrap_or_default();
        assert_eq!(one("5s"), one("5 seconds"));
        assert_eq!(one("5 秒"), one("5s"));
        assert_eq!(one("15 分钟"), one("15 min"));
        assert_ne!(one("5s"), one("5 min"));
    }
}
