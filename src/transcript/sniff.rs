//! The shape of JSON by its first keys, for telling formats apart: tolerant of cut, glued and broken text.
//! Formats say what they look for; nothing is decided here.

/// Objects looked at before the question is decided.
const OBJECTS: usize = 24;

/// Keys of one object with their values, where these are short strings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sketch(Vec<(String, Option<String>)>);

impl Sketch {
    /// Whether the object has this key.
    pub fn has(&self, key: &str) -> bool {
        self.0.iter().any(|(k, _)| k == key)
    }

    /// Whether the object has all these keys.
    pub fn has_all(&self, keys: &[&str]) -> bool {
        keys.iter().all(|k| self.has(k))
    }

    /// The value of this key, if it is a short string.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(k, _)| k == key).and_then(|(_, v)| v.as_deref())
    }
}

/// The first objects of a text: those at the top, or those of one list at the top.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// In order.
    pub objects: Vec<Sketch>,
}

impl Shape {
    /// Reads the shape of the beginning of a file. No objects if it is no JSON.
    pub fn of(head: &str) -> Self {
        let mut scan = Scan { text: head, at: 0, shape: Self::default() };
        scan.run();
        scan.shape
    }
}

struct Scan<'a> {
    text: &'a str,
    at: usize,
    shape: Shape,
}

impl<'a> Scan<'a> {
    /// Walks the text by bytes; all that matters is ASCII.
    fn run(&mut self) {
        let bytes = self.text.as_bytes();
        // Open brackets; an object of interest is one with only lists around it.
        let mut open: Vec<u8> = Vec::new();
        let mut key: Option<&'a str> = None;
        while let Some(&b) = bytes.get(self.at) {
            match b {
                b'{' => {
                    if open.iter().all(|o| *o == b'[') && open.len() < 2 {
                        if self.shape.objects.len() == OBJECTS {
                            return;
                        }
                        self.shape.objects.push(Sketch::default());
                    }
                    open.push(b);
                    key = None;
                }
                b'[' => open.push(b),
                b'}' | b']' => {
                    open.pop();
                    key = None;
                }
                b'"' => {
                    let Some(string) = self.string() else {
                        // A raw line end inside a string: the line is broken or cut, the next one is judged afresh.
                        open.clear();
                        key = None;
                        continue;
                    };
                    if self.is_direct(&open) {
                        let is_key = key.is_none() && self.next_is(b':');
                        match (is_key, self.shape.objects.last_mut()) {
                            (true, Some(object)) => {
                                object.0.push((string.to_owned(), None));
                                key = Some(string);
                            }
                            (false, Some(object)) if key.is_some() => {
                                if let Some(last) = object.0.last_mut().filter(|_| string.len() <= 80) {
                                    last.1 = Some(string.to_owned());
                                }
                                key = None;
                            }
                            _ => {}
                        }
                    }
                    continue;
                }
                b',' if self.is_direct(&open) => key = None,
                // Text outside of any bracket that cannot be JSON ends the search, but a broken line must not.
                _ if open.is_empty() && self.shape.objects.is_empty() && !b.is_ascii_whitespace() && b != 0 => {
                    if !self.skip_scalar() {
                        return;
                    }
                    continue;
                }
                _ => {}
            }
            self.at += 1;
        }
    }

    /// Whether the innermost bracket is an object of interest.
    fn is_direct(&self, open: &[u8]) -> bool {
        matches!(open, [b'{'] | [b'[', b'{'])
    }

    /// Reads a string that begins here; stands behind it afterwards. Nothing if it does not end in its line.
    fn string(&mut self) -> Option<&'a str> {
        let bytes = self.text.as_bytes();
        let start = self.at + 1;
        let mut at = start;
        while let Some(&b) = bytes.get(at) {
            match b {
                b'\\' => at += 2,
                b'"' => {
                    self.at = at + 1;
                    return self.text.get(start..at);
                }
                b'\n' => break,
                _ => at += 1,
            }
        }
        self.at = at.min(bytes.len()) + 1;
        None
    }

    fn next_is(&self, wanted: u8) -> bool {
        self.text.as_bytes().iter().skip(self.at).find(|b| !b.is_ascii_whitespace()) == Some(&wanted)
    }

    /// Passes a line that holds a bare JSON value; says whether it was one.
    fn skip_scalar(&mut self) -> bool {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let line = rest.split('\n').next().unwrap_or(rest).trim();
        self.at += rest.find('\n').map_or(rest.len(), |n| n + 1);
        serde_json::from_str::<serde::de::IgnoredAny>(line).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_the_first_objects_are_seen() {
        let shape = Shape::of("null\n42\n{\"type\":\"user\",\"m\":{\"x\":\"y\"},\"z\":1}{\"a\":\"b");
        assert_eq!(shape.objects.len(), 2);
        assert_eq!(shape.objects[0].get("type"), Some("user"));
        assert!(shape.objects[0].has_all(&["type", "m", "z"]) && !shape.objects[0].has("x"));
        assert_eq!(Shape::of("[\n {\"k\": [\"v\"], \"l\": \"w\"}").objects[0].get("l"), Some("w"));
        assert!(Shape::of("User: hello {\"a\":1}").objects.is_empty());
    }

    #[test]
    fn a_broken_line_does_not_hide_the_next() {
        let shape = Shape::of("{\"type\":\"x\",\"v\":\"cut\n{\"type\":\"user\",\"uuid\":\"1\"}\n");
        assert_eq!(shape.objects[1].get("uuid"), Some("1"));
    }
}
