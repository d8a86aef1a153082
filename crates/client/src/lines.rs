//! Cuts chunks of bytes into lines.

/// Collects the bytes of a line whose end has not arrived yet.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    rest: Vec<u8>,
}

/// A line is longer than allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooLong;

impl Lines {
    /// Calls `each` for every line that `chunk` completes, without its end.
    pub(crate) fn feed(
        &mut self,
        mut chunk: &[u8],
        most: usize,
        mut each: impl FnMut(&[u8]),
    ) -> Result<(), TooLong> {
        while let Some(end) = chunk.iter().position(|byte| *byte == b'\n') {
            let (line, after) = (&chunk[..end], &chunk[end + 1..]);
            if self.rest.len() + line.len() > most {
                return Err(TooLong);
            }
            if self.rest.is_empty() {
                each(line);
            } else {
                self.rest.extend_from_slice(line);
                each(&self.rest);
                self.rest.clear();
            }
            chunk = after;
        }
        if self.rest.len() + chunk.len() > most {
            return Err(TooLong);
        }
        self.rest.extend_from_slice(chunk);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(chunks: &[&str], expected: Result<&[&str], TooLong>) {
        let mut lines = Lines::default();
        let mut found = Vec::new();
        let fed = chunks.iter().try_for_each(|chunk| {
            lines.feed(chunk.as_bytes(), 5, |line| {
                found.push(String::from_utf8_lossy(line).into_owned())
            })
        });
        assert_eq!(
            fed.map(|()| &found[..]),
            expected
                .map(|e| e.iter().map(|l| l.to_string()).collect::<Vec<_>>())
                .as_deref()
                .map_err(|e| *e)
        );
    }

    #[test]
    fn lines_and_limits() {
        check(&[], Ok(&[]));
        check(&["a\nb\n"], Ok(&["a", "b"]));
        check(&["a", "b", "\nc", "\n", "d"], Ok(&["ab", "c"]));
        check(&["\n\n", "12345\n"], Ok(&["", "", "12345"]));
        check(&["123456\n"], Err(TooLong));
        check(&["123", "456"], Err(TooLong));
        check(&["123", "45\n", "1"], Ok(&["12345"]));
    }
}
