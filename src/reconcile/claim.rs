//! A memory taken apart for the conflict detector: what its words are, when it says that something changed, where it holds.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::duplicate::scope_of;
use super::units;
use crate::cores::on_all_cores;
use crate::model::{Kind, Memory, Speaker, State};
use crate::text::amounts::Dimension;
use crate::text::phrases::{Clause, has_any};
use crate::text::polarity::Polarity;
use crate::text::words::{exact, fold, is_cjk, token_set};

/// Words that say nothing about the topic (stems).
pub(super) const GENERIC: &[&str] = &[
    "us", "use", "run", "set", "go", "keep", "mak", "make", "need", "want", "each", "every", "alway", "must", "should", "only", "per",
    "most", "least", "not", "never", "no", "mov", "move", "switch", "chang", "new", "add", "get", "put", "back", "user", "don't", "prefer",
    "via", "instead", "使用", "统一", "改为", "改成", "一律", "必须",
];

/// Words of a change in the newer entry or in its user quotes.
const CHANGED: &[&str] = &[
    "moved to",
    "moved from",
    "move to",
    "moving to",
    "switch to",
    "switched to",
    "switched from",
    "switching to",
    "replace",
    "replaces",
    "replaced",
    "instead of",
    "no longer",
    "from now on",
    "from today",
    "these days",
    "nowadays",
    "would rather",
    "'d rather",
    "from this",
    "from next",
    "as of",
    "changed to",
    "change to",
    "bumped to",
    "bump to",
    "raise",
    "raised to",
    "lowered to",
    "upgrade",
    "upgraded to",
    "is stale",
    "is now",
    "are now",
    "back to",
    "we now",
    "not anymore",
    "any more",
    "new tables",
    "for anything new",
    "drop",
    "scratch",
    "改成",
    "改为",
    "改用",
    "改走",
    "换成",
    "换为",
    "不再",
    "从今天",
    "从现在起",
    "如今",
    "天起",
    "周起",
    "月起",
    "年起",
    "日起",
    "以后",
    "现在",
    "迁到",
    "升级到",
    "升到",
    "降到",
    "调整为",
    "调到",
    "先不",
    "暂不",
    "取消",
    "作废",
    "に変更",
    "に切り替え",
    "へ移行",
    "に移行",
    "今後は",
    "やめて",
    "変えた",
    "으로 변경",
    "로 변경",
    "로 바꾸",
    "로 바꿨",
    "로 전환",
    "더 이상",
    "이제",
];

/// Whether the newer memory or the user's words behind it speak of a change.
pub(super) fn says_change(memory: &Memory) -> bool {
    tells_change(&memory.summary) || quotes_change(memory)
}

fn tells_change(text: &str) -> bool {
    has_any(&without_after(&fold(text)), CHANGED)
}

/// Whether the user's words behind a memory speak of a change.
fn quotes_change(memory: &Memory) -> bool {
    memory.evidence.iter().filter(|e| e.speaker == Speaker::User && e.quote != memory.summary).any(|e| tells_change(&e.quote))
}

/// Whether a claim without a change only reports what happened some time ago.
fn tells_past(folded: &str) -> bool {
    const PAST: &[&str] = &[
        "last spring",
        "last summer",
        "last autumn",
        "last fall",
        "last winter",
        "last month",
        "last year",
        "years ago",
        "months ago",
        "a year ago",
        "a month ago",
        "去年",
        "前年",
        "上个月",
        "曾经",
        "几年前",
        "当年",
    ];
    has_any(folded, PAST)
}

/// A text without the 以后 that means "after", as in 晚上十点以后 and 交上来以后, not "from now on".
fn without_after(text: &str) -> Cow<'_, str> {
    if !text.contains("以后") {
        return Cow::Borrowed(text);
    }
    const TIME: &[char] = &['点', '半', '分', '钟', '时', '天', '日', '月', '年', '周', '期', '夜', '次'];
    let mut out = String::new();
    for (at, part) in text.split("以后").enumerate() {
        let ends = part.starts_with([',', '，']) && !out.is_empty();
        let after = ends && at > 0 || out.ends_with(TIME) || out.ends_with(|c: char| c.is_ascii_digit());
        out.push_str(if at > 0 && !after { "以后" } else { "" });
        out.push_str(part);
    }
    Cow::Owned(out)
}

