//! A clause as a statement that guides work: without the words that led up to it or softened it. Tables of literal
//! words; the quote in the evidence stays as it was said.

use crate::model::Kind;
use crate::text::words;

/// Words at the beginning and what stands for them. Longer ones go first; a row that keeps its words ends the search.
const LEADS: &[(&str, &str)] = &[
    ("let's not ", "do not "),
    ("let’s not ", "do not "),
    ("let's just go with ", "use "),
    ("let's go with ", "use "),
    ("let’s go with ", "use "),
    ("lets go with ", "use "),
    ("let's go for ", "use "),
    ("let's just ", ""),
    ("let's ", ""),
    ("let’s ", ""),
    ("lets ", ""),
    ("we'll go with ", "use "),
    ("we will go with ", "use "),
    ("we are going with ", "use "),
    ("we're going with ", "use "),
    ("i'll go with ", "use "),
    ("i'd go with ", "use "),
    ("going with ", "use "),
    ("go with ", "use "),
    ("we're going to ", ""),
    ("we are going to ", ""),
    ("we’ll ", ""),
    ("we'll ", ""),
    ("we will ", ""),
    ("i think we should ", ""),
    ("i think we could ", ""),
    ("maybe we should ", ""),
    ("maybe we could ", ""),
    ("maybe we can ", ""),
    ("perhaps we should ", ""),
    ("perhaps we could ", ""),
    ("how about we ", ""),
    ("how about ", ""),
    ("what about ", ""),
    ("what if we ", ""),
    ("why don't we ", ""),
    ("why don’t we ", ""),
    ("why not ", ""),
    ("could we ", ""),
    ("shall we ", ""),
    ("should we ", ""),
    ("we should ", ""),
    ("we could ", ""),
    ("from now on, ", ""),
    ("from now on ", ""),
    ("going forward, ", ""),
    ("going forward ", ""),
    ("in the future, ", ""),
    ("in the future ", ""),
    ("in future, ", ""),
    ("in future ", ""),
    ("please, ", ""),
    ("please ", ""),
    ("and ", ""),
    ("also ", ""),
    ("also, ", ""),
    ("but ", ""),
    ("so ", ""),
    ("then ", ""),
    ("fyi, ", ""),
    ("fyi ", ""),
    ("i prefer ", "prefer "),
    // Later work is no rule for later.
    ("以后再", "以后再"),
    ("以后还", "以后还"),
    ("以后我", "以后我"),
    ("那就", ""),
    ("那还是", ""),
    ("那么就", ""),
    ("那我们就", ""),
    ("那我们", ""),
    ("那用", "用"),
    ("就用", "用"),
    ("就走", "走"),
    ("就选", "选"),
    ("就按", "按"),
    ("就放", "放"),
    ("就存", "存"),
    ("就定", "定"),
    ("还是用", "用"),
    ("还是走", "走"),
    ("我们就", ""),
    ("咱们就", ""),
    ("要不我们就", ""),
    ("要不我们", ""),
    ("要不咱们", ""),
    ("要不就", ""),
    ("要不", ""),
    ("不如我们", ""),
    ("不如咱们", ""),
    ("不如", ""),
    ("我觉得可以", ""),
    ("是不是可以", ""),
    ("另外", ""),
    ("还有就是", ""),
    ("还有", ""),
    ("然后", ""),
    ("顺便", ""),
    ("从今以后", ""),
    ("从现在起", ""),
    ("从今往后", ""),
    ("今后", ""),
    ("往后", ""),
    ("以后", ""),
    ("麻烦你", ""),
    ("麻烦", ""),
    ("请你", ""),
    ("请", ""),
    ("これからは", ""),
    ("これから", ""),
    ("今後は", ""),
    ("今後", ""),
    ("それでは", ""),
    ("じゃあ", ""),
    ("では、", ""),
    ("앞으로는 ", ""),
    ("앞으로 ", ""),
    ("그럼 ", ""),
    ("그러면 ", ""),
    ("그리고 ", ""),
];

