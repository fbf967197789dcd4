//! What words do in a claim: closed classes of English and Chinese (some Japanese and Korean), no words of any domain.
//!
//! A claim says of a subject, in a slot, a value. Which word is which is told by the small words between them: what opens
//! a value ("is hosted in", 由, 改为), what leads back to the subject ("of", "for"), what is left behind ("instead of", 不再用).

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::text::stems::stem;

/// What a word does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Says nothing by itself.
    Glue,
    /// `is`: a name behind it is a value, and a verb form behind it is not.
    Copula,
    /// `must`, 可以: carries the sign, like `not` and `stop`.
    Sign,
    /// What follows is a value: "in", "via", 用, 由.
    Opens,
    /// A verb that says little and opens a value: "use", "prefer", 选.
    Uses,
    /// What follows belongs to the subject: "of", "for".
    Subject,
    /// A verb of change: "moved", "switched", 换成 (which opens the value, too).
    Changes,
    /// What follows no longer holds: "instead of", 不再用.
    Leaves,
    /// "from", 从: left behind where something changes, else a value.
    From,
    /// What the clause names no longer holds: "is obsolete", 作废.
    Gone,
    /// One more, beside what is there: "also", 也.
    Also,
    /// Verbs that make someone the owner: whoever stands before them is the value.
    Owns,
}

/// English words (any form) by role. Those with spaces are set phrases.
const ENGLISH: &[(Role, &str)] = &[
    (
        Role::Glue,
        "a an the my our your its their his her this that these those i we you they he she it us me them and or so please just really \
         very all any some each every who what which how there here do does did has have had again still yet ok okay \
         too only let need want like keep set go get put run value back at least exactly about around note remember new as well",
    ),
    (Role::Copula, "is are was were be been being become became becomes 'm 're"),
    (
        Role::Sign,
        "not no never none don't doesn't didn't cannot can't won't isn't aren't mustn't shouldn't can could may might must should will would shall always nothing \
         stop avoid allow forbid reject ignore skip enable disable stay remain off remove drop delete ban refuse",
    ),
    (Role::Opens, "in on at to with by via through over as under onto into inside within after every"),
    (Role::Uses, "use prefer choose chose call name rather ask"),
    (Role::Subject, "of for per against between before if than until since while when whenever where"),
    (
        Role::Changes,
        "now move switch change migrate raise lower bump upgrade update downgrade rename shift slip postpone extend shorten increase \
         decrease turn reroute relocate transfer convert swap pass since from_now_on",
    ),
    (Role::Leaves, "replace"),
    (Role::From, "from"),
    (Role::Gone, "old legacy existing out retired obsolete deprecated removed dropped gone"),
    (Role::Also, "also additionally another besides"),
    (Role::Owns, "own owner responsible responsibility maintain review approve handle lead"),
];

/// English phrases, looked for before single words.
const PHRASES: &[(Role, &[&str])] = &[
    (Role::Leaves, &["instead of", "rather than", "no longer", "not any more", "away from", "in place of", "the place of"]),
    (Role::Changes, &["from now on", "from today", "as of", "any more", "anymore", "since"]),
    (Role::Also, &["as well as"]),
    (Role::Owns, &["took over", "take over", "takes over", "in charge", "looks after", "sign off", "signs off"]),
    (Role::Glue, &["at most", "up to", "at least", "our own", "its own", "their own", "my own"]),
];

/// Chinese, Japanese and Korean; the longest that fits is taken.
const WIDE: &[(Role, &str)] = &[
    (
        Role::Glue,
        "的 了 吧 呢 啊 吗 就 都 请 要 会 将 已 已经 被 把 对 地 得 着 里 上 下 面 中 这 那 个 和 与 及 跟 我 我们 你 它 时间 数量 数 目录 一律 统一 \
         固定 需要 尽量 最多 最大 不超过 上限 每 各 之 再 更 还是 一点 尽 とは を が に で と の する した 은 는 이 가 을 를 에 의 습관 习惯 记住 注意 提醒一下 \
         给 暂 喜欢 偏好 하 지 다 한 고 先 才 只 仅 最低 至少 约 大约 够",
    ),
    (
        Role::Sign,
        "不 没 别 勿 未 无 不要 不能 不可以 不允许 不许 不准 禁止 可以 允许 能 必须 应该 应 停止 开启 关闭 启用 停用 打开 关掉 移除 去掉 删除 避免 ない ません 않 안 못",
    ),
    (
        Role::Opens,
        "用 使用 采用 由 归 是 为 叫 在 到 放在 放到 存在 存到 写在 写到 跑在 落在 走 找 问 交给 取自 来自 基于 于 靠 通过 は 로 으로",
    ),
    (Role::Uses, "选 选用 想用"),
    (
        Role::Changes,
        "改 变更为 调整为 现在 如今 以后 从今天起 从现在起 从今天 今后 に変更 に移行 へ移行 に切り替え 로 변경 으로 변경 로 전환",
    ),
    (Role::Leaves, "不再用 不再 弃用 取代 代替 替换 而不是 而非 别用 别再用 不用 放弃"),
    (Role::From, "从 から 에서"),
    (Role::Gone, "旧 作废 下线 废弃 停用 淘汰 廃止 폐기"),
    (Role::Also, "也 还 另外 同时 外加 も 도"),
    (Role::Owns, "负责 负责人 接口人 维护 审核 批准 管 担当 담당"),
];