/// Environments and platforms: a claim about one says nothing about another.
const PLACES: &[(&str, &[&str])] = &[
    ("staging", &["staging", "预发", "预发布", "ステージング", "스테이징"]),
    ("production", &["production", "prod", "in prod", "生产", "线上", "本番", "운영"]),
    ("test", &["test environment", "test profile", "in tests", "测试环境", "测试库", "テスト環境", "테스트 환경"]),
    ("development", &["dev environment", "in dev", "locally", "local development", "开发环境", "本地开发", "開発環境", "개발 환경"]),
    ("ios", &["ios"]),
    ("android", &["android", "安卓"]),
    ("frontend", &["frontend", "front end", "front-end", "前端", "フロントエンド", "프론트엔드"]),
    ("backend", &["backend", "back end", "back-end", "后端", "バックエンド", "백엔드"]),
];

/// How a value is compared: only with its like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// A word of the subject or the slot.
    Plain,
    /// A word in the place of a value.
    Value,
    /// Looks like a name and stands where a value stands.
    Name,
    /// A number, and what it measures.
    Number(Option<Dimension>),
    /// Day of the week.
    Day,
    /// Day of the calendar.
    Date,
    /// Time of the day.
    Time,
    /// Path or address.
    Path,
}

/// A word of a claim.
#[derive(Clone, Debug)]
pub(super) struct Unit {
    /// Stem, or one CJK letter.
    pub text: String,
    pub look: Look,
    /// What opened the place of a value.
    pub by: String,
    /// Words between two small words have the same number.
    pub phrase: usize,
    pub clause: usize,
    /// Goes on with a value in words: "centre" in "the Oslo data centre".
    pub tail: bool,
}

/// A clause as far as its sign goes.
#[derive(Clone, Debug)]
pub(super) struct Part {
    /// All its words, also those left behind.
    pub units: Vec<Unit>,
    pub clause: Clause,
    pub sign: Polarity,
}

/// A memory taken apart for comparison: of which subject, in which slot, it says which value.
#[derive(Clone, Debug)]
pub struct Claim {
    pub(super) summary: String,
    pub(super) kind: Kind,
    pub(super) state: State,
    pub(super) scope: String,
    /// The claim without its reason.
    pub(super) head: String,
    pub(super) units: Vec<Unit>,
    /// What no longer holds, as the claim says.
    pub(super) left: Vec<Unit>,
    pub(super) parts: Vec<Part>,
    /// Whether its words say that something changed.
    pub(super) changed: bool,
    /// Whether they do, or the user's words behind it.
    pub(super) said_changed: bool,
    /// Whether it says one more thing, beside what is there.
    pub(super) also: bool,
    places: BTreeSet<&'static str>,
    paths: BTreeSet<String>,
}

impl Claim {
    /// Takes memories apart, on all cores where there are many.
    pub fn all(memories: &[&Memory]) -> Vec<Self> {
        /// Memories for which a thread pays.
        const SHARE: usize = 50;
        on_all_cores(memories, SHARE, &|part| part.iter().map(|memory| Self::of(memory)).collect())
    }

    /// Of a memory.
    pub fn of(memory: &Memory) -> Self {
        let head = head_of(&memory.summary);
        let folded = fold(&head);
        let paths = paths(&folded);
        let outside = paths.iter().fold(folded.clone(), |text, path| text.replace(path.as_str(), " "));
        let read = units::read(&head);
        let changed = read.changed || tells_change(&memory.summary);
        Self {
            summary: memory.summary.clone(),
            kind: memory.kind,
            state: memory.state,
            scope: scope_of(memory),
            places: PLACES.iter().filter(|(_, names)| has_any(&outside, names)).map(|(place, _)| *place).collect(),
            paths: about_paths(&folded, paths),
            changed,
            said_changed: changed || quotes_change(memory),
            units: read.units,
            left: read.left,
            parts: read.parts,
            // What happened once says nothing of what holds.
            also: read.also || !changed && tells_past(&folded),
            head,
        }
    }

