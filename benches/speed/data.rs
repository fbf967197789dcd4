//! Made-up memories, half English, half Chinese: always the same for a number.

const WORDS: &[&str] = &[
    "payment",
    "callback",
    "deploy",
    "cache",
    "redis",
    "order",
    "invoice",
    "retry",
    "timeout",
    "index",
    "queue",
    "worker",
    "session",
    "token",
    "schema",
    "migration",
    "branch",
    "release",
    "build",
    "lint",
    "config",
    "metric",
    "alert",
    "trace",
    "shard",
    "replica",
    "backup",
    "restore",
    "client",
    "server",
    "proxy",
    "gateway",
    "module",
    "package",
    "parser",
    "printer",
    "editor",
    "window",
    "ledger",
    "refund",
    "webhook",
    "cursor",
    "bucket",
    "cluster",
    "quota",
    "tenant",
    "report",
    "export",
];
const TERMS: &[&str] = &[
    "支付",
    "回调",
    "接口",
    "幂等",
    "校验",
    "订单",
    "索引",
    "缓存",
    "部署",
    "测试",
    "发布",
    "配置",
    "数据库",
    "迁移",
    "日志",
    "监控",
    "告警",
    "网关",
    "重试",
    "超时",
    "队列",
    "会话",
    "令牌",
    "分支",
    "合并",
    "构建",
    "编译",
    "脚本",
    "前端",
    "后端",
    "服务",
    "对账",
];
const KINDS: &[(&str, &str)] =
    &[("decision", "working"), ("fact", "working"), ("todo", "working"), ("preference", "long_term"), ("convention", "long_term")];

/// Numbers from a number (SplitMix64).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % below as u64).unwrap_or_default()
    }

    /// A few words out of some thousands, common ones more often; now and then an identifier that stands nowhere else.
    fn words(&mut self, count: usize) -> String {
        let word = |dice: &mut Self| {
            let word = WORDS[dice.roll(WORDS.len())];
            match dice.roll(8) {
                0 => format!("{word}_{}", dice.roll(100_000)),
                1 | 2 => word.to_owned(),
                // Three letters in front: words that begin alike count as one for the search of neighbours.
                _ => format!("{}{word}", &WORDS[dice.roll(WORDS.len())][..3]),
            }
        };
        (0..count).map(|_| word(self)).collect::<Vec<_>>().join(" ")
    }

    /// The same in Chinese: set terms, and pairs of three thousand characters.
    fn terms(&mut self, count: usize) -> String {
        let letter = |dice: &mut Self| u32::try_from(dice.roll(3000)).ok().and_then(|n| char::from_u32(0x4e00 + n)).unwrap_or('中');
        let term = |dice: &mut Self| match dice.roll(4) {
            0 => TERMS[dice.roll(TERMS.len())].to_owned(),
            _ => [letter(dice), letter(dice)].iter().collect(),
        };
        (0..count).map(|_| term(self)).collect()
    }

    fn either(&mut self, chinese: bool, count: usize) -> String {
        if chinese { self.terms(count) } else { self.words(count) }
    }
}

/// A statement that no other number makes.
pub fn statement(n: usize) -> String {
    let mut dice = Dice(n as u64);
    if n % 2 == 1 {
        format!("{}采用{}，编号{n}", dice.terms(4), dice.words(1))
    } else {
        format!("Use {} {n} for {}", dice.words(1), dice.words(3))
    }
}

/// A memory as a line of `import`.
pub fn memory(n: usize) -> String {
    let chinese = n % 2 == 1;
    let mut dice = Dice(n as u64 ^ 0xabcd);
    // Half are decisions and facts of everyday work, as in a real store.
    let (kind, layer) = KINDS[dice.roll(KINDS.len()).min(dice.roll(KINDS.len()))];
    let topic = format!("{} {}", dice.either(chinese, 1), n % 97);
    let day = format!("2026-{:02}-{:02}", 1 + n % 6, 1 + n % 28);
    serde_json::json!({
        "summary": statement(n), "kind": kind, "layer": layer, "topic": topic, "origin": "rules",
        "reason": dice.either(chinese, 8), "keywords": [dice.words(1), dice.either(chinese, 1)],
        "session": format!("{day}-{:08x}", n % 500), "created": format!("{day}T12:00:00Z"),
        "evidence": [{"turn": 1 + n % 30, "speaker": "user", "quote": dice.either(chinese, 10)}],
    })
    .to_string()
}

/// A conversation with a few decisions in it.
pub fn conversation(n: usize) -> String {
    let said = |i: usize| {
        let mut dice = Dice((n * 100 + i) as u64);
        let user = if i.is_multiple_of(2) {
            format!("Let's keep the {} of {n}{i} in {}, because it is simpler.", dice.words(1), dice.words(1))
        } else {
            format!("我们决定第{n}{i}号{}用{}，因为更简单。", dice.terms(2), dice.words(1))
        };
        [serde_json::json!({"role": "user", "content": user}), serde_json::json!({"role": "assistant", "content": "OK."})]
    };
    serde_json::Value::from((0..6).flat_map(said).collect::<Vec<_>>()).to_string()
}
