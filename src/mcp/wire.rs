//! The wire: one JSON-RPC message a line. Bounds what a client may send, answers what cannot be read, and stays alive.
//!
//! Around the SDK's own handling, because that drops unreadable lines without a word, ends at a notification that comes too
//! early, and forgets running calls when the input ends.

use std::collections::HashSet;
use std::future::{Future, ready};
use std::io::{self, BufRead, Read, Write};
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, ClientNotification, ErrorData, JsonRpcMessage, RequestId, ServerJsonRpcMessage, ServerResult};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::sync::{Notify, mpsc};

/// The longest line that is read, in bytes. The longest sensible call is a few KB.
pub const MAX_LINE: usize = 1 << 20;
/// Calls that may wait for their answer; more are left in the pipe.
const MAX_PENDING: usize = 64;
/// Lines read ahead.
const AHEAD: usize = 16;

/// What stood on a line.
#[derive(Debug, PartialEq, Eq)]
enum Line {
    Whole(Vec<u8>),
    /// Longer than [`MAX_LINE`]; its beginning.
    Cut(Vec<u8>),
}

/// Reads lines until the input ends or nobody listens. Blocks: for a thread of its own.
fn read_lines(input: impl Read, lines: &mpsc::Sender<Line>) {
    let mut input = io::BufReader::new(input);
    while let Ok(Some(line)) = read_line(&mut input) {
        if lines.blocking_send(line).is_err() {
            return;
        }
    }
}

/// The next line without its end; `None` at the end of the input. What a cut line has too much is skipped.
fn read_line(input: &mut impl BufRead) -> io::Result<Option<Line>> {
    let mut line = Vec::new();
    let most = MAX_LINE as u64 + 1;
    if input.by_ref().take(most).read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    if line.last() == Some(&b'\n') || line.len() <= MAX_LINE {
        return Ok(Some(Line::Whole(line)));
    }
    loop {
        let piece = input.fill_buf()?;
        let end = piece.iter().position(|b| *b == b'\n');
        let skip = end.map_or(piece.len(), |at| at + 1);
        input.consume(skip);
        if end.is_some() || skip == 0 {
            line.truncate(4096);
            return Ok(Some(Line::Cut(line)));
        }
    }
}

/// Which calls have no answer yet, and what the client was told. Shared with the answers on their way.
struct State<W> {
    out: W,
    pending: HashSet<RequestId>,
    /// A session or a stateless call has begun; before, nothing but requests means anything.
    begun: bool,
    /// Nobody reads any more.
    broken: bool,
}

/// The transport that the SDK speaks through.
pub struct Wire<W> {
    lines: mpsc::Receiver<Line>,
    state: Arc<Mutex<State<W>>>,
    answered: Arc<Notify>,
}

impl<W: Write + Send + 'static> Wire<W> {
    /// A wire over two streams. Reads on a thread of its own, which ends with the input or the process.
    pub fn new(input: impl Read + Send + 'static, out: W) -> Self {
        let (sender, lines) = mpsc::channel(AHEAD);
        std::thread::spawn(move || read_lines(input, &sender));
        let state = State { out, pending: HashSet::new(), begun: false, broken: false };
        Self { lines, state: Arc::new(Mutex::new(state)), answered: Arc::new(Notify::new()) }
    }

    fn state<T>(&self, with: impl FnOnce(&mut State<W>) -> T) -> T {
        with(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The message on a line; `None` if there is nothing to hand on, after saying what was wrong.
    fn take(&self, line: &Line) -> Option<ClientJsonRpcMessage> {
        self.state(|state| {
            let message = match parse(line) {
                Content::Message(message) => *message,
                Content::Nothing => return None,
                Content::Refused(error, id) => {
                    state.write(&ServerJsonRpcMessage::error(error, id));
                    return None;
                }
            };
            match &message {
                JsonRpcMessage::Request(request) => {
                    state.pending.insert(request.id.clone());
                }
                // The SDK ends when a session begins with anything but a request.
                _ if !state.begun => return None,
                JsonRpcMessage::Notification(note) => {
                    if let ClientNotification::CancelledNotification(cancelled) = &note.notification
                        && let Some(id) = &cancelled.params.request_id
                    {
                        state.pending.remove(id);
                    }
                }
                JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
            }
            Some(message)
        })
    }
}

impl<W: Write> State<W> {
    fn write(&mut self, message: &ServerJsonRpcMessage) {
        let written = serde_json::to_vec(message).map_err(io::Error::other).and_then(|mut bytes| {
            bytes.push(b'\n');
            self.out.write_all(&bytes)?;
            self.out.flush()
        });
        self.broken |= written.is_err();
    }
}

/// What a line holds.
enum Content {
    Message(Box<ClientJsonRpcMessage>),
    /// Empty, or a notification that nobody knows.
    Nothing,
    /// What is wrong, and with which request if that can be told.
    Refused(ErrorData, Option<RequestId>),
}

fn parse(line: &Line) -> Content {
    let bytes = match line {
        Line::Whole(bytes) => bytes,
        Line::Cut(start) => {
            let message = format!("the message is longer than {MAX_LINE} bytes and was not read");
            return Content::Refused(ErrorData::invalid_request(message, None), id_near(start));
        }
    };
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes).trim_ascii();
    if bytes.is_empty() {
        return Content::Nothing;
    }
    if let Ok(message) = serde_json::from_slice(bytes) {
        return Content::Message(Box::new(message));
    }
    let value = match serde_json::from_slice::<Value>(bytes) {
        Ok(value) => value,
        Err(cause) => return Content::Refused(ErrorData::parse_error(format!("this line is no JSON: {cause}"), None), None),
    };
    let id = value.get("id").and_then(|id| serde_json::from_value::<RequestId>(id.clone()).ok());
    if id.is_none() && value.get("method").is_some_and(Value::is_string) {
        return Content::Nothing;
    }
    Content::Refused(ErrorData::invalid_request("this line is no JSON-RPC 2.0 message", None), id)
}

