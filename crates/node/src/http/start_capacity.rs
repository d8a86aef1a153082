//! The room of a node for starts. Starts without room are refused before they cost anything.

use super::refusal::Refusal;

/// Room for starts, as it was a moment ago. Taking a place of it promises nothing: the node judges for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StartCapacity {
    /// Starts that would be taken in.
    pub places: usize,
    /// Starts with a client id that the node accepts in any case, because the id may be known.
    pub questions: usize,
    /// Suggested delay for refused starts, in milliseconds.
    pub retry_after_ms: u64,
}

impl StartCapacity {
    /// Room for all starts.
    pub const UNLIMITED: Self = Self {
        places: usize::MAX,
        questions: 0,
        retry_after_ms: 0,
    };

    /// No room.
    pub const fn none(retry_after_ms: u64) -> Self {
        Self {
            places: 0,
            questions: 0,
            retry_after_ms,
        }
    }

    /// Takes a place for a start; without one it is to be turned away.
    pub fn take(&mut self, has_client_id: bool) -> bool {
        let from = match (self.places, has_client_id) {
            (0, false) => return false,
            (0, true) => &mut self.questions,
            _ => &mut self.places,
        };
        let found = *from > 0;
        // Clipped at 0: no place is found, and none is taken.
        *from = from.saturating_sub(1);
        found
    }

    /// Returns the refusal of a start without room.
    pub fn refusal(&self) -> Refusal {
        Refusal::busy(self.retry_after_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn client_ids_are_asked_about_when_there_is_no_place() {
        let mut room = StartCapacity {
            places: 2,
            questions: 1,
            retry_after_ms: 5,
        };
        // Whether the start has a client id, and whether it gets through.
        for (has_client_id, expected) in [
            (false, true),
            (true, true),
            (false, false),
            (true, true),
            (true, false),
            (false, false),
        ] {
            assert_eq!(room.take(has_client_id), expected, "{room:?}");
        }
        assert!(!StartCapacity::none(5).take(true) && { StartCapacity::UNLIMITED }.take(false));
    }
}
