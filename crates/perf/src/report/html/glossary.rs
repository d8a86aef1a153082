//! The words of a report, explained at its end.

/// Words and their meanings, in alphabetical order.
const WORDS: [(&str, &str); 20] = [
    (
        "Agent",
        "A process that generates a part of the load, usually on another machine.",
    ),
    (
        "Audit",
        "The check after the load: the books of all nodes are compared with each other and with the acknowledged units.",
    ),
    (
        "Back chain",
        "The earlier transactions that a state comes from. A node that receives the state fetches and checks those that it lacks.",
    ),
    (
        "Case",
        "One value on an axis of a sweep, such as 4 parties.",
    ),
    (
        "Confidence interval",
        "The range that contains the true mean in 95 of 100 such measurements. It is computed from the repeats.",
    ),
    (
        "Dropped",
        "A unit that was due but never started, because too many were outstanding.",
    ),
    (
        "Due",
        "The moment at which a unit of an open loop should start. Its latency counts from then.",
    ),
    (
        "Exchange",
        "The node that arranges a swap among the parties.",
    ),
    (
        "Knee",
        "The offered rate beyond which latency grows steeply or the system falls behind.",
    ),
    (
        "Late",
        "A unit that the load generator started clearly after it was due.",
    ),
    (
        "Notary",
        "The node that signs a transaction only if none of its input states was consumed before.",
    ),
    (
        "Open loop, closed loop",
        "In an open loop, units are due at set times. In a closed loop, a fixed number is outstanding, and the next one starts when one \
         ends.",
    ),
    ("Outstanding", "Units that were started and have not ended."),
    (
        "Percentile",
        "The latency that this share of the units does not exceed. The median is the 50th percentile.",
    ),
    (
        "Point",
        "One combination of the cases of a sweep, or the whole scenario without one.",
    ),
    ("Repeat", "One of several measurements of the same point."),
    (
        "State",
        "An entry of the ledger, such as an amount of cash and its owner. A transaction consumes states and creates others.",
    ),
    (
        "Stretch",
        "One measured period of load. Each repeat of a point is one stretch.",
    ),
    (
        "Unit",
        "One piece of work from start to delivery, such as a payment. It can involve several nodes and transactions.",
    ),
    ("Warm-up", "Load before a stretch that no figure counts."),
];

/// Returns the glossary, folded.
pub fn section() -> String {
    let words: String = WORDS
        .iter()
        .map(|(word, meaning)| format!("<dt>{word}</dt><dd>{meaning}</dd>"))
        .collect();
    format!(
        "<details class=\"glossary\"><summary>Glossary<span>the words of this page</span></summary><div><dl>{words}</dl></div></details>"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_in_order_and_explained_in_sentences() {
        assert!(WORDS.is_sorted_by(|one, two| one.0 < two.0));
        for (word, meaning) in WORDS {
            assert!(meaning.ends_with('.') && meaning.len() > 20, "{word}");
        }
    }
}
