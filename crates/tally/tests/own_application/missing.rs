//! A participant whose program lacks the application.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use serde_json::json;

use super::stage::command::tally;
use super::stage::{self, A, B};

pub fn who_waits_for_a_delivery_that_is_refused_is_told() {
    let mut network = super::network(stage::options(&["A", "B"]));
    let (a, b) = (network.folder(A).to_owned(), network.folder(B).to_owned());
    network.stop(B).expect("it ends in good order");
    let mut other = Command::new(stage::binary())
        .args(["node", "run"])
        .arg(&b)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("tally runs");
    let mut lines = BufReader::new(other.stdout.take().expect("piped")).lines();
    let ready = lines.find_map(|line| line.ok().filter(|line| line.contains(r#""ready":"#)));
    let args = json!(network.name(B)).to_string();
    std::fs::write(a.join("deed.json"), args).expect("written");
    let start = "flow start --node % --flow trial.give_deed --args @%/deed.json";
    let ran = tally(&a, &format!("{start} --wait delivered --timeout 60"));
    other.kill().expect("it runs");
    other.wait().expect("it ends");
    assert!(ready.is_some(), "a node of tally itself comes up");
    assert!(
        ran.code == 1 && ran.err.contains("error: tally.not_delivered:"),
        "{} {} {}",
        ran.code,
        ran.out,
        ran.err
    );
    assert!(ran.out.contains("completed"), "{}", ran.out);
}
