//! Server-sent events out of a byte stream that may be cut anywhere: inside a line, a line end or a character.

/// One event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    /// Its data lines, joined. The event's name is not kept: both providers repeat it inside the data.
    pub(crate) data: String,
}

/// Collects bytes until an event is complete.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    /// The line under way. It becomes text only when it is complete, so that no character is ever cut.
    line: Vec<u8>,
    /// The data lines of the event under way.
    data: Option<String>,
    /// The last byte was a carriage return: a line feed right after it belongs to it.
    after_return: bool,
}

impl Decoder {
    /// Takes the next bytes and gives the events they complete.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Vec<Event> {
        let mut events = Vec::new();
        for &byte in bytes {
            let after_return = std::mem::replace(&mut self.after_return, byte == b'\r');
            match byte {
                b'\n' if after_return => {}
                b'\n' | b'\r' => events.extend(self.end_line()),
                _ => self.line.push(byte),
            }
        }
        events
    }

    /// What is left when the stream ends: servers forget the last empty line.
    pub(crate) fn end(mut self) -> Option<Event> {
        if !self.line.is_empty() {
            self.end_line();
        }
        self.data.map(|data| Event { data })
    }

    fn end_line(&mut self) -> Option<Event> {
        let line = std::mem::take(&mut self.line);
        let line = String::from_utf8_lossy(&line);
        let line = line.trim_start_matches('\u{feff}');
        if line.is_empty() {
            return self.data.take().map(|data| Event { data });
        }
        // A line that begins with a colon is a comment, which servers send to show that they are alive.
        if let Some(value) = line.strip_prefix("data:") {
            let value = value.strip_prefix(' ').unwrap_or(value);
            match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.data = Some(value.to_owned()),
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::Decoder;

    /// Feeds a stream whole, byte by byte and in every two parts: the events must be the same.
    #[track_caller]
    fn check(stream: &str, expect: &[&str]) {
        let bytes = stream.as_bytes();
        let decode = |chunks: &[&[u8]]| {
            let mut decoder = Decoder::default();
            let mut events: Vec<String> = chunks.iter().flat_map(|chunk| decoder.feed(chunk)).map(|event| event.data).collect();
            events.extend(decoder.end().map(|event| event.data));
            events
        };
        assert_eq!(decode(&[bytes]), expect, "whole");
        assert_eq!(decode(&bytes.chunks(1).collect::<Vec<_>>()), expect, "byte by byte");
        for at in 0..bytes.len() {
            assert_eq!(decode(&[&bytes[..at], &bytes[at..]]), expect, "cut at {at}");
        }
    }

    #[test]
    fn events_do_not_depend_on_where_the_stream_is_cut() {
        check("data: one\n\ndata: zwei – drü 日本\n\n", &["one", "zwei – drü 日本"]);
        check("data: a\r\n\r\ndata: b\r\n\r\n", &["a", "b"]);
        check("data: a\r\rdata: b\r\r", &["a", "b"]);
    }

    #[test]
    fn names_comments_and_empty_events_are_passed_over() {
        check(": hello\n\nevent: message\nid: 7\ndata:{}\n\nevent: ping\n\n\n\n", &["{}"]);
    }

    #[test]
    fn data_lines_are_joined_and_a_missing_last_line_end_is_forgiven() {
        check("data: a\ndata:  b\n\ndata: [DONE]", &["a\n b", "[DONE]"]);
        check("\u{feff}data: a\n\n", &["a"]);
    }
}