    /// Another environment, or another folder that the claim is about.
    pub(super) fn elsewhere(&self, other: &Self) -> bool {
        self.places != other.places || (!self.paths.is_empty() && !other.paths.is_empty() && self.paths.is_disjoint(&other.paths))
    }
}

/// The summary up to its reason.
fn head_of(summary: &str) -> String {
    let folded = summary.to_owned();
    let cuts = [" because ", " since ", " as it ", "，因", "因为", "：因", "ので", "때문에"];
    let at = cuts.iter().filter_map(|c| folded.find(c)).filter(|at| *at > 0).min().unwrap_or(folded.len());
    folded.get(..at).unwrap_or_default().to_owned()
}

/// The paths and addresses of a text. Most have none.
fn paths(folded: &str) -> BTreeSet<String> {
    if !folded.contains('/') {
        return BTreeSet::new();
    }
    exact(folded).into_iter().filter(|t| t.contains('/')).collect()
}

/// Folders that a claim is about: at its beginning, or behind "for".
fn about_paths(folded: &str, paths: BTreeSet<String>) -> BTreeSet<String> {
    let about = |path: &String| {
        let before = folded.find(path.as_str()).and_then(|at| folded.get(..at)).unwrap_or_default().trim_end();
        matches!(before, "" | "in" | "under" | "inside" | "within" | "在") || before.ends_with(" for")
    };
    paths.into_iter().filter(|path| !path.contains("://") && about(path)).collect()
}

/// Content words of a text that name what it is about.
pub(super) fn topic_of(text: &str) -> BTreeSet<String> {
    token_set(&without_verbs(text)).into_iter().filter(|t| !GENERIC.contains(&t.as_str())).collect()
}

/// Chinese and Japanese verbs and particles between subject and value: they would make bigrams with their neighbours.
const VERBS_WIDE: &[&str] = &[
    "换成",
    "换为",
    "改成",
    "改为",
    "改用",
    "迁到",
    "迁移到",
    "升级到",
    "使用",
    "采用",
    "统一",
    "一律",
    "放在",
    "放到",
    "存在",
    "存到",
    "跑在",
    "写在",
    "写到",
    "尽量",
    "不再",
    "不要",
    "不做",
    "不用",
    "没有",
    "需要",
    "必须",
    "只需",
    "允许",
    "不允许",
    "太",
    "叫",
    "由",
    "是",
    "は",
    "を",
    "が",
    // days are values, compared as numbers
    "周一",
    "周二",
    "周三",
    "周四",
    "周五",
    "周六",
    "周日",
    "星期一",
    "星期二",
    "星期三",
    "星期四",
    "星期五",
    "星期六",
    "星期日",
];

/// Words in which 用 is no verb.
const WITH_USE: &[&str] =
    &["用户", "用例", "用途", "用量", "用法", "作用", "费用", "应用", "通用", "可用", "调用", "引用", "信用", "专用", "常用"];

fn without_verbs(text: &str) -> String {
    if !text.chars().any(is_cjk) {
        return text.to_owned();
    }
    let text = VERBS_WIDE.iter().fold(text.to_owned(), |t, verb| t.replace(verb, " "));
    // 用 goes, 用户 stays.
    let kept = WITH_USE.iter().enumerate().fold(text, |t, (at, word)| t.replace(word, &mark(at)));
    WITH_USE.iter().enumerate().fold(kept.replace('用', " "), |t, (at, word)| t.replace(&mark(at), word))
}

fn mark(at: usize) -> String {
    char::from_u32(0xE000 + u32::try_from(at).unwrap_or(0)).map(String::from).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::without_after;

    #[test]
    fn after_a_time_is_no_from_now_on() {
        for (text, left) in [
            ("晚上十点以后不推送", "晚上十点不推送"),
            ("3天以后删除", "3天删除"),
            ("发出去以后,不必回收", "发出去,不必回收"),
            ("以后都用 pnpm", "以后都用 pnpm"),
            ("覆盖率以后 80% 就行", "覆盖率以后 80% 就行"),
        ] {
            assert_eq!(without_after(text), left);
        }
    }
}
