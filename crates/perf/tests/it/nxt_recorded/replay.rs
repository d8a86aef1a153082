//! A server that answers with the recorded answers, and notes every request that the real node was not seen to accept.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::recording::{self, Recording};

/// The recorded node's chains. Recordings name them, and its answers number them.
const CHAINS: [(&str, &str); 3] = [("1", "ARDR"), ("2", "IGNIS"), ("3", "AEUR")];
/// Recorded parameters that the driver leaves out. The passphrase stands for the operator's password, and recording 8
/// starts a bundler without the other three.
const LEFT_OUT: [&str; 4] = [
    "adminPassword",
    "bundlingRulesJSON",
    "overpayFQTPerFXT",
    "totalFeesLimitFQT",
];
/// Parameters of the driver that no recording has. The family documents both.
const ADDED: [(&str, &str); 2] = [
    ("getPeers", "state"),
    ("getUnconfirmedTransactions", "firstIndex"),
];
/// Recorded answers for objects that the node did not have.
const UNKNOWN: [(&str, u32); 2] = [("getTransaction", 26), ("getBlock", 31)];

/// A running server. Dropping it ends it.
pub struct Replay {
    pub url: String,
    notes: Arc<Mutex<Notes>>,
    task: JoinHandle<()>,
}

/// Notes on the requests so far.
#[derive(Default)]
struct Notes {
    /// Numbers of the recordings that answered.
    served: BTreeSet<u32>,
    problems: Vec<String>,
    /// The types of all requests.
    asked: Vec<String>,
    /// Types of requests with one answer, and the number of its recording if it is one.
    fixed: BTreeMap<String, (Option<u32>, Value)>,
}

/// A request of the driver.
struct Asked {
    method: String,
    request: String,
    parameters: Vec<(String, String)>,
}

impl Replay {
    /// Starts. Each request of a type in `always` is answered by the recording with that number.
    pub async fn start(always: &[(&'static str, u32)]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("bound"));
        let fixed = always.iter().map(|(request, number)| {
            (
                (*request).to_owned(),
                (Some(*number), recording::answer(*number)),
            )
        });
        let notes = Arc::new(Mutex::new(Notes {
            fixed: fixed.collect(),
            ..Notes::default()
        }));
        let shared = Arc::clone(&notes);
        let recordings = Arc::new(recording::all());
        let task = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.expect("a connection");
                let notes = Arc::clone(&shared);
                let recordings = Arc::clone(&recordings);
                tokio::spawn(async move {
                    let service =
                        service_fn(|request| handle(request, &recordings, Arc::clone(&notes)));
                    // Ignore the result: the client sees how its connection ended.
                    let _ = hyper::server::conn::http1::Builder::new()
                        .serve_connection(TokioIo::new(stream), service)
                        .await;
                });
            }
        });
        Self { url, notes, task }
    }

    /// Answers each request of a type with this from now on.
    pub fn answer(&self, request: &str, answer: Value) {
        let mut notes = self.notes.lock().expect("no panic");
        notes.fixed.insert(request.to_owned(), (None, answer));
    }

    /// Returns how many requests of a type came.
    pub fn asked(&self, request: &str) -> usize {
        let notes = self.notes.lock().expect("no panic");
        notes.asked.iter().filter(|asked| *asked == request).count()
    }

    /// Asserts that the recordings have every request so far. Returns the numbers of those that answered.
    pub fn served(&self) -> Vec<u32> {
        let notes = self.notes.lock().expect("no panic");
        assert!(notes.problems.is_empty(), "{}", notes.problems.join("\n"));
        notes.served.iter().copied().collect()
    }
}

