//! Field types that accept whatever JSON brings: one odd shape must never reject a record. Borrowed and one-pass;
//! what a record means is not decided here.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// The visitor methods that turn everything unwanted into the default value.
macro_rules! default_for {
    ($($method:ident: $type:ty),*) => { $(
        fn $method<E>(self, _: $type) -> Result<Self::Value, E> {
            Ok(Default::default())
        }
    )* };
}

/// `null` is nothing, and containers are read past.
macro_rules! default_for_none {
    () => {
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("any value")
        }
        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok(Default::default())
        }
    };
}

macro_rules! default_for_map {
    () => {
        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            Ok(Default::default())
        }
    };
}

macro_rules! default_for_seq {
    () => {
        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
            while seq.next_element::<IgnoredAny>()?.is_some() {}
            Ok(Default::default())
        }
    };
}

/// A string, or nothing if the value is not one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text<'a>(pub Option<Cow<'a, str>>);

impl Text<'_> {
    /// The string; empty counts as absent.
    pub fn get(&self) -> Option<&str> {
        self.0.as_deref().filter(|s| !s.is_empty())
    }

    /// The string, or the empty one.
    pub fn str(&self) -> &str {
        self.0.as_deref().unwrap_or_default()
    }

    /// The string as an owned value.
    pub fn owned(&self) -> Option<String> {
        self.get().map(str::to_owned)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct V;
        impl<'de> Visitor<'de> for V {
            type Value = Text<'de>;
            default_for_none!();
            default_for_map!();
            default_for_seq!();
            default_for!(visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_f64: f64);
            fn visit_borrowed_str<E>(self, v: &'de str) -> Result<Self::Value, E> {
                Ok(Text(Some(Cow::Borrowed(v))))
            }
            fn visit_str<E>(self, v: &str) -> Result<Self::Value, E> {
                Ok(Text(Some(Cow::Owned(v.to_owned()))))
            }
            fn visit_string<E>(self, v: String) -> Result<Self::Value, E> {
                Ok(Text(Some(Cow::Owned(v))))
            }
        }
        d.deserialize_any(V)
    }
}

/// A point in time: an RFC 3339 string as found, or a number of seconds or milliseconds since 1970.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Time<'a> {
    text: Text<'a>,
    number: Option<f64>,
}

impl Time<'_> {
    /// RFC 3339, as found or made from the number.
    pub fn get(&self) -> Option<String> {
        if let Some(text) = self.text.get() {
            return Some(text.to_owned());
        }
        // Numbers above this are milliseconds: as seconds they would lie behind the year 5000.
        let number = self.number?;
        let millis = if number > 1.0e11 { number } else { number * 1000.0 };
        let stamp = jiff::Timestamp::from_millisecond(millis as i64).ok()?;
        (millis > 0.0).then(|| stamp.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
    }

    /// For ordering only: seconds as a number where the format has numbers.
    pub fn number(&self) -> f64 {
        self.number.unwrap_or_default()
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Time<'a> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct V;
        impl<'de> Visitor<'de> for V {
            type Value = Time<'de>;
            default_for_none!();
            default_for_map!();
            default_for_seq!();
            default_for!(visit_bool: bool);
            fn visit_i64<E>(self, v: i64) -> Result<Self::Value, E> {
                Ok(Time { number: Some(v as f64), ..Time::default() })
            }
            fn visit_u64<E>(self, v: u64) -> Result<Self::Value, E> {
                Ok(Time { number: Some(v as f64), ..Time::default() })
            }
            fn visit_f64<E>(self, v: f64) -> Result<Self::Value, E> {
                Ok(Time { number: Some(v), ..Time::default() })
            }
            fn visit_borrowed_str<E>(self, v: &'de str) -> Result<Self::Value, E> {
                Ok(Time { text: Text(Some(Cow::Borrowed(v))), number: None })
            }
            fn visit_str<E>(self, v: &str) -> Result<Self::Value, E> {
                Ok(Time { text: Text(Some(Cow::Owned(v.to_owned()))), number: None })
            }
        }
        d.deserialize_any(V)
    }
}

/// `true`, or false for everything else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flag(pub bool);

impl<'de> Deserialize<'de> for Flag {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct V;
        impl<'de> Visitor<'de> for V {
            type Value = Flag;
            default_for_none!();
            default_for_map!();
            default_for_seq!();
            default_for!(visit_i64: i64, visit_u64: u64, visit_f64: f64, visit_str: &str);
            fn visit_bool<E>(self, v: bool) -> Result<Self::Value, E> {
                Ok(Flag(v))
            }
        }
        d.deserialize_any(V)
    }
}

/// The length of a string that is not kept: base64 of images and documents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Length(pub usize);

impl<'de> Deserialize<'de> for Length {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct V;
        impl<'de> Visitor<'de> for V {
            type Value = Length;
            default_for_none!();
            default_for_map!();
            default_for_seq!();
            default_for!(visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_f64: f64);
            fn visit_str<E>(self, v: &str) -> Result<Self::Value, E> {
                Ok(Length(v.len()))
            }
        }
        d.deserialize_any(V)
    }
}

/// An object of type `T`, or nothing for any other value.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Maybe<T>(pub Option<T>);

impl<'de, T: Deserialize<'de> + Default> Deserialize<'de> for Maybe<T> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct V<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de> + Default> Visitor<'de> for V<T> {
            type Value = Maybe<T>;
            default_for_none!();
            default_for_seq!();
            default_for!(visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_f64: f64, visit_str: &str);
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(|v| Maybe(Some(v)))
            }
        }
        d.deserialize_any(V(PhantomData))
    }
}

/// A list of `T`, or nothing for any other value.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct List<T>(pub Vec<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct V<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for V<T> {
            type Value = List<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("any value")
            }
            fn visit_unit<E>(self) -> Result<Self::Value, E> {
                Ok(List(Vec::new()))
            }
            fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
                Ok(List(Vec::new()))
            }
            fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
                Ok(List(Vec::new()))
            }
            fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
                Ok(List(Vec::new()))
            }
            fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
                Ok(List(Vec::new()))
            }
            fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
                Ok(List(Vec::new()))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(List(Vec::new()))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let mut list = Vec::new();
                while let Some(item) = seq.next_element()? {
                    list.push(item);
                }
                Ok(List(list))
            }
        }
        d.deserialize_any(V(PhantomData))
    }
}
