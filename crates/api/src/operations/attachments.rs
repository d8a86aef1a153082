//! Operations on attachments and uploads.

use schemars::{Schema, SchemaGenerator, json_schema};

use super::kind::Kind;
use super::parts::{LIMIT, READ, answer, json, parameter};
use super::row::{Call, Content, Method, Operation, Parameter, Permission};
use crate::codes::{self, ErrorInfo, files};
use crate::{AttachmentChange, AttachmentPage, AttachmentView, NewUpload, UploadView};

const VIEW: &str = r#"{"hash":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08","size":4,"name":"contract.pdf","media_type":"application/pdf","trusted":true,"trust_by":"ann","uploaded_by":"ann","stored_at_ms":1767225600000,"references":0}"#;
const UPLOAD_VIEW: &str = r#"{"upload_id":"000102030405060708090a0b0c0d0e0f","offset":1048576,"expires_at_ms":1767312000000,"size":52428800}"#;

const HASH: Parameter = parameter("hash", Kind::Hex(64), "SHA-256 of the file's bytes.");
const UPLOAD_ID: Parameter = parameter("upload_id", Kind::Hex(32), "The upload.");
const NAME: Parameter = parameter(
    "name",
    Kind::Text(255),
    "The name of the file: at most 255 bytes of UTF-8, without slashes, backslashes and control characters.",
);
const MEDIA_TYPE: Parameter = parameter(
    "media_type",
    Kind::Text(127),
    "The media type of the file, such as application/pdf.",
);
const OFFSET: Parameter = parameter(
    "Upload-Offset",
    Kind::Header,
    "The offset of the first byte: the number of bytes that the node already has.",
);

/// Returns the schema of arbitrary bytes.
fn bytes(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "format": "binary" })
}

const BYTES: Option<Content> = Some(Content {
    media: "application/octet-stream",
    schema: bytes,
    example: "",
});

const READ_CODES: &[&ErrorInfo] = &[&codes::BAD_PARAMETER, &files::UNKNOWN];

/// Failures of arriving bytes and of the disk that stores them.
const TAKING: &[&ErrorInfo] = &[
    &codes::BAD_PARAMETER,
    &codes::BAD_ATTACHMENT,
    &codes::BODY_TIMEOUT,
    &codes::BAD_JSON,
    &codes::UPLOADS_LIMITED,
    &files::MISMATCH,
    &files::WRONG_SIZE,
    &files::TOO_LARGE,
    &files::FAILED,
    &files::DAMAGED,
    &files::DISK_FULL,
];

/// `POST /v1/attachments`.
pub const UPLOAD: Call<AttachmentView> = Call::new(Operation {
    method: Method::Post,
    path: "/v1/attachments",
    id: "upload",
    tag: "attachments",
    permission: Permission::Some("attachments.upload"),
    audited: true,
    summary: "Uploads a file in one piece: the body is its bytes, of any length, and is never completely in memory. If the bytes do not match the announced hash or size, nothing is kept. For large files on unreliable connections begin an upload that can be interrupted.",
    query: &[
        NAME,
        MEDIA_TYPE,
        parameter(
            "sha256",
            Kind::Hex(64),
            "The hash of the bytes. Bytes with another hash are refused.",
        ),
    ],
    body: BYTES,
    answers: &[
        answer(
            201,
            "The file is new on this node.",
            json::<AttachmentView>(VIEW),
        ),
        answer(
            200,
            "The node already had the file.",
            json::<AttachmentView>(VIEW),
        ),
    ],
    codes: TAKING,
    others: true,
    ..READ
});

