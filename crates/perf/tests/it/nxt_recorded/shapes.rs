//! The fake answers the recorded requests in the recorded form: with the same fields, JSON types and error codes.

use std::collections::{BTreeMap, BTreeSet};

use perf::chain::nxt::fake::{Behaviour, Fake};
use perf::chain::{Chain, ChainId};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::recording::{self, Recording};

/// Requests that the driver does not make, and that the fake lacks.
const LACKING: [&str; 3] = ["getBundlerRates", "getBundlers", "getForging"];
/// Fields of answers that later requests repeat: the fake has others there than the real node.
const REPEATED: [&str; 5] = [
    "account",
    "fullHash",
    "publicKey",
    "transactionBytes",
    "unsignedTransactionBytes",
];
/// The first recording after the node had made the block with the payments and two empty ones.
const AFTER_BLOCKS: u32 = 24;

fn behaviour() -> Behaviour {
    let chain = |(id, name, decimals): (u8, &str, u8)| Chain {
        id: ChainId(id),
        name: name.to_owned(),
        decimals,
        fee: 200_000_000,
    };
    Behaviour {
        chains: [(1, "ARDR", 8), (2, "IGNIS", 8), (3, "AEUR", 4)]
            .map(chain)
            .to_vec(),
        passphrases: ["alpha", "beta", "gamma"].map(Into::into).to_vec(),
        balance: 30_000_000_000_000_000,
        ..Behaviour::default()
    }
}

#[tokio::test]
async fn the_fake_answers_in_the_form_of_the_real_node() {
    let fake = Fake::start(1, behaviour()).await.expect("a port");
    fake.forge();
    let mut names = BTreeMap::new();
    let mut differences = Vec::new();
    for recording in recording::all() {
        if LACKING.contains(&recording.request.as_str()) {
            continue;
        }
        if recording.number == AFTER_BLOCKS {
            (0..3).for_each(|_| fake.forge());
        }
        let answer = ask(&fake.urls()[0], &recording, &names).await;
        for field in REPEATED {
            if let (Some(real), Some(own)) =
                (recording.response[field].as_str(), answer[field].as_str())
            {
                names.insert(real.to_owned(), own.to_owned());
            }
        }
        let title = format!("{} {}", recording.number, recording.request);
        let (wanted, found) = (shape(&recording.response), shape(&answer));
        let missing = wanted
            .difference(&found)
            .map(|one| format!("{title}: no {one}"));
        differences.extend(missing);
        let more = found
            .difference(&wanted)
            .map(|one| format!("{title}: also {one}"));
        differences.extend(more);
        if answer["errorCode"] != recording.response["errorCode"] {
            differences.push(format!("{title}: another errorCode, {answer}"));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// Returns every path into a value with the type that is there.
fn shape(value: &Value) -> BTreeSet<String> {
    let mut paths = BTreeSet::new();
    describe(value, "", &mut paths);
    paths
}

fn describe(value: &Value, path: &str, paths: &mut BTreeSet<String>) {
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "a flag",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(list) => {
            for (at, inner) in list.iter().enumerate() {
                describe(inner, &format!("{path}[{at}]"), paths);
            }
            "a list"
        }
        Value::Object(fields) => {
            for (name, inner) in fields {
                describe(inner, &format!("{path}.{name}"), paths);
            }
            "an object"
        }
    };
    paths.insert(format!("{path}: {kind}"));
}

/// Sends the recorded request with the fake's own names, over HTTP.
async fn ask(url: &str, recording: &Recording, names: &BTreeMap<String, String>) -> Value {
    let pairs = recording.parameters.iter().map(|(name, value)| {
        let value = names.get(value).unwrap_or(value);
        format!("{name}={value}")
    });
    let pairs = pairs.collect::<Vec<_>>().join("&");
    let address = url.strip_prefix("http://").expect("a URL");
    let path = format!("/nxt?requestType={}", recording.request);
    let (path, body) = match recording.method.as_str() {
        "GET" => (format!("{path}&{pairs}"), String::new()),
        _ => (path, pairs),
    };
    let text = format!(
        "{} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
        recording.method,
        body.len()
    );
    let mut stream = TcpStream::connect(address).await.expect("it listens");
    stream.write_all(text.as_bytes()).await.expect("it reads");
    let mut answer = String::new();
    stream
        .read_to_string(&mut answer)
        .await
        .expect("it answers");
    let (_, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
    serde_json::from_str(body).expect("JSON")
}
