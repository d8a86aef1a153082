//! Lines of a stream, as they come in.

/// Bytes that came in and were not used yet.
#[derive(Debug, Default)]
pub(super) struct Input {
    bytes: Vec<u8>,
    used: usize,
    /// Up to here no line ends.
    searched: usize,
}

impl Input {
    /// Adds received bytes.
    pub(super) fn add(&mut self, chunk: &[u8]) {
        self.bytes.extend_from_slice(chunk);
    }

    /// Ends the last line if the client did not.
    pub(super) fn end(&mut self) {
        if self.bytes.last().is_some_and(|byte| *byte != b'\n') {
            self.bytes.push(b'\n');
        }
    }

    /// Returns the positions of up to `most` next lines, without their ends and without empty ones; call [`Input::line`] for each, then
    /// [`Input::release`].
    pub(super) fn take(&mut self, most: usize) -> Vec<(usize, usize)> {
        let mut lines = Vec::new();
        while lines.len() < most {
            let from = self.searched.max(self.used);
            let Some(length) = self.bytes[from..].iter().position(|byte| *byte == b'\n') else {
                self.searched = self.bytes.len();
                break;
            };
            let end = from + length;
            if !self.bytes[self.used..end].trim_ascii().is_empty() {
                lines.push((self.used, end));
            }
            self.used = end + 1;
        }
        lines
    }

    /// A line's bytes.
    pub(super) fn line(&self, (from, to): (usize, usize)) -> &[u8] {
        &self.bytes[from..to]
    }

    /// Drops the bytes that were taken. It moves the remaining bytes only if they are the smaller part.
    pub(super) fn release(&mut self) {
        if self.used * 2 >= self.bytes.len() {
            self.bytes.drain(..self.used);
            // Clipped at 0: the search may be behind the lines that were taken.
            self.searched = self.searched.saturating_sub(self.used);
            self.used = 0;
        }
    }

    /// Bytes of a line that has no end yet, or of lines not taken yet.
    pub(super) fn waiting(&self) -> usize {
        self.bytes.len() - self.used
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(input: &mut Input, most: usize) -> Vec<String> {
        let spans = input.take(most);
        let lines = spans
            .iter()
            .map(|span| String::from_utf8_lossy(input.line(*span)).into_owned())
            .collect();
        input.release();
        lines
    }

    #[test]
    fn lines_come_out_as_they_went_in() {
        let mut input = Input::default();
        input.add(b"a\n\n  \r\nbc\nd");
        assert_eq!(taken(&mut input, 1), ["a"]);
        assert_eq!(taken(&mut input, 9), ["bc"]);
        assert_eq!((taken(&mut input, 9).len(), input.waiting()), (0, 1));
        input.add(b"e");
        assert_eq!(taken(&mut input, 9).len(), 0);
        input.add(b"f\ng\n");
        assert_eq!(taken(&mut input, 0).len(), 0);
        assert_eq!(taken(&mut input, 9), ["def", "g"]);
        input.add(b"last");
        input.end();
        input.end();
        assert_eq!(taken(&mut input, 9), ["last"]);
        assert_eq!(input.waiting(), 0);
    }
}
