//! The recorded exchanges.

use std::path::Path;

use serde_json::Value;

/// A request to the node and its answer.
pub struct Recording {
    /// The number that its file's name begins with.
    pub number: u32,
    /// `GET` or `POST`.
    pub method: String,
    /// Its `requestType`.
    pub request: String,
    /// The other parameters, by name. A name with a list has several.
    pub parameters: Vec<(String, String)>,
    /// The answer.
    pub response: Value,
}

/// Returns all recordings, in the order in which they were made.
pub fn all() -> Vec<Recording> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/ardor-recorded");
    let files = std::fs::read_dir(&folder).expect("the folder of the recordings");
    let paths = files.map(|file| file.expect("an entry").path());
    let json = paths.filter(|path| path.extension().is_some_and(|end| end == "json"));
    let mut all: Vec<Recording> = json.map(|path| read(&path)).collect();
    all.sort_by_key(|recording| recording.number);
    assert!(
        all.iter().map(|one| one.number).eq(1..=42),
        "42 recordings, without a gap"
    );
    all
}

/// Returns the recorded answer with this number.
pub fn answer(number: u32) -> Value {
    let found = all().into_iter().find(|one| one.number == number);
    found.expect("a number from 1 to 42").response
}

fn read(path: &Path) -> Recording {
    let name = path.file_name().expect("a file").to_string_lossy();
    let text = std::fs::read_to_string(path).expect("a readable file");
    let mut value: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(value["status"], 200, "{name}: errors too have this status");
    let request = &value["request"];
    let mut parameters = Vec::new();
    for (name, given) in request["parameters"].as_object().expect("an object") {
        let given = given.as_array().cloned().unwrap_or(vec![given.clone()]);
        let texts = given
            .iter()
            .map(|one| one.as_str().expect("a text").to_owned());
        parameters.extend(texts.map(|text| (name.clone(), text)));
    }
    let at = parameters
        .iter()
        .position(|(name, _)| name == "requestType")
        .expect("a request has a type");
    Recording {
        number: name[..2].parse().expect("two digits"),
        method: request["method"].as_str().expect("a method").to_owned(),
        request: parameters.remove(at).1,
        parameters,
        response: value["response"].take(),
    }
}
