//! From lines of a text to lines of the file that it was taken from.

/// Which line of the original each line of a text is from. Lines are counted from 1 on both sides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LineNumbers {
    /// The text is the file.
    Same,
    /// Line `i + 1` of the text is from line `self[i]` of the file.
    From(Vec<u32>),
}

impl LineNumbers {
    /// The line of the original for a line of the text; a line behind the end counts as the last.
    #[must_use]
    pub fn original(&self, line: u32) -> u32 {
        match self {
            Self::Same => line,
            Self::From(lines) => lines.get(line.saturating_sub(1) as usize).or(lines.last()).copied().unwrap_or(1),
        }
    }

    /// The first and last line of the original for a range of lines of the text, both inclusive.
    #[must_use]
    pub fn originals(&self, first: u32, last: u32) -> (u32, u32) {
        (first..=last.max(first)).map(|line| self.original(line)).fold((u32::MAX, 1), |(low, high), line| (low.min(line), high.max(line)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_those_of_the_original() {
        assert_eq!(LineNumbers::Same.originals(3, 7), (3, 7));
        let lines = LineNumbers::From(vec![10, 10, 12, 20]);
        assert_eq!((lines.original(1), lines.original(4), lines.original(9)), (10, 20, 20));
        assert_eq!(lines.originals(2, 3), (10, 12));
        assert_eq!(LineNumbers::From(vec![]).original(1), 1);
    }
}
