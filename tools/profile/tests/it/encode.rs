//! Reports with the messages that a test needs, in the encoding of Nsight Compute's own.

/// A message, field by field.
#[derive(Clone, Default)]
pub struct Message(Vec<u8>);

impl Message {
    fn varint(mut self, mut value: u64) -> Self {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
        self
    }

    pub fn integer(self, field: u64, value: u64) -> Self {
        self.varint(field << 3).varint(value)
    }

    pub fn double(self, field: u64, value: f64) -> Self {
        let mut message = self.varint(field << 3 | 1);
        message.0.extend(value.to_le_bytes());
        message
    }

    pub fn bytes(self, field: u64, value: &[u8]) -> Self {
        let mut message = self.varint(field << 3 | 2).varint(value.len() as u64);
        message.0.extend(value);
        message
    }

    pub fn message(self, field: u64, value: &Self) -> Self {
        self.bytes(field, &value.0)
    }
}

/// The three sides of a grid or a block.
pub fn sides([x, y, z]: [u64; 3]) -> Message {
    Message::default().integer(1, x).integer(2, y).integer(3, z)
}

/// A metric by the number of its name, with values at addresses.
pub fn metric(name: u64, value: f64, at: &[(u64, u64)]) -> Message {
    let whole = Message::default().integer(1, name).message(2, &Message::default().double(3, value));
    at.iter().fold(whole, |metric, (address, value)| {
        let integer = |value| Message::default().integer(5, value);
        metric.message(3, &Message::default().message(1, &integer(*address)).message(2, &integer(*value)))
    })
}

/// A report of one block.
pub fn report(names: &[&str], modules: &[Message], launches: &[Message]) -> Vec<u8> {
    let names = names.iter().fold(Message::default(), |table, name| table.bytes(1, name.as_bytes()));
    let payload: Vec<u8> =
        modules.iter().chain(launches).flat_map(|entry| [&(entry.0.len() as u32).to_le_bytes()[..], &entry.0].concat()).collect();
    let header = Message::default().integer(1, modules.len() as u64).integer(2, launches.len() as u64);
    let header = header.message(4, &names).integer(5, payload.len() as u64);
    block(7, &header, &payload)
}

/// A report of one block, whatever its header says.
pub fn block(version: u64, header: &Message, payload: &[u8]) -> Vec<u8> {
    let file = Message::default().integer(1, version);
    let sized = |message: &Message| [&(message.0.len() as u32).to_le_bytes()[..], &message.0].concat();
    [b"NVR\0", &sized(&file)[..], &sized(header), payload].concat()
}
