//! Links from memory to memory in the text of an entry: `[[id]]`, or `[[slug]]` with the words of its summary.

use super::words::fold;

/// What stands in `[[…]]`, in order; what comes behind `|` or `#` is a label or a place and no part of the name.
pub fn targets(text: &str) -> impl Iterator<Item = &str> {
    text.split("[[").skip(1).filter_map(|rest| {
        let inner = rest.split_once("]]")?.0;
        let name = inner.split(['|', '#']).next().unwrap_or_default().trim();
        (!name.is_empty() && !name.contains('\n')).then_some(name)
    })
}

/// The name by which a text can be linked: its words in lower case, joined by `-`.
pub fn slug(text: &str) -> String {
    let folded = fold(text);
    let words = folded.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-")
}

/// The text with every link to `old` (a slug) leading to `new` (a summary); labels stay. `None` if there is no such link.
pub fn renamed(text: &str, old: &str, new: &str) -> Option<String> {
    // What would end the name early is left to the slug, which leads to the same.
    let new = if new.contains(['[', ']', '|', '#']) { slug(new) } else { new.to_owned() };
    let mut parts = text.split("[[");
    let mut out = parts.next().unwrap_or_default().to_owned();
    let mut changed = false;
    for part in parts {
        out.push_str("[[");
        let name = part.split_once("]]").map(|(inner, _)| inner.split(['|', '#']).next().unwrap_or_default());
        match name.filter(|name| !name.contains('\n') && slug(name) == old) {
            Some(name) => {
                changed = true;
                out.push_str(&new);
                out.push_str(part.get(name.len()..).unwrap_or_default());
            }
            None => out.push_str(part),
        }
    }
    changed.then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_between_double_brackets() {
        let text = "see [[7k3f9qxa2m]], [[支付 回调|the callback]] and [[deploys-on-tuesday#why]]; not [this] or [[open";
        assert_eq!(targets(text).collect::<Vec<_>>(), ["7k3f9qxa2m", "支付 回调", "deploys-on-tuesday"]);
    }

    #[test]
    fn a_slug_is_the_same_for_every_spelling() {
        assert_eq!(slug("Deploys go out on Tuesdays."), "deploys-go-out-on-tuesdays");
        assert_eq!(slug("支付回调，用唯一索引"), "支付回调-用唯一索引");
        assert_eq!(slug("ＡＢＣ"), slug("abc"));
    }

    #[test]
    fn links_follow_a_new_name() {
        let text = "as [[Old Name|it]] says, and [[old-name]]; not [[older-name]]";
        assert_eq!(renamed(text, "old-name", "new-name").as_deref(), Some("as [[new-name|it]] says, and [[new-name]]; not [[older-name]]"));
        assert_eq!(renamed(text, "other", "x"), None);
    }
}
