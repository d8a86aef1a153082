//! Answers as lines of a stream; the form is [`api::StreamAnswer`], written by hand because every flow passes here.

use std::fmt::Write;

use api::FlowStatus;
use api::codes::INTERNAL;
use bytes::{BufMut, BytesMut};
use ledger::TxId;

use super::answer::Answer;
use super::output::{Succeeded, end_of};
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
        Answer::Accepted { flow_id } => {
            write_state(out, flow_id.as_bytes(), FlowStatus::Accepted);
        }
        Answer::Running {
            flow_id, status, ..
        } => write_state(out, flow_id.as_bytes(), status),
        Answer::Ended(ended) => match end_of(service, *ended) {
            Ok(succeeded) => write_success(out, succeeded),
            Err(refusal) => write_problem(out, refusal),
        },
        Answer::Refused(refusal) => write_problem(out, refusal),
        Answer::Done => write_problem(
            out,
            Refusal::listed(&INTERNAL, "an answer without an outcome"),
        ),
    }
    out.put_slice(b"}\n");
}

fn write_success(out: &mut BytesMut, succeeded: Succeeded) {
    write_state(out, succeeded.flow_id.as_bytes(), succeeded.status);
    write_result(out, succeeded.result.get().as_bytes());
    write_transactions(out, &succeeded.transactions);
    if !succeeded.refused.is_empty() {
        out.put_slice(b",\"refused\":");
        // A list of texts has a JSON form, and writing to memory does not fail.
        let _ = serde_json::to_writer(out.writer(), &succeeded.refused);
    }
    if !succeeded.undelivered.is_empty() {
        out.put_slice(b",\"undelivered\":");
        // As above.
        let _ = serde_json::to_writer(out.writer(), &succeeded.undelivered);
    }
}

fn write_state(out: &mut BytesMut, flow_id: &[u8; 16], status: FlowStatus) {
    out.put_slice(b",\"flow_id\":\"");
    write_hex(out, flow_id);
    out.put_slice(b"\",\"status\":\"");
    out.put_slice(status.as_str().as_bytes());
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

fn write_problem(out: &mut BytesMut, refusal: Refusal) {
    out.put_slice(b",\"problem\":");
    // A struct of texts has a JSON form, and writing to memory does not fail.
    let _ = serde_json::to_writer(out.writer(), &refusal.into_problem());
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
