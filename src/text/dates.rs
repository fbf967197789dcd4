//! Days named in a text: absolute and relative, in English, Chinese, Japanese and Korean, resolved against a given day.
//!
//! Pure calendar arithmetic on `jiff` civil dates. What is vague ("next week", "soon") is not a day and is not found.

use std::sync::LazyLock;

use jiff::ToSpan;
use jiff::civil::{Date, Weekday};
use regex::{Captures, Regex, RegexBuilder};

/// A day named in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// First byte of the words.
    pub start: usize,
    /// Behind the last byte.
    pub end: usize,
    /// `YYYY-MM-DD`.
    pub day: String,
}

/// Whether a text is `YYYY-MM-DD` and a real day.
pub fn is_day(text: &str) -> bool {
    text.len() == 10 && text.parse::<Date>().is_ok()
}

/// The days named in `text`, in order of appearance, relative ones counted from `day` (`YYYY-MM-DD`).
/// A bare weekday or day of the month is the next one after `day`. Nothing is found if `day` is not a day.
pub fn find(text: &str, day: &str) -> Vec<Found> {
    let Ok(today) = day.parse::<Date>() else { return Vec::new() };
    if !may_hold(text) {
        return Vec::new();
    }
    let mut found: Vec<Found> = Vec::new();
    // Earlier rows are more exact; a later row may not reuse their words.
    for (pattern, resolve) in ROWS.iter() {
        for hit in pattern.captures_iter(text) {
            let Some(whole) = hit.get(0) else { continue };
            let free = found.iter().all(|f| whole.end() <= f.start || f.end <= whole.start());
            if let Some(date) = free.then(|| resolve(&hit, today)).flatten() {
                found.push(Found { start: whole.start(), end: whole.end(), day: date.to_string() });
            }
        }
    }
    found.sort_by_key(|f| f.start);
    found
}

/// Whether a text can name a day at all: most do not, and the patterns need not be built for them.
fn may_hold(text: &str) -> bool {
    const HINTS: &[&str] = &[
        "mon",
        "tue",
        "wed",
        "thu",
        "fri",
        "sat",
        "sun",
        "day",
        "month",
        "year",
        "week",
        "tonight",
        "tomorrow",
        "jan",
        "feb",
        "mar",
        "apr",
        "may",
        "jun",
        "jul",
        "aug",
        "sep",
        "oct",
        "nov",
        "dec",
        "月",
        "年",
        "天",
        "今",
        "明",
        "周",
        "星期",
        "礼拜",
        "週",
        "曜",
        "後",
        "あさって",
        "あした",
        "年",
        "년",
        "월",
        "말",
        "일",
        "모레",
        "오늘",
        "주",
        "后",
        "號",
        "号",
    ];
    let small = text.to_ascii_lowercase();
    small.bytes().any(|b| b.is_ascii_digit()) || HINTS.iter().any(|hint| small.contains(hint))
}

