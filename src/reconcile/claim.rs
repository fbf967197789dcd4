//! A summary taken apart for the conflict detector: topic, numbers, places, folders.

use std::collections::BTreeSet;

use crate::model::Memory;
use crate::text::amounts;
use crate::text::phrases::has_any;
use crate::text::words::{exact, fold, is_cjk, token_set, tokens};

/// Words that say nothing about the topic (stems).
pub(super) const GENERIC: &[&str] = &[
    "us", "use", "run", "set", "go", "keep", "mak", "make", "need", "want", "each", "every", "alway", "must", "should", "only", "per",
    "most", "least", "not", "never", "no", "mov", "move", "switch", "chang", "new", "add", "get", "put", "back", "user", "don't", "prefer",
    "via", "instead", "使用", "统一", "改为", "改成", "一律", "必须",
];

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

/// A summary taken apart for comparison.
pub(super) struct Claim {
    /// All content words, the reason included.
    pub topic: BTreeSet<String>,
    /// The claim without its reason.
    pub head: String,
    /// Content words of the head, without numbers.
    pub words: Vec<String>,
    pub numbers: Vec<(String, String)>,
    places: BTreeSet<String>,
    paths: BTreeSet<String>,
}

impl Claim {
    pub fn of(memory: &Memory) -> Self {
        let head = head_of(&memory.summary);
        let folded = fold(&head);
        let plain = |t: &String| !GENERIC.contains(&t.as_str()) && !t.chars().all(|c| c.is_ascii_digit());
        let mut words = tokens(&without_verbs(&head));
        words.retain(plain);
        Self {
            topic: topic_of(&memory.summary),
            words,
            numbers: amounts::with_units(&head),
            places: PLACES.iter().filter(|(_, names)| has_any(&folded, names)).map(|(place, _)| (*place).to_owned()).collect(),
            paths: paths_of(&folded),
            head,
        }
    }

    /// Another environment, or another folder that the claim is about.
    pub fn elsewhere(&self, other: &Self) -> bool {
        self.places != other.places || (!self.paths.is_empty() && !other.paths.is_empty() && self.paths.is_disjoint(&other.paths))
    }

    pub fn set(&self) -> BTreeSet<String> {
        self.words.iter().cloned().collect()
    }

    /// Common topic words; long Latin words also by their first seven letters (timestamp, timestamptz).
    pub fn shared(&self, other: &Self) -> BTreeSet<String> {
        let near = |t: &&String| t.get(..7).is_some_and(|head| t.is_ascii() && other.topic.iter().any(|o| o.starts_with(head)));
        self.topic.iter().filter(|t| other.topic.contains(*t) || near(t)).cloned().collect()
    }
}

/// The summary up to its reason.
fn head_of(summary: &str) -> String {
    let folded = summary.to_owned();
    let cuts = [" because ", " since ", " as it ", "，因", "因为", "：因", "ので", "때문에"];
    let at = cuts.iter().filter_map(|c| folded.find(c)).filter(|at| *at > 0).min().unwrap_or(folded.len());
    folded.get(..at).unwrap_or_default().to_owned()
}

/// Folders that a claim is about: at its beginning, or behind in, for, under, 在.
fn paths_of(folded: &str) -> BTreeSet<String> {
    let paths = exact(folded).into_iter().filter(|t| t.contains('/') && !t.contains("://"));
    let about = |path: &String| {
        let Some(at) = folded.find(path.as_str()) else { return false };
        let before = folded.get(..at).unwrap_or_default().trim_end();
        before.is_empty()
            || ["in", "for", "under", "inside", "within"].iter().any(|w| before.split(' ').next_back() == Some(w))
            || before.ends_with('在')
    };
    paths.filter(about).collect()
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
