//! Answers as lines of a stream; the form is [`api::StreamAnswer`], written by hand because every flow passes here.

use std::fmt::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};

use api::codes::INTERNAL;
use bytes::{BufMut, BytesMut};
use ledger::TxId;

use super::answer::{Answer, Ended};
use super::output::{output_json, refused_json, status_of};
use super::refusal::Refusal;
use super::services::FlowService;

/// Appends one line.
pub(super) fn write_answer(
    out: &mut BytesMut,
    service: &dyn FlowService,
    number: Option<u64>,
    answer: Answer,
) {
    out.reserve(256);
    out.put_slice(b"{\"n\":");
    // Writing to memory does not fail.
    let _ = match number {
        Some(number) => write!(out, "{number}"),
        None => write!(out, "null"),
    };
    match answer {
        Answer::Accepted { flow_id } => write_state(out, flow_id.as_bytes(), "running"),
        Answer::Running {
            flow_id, status, ..
        } => {
            write_state(out, flow_id.as_bytes(), status.as_str());
        }
        Answer::Ended(ended) => write_end(out, service, *ended),
        Answer::Refused(refusal) => write_failure(out, refusal),
        Answer::Done => write_failure(
            out,
            Refusal::listed(&INTERNAL, "an answer without an outcome"),
        ),
    }
    out.put_slice(b"}\n");
}

fn write_end(out: &mut BytesMut, service: &dyn FlowService, ended: Ended) {
    write_state(out, ended.flow_id.as_bytes(), status_of(&ended).as_str());
    match ended.output {
        Ok(output) => match contained(|| output_json(service, output)) {
            Ok(json) => write_result(out, json.get().as_bytes()),
            Err(refusal) => write_failure(out, refusal),
        },
        Err(rejection) => write_failure(out, rejection.into()),
    }
    write_transactions(out, &ended.transactions);
    if !ended.refused.is_empty() {
        let refused: Vec<_> = ended.refused.into_iter().map(refused_json).collect();
        out.put_slice(b",\"refused\":");
        // A list of texts has a JSON form, and writing to memory does not fail.
        let _ = serde_json::to_writer(out.writer(), &refused);
    }
}

fn write_state(out: &mut BytesMut, flow_id: &[u8; 16], status: &str) {
    out.put_slice(b",\"flow_id\":\"");
    write_hex(out, flow_id);
    out.put_slice(b"\",\"status\":\"");
    out.put_slice(status.as_bytes());
    out.put_u8(b'"');
}

/// A raw line end in JSON is always blank space between tokens.
fn write_result(out: &mut BytesMut, json: &[u8]) {
    out.put_slice(b",\"result\":");
    let start = out.len();
    out.put_slice(json);
    for byte in &mut out[start..] {
        if *byte == b'\n' || *byte == b'\r' {
            *byte = b' ';
        }
    }
}

fn write_failure(out: &mut BytesMut, refusal: Refusal) {
    out.put_slice(b",\"error\":");
    // A struct of texts has a JSON form, and writing to memory does not fail.
    let _ = serde_json::to_writer(out.writer(), &refusal.into_failure());
}

fn write_transactions(out: &mut BytesMut, transactions: &[TxId]) {
    if transactions.is_empty() {
        return;
    }
    out.put_slice(b",\"transactions\":[");
    for (at, id) in transactions.iter().enumerate() {
        out.put_slice(if at == 0 { b"\"" } else { b",\"" });
        write_hex(out, id.as_bytes());
        out.put_u8(b'"');
    }
    out.put_u8(b']');
}

fn write_hex(out: &mut BytesMut, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for byte in bytes {
        out.put_slice(&[
            DIGITS[usize::from(byte >> 4)],
            DIGITS[usize::from(byte & 15)],
        ]);
    }
}

fn contained<T>(run: impl FnOnce() -> Result<T, Refusal>) -> Result<T, Refusal> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
        let panic = runtime::panic_text(panic.as_ref());
        tracing::error!(code = INTERNAL.code, %panic, "an output met a bug");
        Err(Refusal::listed(&INTERNAL, "the flow's output met a bug"))
    })
}
