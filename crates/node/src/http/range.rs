//! Ranges of bytes that are asked for (RFC 9110 14).

use api::codes::BAD_RANGE;
use axum::http::header::{IF_RANGE, RANGE};
use axum::http::{HeaderMap, HeaderValue};

use super::refusal::Refusal;

/// The first byte of a range and the one after its last.
pub(super) type Span = (u64, u64);

/// The range that a request asks for, if it asks for one that is meant for this file.
///
/// # Errors
/// Several ranges, one that cannot be read, or one outside the file.
pub(super) fn asked(headers: &HeaderMap, etag: &str, size: u64) -> Result<Option<Span>, Refusal> {
    let mut ranges = headers.get_all(RANGE).iter();
    let Some(range) = ranges.next() else {
        return Ok(None);
    };
    // A range of another state of the file is not wanted, and nothing else is this file.
    if headers.get(IF_RANGE).is_some_and(|tag| tag != etag) {
        return Ok(None);
    }
    let found = match ranges.next() {
        None => range.to_str().ok().and_then(|text| span(text, size)),
        Some(_) => None,
    };
    found.map(Some).ok_or_else(|| {
        let shown: String = String::from_utf8_lossy(range.as_bytes())
            .chars()
            .take(64)
            .collect();
        let shown = shown.escape_debug();
        Refusal::listed(
            &BAD_RANGE,
            format!("'{shown}' is no range of a file of {size} bytes"),
        )
    })
}

fn span(text: &str, size: u64) -> Option<Span> {
    let (from, to) = text.strip_prefix("bytes=")?.split_once('-')?;
    let (from, to) = (number(from)?, number(to)?);
    let span = match (from, to) {
        (None, None) => return None,
        // The last bytes. Clipped at 0: more than there are means all of them.
        (None, Some(last)) => (size.saturating_sub(last), size),
        (Some(from), None) => (from, size),
        // A clipped end is beyond the end of the file, which bounds it.
        (Some(from), Some(to)) if from <= to => (from, to.saturating_add(1).min(size)),
        _ => return None,
    };
    (span.0 < span.1).then_some(span)
}

/// A number, or nothing where nothing stands; no signs, no spaces.
fn number(text: &str) -> Option<Option<u64>> {
    if text.is_empty() {
        return Some(None);
    }
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    // One that is larger than any file is, is beyond its end.
    digits.then(|| Some(text.parse().unwrap_or(u64::MAX)))
}

/// Returns the value of the header `Content-Range`.
pub(super) fn content_range(span: Option<Span>, size: u64) -> Option<HeaderValue> {
    let text = match span {
        // A span has at least one byte.
        Some((from, to)) => format!("bytes {from}-{}/{size}", to - 1),
        None => format!("bytes */{size}"),
    };
    HeaderValue::from_str(&text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_inside_the_file_or_refused() {
        for (text, size, expected) in [
            ("bytes=0-0", 10, Some((0, 1))),
            ("bytes=0-9", 10, Some((0, 10))),
            ("bytes=5-", 10, Some((5, 10))),
            ("bytes=5-99", 10, Some((5, 10))),
            ("bytes=-3", 10, Some((7, 10))),
            ("bytes=-99", 10, Some((0, 10))),
            ("bytes=5-99999999999999999999999", 10, Some((5, 10))),
            ("bytes=10-", 10, None),
            ("bytes=10-20", 10, None),
            ("bytes=99999999999999999999999-", 10, None),
            ("bytes=-0", 10, None),
            ("bytes=0-", 0, None),
            ("bytes=-1", 0, None),
            ("bytes=5-4", 10, None),
            ("bytes=-", 10, None),
            ("bytes=", 10, None),
            ("bytes=0-1,3-4", 10, None),
            ("bytes=+1-2", 10, None),
            ("bytes=1 -2", 10, None),
            ("bytes=--2", 10, None),
            ("lines=1-2", 10, None),
            ("", 10, None),
        ] {
            assert_eq!(span(text, size), expected, "{text} of {size}");
        }
    }

    #[test]
    fn a_range_of_another_file_is_the_whole_one_and_two_headers_are_none() {
        let mut headers = HeaderMap::new();
        assert_eq!(asked(&headers, "\"a\"", 10), Ok(None));
        headers.insert(RANGE, HeaderValue::from_static("bytes=1-2"));
        assert_eq!(asked(&headers, "\"a\"", 10), Ok(Some((1, 3))));
        headers.insert(IF_RANGE, HeaderValue::from_static("\"b\""));
        assert_eq!(asked(&headers, "\"a\"", 10), Ok(None));
        headers.remove(IF_RANGE);
        headers.append(RANGE, HeaderValue::from_static("bytes=1-2"));
        let refusal = asked(&headers, "\"a\"", 10).expect_err("two");
        assert_eq!(
            (refusal.code.as_ref(), refusal.status()),
            ("api.bad_range", 416)
        );
    }
}
