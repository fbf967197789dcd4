//! Whether a clause affirms or denies, counted so that "not dropping X" agrees with "X stays".
//!
//! Tables in English, Chinese, Japanese and Korean. Not here: which clauses speak of the same thing.

use super::phrases::{Clause, count, has_any, without};

/// What a clause holds of negation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Polarity {
    /// Plain negations: not, never, 不, 没, ない, 않.
    pub denials: usize,
    /// Verbs that take away: drop, remove, stop, 放弃, やめ.
    pub removals: usize,
    /// Words that limit, doubt or leave out (only, instead, skip), or a question: such a clause can be said either way.
    pub open: bool,
    /// Only the limiting words, or a question: reason enough for a denial in other words.
    pub limited: bool,
}

/// Phrases that hold a negation in form only.
const IDIOMS: &[&str] = &[
    "no problem",
    "no worries",
    "no idea",
    "no doubt",
    "not only",
    "not just",
    "not sure",
    "not correct",
    "not right",
    "not quite",
    "why not",
    "if not",
    "whether or not",
    "or not",
    "can't we",
    "couldn't we",
    "shouldn't we",
    "why don't we",
    "no-op",
    "no one-off",
    "not bad",
    "nothing but",
    "no matter",
    "in no time",
    "not to mention",
    "not yet decided",
    "read-only",
    "move off",
    "based off",
    "cut off",
    "log off",
    "log-off",
    "one-off",
    "trade-off",
    "off by one",
    "kick off",
    "sign off",
    "isn't it",
    "aren't we",
    "don't we",
    "不过",
    "不超过",
    "不多于",
    "不少于",
    "不低于",
    "no more than",
    "not more than",
    "no less than",
    "不够",
    "不足",
    "足りない",
    "不仅",
    "不但",
    "不断",
    "不同",
    "不久",
    "不如",
    "不少",
    "不得不",
    "不只",
    "不变",
    "不动",
    "不错",
    "差不多",
    "对不对",
    "是不是",
    "要不要",
    "能不能",
    "行不行",
    "可不可以",
    "不然",
    "不管",
    "不论",
    "不过是",
    "不改",
    "特别",
    "级别",
    "类别",
    "区别",
    "分别",
    "识别",
    "别名",
    "别的",
    "性别",
    "辨别",
    "判别",
    "没问题",
    "没关系",
    "没错",
    "没事",
    "未来",
    "未必",
    "未知",
    "少なくない",
    "しかない",
    "違いない",
    "かもしれない",
    "じゃないか",
    "ではないか",
    "仕方ない",
    "間違いない",
    "안정",
    "안전",
    "안내",
    "방안",
    "제안",
    "동안",
];

/// Nouns whose last letter would make an idiom with a denial behind it.
const WITH_WANT: &[&str] = &["摘要", "纪要", "概要", "提要", "纲要"];

/// Plain negations.
const DENIALS: &[&str] = &[
    "cannot",
    "not",
    "never",
    "no",
    "none",
    "nobody",
    "nothing",
    "neither",
    "nor",
    "dont",
    "doesnt",
    "didnt",
    "isnt",
    "arent",
    "cant",
    "wont",
    "shouldnt",
    "wouldnt",
    "mustnt",
    "couldnt",
    "wasnt",
    "nowhere",
    "n't",
    "禁止",
    "不",
    "别",
    "没",
    "勿",
    "无法",
    "无需",
    "未",
    "ない",
    "なかった",
    "なく",
    "ません",
    "なし",
    "않",
    "안 ",
    "못",
    "없",
    "말 것",
    "금지",
    "하지 마",
    "지 마",
    "아니",
    "말라",
];

/// Verbs that take away.
const REMOVALS: &[&str] = &[
    "drop",
    "drops",
    "dropped",
    "dropping",
    "remove",
    "removes",
    "removed",
    "removing",
    "stop",
    "stops",
    "stopped",
    "disable",
    "disables",
    "disabled",
    "disabling",
    "delete",
    "deletes",
    "deleted",
    "abandon",
    "abandoned",
    "reject",
    "rejected",
    "refuse",
    "refused",
    "forbid",
    "forbidden",
    "ban",
    "banned",
    "avoid",
    "avoids",
    "ignore",
    "ignored",
    "off",
    "lifted",
    "waived",
    "out of scope",
    "放弃",
    "弃用",
    "否决",
    "拒绝",
    "移除",
    "去掉",
    "取消",
    "停用",
    "关闭",
    "关掉",
    "删除",
    "删掉",
    "砍掉",
    "撤掉",
    "解除",
    "撤销",
    "禁令",
    "拿掉",
    "算了",
    "避免",
    "やめ",
    "廃止",
    "却下",
    "無効",
    "削除",
    "見送",
    "폐기",
    "제거",
    "중단",
    "비활성",
    "기각",
    "삭제",
];

