//! One HTTP request to a Messages API, and what its answer means. Whether and when to repeat is `retry`'s business,
//! what it costs `claude`'s.
//!
//! Format: <https://docs.anthropic.com/en/api/messages>, `anthropic-version: 2023-06-01`, not streamed.

use std::fmt;
use std::time::Duration;

use reqwest::{Client, Url};
use serde_json::{Value, json};

use super::Usage;
use super::ladder::Stop;
use super::prompt::Request;
use super::retry::Attempt;
use crate::error::{Error, Kind, Result};
use crate::text::words::clip;

/// Largest answer read; a Messages answer is far smaller.
const BODY_MAX: usize = 8 << 20;

/// An API key. Shows itself to nobody.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(String);

impl Key {
    /// A key as the configuration gives it; `None` if it is empty.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        (!text.is_empty()).then(|| Self(text.to_owned()))
    }

    /// `text` without the key.
    fn removed_from(&self, text: &str) -> String {
        text.replace(&self.0, "[REDACTED:api_key]")
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}

/// Where to send, and as whom.
#[derive(Clone, Debug)]
pub struct Server {
    url: Url,
    key: Option<Key>,
}

impl Server {
    /// Checks the address. A key is never sent unencrypted to another machine.
    pub fn new(base_url: &str, key: Option<Key>) -> Result<Self> {
        let config = |message: String, hint: &str| Error::new(Kind::Config, message).hint(hint);
        let base = base_url.trim().trim_end_matches('/');
        let path = if base.ends_with("/v1") { "messages" } else { "v1/messages" };
        let url =
            Url::parse(&format!("{base}/{path}")).ok().filter(|u| matches!(u.scheme(), "http" | "https") && u.has_host()).ok_or_else(
                || config(format!("base_url {base_url:?} is not an http or https address"), "write it like https://api.anthropic.com"),
            )?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(config("base_url holds a user name or password".into(), "take it out and use api_key_env or api_key_command"));
        }
        let server = Self { url, key };
        if server.key.is_none() && server.is_anthropic() {
            return Err(config("there is no API key".into(), "set ANTHROPIC_API_KEY, or run with --extractor rules"));
        }
        if server.key.is_some() && server.url.scheme() == "http" && !server.is_loopback() {
            return Err(config(
                format!("base_url {base} is not encrypted, and the API key would be sent to it"),
                "use https, or leave the key out for a server that needs none",
            ));
        }
        Ok(server)
    }

    /// Whether it is Anthropic's own, so that caching may be asked for.
    pub fn is_anthropic(&self) -> bool {
        self.url.host_str().is_some_and(|h| h == "anthropic.com" || h.ends_with(".anthropic.com"))
    }

    fn is_loopback(&self) -> bool {
        self.url
            .host_str()
            .is_some_and(|h| h == "localhost" || h.trim_matches(['[', ']']).parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback()))
    }

    /// Host for messages to the user.
    fn host(&self) -> &str {
        self.url.host_str().unwrap_or("the server")
    }
}

/// How long to wait for what.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timeouts {
    /// For a connection.
    pub connect: Duration,
    /// Without a single byte.
    pub idle: Duration,
    /// For one whole request.
    pub total: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { connect: Duration::from_secs(10), idle: Duration::from_secs(180), total: Duration::from_secs(600) }
    }
}

/// The HTTP client: rustls with ring, the system's trust store and `ca_pem`, proxies from the environment, no redirects
/// (they would carry the key elsewhere).
pub fn client(timeouts: Timeouts, ca_pem: Option<&[u8]>) -> Result<Client> {
    // Err: somebody installed a provider before us, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = Client::builder()
        .user_agent(concat!("claude-mem/", env!("CARGO_PKG_VERSION")))
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(timeouts.connect)
        .read_timeout(timeouts.idle)
        .timeout(timeouts.total);
    if let Some(pem) = ca_pem {
        let bad = |_| Error::new(Kind::Config, "ca_file holds no certificate that can be read").hint("it must be a PEM file");
        builder = builder.tls_certs_merge(reqwest::Certificate::from_pem_bundle(pem).map_err(bad)?);
    }
    builder.build().map_err(|e| Error::new(Kind::Api, format!("no HTTPS client can be made: {}", clip(&e.to_string(), 100.0))))
}

/// What of the request's form this model and server take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shape {
    /// `temperature`, if it is sent.
    pub temperature: Option<f64>,
    /// Whether `output_config.format` is sent; else the schema goes into the prompt.
    pub format: bool,
    /// Whether `cache_control` is sent.
    pub cache: bool,
}

