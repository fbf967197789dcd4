//! Cue words of the checks, as data: English, Chinese, Japanese, Korean. All folded.

/// Strong corrections: something said before no longer counts.
pub(super) const TAKEN_BACK: &[&str] = &[
    "wait, no", "wait no", "scratch that", "scratch the", "on second thought", "actually, no", "actually no", "no no", "no, no", "strike that",
    "i was wrong", "is out", "are out", "forget that", "forget about", "never mind the", "changed my mind", "change of plan", "not anymore",
    "let's not", "drop that", "undo that", "revert that", "instead of that", "i take that back", "back to", "哦不", "不对", "说错了", "改成", "改为",
    "换成", "就算了", "推翻", "还是用", "不用了", "不要了", "作废", "收回", "撤回", "反悔", "改主意", "算了", "やっぱり", "やはり", "違った", "間違えた", "取り消",
    "なしで", "撤回", "아니다", "취소", "철회", "다시 생각", "잘못 말", "됐고",
];

/// Corrections that need no object: they mean what was said last.
pub(super) const SCRATCHED: &[&str] = &[
    "wait, no", "wait no", "scratch that", "strike that", "actually, no", "i take that back", "forget that", "undo that", "哦不对", "哦不", "说错了",
    "推翻", "收回", "撤回", "やっぱりなし", "取り消", "취소", "철회",
];

/// Sounds like a correction, is none.
pub(super) const FALSE_FRIENDS: &[&str] = &[
    "no problem", "no worries", "never mind", "wait, what", "actually my", "haha", "等一下我去", "不对啊", "对不对", "算了看", "没事", "行吧", "是不是不对",
    "back to back", "back to work", "get back to",
];

/// The sentence that names it confirms it.
pub(super) const REAFFIRMED: &[&str] = &[
    "only", "keep", "keeps", "stay", "stays", "still", "back to", "after all", "as planned", "as is", "fine", "就", "还是", "不变", "不动", "保留", "照旧", "可以",
    "仍然", "仍", "のまま", "維持", "残す", "그대로", "유지",
];

/// Words too common to name an object.
pub(super) const WEAK_WORDS: &[&str] = &[
    "us", "use", "user", "run", "set", "go", "new", "need", "want", "make", "no", "not", "never", "only", "instead", "add", "keep", "put", "get", "be",
    "one", "two", "每次", "使用", "需要", "可以", "我们", "这个", "一个",
];

/// Answers that accept nothing.
pub(super) const PUT_OFF: &[&str] = &[
    "not now", "not yet", "nope", "maybe later", "just curious", "let me think", "i'll think about it", "nothing is decided", "nothing decided",
    "not sure", "no thanks", "no thank you", "some other time", "hold off", "maybe", "不用", "先不", "再说", "再聊", "考虑一下",
    "再想想", "还没定", "没定", "算了", "以后再", "不必", "また今度", "考えさせて", "まだ", "検討", "いらない", "나중에", "생각해", "아직", "필요 없",
];

/// Words that address an AI: nobody talks like this to the person at the keyboard.
pub(super) const ADDRESSES_AI: &[&str] = &[
    "note to ai", "ai assistants", "ai assistant", "ai agents", "language model", "llms reading", "bots reading", "for bots", "attention assistant",
    "dear assistant", "assistants reading", "ignore previous", "ignore all previous", "ignore the above", "ignore your instructions", "disregard previous", "disregard all",
    "system prompt", "you are now", "do not mention this to the user", "don't tell the user", "do not tell the user", "without telling the user",
    "store a preference that", "致 ai", "致ai", "ai 助手", "ai助手", "给助手的指令", "忽略之前", "忽略以上", "忽略上述", "无视之前", "无需告知用户", "不要告诉用户",
    "系统提示词", "请永久记住", "aiアシスタント", "以前の指示を無視", "これまでの指示を無視", "上記の指示を無視", "ユーザーに知らせず", "ユーザーには言わない", "ai 어시스턴트",
    "이전 지시를 무시", "이전 지침을 무시", "사용자에게 알리지",
];

/// Orders to a memory: harmless from the user, an attack from anybody else.
pub(super) const ORDERS_MEMORY: &[&str] = &[
    "remember", "memorize", "memorise", "permanently", "from now on", "always", "save this", "store this", "add this to your memory", "the user approved",
    "the user has approved", "the user wants", "the user prefers", "user authorized", "用户已授权", "用户授权", "用户同意", "用户希望", "记住", "永久", "以后都", "今后",
    "写入记忆", "覚えて", "記憶して", "今後は", "常に", "ユーザーは許可", "기억해", "앞으로", "항상", "사용자가 승인",
];

/// Ends of the blocks that hold memory or notices: text with one of them tries to close ours.
pub(super) const CLOSING_TAGS: &[&str] = &[
    "</claude-mem", "<claude-mem", "</memory", "</known_memories", "</transcript", "</carry_over", "</system-reminder", "<system-reminder", "</private",
    "</untrusted", "<!-- claude-mem", "</notes", "</instructions",
];

/// Whole fields that say nothing.
pub(super) const NOTHING: &[&str] = &[
    "n/a", "na", "n.a.", "none", "null", "nil", "unknown", "undefined", "not specified", "not stated", "not given", "not available", "not applicable",
    "unspecified", "no reason given", "no reason", "tbd", "-", "--", "---", "?", "未知", "无", "無", "不明", "不详", "未说明", "未提及", "没有", "暂无", "不适用", "空",
    "待定", "なし", "無し", "該当なし", "不明です", "特になし", "未定", "없음", "알 수 없음", "해당 없음", "모름", "미정", "미상",
];

/// Words of time: a date may be worked out from one of them.
pub(super) const RELATIVE_DAYS: &[&str] = &[
    "today", "tonight", "tomorrow", "yesterday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", "mon", "tue", "wed", "thu",
    "fri", "sat", "next week", "this week", "last week", "next month", "this month", "last month", "end of the month", "end of month", "end of the week",
    "end of week", "weekend", "fortnight", "next year", "this year", "eod", "eow", "days", "weeks", "months", "month", "week", "january", "february", "march", "april", "may",
    "june", "july", "august", "september", "october", "november", "december", "jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "sept", "oct",
    "nov", "dec", "q1", "q2", "q3", "q4", "quarter", "sprint", "1st", "2nd", "3rd", "st of", "nd of", "th", "今天", "今晚", "明天", "后天", "昨天", "前天", "周一", "周二", "周三", "周四", "周五", "周六", "周日",
    "周末", "星期", "礼拜", "下周", "本周", "这周", "上周", "下个月", "下月", "这个月", "本月", "上个月", "月底", "月初", "年底", "年前", "天后", "天内", "号", "日", "月", "今日", "明日",
    "明後日", "昨日", "曜", "来週", "今週", "先週", "来月", "今月", "月末", "年末", "週末", "오늘", "내일", "모레", "어제", "요일", "다음 주", "이번 주", "지난주", "다음 달", "이번 달",
    "월말", "주말", "연말", "일까지",
];