/// Words that limit or contrast: the same thing can be said with and without a denial.
const LIMITS: &[&str] = &[
    "only",
    "except",
    "unless",
    "instead",
    "instead of",
    "rather",
    "rather than",
    "less",
    "limited",
    "wrong",
    "只",
    "仅",
    "除了",
    "除非",
    "而非",
    "而不是",
    "以外",
    "才",
    "だけ",
    "のみ",
    "以外は",
    "しか",
    "代わり",
    "만",
    "외에",
    "대신",
    "말고",
];

/// Words after which the sign of a clause says little.
const UNDECIDED: &[&str] = &[
    "without",
    "unknown",
    "invalid",
    "undecided",
    "unclear",
    "stays",
    "stay",
    "until",
    "considered",
    "proposed",
    "curious",
    "曾考虑",
    "考虑过",
    "検討",
    "검토",
];

/// Removing and limiting words that both texts have in the same form: there they say nothing about the sign ("the stop
/// hook", "skipped").
pub fn common_marks(a: &str, b: &str) -> Vec<&'static str> {
    REMOVALS.iter().chain(OPEN_VERBS).copied().filter(|mark| has_any(a, &[mark]) && has_any(b, &[mark])).collect()
}

/// Limiting and undecided words that both texts have: beside them a denial still counts ("without an account").
pub fn common_limits(a: &str, b: &str) -> Vec<&'static str> {
    LIMITS.iter().chain(UNDECIDED).copied().filter(|mark| has_any(a, &[mark]) && has_any(b, &[mark])).collect()
}

/// Verbs after which the same thing can be said either way.
const OPEN_VERBS: &[&str] = &[
    "skip",
    "skips",
    "skipped",
    "skipping",
    "leave out",
    "leaves out",
    "left out",
    "missed",
    "misses",
    "fail",
    "fails",
    "failed",
    "跳过",
    "省略",
];

/// Counts the negations of a clause.
pub fn polarity(clause: &Clause) -> Polarity {
    polarity_without(clause, &[])
}

/// [`polarity`], not counting some removing and limiting words.
pub fn polarity_without(clause: &Clause, ignored: &[&str]) -> Polarity {
    // 要不 at the beginning proposes; 摘要不 is a noun and a denial.
    let plain = without(clause.text.strip_prefix("要不").unwrap_or(&clause.text), WITH_WANT);
    let mut text = without(&without(&plain, IDIOMS), ignored);
    // `n't` is never at a word's edge; a space makes it a word of its own.
    text = text.replace("n't", " n't");
    let denials = count(&text, DENIALS);
    let removals = count(&text, REMOVALS);
    let limited = clause.question || has_any(&text, LIMITS) || has_any(&text, OPEN_VERBS);
    let open = clause.question || (denials == 0 && (limited || has_any(&text, UNDECIDED)));
    Polarity { denials, removals, open, limited }
}

/// Whether two clauses about the same thing say it the same way round. In doubt they do.
pub fn agree(a: Polarity, b: Polarity) -> bool {
    if a.open || b.open {
        return true;
    }
    let odd = |p: Polarity| (p.denials + p.removals) % 2 == 1;
    odd(a) == odd(b) || (a.denials > 0 && b.denials > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::phrases::clauses;

    fn of(text: &str) -> Polarity {
        polarity(&clauses(text)[0])
    }

    #[test]
    fn reversed_claims_disagree() {
        for (a, b) in [
            ("We use yarn", "We don't use yarn"),
            ("Never commit for me", "Commit for me"),
            ("用 yarn", "不用 yarn"),
            ("密钥不许落盘", "密钥落盘"),
            ("会议纪要不要外发", "会议纪要外发"),
            ("No links on the wall", "The ban on links on the wall was lifted"),
            ("タブを使う", "タブを使わない"),
            ("탭을 쓴다", "탭을 쓰지 않는다"),
            ("drop Node 18", "support Node 18"),
        ] {
            assert!(!agree(of(a), of(b)), "{a} / {b}");
        }
    }

    #[test]
    fn the_same_claim_in_other_words_agrees() {
        for (a, b) in [
            ("We're not dropping Windows", "Windows support stays"),
            ("别铺垫", "不要铺垫"),
            ("nothing goes into .env files", "never use .env files"),
            ("前缀不变", "前缀还是 feat"),
            ("要不用 yarn 吧", "用 yarn"),
            ("Not worth it", "dropped as not worth it"),
            ("Can't we share the options?", "the options are shared"),
        ] {
            assert!(agree(of(a), of(b)), "{a} / {b}");
        }
    }
}