/// The body to post.
pub fn body(request: &Request, model: &str, max_tokens: u32, shape: Shape) -> Value {
    let mut system: Vec<Value> = request.system.iter().map(|text| json!({"type": "text", "text": text})).collect();
    if !shape.format {
        let text = format!("Answer with one JSON object that fits this JSON Schema, and with nothing else:\n{}", request.schema);
        system.push(json!({"type": "text", "text": text}));
    }
    if let Some(last) = system.last_mut().filter(|_| shape.cache) {
        last["cache_control"] = json!({"type": "ephemeral"});
    }
    let messages: Vec<Value> = request.messages.iter().map(|(role, text)| json!({"role": role, "content": text})).collect();
    let mut body = json!({"model": model, "max_tokens": max_tokens, "system": system, "messages": messages});
    if let Some(temperature) = shape.temperature {
        body["temperature"] = json!(temperature);
    }
    if shape.format {
        let schema: Value = serde_json::from_str(request.schema).unwrap_or_default();
        body["output_config"] = json!({"format": {"type": "json_schema", "schema": schema}});
    }
    body
}

/// An answer with status 200.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// The text blocks.
    pub text: String,
    /// Why it ended.
    pub stop: Stop,
    /// `stop_reason` as sent, for the ledger.
    pub reason: String,
    /// Tokens.
    pub usage: Usage,
    /// Model that answered.
    pub model: Option<String>,
}

/// Reads a Messages answer. `None` if it is not one.
pub fn message(value: &Value) -> Option<Message> {
    let blocks = value.get("content")?.as_array()?;
    let text = |block: &Value| match block.get("type").and_then(Value::as_str) {
        Some("text") => block.get("text").and_then(Value::as_str).map(str::to_owned),
        // Some servers answer a wish for JSON with a tool call.
        Some("tool_use") => block.get("input").map(Value::to_string),
        _ => None,
    };
    let reason = value.get("stop_reason").and_then(Value::as_str).unwrap_or("end_turn").to_owned();
    let stop = match reason.as_str() {
        "max_tokens" => Stop::MaxTokens,
        "model_context_window_exceeded" => Stop::TooLong,
        "refusal" => {
            let category = value.pointer("/stop_details/category").and_then(Value::as_str);
            Stop::Refusal(clip(category.unwrap_or("no category given"), 30.0))
        }
        _ => Stop::End,
    };
    let count = |field: &str| value.pointer(&format!("/usage/{field}")).and_then(Value::as_u64).unwrap_or(0);
    Some(Message {
        text: blocks.iter().filter_map(text).collect(),
        stop,
        reason,
        usage: Usage {
            calls: 1,
            input: count("input_tokens"),
            output: count("output_tokens"),
            cache_read: count("cache_read_input_tokens"),
            cache_write: count("cache_creation_input_tokens"),
            cost_usd: None,
        },
        model: value.get("model").and_then(Value::as_str).map(|m| clip(m, 60.0)),
    })
}

/// A request that brought no answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// HTTP status, 0 without one.
    pub status: u16,
    /// The API's error type, or `connect`, `timeout`, `cut`, `web_page`, `spend_cap`; for the ledger.
    pub outcome: String,
    /// The server's own words, cleaned, without the key.
    pub detail: String,
    /// For the user.
    pub error: Error,
}

/// Posts once.
pub async fn post(client: &Client, server: &Server, body: &Value) -> Result<(Message, Value), Attempt<Box<Failure>>> {
    let mut request = client.post(server.url.clone()).header("anthropic-version", "2023-06-01").json(body);
    if let Some(Key(key)) = &server.key {
        request = request.header("x-api-key", secret(key)?);
        if !server.is_anthropic() {
            request = request.header("authorization", secret(&format!("Bearer {key}"))?);
        }
    }
    let mut response = request.send().await.map_err(|e| unreached(server, &e))?;
    let status = response.status().as_u16();
    let after = response.headers().get("retry-after").and_then(|v| v.to_str().ok()).and_then(|v| v.trim().parse::<f64>().ok());
    let after = after.and_then(|s| Duration::try_from_secs_f64(s).ok());
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|e| unreached(server, &e))? {
        bytes.extend_from_slice(&chunk);
        if bytes.len() > BODY_MAX {
            let error = Error::new(Kind::Api, format!("the answer of {} is larger than 8 MB", server.host())).hint("check base_url");
            return Err(Attempt::Fatal(Box::new(Failure { status, outcome: "too_large".into(), detail: String::new(), error })));
        }
    }
    // A server that sends the key back must not get it into answers, records or messages.
    let text = String::from_utf8_lossy(&bytes);
    let text = server.key.as_ref().map_or_else(|| text.to_string(), |key| key.removed_from(&text));
    let value = serde_json::from_str::<Value>(&text).ok();
    match value.as_ref().and_then(message).zip(value.as_ref()) {
        Some((message, value)) if status == 200 => Ok((message, value.clone())),
        _ => Err(refused(status, after, value.as_ref(), &text)),
    }
}