/// Words in which a letter of the table is no word of its own.
const WHOLE: &str = "缩放 轮换 用户 用例 用途 用量 用法 作用 费用 应用 通用 可用 调用 引用 信用 专用 常用 理由 自由 由于 归档 归集 归类 问题 访问 提问 问卷 问答 问号 学问 疑问 于是 关于 对于 至于 等于 大于 小于 属于 用于 低于 高于 是否 因为 行为 为了 认为 \
     作为 选项 选择 筛选 可靠 依靠 靠近 正在 在线 在途 到期 收到 得到 遇到 到底 库存 缓存 内存 保存 存储 存档 开放 释放 管理 管道 主管 上海 上报 上线 上传 下载 下单 上下文 中文 中继 中间 \
     地址 地图 面板 页面 界面 面单 前面 得分 对账 对象 对比 对话 会话 会员 会议 数据 数字 数组 未来 更新 更改 不同 不变 能力 功能 性能 可能 智能 只读 仅供 先后 人才 给定 叫号 \
     走查 要求 重要 主要 要点 目的 的确 我方 个人 个性 将来 改动 修改 和平 没有 这样 那样 换行 无法 无需 别名 级别 特别 类别 区别 识别 与否 已知 都市 请求 申请 请假 就绪 \
     时间戳 数据库 数据中心 参数 函数 整数 次数 行数 还原 归还 还款 打开 公开 开关 上游 下游 上限 下限 应急 响应 应答 适应 对应 供应 约定 约束 预约 合约";

/// Verbs of change, each of which stands before each word of direction: 迁到, 换成, 降至.
const CHANGING: (&str, &str) = (
    "改 换 变 迁 迁移 搬 挪 移 转 切 切换 升 升级 降 降级 调 扩 缩 延 提前 推迟 延期 放宽 缩短 提高 降低 增加 减少 上调 下调 更换 替换",
    "成 为 用 走 到 至 往 去 给 由",
);

type Words = HashMap<String, Role>;

static BY_STEM: LazyLock<Words> = LazyLock::new(|| {
    let words = ENGLISH.iter().flat_map(|(role, words)| words.split_whitespace().map(|w| (stem(w), *role)));
    // The first role of a word counts.
    words.rev().collect()
});

static BY_LETTERS: LazyLock<HashMap<String, Option<Role>>> = LazyLock::new(|| {
    let words = WIDE.iter().flat_map(|(role, words)| words.split_whitespace().map(|w| (w.to_owned(), Some(*role))));
    let (verbs, ways) = CHANGING;
    let changes =
        verbs.split_whitespace().flat_map(|verb| ways.split_whitespace().map(move |way| (format!("{verb}{way}"), Some(Role::Changes))));
    WHOLE.split_whitespace().map(|w| (w.to_owned(), None)).chain(changes).chain(words).collect()
});

/// What opens a value, as one word for all that name who does it.
pub(super) fn meaning(by: &str) -> &str {
    if matches!(by, "找" | "交给" | "归") { "由" } else { by }
}

/// The role of an English word in lower case.
pub(super) fn of_word(word: &str) -> Option<Role> {
    BY_STEM.get(&stem(word)).copied()
}

/// A set phrase at the beginning of a list of words in lower case: its role and its number of words.
pub(super) fn of_phrase(words: &[&str]) -> Option<(Role, usize)> {
    PHRASES.iter().flat_map(|(role, phrases)| phrases.iter().map(|p| (*role, *p))).find_map(|(role, phrase)| {
        let parts = phrase.split(' ').count();
        (words.len() >= parts && phrase.split(' ').eq(words.iter().take(parts).copied())).then_some((role, parts))
    })
}

/// The longest word of the table at the beginning of CJK letters, with its length; no role: a word to be left whole.
pub(super) fn of_letters(letters: &[char]) -> Option<(Option<Role>, usize)> {
    let word = |from: usize, to: usize| -> Option<Option<Role>> {
        let word: String = letters.get(from..to)?.iter().collect();
        BY_LETTERS.get(word.as_str()).copied()
    };
    // 改用户名 is 改 and 用户名, not 改用.
    let splits = |n: usize| n > 1 && (n + 1..=n + 2).any(|end| word(n - 1, end) == Some(None));
    (1..=letters.len().min(5)).rev().filter(|n| !splits(*n)).find_map(|n| word(0, n).map(|role| (role, n)))
}

/// Opposites: one of each pair in one claim and the other in the other cannot both be followed.
const OPPOSITES: &[(&str, &str)] = &[
    ("short", "long"),
    ("short", "detailed"),
    ("brief", "detailed"),
    ("brief", "long"),
    ("first", "last"),
    ("public", "private"),
    ("sync", "async"),
    ("synchronous", "asynchronous"),
    ("manual", "automatic"),
    ("manually", "automatically"),
    ("required", "optional"),
    ("light", "dark"),
    ("tabs", "spaces"),
    ("open", "closed"),
    ("strict", "loose"),
    ("singular", "plural"),
    ("ascending", "descending"),
    ("oldest", "newest"),
    ("early", "late"),
    ("formal", "informal"),
    ("true", "false"),
    ("简短", "详细"),
    ("简单", "详细"),
    ("公开", "私有"),
    ("自动", "手动"),
    ("同步", "异步"),
    ("必填", "选填"),
    ("最前", "最后"),
    ("浅色", "深色"),
    ("升序", "降序"),
    ("单数", "复数"),
    ("严格", "宽松"),
    ("正式", "随意"),
];

/// The words of a pair of opposites, one in each of two folded texts, that the other text does not have.
pub(super) fn opposites(a: &str, b: &str) -> Option<(&'static str, &'static str)> {
    let has = |text: &str, word: &str| crate::text::phrases::find(text, word).is_some();
    let only = |x: &str, y: &str| has(a, x) && has(b, y) && !has(a, y) && !has(b, x);
    OPPOSITES.iter().find_map(|(x, y)| if only(x, y) { Some((*x, *y)) } else { only(y, x).then_some((*y, *x)) })
}
