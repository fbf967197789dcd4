//! Round trips on hand-edited Markdown. `CLAUDE_MEM_CASES` sets the number of generated files (1,000 if unset).

use proptest::prelude::*;
use proptest::test_runner::Config;

use super::*;
use crate::model::{Evidence, Kind, Relation, RelationType, Speaker, State, Validity};

#[expect(clippy::disallowed_methods, reason = "a test reads its own switch")]
fn cases() -> Config {
    let cases = std::env::var("CLAUDE_MEM_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(1_000);
    Config { cases, failure_persistence: None, ..Config::default() }
}

/// Pieces a person may leave in such a file; `@` becomes a fresh id.
const FRAGMENTS: &[&str] = &[
    "# 我的记忆\n\n",
    "Some prose of mine.\n",
    "<!-- a comment\n### not an entry\n-->\n",
    "<!-- never closed\n",
    "## 订单支付\n\n",
    "## Build\n",
    "## General\n",
    "##\n",
    "   ## Indented topic  \n",
    "#### deeper heading\n",
    "### 支付回调接口需增加幂等校验\n```yaml\nid: @\nkind: decision\nvalidity: lasting\nkeywords: [支付幂等, 回调接口]\nsource: 2025-06-10-1234abcd#T12\n```\n**Why:** 用户重复点击\n> 要不我们加一个幂等校验 (T12, user)\n",
    "### Use tabs\n\n``` yaml\nkind: 'convention' # mine\n# a comment\nid: @\nx-colour: {red: 1}\nkeywords:\n- tabs\n- \"no\"\n```\n\nMy own words about it.\n\n- a list\n",
    "### Deploy on Fridays\n~~~yml\nid: \"@\"\nvalidity: until 2026-03-06\nuntil_when: never\nnotes: |\n  two\n\n  lines\nstate: rejected\n~~~\n**Why:** because\nit wraps\n**Rejected:** 周五\n\ntail\n",
    "### Typed by hand\n**原因**：没有时间\n",
    "### Broken block\n```yaml\nid: @\nkeywords: [a, b\n```\n",
    "### Open block\n```yaml\nid: @\nkind: fact\n",
    "###\n",
    "```rust\n## not a topic\n### not an entry\n```\n",
    "````markdown\n### inside\n```yaml\nid: zzzzzzzzzz\n```\n````\n",
    "~~~\nnever closed\n",
    "> a quote of nobody\n",
    "> 以后都用 pnpm (T3, user)\n",
    "\n",
    "   \n",
    "\t## code, not a heading\n",
    "---\nfront: matter\n---\n",
    "**Why:** misplaced\n",
    "### テスト は 先に 書く\n```yaml\nid: @\nkind: preference\n\nconfidence: 0.8\npinned: true\n```\n**How to apply:** ask\n> 先に書いて (2026-02-01-abcd1234#T3, user)\n> 두 번째 (T4, assistant)\n",
];

fn text() -> impl Strategy<Value = String> {
    let piece = (0..FRAGMENTS.len(), any::<u64>());
    (prop::collection::vec(piece, 0..9), 0..3u8, any::<bool>(), any::<bool>(), any::<u64>()).prop_map(
        |(pieces, newlines, bom, cut, salt)| {
            let text: String = pieces.iter().map(|(n, id)| FRAGMENTS[*n].replace('@', Id::from_bits(*id).as_str())).collect();
            let text = if cut { text.trim_end().to_owned() } else { text };
            let mut mixed = String::from(if bom { "\u{feff}" } else { "" });
            for (n, line) in text.split_inclusive('\n').enumerate() {
                let crlf = newlines == 1 || (newlines == 2 && (salt >> (n % 64)) & 1 == 1);
                mixed.push_str(line.trim_end_matches('\n'));
                if line.ends_with('\n') {
                    mixed.push_str(if crlf { "\r\n" } else { "\n" });
                }
            }
            mixed
        },
    )
}

fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{1,8}",
        "[\\u{4e00}-\\u{4e20}]{1,6}",
        Just("no".to_owned()),
        Just("012".to_owned()),
        "\\PC{1,10}",
        "[-#:>*`\"'(),\\[\\]]{1,4}"
    ]
}

fn maybe_text() -> impl Strategy<Value = Option<String>> {
    prop::option::of(prop::collection::vec(word(), 1..4).prop_map(|w| w.join(" ")))
}