/// A header value that is not shown in debug output.
fn secret(text: &str) -> Result<reqwest::header::HeaderValue, Attempt<Box<Failure>>> {
    let mut value = reqwest::header::HeaderValue::from_str(text).map_err(|_| {
        let error = Error::new(Kind::Config, "the API key holds characters that cannot be sent")
            .hint("check the variable or command it comes from");
        Attempt::Fatal(Box::new(Failure { status: 0, outcome: "bad_key".into(), detail: String::new(), error }))
    })?;
    value.set_sensitive(true);
    Ok(value)
}

/// No whole answer: no connection, silence, or a connection that broke.
fn unreached(server: &Server, cause: &reqwest::Error) -> Attempt<Box<Failure>> {
    let host = server.host();
    let (outcome, message, hint) = if cause.is_connect() {
        ("connect", format!("{host} cannot be reached"), "check the network, base_url and HTTPS_PROXY, then run the same command again")
    } else if cause.is_timeout() {
        ("timeout", format!("{host} took too long to answer"), "run the same command again, or raise the timeouts in config.toml")
    } else {
        ("cut", format!("the connection to {host} broke off"), "run the same command again; nothing was stored")
    };
    // The cause's own text holds the address and sometimes more; the chain's innermost sentence is what helps.
    let mut inner: &dyn std::error::Error = cause;
    while let Some(next) = inner.source() {
        inner = next;
    }
    let detail = clip(&inner.to_string(), 100.0);
    let failure = Box::new(Failure { status: 0, outcome: outcome.into(), detail, error: Error::new(Kind::Api, message).hint(hint) });
    Attempt::Again { error: failure, after: None }
}

/// How a refusal is told: statuses, the sentence, the one thing to do, whether it may pass. First fitting row counts.
const REFUSALS: &[(&[u16], &str, &str, bool)] = &[
    (&[401], "the API key was refused", "check the key in the variable or command that config names", false),
    (&[402], "the account has no credit left", "add credit in the console of the provider, or run with --extractor rules", false),
    (&[403], "the API key may not do this", "check the rights of the key's workspace", false),
    (
        &[404],
        "the model or the address is not known there",
        "check model and base_url; `claude-mem config show` says where they come from",
        false,
    ),
    (&[413], "the request is too large for the server", "set max_input_tokens lower in config.toml", false),
    (&[429], "too many requests for this key", "wait a minute and run the same command again", true),
    (&[408, 409, 504], "the server gave up waiting", "run the same command again", true),
    (&[529], "the API is overloaded", "run the same command again later; nothing was stored", true),
    (&[300, 301, 302, 303, 307, 308], "the server sends us elsewhere", "set base_url to the address it points to", false),
    (&[400, 422], "the API did not accept the request", "run with --dump-requests DIR to see what would be sent", false),
];

/// The meaning of a status that is not a usable 200.
fn refused(status: u16, after: Option<Duration>, value: Option<&Value>, text: &str) -> Attempt<Box<Failure>> {
    let field = |path: &str| value.and_then(|v| v.pointer(path)).and_then(Value::as_str).unwrap_or("");
    let (kind, words) = (field("/error/type"), field("/error/message"));
    let spent = field("/error/details/error_code") == "enforced_spend_limit_reached";
    let web_page = value.is_none() && text.trim_start().starts_with('<');
    let row = REFUSALS.iter().find(|row| row.0.contains(&status));
    let (mut message, mut hint, mut again) = match row {
        Some((_, message, hint, again)) => ((*message).to_owned(), *hint, *again),
        None if status >= 500 => {
            ("the API had an error of its own".to_owned(), "run the same command again later; nothing was stored", true)
        }
        None if status == 200 => {
            ("the server's answer is not that of a Messages API".to_owned(), "check base_url", value.is_none() && !web_page)
        }
        None => ("the API refused the request".to_owned(), "check base_url and model", false),
    };
    if spent {
        (message, hint, again) = (
            "the account's own spending limit is reached".into(),
            "raise the limit in the provider's console, or wait for the next month",
            false,
        );
    } else if web_page && status != 413 {
        message = format!("a web page came instead of an answer ({status})");
        hint = "a proxy or a login page stands in between: check HTTPS_PROXY and base_url";
    }
    let detail = clip(&words.chars().map(|c| if c.is_control() { ' ' } else { c }).collect::<String>(), 100.0);
    if !detail.trim().is_empty() {
        message = format!("{message}: {detail}");
    }
    let outcome = match kind {
        _ if spent => "spend_cap".to_owned(),
        "" if web_page => "web_page".to_owned(),
        "" => "http_error".to_owned(),
        kind => clip(kind, 30.0),
    };
    let failure = Box::new(Failure { status, outcome, detail, error: Error::new(Kind::Api, message).hint(hint) });
    if again { Attempt::Again { error: failure, after } } else { Attempt::Fatal(failure) }
}
