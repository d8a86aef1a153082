//! Makes the page of metrics from the node's list.

use node::metrics::{Listed, NodeMetrics};

/// Returns the page `docs/reference/metrics.md`.
pub fn page(generated: &str) -> String {
    let mut page = format!(
        "# Metrics\n{generated}\n`GET /metrics` shows these as Prometheus text. Counters count since the node's start. A histogram `x` is shown as `x_bucket`, `x_sum` and `x_count`.\n\n| name | type | unit | labels | meaning |\n|---|---|---|---|---|\n"
    );
    for metric in NodeMetrics::new().registry.list() {
        page.push_str(&row(&metric));
    }
    page.push_str("\n## A chain node\nThe metrics of [a chain node](../guides/chain.md). Those of HTTP and of the process are the same as above.\n\n| name | type | unit | labels | meaning |\n|---|---|---|---|---|\n");
    let common: Vec<&str> = NodeMetrics::new()
        .registry
        .list()
        .iter()
        .map(|metric| metric.name)
        .collect();
    for metric in node::chain::chain_metrics() {
        if !common.contains(&metric.name) {
            page.push_str(&row(&metric));
        }
    }
    page
}

fn row(metric: &Listed) -> String {
    let Listed {
        name,
        kind,
        unit,
        help,
        labels,
    } = metric;
    let labels = labels.iter().filter(|labels| !labels.is_empty());
    let labels: Vec<String> = labels.map(|labels| format!("`{labels}`")).collect();
    format!(
        "| `{name}` | {kind} | {unit} | {} | {help} |\n",
        labels.join("<br>")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows() {
        let page = page("");
        assert!(page.contains("\n| `tally_commit_seconds` | histogram | seconds |  | From "));
        let labelled =
            "| `tally_notary_requests_total` | counter | count | `verdict=\"signed\"`<br>`";
        assert!(page.contains(labelled), "{page}");
        assert!(
            page.contains("\n| `tally_chain_left_total` | counter | count | `reason=\"CODE\"` |")
        );
    }
}