/// Words at the beginning that say how long: they go to the end.
const FOR_NOW: &[&str] = &["for now, ", "for now ", "for the time being, ", "for the time being "];

/// Words at the end and what stands for them.
const TAILS: &[(&str, &str)] = &[
    (" please", ""),
    (" pls", ""),
    (" thanks", ""),
    ("吧", ""),
    ("哈", ""),
    ("啦", ""),
    ("哦", ""),
    ("呗", ""),
    ("嘛", ""),
    ("怎么样", ""),
    ("如何", ""),
    ("可以吗", ""),
    ("行吗", ""),
    ("好吗", ""),
    ("好不好", ""),
    ("のはどうですか", ""),
    ("のはどうでしょうか", ""),
    ("のはどうでしょう", ""),
    ("のはどうかな", ""),
    ("のはどう", ""),
    ("はどうですか", ""),
    ("はどうでしょうか", ""),
    ("はどう", ""),
    ("でお願いします", "で"),
    ("ね", ""),
    ("는 게 어때요", "기"),
    ("는 게 어때", "기"),
    ("는게 어때", "기"),
    (" 어때요", ""),
    (" 어때", ""),
];

/// Ends on which 了 stays: without it they would say something else.
const DONE: &[&str] = &["定了", "完了", "好了", "够了", "行了", "得了", "为了", "算了", "除了"];

/// Tools whose names are written small.
const SMALL: &[&str] =
    &["npm", "pnpm", "npx", "uv", "git", "yarn", "pip", "cargo", "bun", "deno", "tsc", "eslint", "kubectl", "curl", "jq", "psql", "gh"];

/// A clause as a statement.
pub fn statement(text: &str, kind: Kind) -> String {
    let (text, for_now) = lead(text.trim());
    let mut text = soft(&text, kind != Kind::Fact && kind != Kind::Todo);
    if for_now && !["until ", "till "].iter().any(|w| text.contains(w)) {
        text.push_str(" for now");
    }
    capital(&text)
}

/// The thing itself that is turned down: "No button debounce" → "Button debounce", 前端防抖不要 → 前端防抖.
pub fn option(text: &str) -> String {
    const BEFORE: &[&str] = &[
        "we won't use ",
        "we will not use ",
        "we don't use ",
        "do not use ",
        "don't use ",
        "don’t use ",
        "not using ",
        "instead of ",
        "no need for ",
        "no more ",
        "forget about the ",
        "forget about ",
        "forget the ",
        "forget ",
        "scratch the ",
        "scratch ",
        "scrap the ",
        "scrap ",
        "skip the ",
        "skip ",
        "no ",
        "not ",
        "use ",
        "暂时不用",
        "先不用",
        "先不做",
        "先不",
        "不需要",
        "不考虑",
        "不采用",
        "不要",
        "不用",
        "不做",
        "不上",
        "别用",
        "放弃",
        "取消",
        "使用",
        "采用",
        "用",
    ];
    const AFTER: &[&str] = &[
        " is off the table",
        " is not an option",
        " isn't an option",
        " is overkill",
        " is out",
        " won't work",
        " is dead",
        "暂时不要",
        "就不要了",
        "就不用了",
        "先不要",
        "先不做",
        "先不用",
        "不要了",
        "不用了",
        "不做了",
        "不搞了",
        "就算了",
        "不需要",
        "没必要",
        "不考虑",
        "不合适",
        "算了",
        "不要",
        "不用",
        "不做",
        "不上",
        "不行",
        "作废",
        "取消",
        "就不",
        "は不要です",
        "は不要",
        "は使わない",
        "はやめよう",
        "はやめる",
        "はなしで",
        "는 빼자",
        "은 빼자",
        "는 필요 없어",
        "은 필요 없어",
        "는 안 써",
        "은 안 써",
    ];
    let text = text.trim().trim_end_matches(['.', '。', '!', '！', ',', '，']);
    let head = BEFORE.iter().find_map(|w| without_start(text, w)).filter(|rest| stands(rest)).unwrap_or(text);
    let whole = AFTER.iter().find_map(|w| head.strip_suffix(w)).filter(|rest| stands(rest)).unwrap_or(head);
    capital(whole.trim().trim_start_matches("the "))
}

