//! Bars that show the used share of a limit.

use super::canvas::{Anchor, Canvas, WIDTH, clip};
use crate::report::digest::NEAR;

/// One bar.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bar {
    /// Its name.
    pub name: String,
    /// Its share of the limit; above 1 is drawn full.
    pub share: f64,
    /// Both in words: `1.62 of 2 cores`.
    pub words: String,
}

/// Letters of a bar's name and amount together that fit above it.
const LETTERS: usize = 60;

/// Draws them.
pub fn bars(about: &str, bars: &[Bar]) -> String {
    let each = 36.0;
    let mut canvas = Canvas::new(bars.len() as f64 * each + 4.0, about);
    let (left, right) = (4.0, WIDTH - 48.0);
    for (at, bar) in bars.iter().enumerate() {
        let y = at as f64 * each;
        let share = bar.share.max(0.0);
        let words = clip(&bar.words, 34);
        // Both share a line, so a shorter amount leaves more room for the name.
        let room = LETTERS.saturating_sub(words.chars().count());
        canvas.text(
            "t k",
            (left, y + 12.0),
            Anchor::Start,
            &clip(&bar.name, room),
        );
        canvas.text("t n", (right, y + 12.0), Anchor::End, &words);
        canvas.rect("r", (left, y + 17.0), (right - left, 10.0), "");
        let near = if share >= NEAR { "f near" } else { "f" };
        let width = (right - left) * share.min(1.0);
        canvas.rect(near, (left, y + 17.0), (width.max(1.0), 10.0), &bar.words);
        let percent = match share * 100.0 {
            tiny if tiny > 0.0 && tiny < 1.0 => "< 1 %".to_owned(),
            percent if percent > 9_999.0 => "> 9,999 %".to_owned(),
            percent => format!("{percent:.0} %"),
        };
        canvas.text("t v", (WIDTH - 2.0, y + 26.0), Anchor::End, &percent);
    }
    canvas.end()
}