fn quote() -> impl Strategy<Value = Evidence> {
    (prop::option::of("20[0-9]{2}-0[1-9]-1[0-9]-[a-f0-9]{8}"), 1..999u32, 0..4usize, word()).prop_map(|(session, turn, speaker, quote)| {
        Evidence { session, turn, speaker: [Speaker::User, Speaker::Assistant, Speaker::Tool, Speaker::Harness][speaker], quote }
    })
}

fn memory() -> impl Strategy<Value = Memory> {
    let texts = (word(), maybe_text(), maybe_text(), maybe_text(), maybe_text(), maybe_text());
    let picks =
        (0..Kind::ALL.len(), 0..State::ALL.len(), 0..crate::model::Origin::ALL.len(), 0..3u8, any::<bool>(), prop::option::of(0..100u8));
    let lists = (
        prop::collection::vec(word(), 0..4),
        prop::collection::vec(quote(), 0..4),
        prop::collection::vec((any::<u64>(), 0..RelationType::ALL.len()), 0..3),
    );
    (any::<u64>(), texts, picks, lists, prop::option::of("20[0-9]{2}-0[1-9]-1[0-9]-[a-f0-9]{8}"), prop::option::of(0..3usize)).prop_map(
        |(
            id,
            (summary, reason, rejected, how, lapses, scope),
            (kind, state, origin, validity, pinned, confidence),
            lists,
            session,
            topic,
        )| {
            let mut m = Memory::new(Id::from_bits(id), Layer::Working, Kind::ALL[kind], format!("s{summary}"));
            (m.reason, m.rejected, m.how_to_apply, m.lapses_when, m.scope) = (reason, rejected, how, lapses, scope);
            (m.state, m.origin, m.pinned) = (State::ALL[state], crate::model::Origin::ALL[origin], pinned);
            m.confidence = confidence.map(|c| f64::from(c) / 100.0);
            m.validity = [Validity::Lasting, Validity::Session, Validity::Until("2026-03-06".into())][usize::from(validity)].clone();
            (m.keywords, m.evidence) = (lists.0, lists.1);
            m.relations = lists.2.into_iter().map(|(id, kind)| Relation { id: Id::from_bits(id), kind: RelationType::ALL[kind] }).collect();
            m.session = session;
            m.topic = topic.map(|t| ["订单支付", "Build", "New"][t].to_owned());
            tidy(&m)
        },
    )
}

/// The document as its file would be read back.
fn reread(document: &Document) -> Document {
    Document::parse(&document.render(), Layer::Working)
}