fn stands(rest: &str) -> bool {
    !words::tokens(rest).is_empty()
}

/// The rest behind a word, whatever the case of its ASCII letters.
fn without_start<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    text.get(..word.len()).filter(|start| start.eq_ignore_ascii_case(word)).and_then(|_| text.get(word.len()..))
}

/// Without its leads, and whether one of them said "for now".
fn lead(text: &str) -> (String, bool) {
    let (mut rest, mut for_now) = (text.to_owned(), false);
    loop {
        let trimmed = rest.trim_start_matches([' ', ',', '，', '、', '：']);
        if let Some(after) = FOR_NOW.iter().find_map(|w| without_start(trimmed, w)).filter(|t| stands(t)) {
            (rest, for_now) = (after.to_owned(), true);
            continue;
        }
        match LEADS.iter().find_map(|(word, instead)| Some((without_start(trimmed, word)?, *instead))).filter(|(after, _)| stands(after)) {
            Some((after, "")) => rest = after.to_owned(),
            Some((after, instead)) => return (format!("{instead}{after}"), for_now),
            None => return (trimmed.to_owned(), for_now),
        }
    }
}

/// Without softening particles, at the end and before a comma inside.
fn soft(text: &str, settled: bool) -> String {
    let mut text = text.trim_end_matches(['?', '？', ' ']).to_owned();
    for particle in ["吧", "哈", "啦", "哦"] {
        text = text.replace(&format!("{particle}，"), "，").replace(&format!("{particle},"), ",");
    }
    while let Some(short) = TAILS.iter().find_map(|(word, instead)| text.strip_suffix(word).map(|t| format!("{t}{instead}"))) {
        let done = short == text || !stands(&short);
        if done {
            break;
        }
        text = short;
    }
    if settled && text.ends_with('了') && !DONE.iter().any(|w| text.ends_with(w)) {
        text.pop();
    }
    text.trim_end_matches([' ', ',', '，', '。']).to_owned()
}

/// With a capital, unless it begins with a name that is written small.
fn capital(text: &str) -> String {
    let first = text.split([' ', ',', ':']).next().unwrap_or_default();
    let named = !first.bytes().all(|b| b.is_ascii_lowercase() || b == b'\'' || b == b'-') || SMALL.contains(&first);
    match text.chars().next() {
        Some(c) if c.is_ascii_lowercase() && !named => format!("{}{}", c.to_ascii_uppercase(), text.get(1..).unwrap_or_default()),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements() {
        for (said, want) in [
            ("Let's go with the unique index", "Use the unique index"),
            ("we'll use Valkey", "Use Valkey"),
            ("From now on always run `make`", "Always run `make`"),
            ("and for now keep the limit", "Keep the limit for now"),
            ("for now keep it at 3 s, until Friday", "Keep it at 3 s, until Friday"),
            ("pnpm only", "pnpm only"),
            ("src/a.rs stays", "src/a.rs stays"),
            ("就用支付回调吧，用订单号哈", "用支付回调，用订单号"),
            ("另外，以后提交用中文", "提交用中文"),
            ("要不我们给回调加校验吧", "给回调加校验"),
            ("那就迁到 PG 了", "迁到 PG"),
            ("以后再优化索引", "以后再优化索引"),
            ("商品名だけ索引するのはどう?", "商品名だけ索引する"),
            ("Redis에 넣는 게 어때?", "Redis에 넣기"),
        ] {
            assert_eq!(statement(said, Kind::Decision), want, "{said}");
        }
    }

    #[test]
    fn options_without_their_no() {
        for (said, want) in [
            ("No button debounce", "Button debounce"),
            ("Use Parquet", "Parquet"),
            ("前端防抖不要", "前端防抖"),
            ("不用阿里云", "阿里云"),
            ("no", "No"),
        ] {
            assert_eq!(option(said), want, "{said}");
        }
    }
}
