//! Fewer points with the same outline: each stretch of a long series keeps its least and its greatest value.

/// Returns at most about `2 * buckets` points of `points` (sorted by x): the first and the last, and the least and the
/// greatest of each bucket of x.
pub fn thin(points: &[(f64, f64)], buckets: usize) -> Vec<(f64, f64)> {
    let (Some(first), Some(last)) = (points.first(), points.last()) else {
        return Vec::new();
    };
    let buckets = buckets.max(1);
    if points.len() <= 2 * buckets || last.0 <= first.0 {
        return points.iter().copied().take(4 * buckets).collect();
    }
    let width = (last.0 - first.0) / buckets as f64;
    let bucket_of = |x: f64| (((x - first.0) / width) as usize).min(buckets - 1);
    let mut kept = vec![*first];
    let mut at = 0;
    while at < points.len() {
        let bucket = bucket_of(points[at].0);
        let end = points[at..]
            .iter()
            .position(|point| bucket_of(point.0) != bucket)
            .map_or(points.len(), |more| at + more.max(1));
        let part = &points[at..end];
        let low = part.iter().min_by(|one, two| one.1.total_cmp(&two.1));
        let high = part.iter().max_by(|one, two| one.1.total_cmp(&two.1));
        if let (Some(low), Some(high)) = (low, high) {
            let (early, late) = if low.0 <= high.0 {
                (low, high)
            } else {
                (high, low)
            };
            kept.push(*early);
            kept.push(*late);
        }
        at = end;
    }
    kept.push(*last);
    kept.dedup();
    kept
}

/// Merges more parts than a chart can distinguish into the range from the least to the greatest value in each bucket of
/// x, each range a part. Returns at most `buckets` parts.
pub fn envelope(parts: &[Vec<(f64, f64)>], buckets: usize) -> Vec<Vec<(f64, f64)>> {
    let points = || parts.iter().flatten();
    let first = points().map(|point| point.0).fold(f64::INFINITY, f64::min);
    let last = points()
        .map(|point| point.0)
        .fold(f64::NEG_INFINITY, f64::max);
    let buckets = buckets.max(1);
    let width = (last - first) / buckets as f64;
    let mut ends: Vec<Option<(f64, f64)>> = vec![None; buckets];
    for (x, value) in points() {
        // If all values have the same time, the width is 0. The quotient is then NaN, which becomes bucket 0.
        let bucket = (((x - first) / width) as usize).min(buckets - 1);
        // The first value of a bucket is its range.
        let (low, high) = ends[bucket].unwrap_or((*value, *value));
        ends[bucket] = Some((low.min(*value), high.max(*value)));
    }
    let reached = ends.into_iter().enumerate();
    reached
        .filter_map(|(bucket, ends)| {
            let (low, high) = ends?;
            let middle = first + (bucket as f64 + 0.5) * width;
            Some(vec![(middle, low), (middle, high)])
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peaks_survive_and_the_number_is_bounded() {
        let mut points: Vec<(f64, f64)> = (0..100_000).map(|at| (f64::from(at), 5.0)).collect();
        points[77_777].1 = 900.0;
        points[12_345].1 = -3.0;
        let thinned = thin(&points, 150);
        assert!(thinned.len() <= 302, "{}", thinned.len());
        assert!(thinned.contains(&(77_777.0, 900.0)));
        assert!(thinned.contains(&(12_345.0, -3.0)));
        assert!(thinned.windows(2).all(|pair| pair[0].0 <= pair[1].0));
        assert_eq!(thinned.first(), points.first());
        assert_eq!(thinned.last(), points.last());
    }

    #[test]
    fn short_series_stay_as_they_are() {
        assert_eq!(thin(&[], 10), []);
        assert_eq!(thin(&[(1.0, 2.0)], 10), [(1.0, 2.0)]);
        let same = [(3.0, 1.0), (3.0, 2.0), (3.0, 3.0)];
        assert_eq!(thin(&same, 1), same);
    }

    #[test]
    fn many_parts_become_what_they_reach() {
        let part = |at: f64, low: f64, high: f64| vec![(at, low), (at + 0.5, high)];
        for (parts, buckets, expected) in [
            (vec![], 4, vec![]),
            (vec![vec![]], 4, vec![]),
            (
                vec![vec![(3.0, 7.0)]],
                2,
                vec![vec![(3.0, 7.0), (3.0, 7.0)]],
            ),
            (
                vec![
                    part(0.0, 1.0, 5.0),
                    part(1.0, 2.0, 9.0),
                    part(7.5, 3.0, 4.0),
                ],
                4,
                vec![vec![(1.0, 1.0), (1.0, 9.0)], vec![(7.0, 3.0), (7.0, 4.0)]],
            ),
        ] {
            assert_eq!(envelope(&parts, buckets), expected);
        }
        let many: Vec<_> = (0..10_000)
            .map(|at| part(f64::from(at), 1.0, 2.0))
            .collect();
        assert_eq!(envelope(&many, 100).len(), 100);
    }
}
