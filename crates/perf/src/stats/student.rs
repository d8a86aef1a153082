//! Student's t distribution, by the regularised incomplete beta function.

/// Lanczos' coefficients for g = 7, n = 9: fifteen digits of the logarithm of the gamma function.
const LANCZOS: [f64; 9] = [
    0.999_999_999_999_809_9,
    676.520_368_121_885_1,
    -1_259.139_216_722_402_8,
    771.323_428_777_653_1,
    -176.615_029_162_140_6,
    12.507_343_278_686_905,
    -0.138_571_095_265_720_12,
    9.984_369_578_019_572e-6,
    1.505_632_735_149_311_6e-7,
];
/// Upper limit on terms of the continued fraction. It takes about the square root of the larger parameter.
const TERMS_MAX: u32 = 20_000;
/// Halvings of a quantile's interval: beyond the precision of the numbers.
const HALVINGS: u32 = 200;

/// Returns the natural logarithm of the gamma function, for positive numbers.
fn ln_gamma(x: f64) -> f64 {
    if x < 0.5 {
        let pi = std::f64::consts::PI;
        return (pi / (pi * x).sin()).ln() - ln_gamma(1.0 - x);
    }
    let x = x - 1.0;
    let t = x + 7.5;
    let mut sum = LANCZOS[0];
    for (at, coefficient) in LANCZOS.iter().enumerate().skip(1) {
        sum += coefficient / (x + at as f64);
    }
    0.5 * (2.0 * std::f64::consts::PI).ln() + (x + 0.5) * t.ln() - t + sum.ln()
}

/// Returns the regularised incomplete beta function I_x(a, b), for positive `a` and `b`; `x` is clamped to 0 to 1.
fn beta_below(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    let front = ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (-x).ln_1p();
    // The fraction converges fast on this side of the mean; the other side is its mirror.
    if x < (a + 1.0) / (a + b + 2.0) {
        front.exp() * fraction(x, a, b) / a
    } else {
        1.0 - front.exp() * fraction(1.0 - x, b, a) / b
    }
}

/// Returns the continued fraction of the incomplete beta function, by Lentz's method.
fn fraction(x: f64, a: f64, b: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let apart = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / apart(1.0 - (a + b) * x / (a + 1.0));
    let mut result = d;
    for term in 1..TERMS_MAX {
        let m = f64::from(term);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / apart(1.0 + even * d);
        c = apart(1.0 + even / c);
        result *= d * c;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / apart(1.0 + odd * d);
        c = apart(1.0 + odd / c);
        let step = d * c;
        result *= step;
        if (step - 1.0).abs() < 1e-15 {
            break;
        }
    }
    result
}

/// Returns the chance that a t-distributed value with `freedom` degrees is at most `t`.
pub fn t_below(t: f64, freedom: f64) -> f64 {
    let tail = 0.5 * beta_below(freedom / (freedom + t * t), freedom / 2.0, 0.5);
    if t > 0.0 { 1.0 - tail } else { tail }
}

/// Returns the value that a t-distributed one with `freedom` (more than 0) degrees stays below with chance `share` (0 to
/// 1, both excluded).
pub fn t_quantile(share: f64, freedom: f64) -> f64 {
    if share < 0.5 {
        return -t_quantile(1.0 - share, freedom);
    }
    let (mut low, mut high) = (0.0, 1.0);
    while t_below(high, freedom) < share && high < 1e12 {
        low = high;
        high *= 2.0;
    }
    for _ in 0..HALVINGS {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if t_below(middle, freedom) < share {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_printed_tables() {
        for (share, freedom, expected) in [
            (0.975, 1.0, 12.706),
            (0.975, 2.0, 4.303),
            (0.975, 4.0, 2.776),
            (0.975, 9.0, 2.262),
            (0.975, 30.0, 2.042),
            (0.975, 120.0, 1.980),
            (0.995, 1.0, 63.657),
            (0.995, 9.0, 3.250),
            (0.9995, 9.0, 4.781),
            (0.95, 5.0, 2.015),
            (0.5, 3.0, 0.0),
            (0.025, 9.0, -2.262),
        ] {
            let found = t_quantile(share, freedom);
            assert!(
                (found - expected).abs() < 6e-4,
                "{share} {freedom}: {found}"
            );
        }
        // With many degrees of freedom it approaches the normal distribution.
        assert!((t_quantile(0.975, 1e7) - 1.959_964).abs() < 1e-5);
    }

    #[test]
    fn chances_and_quantiles_undo_each_other() {
        for freedom in [1.0, 2.5, 9.0, 200.0] {
            for share in [0.001, 0.2, 0.5, 0.9, 0.9999] {
                let back = t_below(t_quantile(share, freedom), freedom);
                assert!((back - share).abs() < 1e-9, "{freedom} {share} {back}");
            }
        }
    }

    #[test]
    fn the_incomplete_beta_function_has_its_known_values() {
        assert!((beta_below(0.3, 1.0, 1.0) - 0.3).abs() < 1e-12);
        assert!((beta_below(0.5, 3.0, 3.0) - 0.5).abs() < 1e-12);
        // The chance of at most 3 heads of 10: 176 of 1024.
        assert!((beta_below(0.5, 7.0, 4.0) - 176.0 / 1024.0).abs() < 1e-12);
        assert!((beta_below(0.5, 5e5, 5e5) - 0.5).abs() < 1e-6);
        assert_eq!(
            (beta_below(-1.0, 1.0, 2.0), beta_below(2.0, 1.0, 2.0)),
            (0.0, 1.0)
        );
    }
}
