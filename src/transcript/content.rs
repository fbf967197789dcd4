//! Message content as nearly every tool writes it: a string, or a list of typed blocks. Borrowed, one pass.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};

use super::gather::{TURN_BYTES, head};
use super::lenient::{Flag, Length, Maybe, Text};

/// The blocks of a message. A bare string is one text block, `null` none, a single object one block.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Content<'a>(pub Vec<Block<'a>>);

/// One block. Which fields are set depends on `kind`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Block<'a> {
    /// `text`, `tool_result`, `image` …; empty for blocks without a type.
    #[serde(borrow, rename = "type")]
    pub kind: Text<'a>,
    /// Words.
    #[serde(borrow)]
    pub text: Text<'a>,
    /// Tool name of a `tool_use`.
    #[serde(borrow)]
    pub name: Text<'a>,
    /// Id of a `tool_use`.
    #[serde(borrow)]
    pub id: Text<'a>,
    /// Which `tool_use` a result answers.
    #[serde(borrow)]
    pub tool_use_id: Text<'a>,
    /// Whether a tool result is a failure or a refusal.
    pub is_error: Flag,
    /// Content of a tool result.
    #[serde(borrow)]
    pub content: Content<'a>,
    /// Picture or document: only its kind and size are kept.
    #[serde(borrow)]
    pub source: Maybe<Source<'a>>,
    /// Gemini: a part that is the model's thinking.
    pub thought: Flag,
}

/// Where a picture or document comes from.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Source<'a> {
    /// Such as `image/png`.
    #[serde(borrow)]
    pub media_type: Text<'a>,
    /// Length of the base64 text.
    pub data: Length,
}

impl<'a> Block<'a> {
    fn of_text(text: Cow<'a, str>) -> Self {
        Self { kind: Text(Some(Cow::Borrowed("text"))), text: Text(Some(text)), ..Self::default() }
    }

    /// Words of the block, if it is one that holds words: thinking, calls and results are not.
    pub fn words(&self) -> Option<&str> {
        match self.kind.str() {
            "thinking" | "redacted_thinking" | "tool_use" | "tool_result" | "image" | "document" | "reasoning" | "thought" => None,
            _ if self.thought.0 => None,
            _ => self.text.get(),
        }
    }

    /// A short mark in place of a picture or document: `[image png, 1200 bytes]`.
    pub fn stub(&self) -> Option<String> {
        let kind = self.kind.get().filter(|k| matches!(*k, "image" | "document"))?;
        let Some(source) = &self.source.0 else { return Some(format!("[{kind}]")) };
        let media = source.media_type.str().rsplit('/').next().unwrap_or_default();
        // Base64 has four letters for three bytes.
        let bytes = source.data.0 / 4 * 3;
        Some(format!("[{kind} {media}, {bytes} bytes]").replace(" ,", ","))
    }
}

impl Content<'_> {
    /// The words of all blocks, a blank line between two blocks.
    pub fn words(&self) -> String {
        let mut out = String::new();
        for text in self.0.iter().filter_map(Block::words) {
            if !out.is_empty() {
                out.push_str("\n\n");
            }
            out.push_str(text);
        }
        out
    }

    /// Words and marks of all blocks, cut behind about `limit` bytes: for tool output.
    pub fn clipped(&self, limit: usize) -> String {
        let mut out = String::new();
        for block in &self.0 {
            let stub = block.stub();
            let text = stub.as_deref().or_else(|| block.words());
            let Some(text) = text else { continue };
            if !out.is_empty() {
                out.push('\n');
            }
            // A little more than the limit is enough for the caller to see that it has to clip.
            out.push_str(head(text, limit + 1));
            if out.len() > limit {
                break;
            }
        }
        out
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Content<'a> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct V;
        impl<'de> Visitor<'de> for V {
            type Value = Content<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("any value")
            }
            fn visit_unit<E>(self) -> Result<Self::Value, E> {
                Ok(Content::default())
            }
            fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
                Ok(Content::default())
            }
            fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
                Ok(Content::default())
            }
            fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
                Ok(Content::default())
            }
            fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
                Ok(Content::default())
            }
            fn visit_borrowed_str<E>(self, v: &'de str) -> Result<Self::Value, E> {
                Ok(Content(vec![Block::of_text(Cow::Borrowed(v))]))
            }
            fn visit_str<E>(self, v: &str) -> Result<Self::Value, E> {
                // No turn keeps more, and a copy of a line of many MB would double the memory.
                Ok(Content(vec![Block::of_text(Cow::Owned(head(v, TURN_BYTES).to_owned()))]))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                Ok(Content(vec![Block::deserialize(MapAccessDeserializer::new(map))?]))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                // Each element has itself the shape of a content: a string or a block.
                let mut blocks = Vec::new();
                while let Some(mut part) = seq.next_element::<Content<'de>>()? {
                    blocks.append(&mut part.0);
                }
                Ok(Content(blocks))
            }
        }
        d.deserialize_any(V)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_of_content_is_read() {
        let cases = [
            (r#""plain""#, "plain"),
            (r#"[{"type":"text","text":"block"},"bare"]"#, "block\n\nbare"),
            ("null", ""),
            ("42", ""),
            (r#"{"text":"part"}"#, "part"),
            (r#"[{"type":"thinking","thinking":"hm","text":"no"},{"type":"new_kind","text":"kept"}]"#, "kept"),
            (r#"[null,3,[{"text":"nested"}]]"#, "nested"),
        ];
        for (json, words) in cases {
            let content: Content<'_> = serde_json::from_str(json).unwrap();
            assert_eq!(content.words(), words, "{json}");
        }
    }

    #[test]
    fn pictures_leave_their_kind_and_size() {
        let json = r#"[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAAAAAA"}},{"type":"document"}]"#;
        let content: Content<'_> = serde_json::from_str(json).unwrap();
        assert_eq!(content.clipped(100), "[image png, 6 bytes]\n[document]");
    }
}