/// `GET /v1/attachments`.
pub const ATTACHMENTS: Call<AttachmentPage> = Call::new(Operation {
    path: "/v1/attachments",
    id: "attachments",
    tag: "attachments",
    permission: Permission::Whole("attachments.read"),
    summary: "Files on this node, in order of hash. A page with `next` is not the last one, even if it is short or empty.",
    query: &[
        parameter(
            "after",
            Kind::Hex(64),
            "The value of `next` on the previous page.",
        ),
        LIMIT,
        parameter(
            "name",
            Kind::Text(255),
            "Text contained in the name, in upper or lower case.",
        ),
        parameter(
            "media_type",
            Kind::Text(127),
            "The media type starts with this.",
        ),
        parameter(
            "trusted",
            Kind::Bool,
            "Whether to list trusted files or untrusted ones.",
        ),
        parameter(
            "unreferenced",
            Kind::Bool,
            "Whether to list files that no recorded transaction refers to, or the others.",
        ),
    ],
    answers: &[answer(
        200,
        "A page.",
        json::<AttachmentPage>(r#"{"attachments":[]}"#),
    )],
    codes: &[&codes::BAD_PARAMETER],
    others: true,
    ..READ
});

/// `GET /v1/attachments/{hash}`.
pub const ATTACHMENT: Call<AttachmentView> = Call::new(Operation {
    path: "/v1/attachments/{hash}",
    id: "attachment",
    tag: "attachments",
    permission: Permission::Whole("attachments.read"),
    summary: "The metadata of a file.",
    segments: &[HASH],
    answers: &[answer(200, "The file.", json::<AttachmentView>(VIEW))],
    codes: READ_CODES,
    others: true,
    ..READ
});

/// `PATCH /v1/attachments/{hash}`.
pub const TRUST_ATTACHMENT: Call<AttachmentView> = Call::new(Operation {
    method: Method::Patch,
    path: "/v1/attachments/{hash}",
    id: "trustAttachment",
    tag: "attachments",
    permission: Permission::Whole("attachments.manage"),
    audited: true,
    summary: "Sets whether a user of this node vouches for a file. A file from a peer is not trusted until a user does.",
    segments: &[HASH],
    body: json::<AttachmentChange>(r#"{"trusted":true}"#),
    answers: &[answer(200, "The file.", json::<AttachmentView>(VIEW))],
    codes: &[
        &codes::BAD_PARAMETER,
        &codes::BAD_JSON,
        &codes::BAD_REQUEST,
        &codes::BODY_TOO_LARGE,
        &codes::BODY_TIMEOUT,
        &files::UNKNOWN,
    ],
    others: true,
    ..READ
});

/// `DELETE /v1/attachments/{hash}`.
pub const REMOVE_ATTACHMENT: Call<()> = Call::new(Operation {
    method: Method::Delete,
    path: "/v1/attachments/{hash}",
    id: "removeAttachment",
    tag: "attachments",
    permission: Permission::Whole("attachments.manage"),
    audited: true,
    summary: "Removes a file that no recorded transaction refers to.",
    segments: &[HASH],
    answers: &[answer(204, "Removed.", None)],
    codes: &[
        &codes::BAD_PARAMETER,
        &files::UNKNOWN,
        &files::REFERENCED,
        &files::IN_USE,
    ],
    others: true,
    ..READ
});

/// `GET /v1/attachments/{hash}/content`.
pub const ATTACHMENT_CONTENT: Call<()> = Call::new(Operation {
    path: "/v1/attachments/{hash}/content",
    id: "attachmentContent",
    tag: "attachments",
    permission: Permission::Whole("attachments.read"),
    summary: "A file's bytes, or one range of them. The ETag is the hash. Browsers are told to save the file, not to show it, for every media type.",
    segments: &[HASH],
    query: &[
        parameter(
            "Range",
            Kind::HeaderText("^bytes=[0-9]*-[0-9]*$"),
            "One range of bytes (RFC 9110 14.2), such as bytes=0-1023.",
        ),
        parameter(
            "If-Range",
            Kind::HeaderText("^\"[0-9a-f]{64}\"$"),
            "The ETag of the file that the client has a part of. If it differs from the current one, the whole file is sent.",
        ),
    ],
    answers: &[
        answer(200, "The whole file.", BYTES),
        answer(
            206,
            "The requested range, as named in Content-Range.",
            BYTES,
        ),
    ],
    codes: &[
        &codes::BAD_PARAMETER,
        &codes::BAD_RANGE,
        &codes::UPLOADS_LIMITED,
        &files::UNKNOWN,
        &files::DAMAGED,
        &files::FAILED,
    ],
    others: true,
    ..READ
});

/// `POST /v1/uploads`.
pub const BEGIN_UPLOAD: Call<UploadView> = Call::new(Operation {
    method: Method::Post,
    path: "/v1/uploads",
    id: "beginUpload",
    tag: "attachments",
    permission: Permission::Some("attachments.upload"),
    audited: true,
    summary: "Begins an upload that can be interrupted: by lost connections, and by restarts of the node. It expires after a day without new bytes.",
    body: json::<NewUpload>(r#"{"size":52428800,"name":"contract.pdf"}"#),
    answers: &[answer(
        201,
        "Send the bytes.",
        json::<UploadView>(UPLOAD_VIEW),
    )],
    codes: &[
        &codes::BAD_PARAMETER,
        &codes::BAD_JSON,
        &codes::BAD_REQUEST,
        &codes::BODY_TOO_LARGE,
        &codes::BODY_TIMEOUT,
        &codes::BAD_ATTACHMENT,
        &codes::UPLOADS_LIMITED,
        &files::TOO_LARGE,
        &files::FAILED,
        &files::DISK_FULL,
    ],
    ..READ
});

/// `GET /v1/uploads/{upload_id}`.
pub const UPLOAD_STATE: Call<UploadView> = Call::new(Operation {
    path: "/v1/uploads/{upload_id}",
    id: "uploadState",
    tag: "attachments",
    permission: Permission::Some("attachments.upload"),
    summary: "The number of bytes that an upload has received.",
    segments: &[UPLOAD_ID],
    answers: &[answer(200, "The upload.", json::<UploadView>(UPLOAD_VIEW))],
    codes: &[&codes::BAD_PARAMETER, &codes::UNKNOWN_UPLOAD],
    ..READ
});

/// `PATCH /v1/uploads/{upload_id}`.
pub const ADD_TO_UPLOAD: Call<UploadView> = Call::new(Operation {
    method: Method::Patch,
    path: "/v1/uploads/{upload_id}",
    id: "addToUpload",
    tag: "attachments",
    permission: Permission::Some("attachments.upload"),
    audited: true,
    summary: "Adds the body's bytes at the offset that the Upload-Offset header names. Bytes that arrived before a connection broke are kept.",
    segments: &[UPLOAD_ID],
    query: &[OFFSET],
    body: BYTES,
    answers: &[answer(200, "The upload.", json::<UploadView>(UPLOAD_VIEW))],
    codes: &[
        &codes::BAD_PARAMETER,
        &codes::BAD_JSON,
        &codes::BODY_TIMEOUT,
        &codes::UNKNOWN_UPLOAD,
        &codes::UPLOAD_OFFSET,
        &codes::UPLOADS_LIMITED,
        &files::BUSY,
        &files::WRONG_SIZE,
        &files::TOO_LARGE,
        &files::FAILED,
        &files::DAMAGED,
        &files::DISK_FULL,
    ],
    ..READ
});

/// `POST /v1/uploads/{upload_id}/complete`.
pub const COMPLETE_UPLOAD: Call<AttachmentView> = Call::new(Operation {
    method: Method::Post,
    path: "/v1/uploads/{upload_id}/complete",
    id: "completeUpload",
    tag: "attachments",
    permission: Permission::Some("attachments.upload"),
    audited: true,
    summary: "Completes an upload: it becomes an attachment. If its hash differs from the announced one, it is discarded. If bytes are missing, it stays open.",
    segments: &[UPLOAD_ID],
    answers: &[
        answer(
            201,
            "The file is new on this node.",
            json::<AttachmentView>(VIEW),
        ),
        answer(
            200,
            "The node already had the file.",
            json::<AttachmentView>(VIEW),
        ),
    ],
    codes: &[
        &codes::BAD_PARAMETER,
        &codes::UNKNOWN_UPLOAD,
        &files::BUSY,
        &files::MISMATCH,
        &files::WRONG_SIZE,
        &files::TOO_LARGE,
        &files::FAILED,
        &files::DAMAGED,
        &files::DISK_FULL,
    ],
    others: true,
    ..READ
});

/// `DELETE /v1/uploads/{upload_id}`.
pub const REMOVE_UPLOAD: Call<()> = Call::new(Operation {
    method: Method::Delete,
    path: "/v1/uploads/{upload_id}",
    id: "removeUpload",
    tag: "attachments",
    permission: Permission::Some("attachments.upload"),
    audited: true,
    summary: "Abandons an upload; its bytes are deleted.",
    segments: &[UPLOAD_ID],
    answers: &[answer(204, "Gone.", None)],
    codes: &[
        &codes::BAD_PARAMETER,
        &codes::UNKNOWN_UPLOAD,
        &files::BUSY,
        &files::FAILED,
    ],
    ..READ
});

/// The operations, in the order of the description.
pub(super) const OPERATIONS: &[&Operation] = &[
    &UPLOAD.row,
    &ATTACHMENTS.row,
    &ATTACHMENT.row,
    &TRUST_ATTACHMENT.row,
    &REMOVE_ATTACHMENT.row,
    &ATTACHMENT_CONTENT.row,
    &BEGIN_UPLOAD.row,
    &UPLOAD_STATE.row,
    &ADD_TO_UPLOAD.row,
    &COMPLETE_UPLOAD.row,
    &REMOVE_UPLOAD.row,
];
