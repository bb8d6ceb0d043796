//! Protocol buffers' encoding, read in place.
//!
//! Messages are walked field by field and nothing is copied, so a file of many empty messages takes no more memory than itself; generated
//! structures would take a hundred times as much. Fields that nobody asks for are passed over, which is what lets reports of newer profilers
//! be read.

use std::borrow::Cow;

/// The value of one field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value<'a> {
    /// Integers, booleans and enumerations.
    Integer(u64),
    /// A double.
    Double(f64),
    /// A float.
    Float(f32),
    /// Text, bytes or a message.
    Bytes(&'a [u8]),
}

/// The bytes are no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Malformed;

/// The fields of one message, in their order, with their numbers.
#[derive(Clone)]
pub(super) struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(super) fn of(message: &'a [u8]) -> Self {
        Self { rest: message }
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(Malformed)?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        self.take(N)?.try_into().map_err(|_| Malformed)
    }

    fn varint(&mut self) -> Result<u64, Malformed> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let [byte] = self.array()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(Malformed)
    }

    fn field(&mut self) -> Result<(u64, Value<'a>), Malformed> {
        let tag = self.varint()?;
        let value = match tag & 7 {
            0 => Value::Integer(self.varint()?),
            1 => Value::Double(f64::from_le_bytes(self.array()?)),
            2 => {
                let length = usize::try_from(self.varint()?).map_err(|_| Malformed)?;
                Value::Bytes(self.take(length)?)
            }
            5 => Value::Float(f32::from_le_bytes(self.array()?)),
            // 3 and 4 are groups, which the second version of the language gave up before this format began.
            _ => return Err(Malformed),
        };
        Ok((tag >> 3, value))
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u64, Value<'a>), Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.rest = &[];
        }
        Some(field)
    }
}

/// The last value of a field, which is the one that counts; a message that is malformed has what stands before that place.
pub(super) fn last(message: &[u8], number: u64) -> Option<Value<'_>> {
    Fields::of(message).map_while(Result::ok).filter(|(found, _)| *found == number).last().map(|(_, value)| value)
}

/// All messages, texts or byte strings of a repeated field.
pub(super) fn all(message: &[u8], number: u64) -> impl Iterator<Item = &[u8]> {
    Fields::of(message).map_while(Result::ok).filter(move |(found, _)| *found == number).filter_map(|(_, value)| value.bytes())
}

impl<'a> Value<'a> {
    pub(super) fn integer(self) -> Option<u64> {
        match self {
            Self::Integer(value) => Some(value),
            _ => None,
        }
    }

    pub(super) fn bytes(self) -> Option<&'a [u8]> {
        match self {
            Self::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// Text; what is no UTF-8 in it is marked as such.
    pub(super) fn text(self) -> Option<Cow<'a, str>> {
        self.bytes().map(String::from_utf8_lossy)
    }

    pub(super) fn number(self) -> Option<f64> {
        match self {
            Self::Integer(value) => Some(value as f64),
            Self::Double(value) => Some(value),
            Self::Float(value) => Some(f64::from(value)),
            Self::Bytes(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_read_field_by_field_and_never_beyond_its_end() {
        // 1: 300, 2: "hi", 3: 1.5 as a double, 4: 0.25 as a float.
        let mut message = vec![0x08, 0xac, 0x02, 0x12, 2, b'h', b'i', 0x19];
        message.extend(1.5f64.to_le_bytes());
        message.push(0x25);
        message.extend(0.25f32.to_le_bytes());
        let fields: Vec<_> = Fields::of(&message).map(Result::unwrap).collect();
        assert_eq!(fields, [(1, Value::Integer(300)), (2, Value::Bytes(b"hi")), (3, Value::Double(1.5)), (4, Value::Float(0.25))]);
        let ends = [0, 3, 7, 16, 21];
        for cut in 0..message.len() {
            let whole = Fields::of(&message[..cut]).all(|field| field.is_ok());
            assert_eq!(whole, ends.contains(&cut), "cut at {cut}");
        }
    }

    #[test]
    fn lengths_and_varints_without_end_are_refused() {
        assert_eq!(Fields::of(&[0x12, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]).next(), Some(Err(Malformed)));
        assert_eq!(Fields::of(&[0xff; 40]).collect::<Vec<_>>(), [Err(Malformed)]);
        assert_eq!(Fields::of(&[0x0b]).next(), Some(Err(Malformed)));
    }
}