impl Drop for Replay {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn handle(
    request: Request<Incoming>,
    recordings: &[Recording],
    notes: Arc<Mutex<Notes>>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let method = request.method().as_str().to_owned();
    let path = request.uri().path().to_owned();
    let query = pairs(request.uri().query().unwrap_or_default());
    let body = request.into_body().collect().await.expect("a whole body");
    let body = pairs(&String::from_utf8_lossy(&body.to_bytes()));
    let (types, query): (Vec<_>, Vec<_>) = query
        .into_iter()
        .partition(|(name, _)| name == "requestType");
    let mut notes = notes.lock().expect("no panic");
    let in_url = query.len();
    let asked = Asked {
        method,
        request: types.first().map_or_else(String::new, |one| one.1.clone()),
        parameters: query.into_iter().chain(body).collect(),
    };
    let told = asked.told();
    if path != "/nxt" || types.len() != 1 || (asked.method == "POST" && in_url > 0) {
        notes
            .problems
            .push(format!("{told}: not of the form of the API"));
    }
    notes.asked.push(asked.request.clone());
    let chosen = match notes.fixed.get(asked.request.as_str()) {
        Some((number, answer)) => Some((*number, answer.to_string())),
        None => choose(&asked, recordings, &notes.served).map(|number| {
            let recording = &recordings[number as usize - 1];
            (Some(number), recording.response.to_string())
        }),
    };
    let answer = match chosen {
        Some((number, answer)) => {
            notes.served.extend(number);
            answer
        }
        None => {
            notes
                .problems
                .push(format!("{told}: never accepted by the recorded node"));
            "{}".to_owned()
        }
    };
    Ok(Response::new(Full::new(Bytes::from(answer))))
}

/// Returns the recording that answers: the first of those with this request that was not served yet, or the last of them.
fn choose(asked: &Asked, recordings: &[Recording], served: &BTreeSet<u32>) -> Option<u32> {
    let same: Vec<u32> = recordings
        .iter()
        .filter(|one| asked.is(one, |(name, value)| format!("{name}={value}")))
        .map(|one| one.number)
        .collect();
    let fresh = same.iter().find(|number| !served.contains(number));
    if let Some(number) = fresh.or(same.last()) {
        return Some(*number);
    }
    // An object that the recorded node was not asked for: unknown, if the request has the recorded form.
    let (_, number) = UNKNOWN
        .iter()
        .find(|(request, _)| *request == asked.request)?;
    let form = recordings
        .iter()
        .any(|one| asked.is(one, |(name, _)| name.clone()));
    form.then_some(*number)
}

impl Asked {
    /// Returns whether it is the request of a recording, comparing this of each parameter.
    fn is(&self, recording: &Recording, of: fn(&(String, String)) -> String) -> bool {
        let added = |name: &str| ADDED.contains(&(self.request.as_str(), name));
        let of_all = |parameters: &[(String, String)], is_recorded: bool| {
            let mut all: Vec<String> = parameters
                .iter()
                .filter(|(name, _)| match is_recorded {
                    true => !LEFT_OUT.contains(&name.as_str()),
                    false => !added(name),
                })
                .map(|pair| of(&named(pair)))
                .collect();
            all.sort();
            all
        };
        self.method == recording.method
            && self.request == recording.request
            && of_all(&self.parameters, false) == of_all(&recording.parameters, true)
    }

    fn told(&self) -> String {
        let pairs = self.parameters.iter();
        let pairs: Vec<String> = pairs
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        format!("{} {} {}", self.method, self.request, pairs.join("&"))
    }
}

/// Returns a parameter with the name of a chain in place of its number.
fn named((name, value): &(String, String)) -> (String, String) {
    let chain = CHAINS
        .iter()
        .find(|(number, _)| name == "chain" && value == number);
    let value = chain.map_or(value.as_str(), |(_, name)| name);
    (name.clone(), value.to_owned())
}

fn pairs(text: &str) -> Vec<(String, String)> {
    let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
    pairs
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

#[test]
fn answers_number_the_chains_as_requests_do() {
    let all = recording::all();
    for recording in all.iter().filter(|one| one.response["chain"].is_u64()) {
        let mut given = recording.parameters.iter();
        let (_, name) = given
            .find(|(name, _)| name == "chain")
            .expect("the request names the chain");
        let number = recording.response["chain"].to_string();
        assert!(
            CHAINS.contains(&(number.as_str(), name.as_str())),
            "{}",
            recording.number
        );
    }
}