type Resolve = fn(&Captures<'_>, Date) -> Option<Date>;

const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const EN_MONTH: &str = r"(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)";
const EN_WEEKDAY: &str = r"(mon|tues?|wed|thurs?|fri|(?:mon|tues|wednes|thurs|fri|satur|sun)day)";

/// Pattern and what it means, most exact first.
static ROWS: LazyLock<Vec<(Regex, Resolve)>> = LazyLock::new(|| {
    let rows: [(String, Resolve); 17] = [
        (r"(\d{4})[-/.年](?:\s?)(\d{1,2})[-/.月](?:\s?)(\d{1,2})(?:\s?[日号])?".into(), |c, _| date(int(c, 1)?, int(c, 2)?, int(c, 3)?)),
        (r"(\d{4})년\s?(\d{1,2})월\s?(\d{1,2})일".into(), |c, _| date(int(c, 1)?, int(c, 2)?, int(c, 3)?)),
        (r"(\d{1,2})\s?[月월]\s?(\d{1,2})\s?[日号號일]".into(), |c, t| coming(t, int(c, 1)?, int(c, 2)?)),
        (format!(r"(?-u:\b){EN_MONTH}\.? (\d{{1,2}})(?:st|nd|rd|th)?(?:,? (\d{{4}}))?(?-u:\b)"), |c, t| month_day(c, t, 1, 2)),
        (format!(r"(?-u:\b)(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? {EN_MONTH}(?:,? (\d{{4}}))?(?-u:\b)"), |c, t| month_day(c, t, 2, 1)),
        (format!(r"(?-u:\b)end of {EN_MONTH}(?-u:\b)"), |c, t| Some(coming(t, month(&c[1])?, 1)?.last_of_month())),
        (r"(\d{1,2})\s?(?:月底|月末|월\s?말)".into(), |c, t| Some(coming(t, int(c, 1)?, 1)?.last_of_month())),
        (r"end of next month|下个?月底|来月末|다음\s?달\s?말".into(), |_, t| Some(t.saturating_add(1.month()).last_of_month())),
        (r"(?:the )?end of (?:the|this) month|month[- ]end|(?:这个?|本)?月底|(?:今)?月末|(?:이번\s?달|이달)\s?말|월말".into(), |_, t| Some(t.last_of_month())),
        (r"(?:the )?end of (?:the|this) year|year[- ]end|年底|年末|연말".into(), |_, t| Some(t.last_of_year())),
        (r"(?-u:\b)(?:the )?day after tomorrow|后天|後天|明後日|あさって|모레".into(), |_, t| Some(t.saturating_add(2.days()))),
        (r"(?-u:\b)tomorrow(?-u:\b)|明天|明日|あした|내일".into(), |_, t| t.tomorrow().ok()),
        (r"(?-u:\b)(?:today|tonight)(?-u:\b)|今天|今晚|今日|오늘".into(), |_, t| Some(t)),
        (r"(?-u:\b)in (\d{1,3}) days?(?-u:\b)|(\d{1,3})\s?天后|(\d{1,3})日後|(\d{1,3})일\s?[뒤후]".into(), |c, t| {
            let days = (1..=4).find_map(|group| int(c, group))?;
            Some(t.saturating_add(i64::from(days).days()))
        }),
        (
            format!(
                r"(?:(next|this|coming) )?(?-u:\b){EN_WEEKDAY}(?-u:\b)|(下个?|这个?|本)?(?:周|星期|礼拜|週)([一二三四五六日天])|(来週|今週)?の?([月火水木金土日])曜日?|(다음\s?주|이번\s?주)?\s?([월화수목금토일])요일"
            ),
            weekday,
        ),
        (r"(?:this week|这周|這週|本周|今週|이번\s?주)".into(), |_, t| Some(on_or_after(t, Weekday::Sunday))),
        (r"(?-u:\b)(?:until|till|by|on|before|after|from) the (\d{1,2})(?:st|nd|rd|th)(?-u:\b)|(?:^|[^\d月월.:/-])(\d{1,2})(?:号|號|日まで|일까지)".into(), |c, t| {
            let day = int(c, 1).or_else(|| int(c, 2))?;
            (0..3).find_map(|months| {
                let first = t.first_of_month().saturating_add(i64::from(months).months());
                date(first.year().into(), first.month().into(), day).filter(|d| *d > t)
            })
        }),
    ];
    rows.into_iter()
        .filter_map(|(pattern, resolve)| {
            // Digits and spaces of ASCII: those of all scripts cost many times as much to compile.
            let pattern = pattern.replace(r"[^\d", "[^0-9").replace(r"\d", "[0-9]").replace(r"\s?", " ?");
            Some((RegexBuilder::new(&pattern).case_insensitive(true).build().ok()?, resolve))
        })
        .collect()
});

fn int(hit: &Captures<'_>, group: usize) -> Option<i32> {
    hit.get(group)?.as_str().parse().ok()
}

fn date(year: i32, month: i32, day: i32) -> Option<Date> {
    Date::new(year.try_into().ok()?, month.try_into().ok()?, day.try_into().ok()?).ok()
}

/// The next such day of the year; one that passed less than half a year ago is meant as past, not as next year's.
fn coming(today: Date, month: i32, day: i32) -> Option<Date> {
    let this = date(today.year().into(), month, day)?;
    if this < today.saturating_sub(6.months()) { date(i32::from(today.year()) + 1, month, day) } else { Some(this) }
}

fn month(name: &str) -> Option<i32> {
    let name = name.get(..3)?.to_ascii_lowercase();
    MONTHS.iter().position(|m| *m == name).and_then(|at| i32::try_from(at + 1).ok())
}

fn month_day(hit: &Captures<'_>, today: Date, month_group: usize, day_group: usize) -> Option<Date> {
    let (month, day) = (month(hit.get(month_group)?.as_str())?, int(hit, day_group)?);
    match int(hit, 3) {
        Some(year) => date(year, month, day),
        None => coming(today, month, day),
    }
}

fn on_or_after(today: Date, weekday: Weekday) -> Date {
    if today.weekday() == weekday { today } else { today.nth_weekday(1, weekday).unwrap_or(today) }
}

/// A weekday: bare is the next one after today, "next" is the one of next week (Monday first), "this" is this week's.
fn weekday(hit: &Captures<'_>, today: Date) -> Option<Date> {
    let group = |at: usize| hit.get(at).map(|m| m.as_str());
    let which = group(1).or(group(3)).or(group(5)).or(group(7)).unwrap_or_default().to_lowercase();
    let name = group(2).or(group(4)).or(group(6)).or(group(8))?.to_lowercase();
    let wanted = match name.get(..3)? {
        "mon" | "一" | "月" | "월" => Weekday::Monday,
        "tue" | "二" | "火" | "화" => Weekday::Tuesday,
        "wed" | "三" | "水" | "수" => Weekday::Wednesday,
        "thu" | "四" | "木" | "목" => Weekday::Thursday,
        "fri" | "五" | "金" | "금" => Weekday::Friday,
        "sat" | "六" | "土" | "토" => Weekday::Saturday,
        "sun" | "日" | "天" | "일" => Weekday::Sunday,
        _ => return None,
    };
    let monday = today.saturating_sub(i64::from(today.weekday().to_monday_zero_offset()).days());
    let in_week = |weeks: i64| monday.saturating_add((weeks * 7 + i64::from(wanted.to_monday_zero_offset())).days());
    match which.chars().next() {
        Some('n' | '下' | '来' | '다') => Some(in_week(1)),
        Some('t' | '这' | '本' | '今' | '이') => Some(in_week(0)),
        _ => today.nth_weekday(1, wanted).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-04-14 is a Tuesday.
    #[test]
    fn days_in_four_languages() {
        for (text, want) in [
            ("until Friday", "2026-04-17"),
            ("on tuesday", "2026-04-21"),
            ("next monday", "2026-04-20"),
            ("this Thursday", "2026-04-16"),
            ("by tomorrow", "2026-04-15"),
            ("the day after tomorrow", "2026-04-16"),
            ("freeze is on the 8th", "2026-05-08"),
            ("by the 31st", "2026-05-31"),
            ("till the end of the month", "2026-04-30"),
            ("end of May", "2026-05-31"),
            ("June 10th", "2026-06-10"),
            ("10 Jan 2027", "2027-01-10"),
            ("2026-05-01", "2026-05-01"),
            ("in 3 days", "2026-04-17"),
            ("等周五再说", "2026-04-17"),
            ("下周一之前", "2026-04-20"),
            ("这周要弄完", "2026-04-19"),
            ("月底前下线", "2026-04-30"),
            ("6月10日上线", "2026-06-10"),
            ("20号之前", "2026-04-20"),
            ("明天", "2026-04-15"),
            ("2026年5月1日", "2026-05-01"),
            ("来週の金曜日まで", "2026-04-24"),
            ("金曜まで", "2026-04-17"),
            ("月末まで", "2026-04-30"),
            ("금요일까지", "2026-04-17"),
            ("다음 주 월요일", "2026-04-20"),
            ("6월 10일", "2026-06-10"),
        ] {
            let got: Vec<_> = find(text, "2026-04-14").into_iter().map(|f| f.day).collect();
            assert_eq!(got, [want], "{text}");
        }
    }

    #[test]
    fn every_row_is_a_pattern() {
        assert_eq!(ROWS.len(), 17);
    }

    #[test]
    fn what_is_no_day_is_not_found() {
        for text in [
            "next week",
            "soon",
            "in May we may",
            "v2026",
            "30s",
            "下周",
            "10.20.3.7:3306",
            "marchand",
            "the sun is up late at 5",
            "3日間",
            "the 2nd option",
        ] {
            assert_eq!(find(text, "2026-04-14"), [], "{text}");
        }
        assert!(find("tomorrow", "someday").is_empty());
        assert!(is_day("2026-02-28") && !is_day("2026-02-30") && !is_day("soon"));
    }
}
