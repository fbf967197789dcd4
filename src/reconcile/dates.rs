//! Days of the calendar, days of the week and times of the day in one spelling, however a claim writes them.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};

/// Made once; a pattern that is none would find nothing.
type Pattern = LazyLock<Option<Regex>>;

/// 9月1日, 三月八日, with or without a year.
static WIDE: Pattern = LazyLock::new(|| {
    Regex::new("(?:[0-9]{4}年 ?)?([0-9]{1,2}|[一二三四五六七八九十]{1,3}) ?月 ?([0-9]{1,2}|[一二三四五六七八九十]{1,3}) ?[日号]").ok()
});

/// 3 March, 3rd of March 2028; and March 3.
static DAY_MONTH: Pattern =
    LazyLock::new(|| Regex::new(&format!(r"\b([0-9]{{1,2}})(?:st|nd|rd|th)?(?: of)? {MONTH}\b(?: ([0-9]{{4}})\b)?")).ok());
static MONTH_DAY: Pattern = LazyLock::new(|| Regex::new(&format!(r"\b{MONTH} ([0-9]{{1,2}})(?:st|nd|rd|th)?\b(?:, ([0-9]{{4}})\b)?")).ok());
const MONTH: &str = "(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)(?:uary|ruary|ch|il|e|y|ust|t|tember|ober|ember)?";
const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Mon, Tues.
static WEEKDAY: Pattern = LazyLock::new(|| Regex::new(r"\b(?:(Mon)|(Tues?)|(Wed)|(Thu(?:rs?)?)|(Fri)|(Sat)|(Sun))\b").ok());
const WEEKDAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

/// Half past three; 11 pm.
static PAST: Pattern = LazyLock::new(|| Regex::new(r"\b([Hh]alf past|[Qq]uarter past|[Qq]uarter to) ([a-z]+|[0-9]{1,2})\b").ok());
static HALVES: Pattern = LazyLock::new(|| Regex::new(r"\b([0-9]{1,2})(?::([0-9]{2}))? ?([AaPp])(?:\.[Mm]\.|[Mm]\b)").ok());
const HOURS: [&str; 12] = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];

/// The text with all of them in figures.
pub(super) fn in_figures(text: &str) -> Cow<'_, str> {
    let text = replaced(Cow::Borrowed(text), &WIDE, |c| Some(format!(" 0-{}-{} ", han(group(c, 1))?, han(group(c, 2))?)));
    if !text.bytes().any(|b| b.is_ascii_alphabetic()) {
        return text;
    }
    let date = |day: &str, month: &str, year: &str| {
        let month = MONTHS.iter().position(|name| *name == month)? + 1;
        Some(format!("{}-{month}-{day}", if year.is_empty() { "0" } else { year }))
    };
    let text = replaced(text, &DAY_MONTH, |c| date(group(c, 1), group(c, 2), group(c, 3)));
    let text = replaced(text, &MONTH_DAY, |c| date(group(c, 2), group(c, 1), group(c, 3)));
    let text = replaced(text, &WEEKDAY, |c| (0..7).find(|n| c.get(n + 1).is_some()).and_then(|n| WEEKDAYS.get(n)).map(|d| (*d).to_owned()));
    let text = replaced(text, &PAST, |c| {
        let hour = HOURS.iter().position(|name| *name == group(c, 2)).map(|n| n + 1).or_else(|| group(c, 2).parse().ok())?;
        let (hour, minute) = if group(c, 1).ends_with("to") {
            (hour.checked_sub(1)?, 45)
        } else if group(c, 1).starts_with(['H', 'h']) {
            (hour, 30)
        } else {
            (hour, 15)
        };
        Some(format!("{hour:02}:{minute}"))
    });
    replaced(text, &HALVES, |c| {
        let hour: usize = group(c, 1).parse().ok().filter(|hour| (1..=12).contains(hour))?;
        let later = group(c, 3).eq_ignore_ascii_case("p");
        Some(format!("{:02}:{}", hour % 12 + if later { 12 } else { 0 }, c.get(2).map_or("00", |m| m.as_str())))
    })
}

fn group<'a>(captures: &'a Captures, at: usize) -> &'a str {
    captures.get(at).map_or("", |found| found.as_str())
}

fn replaced<'a>(text: Cow<'a, str>, pattern: &Pattern, with: impl Fn(&Captures) -> Option<String>) -> Cow<'a, str> {
    let put = |c: &Captures| with(c).unwrap_or_else(|| group(c, 0).to_owned());
    let new = pattern.as_ref().and_then(|pattern| match pattern.replace_all(&text, put) {
        Cow::Owned(new) => Some(new),
        Cow::Borrowed(_) => None,
    });
    new.map_or(text, Cow::Owned)
}

/// A number up to 99 in figures, which it may have been in before.
fn han(text: &str) -> Option<usize> {
    let digit = |text: &str| text.chars().next().and_then(|c| "一二三四五六七八九".chars().position(|d| d == c)).map(|n| n + 1);
    if let Ok(number) = text.parse() {
        return Some(number);
    }
    match text.split_once('十') {
        Some((tens, ones)) => Some(digit(tens).unwrap_or(1) * 10 + digit(ones).unwrap_or(0)),
        None => digit(text),
    }
}

#[cfg(test)]
mod tests {
    use super::in_figures;

    #[test]
    fn one_spelling() {
        for (text, figures) in [
            ("Closes on 3 March.", "Closes on 0-3-3."),
            ("Closes on 3rd of March 2028.", "Closes on 2028-3-3."),
            ("Closes September 21, 2028", "Closes 2028-9-21"),
            ("三月八日截止", " 0-3-8 截止"),
            ("2028年4月20日到期", " 0-4-20 到期"),
            ("Window: Tue", "Window: Tuesday"),
            ("at half past three", "at 03:30"),
            ("at quarter to 6", "at 05:45"),
            ("from quarter to 0", "from quarter to 0"),
            ("at 11 pm", "at 23:00"),
            ("at 12:15 a.m. sharp", "at 00:15 sharp"),
            ("We may sit in the sun on Tuesday", "We may sit in the sun on Tuesday"),
        ] {
            assert_eq!(in_figures(text), figures);
        }
    }
}
