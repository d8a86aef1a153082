//! Fewer points with the same outline: each stretch of a long series keeps its least and its greatest value.

/// At most about `2 * buckets` points of `points` (sorted by x), the least and the greatest of each bucket of x among them,
/// first and last too.
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
}