fn readable(document: &Document) -> Vec<Memory> {
    document.entries().filter(|v| v.entry.readable && v.entry.id.is_some()).map(|v| v.entry.memory.clone()).collect()
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn unchanged_is_unchanged(text in text()) {
        let document = Document::parse(&text, Layer::Working);
        prop_assert_eq!(document.render(), text);
    }

    #[test]
    fn inserted_is_read_back_and_removed_without_a_trace(text in text(), memory in memory()) {
        let mut document = Document::parse(&text, Layer::Working);
        prop_assume!(document.get(&memory.id).is_none());
        let empty_heading = document.pieces.iter().zip(document.pieces.iter().skip(1).map(Some).chain([None])).any(|(p, next)| {
            matches!(p.what, What::Topic(_)) && lines(&p.text)[1..].iter().all(|l| is_blank(l)) && !next.is_some_and(|n| matches!(n.what, What::Entry(_)))
        });
        document.insert(&memory);
        let with = document.render();
        prop_assert!(document.reads_as(&with));
        let mut document = reread(&document);
        prop_assert_eq!(document.get(&memory.id), Some(&memory), "{}", with);
        document.remove(&memory.id);
        // An empty heading that was there before cannot be told from one that we made.
        if !empty_heading {
            prop_assert_eq!(document.render(), text);
        }
    }

    #[test]
    fn a_change_stays_inside_its_entry(text in text(), new in memory(), pick in any::<prop::sample::Index>()) {
        let mut document = Document::parse(&text, Layer::Working);
        let there = readable(&document);
        if there.is_empty() {
            return Ok(());
        }
        let old = there[pick.index(there.len())].clone();
        let at = document.position(&old.id).unwrap();
        let (before, after): (String, String) = (
            std::iter::once(document.bom).chain(document.pieces[..at].iter().map(|p| p.text.as_str())).collect(),
            document.pieces[at + 1..].iter().map(|p| p.text.as_str()).collect(),
        );
        let own: Vec<String> = lines(&document.pieces[at].text).iter().filter(|l| l.contains("x-colour") || l.contains("# a comment") || l.contains("My own words") || l.contains("two")).map(|l| (*l).to_owned()).collect();
        let new = Memory { id: old.id.clone(), topic: old.topic.clone(), ..new };
        let result = document.replace(&new);
        prop_assert!(result.is_ok(), "{result:?} {text}");
        let whole = document.render();
        prop_assert!(document.reads_as(&whole));
        prop_assert!(whole.starts_with(&before) && whole.ends_with(&after));
        let middle = &whole[before.len()..whole.len() - after.len()];
        for line in own {
            prop_assert!(middle.contains(&line), "{line:?} lost in {middle}");
        }
        let again = reread(&document);
        prop_assert_eq!(again.get(&old.id), Some(&tidy(&new)), "{}", whole);
        prop_assert_eq!(readable(&again).len(), there.len());
        // And back again: the memory it was, still with everything else untouched.
        document.replace(&old).unwrap();
        prop_assert_eq!(document.get(&old.id).map(tidy), Some(tidy(&old)));
    }

    #[test]
    fn adopting_gives_every_readable_entry_its_own_id(text in text()) {
        let mut document = Document::parse(&text, Layer::Working);
        let mut next = 0;
        let mut new_id = || { next += 1; Ok(Id::from_bits(next)) };
        let mut taken = BTreeSet::new();
        document.adopt(&mut taken, &mut new_id, "2025-06-10T14:03:22+08:00").unwrap();
        let again = reread(&document);
        let ids: Vec<_> = again.entries().filter(|v| v.entry.readable).map(|v| v.entry.id.clone()).collect();
        prop_assert!(ids.iter().all(Option::is_some), "{}", again.render());
        prop_assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len());
        prop_assert_eq!(again.entries().count(), Document::parse(&text, Layer::Working).entries().count());
    }
}

#[test]
fn the_example_of_the_design() {
    let text = "## 订单支付\n\n### 支付回调接口需增加幂等校验，采用订单号唯一索引\n```yaml\nid: 7k3f9qxa2m\nkind: decision\nvalidity: lasting\nlapses_when: 数据库索引变更\nkeywords: [支付幂等, 订单号唯一索引, 回调接口]\nscope: payment-api\nsource: 2025-06-10-1234abcd#T12\ncreated: 2025-06-10T14:03:22+08:00\n```\n**Why:** 用户重复点击提交会产生两个订单\n**Rejected:** 前端按钮防抖，因为后端仍可能收到重复回调\n> 要不我们加一个幂等校验，用订单号做唯一索引吧 (T12, user)\n";
    let document = Document::parse(text, Layer::Working);
    let memory = document.get(&Id::parse("7k3f9qxa2m").unwrap()).unwrap().clone();
    assert_eq!(memory.topic.as_deref(), Some("订单支付"));
    assert_eq!(memory.lapses_when.as_deref(), Some("数据库索引变更"));
    assert_eq!(memory.session.as_deref(), Some("2025-06-10-1234abcd"));
    assert_eq!(memory.evidence.len(), 1);
    assert!(memory.rejected.is_some() && memory.reason.is_some());
    // Printed anew, it is the example byte for byte.
    let mut fresh = Document::parse("", Layer::Working);
    fresh.insert(&memory);
    assert_eq!(fresh.render(), text);
}

#[test]
fn an_open_block_does_not_swallow_its_neighbours() {
    let text = "### one\n```yaml\nid: aaaaaaaaaa\n\n### two\n```yaml\nid: bbbbbbbbbb\n```\n";
    let document = Document::parse(text, Layer::Working);
    assert!(document.get(&Id::parse("bbbbbbbbbb").unwrap()).is_some());
    let problems = document.problems();
    assert_eq!((problems.len(), problems[0].code, problems[0].line), (1, "bad_yaml", Some(2)));
}

#[test]
fn many_openers_do_not_take_forever() {
    let text: String = (0..40_000).map(|n| if n % 2 == 0 { "````x\n" } else { "<!-- \n" }).collect();
    assert_eq!(Document::parse(&text, Layer::Working).render(), text);
}