/// The id of a request whose end was not read: the first `"id"` of its beginning, if it stands before the parameters.
fn id_near(start: &[u8]) -> Option<RequestId> {
    let text = String::from_utf8_lossy(start);
    let head = text.split_once("\"params\"").map_or(text.as_ref(), |(head, _)| head);
    let rest = head.split_once("\"id\"")?.1.trim_start().strip_prefix(':')?.trim_start();
    let end = rest.find([',', '}'])?;
    serde_json::from_str(rest.get(..end)?.trim()).ok()
}

impl<W: Write + Send + 'static> Transport<RoleServer> for Wire<W> {
    type Error = io::Error;

    fn send(&mut self, item: ServerJsonRpcMessage) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let done = self.state(|state| {
            match &item {
                JsonRpcMessage::Response(answer) => {
                    state.pending.remove(&answer.id);
                    state.begun |= !matches!(answer.result, ServerResult::DiscoverResult(_) | ServerResult::EmptyResult(_));
                }
                JsonRpcMessage::Error(error) => {
                    if let Some(id) = &error.id {
                        state.pending.remove(id);
                    }
                }
                JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => {}
            }
            state.write(&item);
            if state.broken { Err(io::ErrorKind::BrokenPipe.into()) } else { Ok(()) }
        });
        self.answered.notify_one();
        ready(done)
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            let (pending, broken) = self.state(|state| (state.pending.len(), state.broken));
            if broken {
                return None;
            }
            if pending >= MAX_PENDING {
                self.answered.notified().await;
                continue;
            }
            match self.lines.recv().await {
                Some(line) => {
                    if let Some(message) = self.take(&line) {
                        return Some(message);
                    }
                }
                // The client has said all it wants to say; it still gets its answers.
                None if pending > 0 => self.answered.notified().await,
                None => return None,
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.lines.close();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_bounded() {
        let long = format!("{{\"id\": 7, \"params\": \"{}\"}}\nnext\nlast", "x".repeat(MAX_LINE));
        let mut input = io::BufReader::new(long.as_bytes());
        let Ok(Some(Line::Cut(start))) = read_line(&mut input) else { panic!("not cut") };
        assert_eq!(id_near(&start), Some(RequestId::Number(7)));
        assert_eq!(read_line(&mut input).ok(), Some(Some(Line::Whole(b"next\n".to_vec()))));
        assert_eq!(read_line(&mut input).ok(), Some(Some(Line::Whole(b"last".to_vec()))));
        assert_eq!(read_line(&mut input).ok(), Some(None));
    }

    #[test]
    fn an_id_inside_the_parameters_is_not_the_requests() {
        assert_eq!(id_near(br#"{"method":"tools/call","params":{"id":3,"#), None);
        assert_eq!(id_near(br#"{"id":"a","method":"tools/call","params":{"#), Some(RequestId::String("a".into())));
        assert_eq!(id_near(b"{\"id\""), None);
    }
}
