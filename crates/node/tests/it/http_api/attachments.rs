//! Files over HTTP: up, down, in ranges and pieces; lies, tricks and stalls.

use std::io::Cursor;
use std::time::Duration;

use api::attachments::UPLOAD_OFFSET;
use api::{AttachmentQuery, AttachmentView, NewUpload};
use client::{Client, ClientError, Progress};
use primitives::Hash;
use tokio::io::AsyncReadExt;

use crate::http_api::fake_files::{BYTES_MAX, OPEN_PER_USER_MAX, TRANSFERS_PER_USER_MAX};
use crate::http_api::fixture::{Fixture, NAME, SendAll, TOKEN, until};

fn bytes(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at / 251 + at) as u8).collect()
}

fn named(name: &str) -> NewUpload {
    NewUpload {
        name: Some(name.to_owned()),
        media_type: Some("application/pdf".to_owned()),
        ..NewUpload::default()
    }
}

async fn put(
    client: &Client,
    wish: &NewUpload,
    bytes: &[u8],
) -> Result<(AttachmentView, bool), ClientError> {
    let source = Cursor::new(bytes.to_vec());
    client.upload(wish, source, &Progress::default()).await
}

async fn get(client: &Client, hash: &str, from: u64) -> Result<Vec<u8>, ClientError> {
    let mut download = client.download(hash, from).await?;
    let mut all = Vec::new();
    while let Some(piece) = download.next().await? {
        all.extend_from_slice(&piece);
    }
    Ok(all)
}

fn code<T: std::fmt::Debug>(outcome: Result<T, ClientError>) -> String {
    outcome.expect_err("refused").code().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_goes_up_and_comes_down_as_it_is() {
    let fixture = Fixture::new().await;
    let client = fixture.client();
    for (length, known) in [(0, true), (1, false), (200_000, false), (2_500_000, true)] {
        let sent = bytes(length);
        let hash = Hash::plain(&sent).to_string();
        let wish = NewUpload {
            size: known.then_some(length as u64),
            sha256: known.then(|| hash.clone()),
            ..named("Vertrag Ü.pdf")
        };
        let progress = Progress::default();
        let source = Cursor::new(sent.clone());
        let (view, is_new) = client.upload(&wish, source, &progress).await.expect("up");
        assert_eq!(
            (view.hash.as_str(), view.size, is_new),
            (hash.as_str(), length as u64, true)
        );
        assert_eq!(
            (view.name.as_str(), progress.bytes()),
            ("Vertrag Ü.pdf", length as u64)
        );
        let (_, is_new) = put(&client, &wish, &sent).await.expect("up again");
        assert!(!is_new);
        assert_eq!(client.attachment(&hash).await.expect("known"), view);
        assert!(get(&client, &hash, 0).await.expect("down") == sent);
        for from in [length / 2, length.saturating_sub(1)]
            .into_iter()
            .filter(|at| *at > 0)
        {
            assert!(get(&client, &hash, from as u64).await.expect("down") == sent[from..]);
        }
    }
    assert_eq!(fixture.fake.files.on_disk(), (4, 0));
    let page = client
        .attachments(&AttachmentQuery::default(), None, 3)
        .await
        .expect("a list");
    let next = page.next.expect("one more");
    let rest = client
        .attachments(&AttachmentQuery::default(), Some(&next), 3)
        .await;
    assert_eq!(
        (
            page.attachments.len(),
            rest.expect("a list").attachments.len()
        ),
        (3, 1)
    );
    let none = AttachmentQuery {
        trusted: Some(false),
        ..AttachmentQuery::default()
    };
    assert!(
        client
            .attachments(&none, None, 9)
            .await
            .expect("a list")
            .attachments
            .is_empty()
    );
    let hash = page.attachments[0].hash.clone();
    assert!(
        !client
            .trust_attachment(&hash, false)
            .await
            .expect("done")
            .trusted
    );
    fixture.fake.files.came_from_peer(&hash, "x", "y/z");
    assert_eq!(
        code(client.remove_attachment(&hash).await),
        "file.referenced"
    );
    client.remove_attachment(&next).await.expect("removed");
    assert_eq!(
        code(client.download(&next, 0).await.map(|_| ())),
        "file.unknown"
    );
    assert_eq!(code(client.attachment(&next).await), "file.unknown");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lies_and_tricks_are_refused_and_leave_nothing_behind() {
    let fixture = Fixture::new().await;
    let client = fixture.client();
    let (right, wrong) = (
        Hash::plain(b"hello").to_string(),
        Hash::plain(b"hullo").to_string(),
    );
    let good = NewUpload::default;
    let with_hash = |hash: &str| NewUpload {
        sha256: Some(hash.to_owned()),
        ..good()
    };
    for (wish, body, expected) in [
        (with_hash(&wrong), &b"hello"[..], "files.mismatch"),
        (named("../../etc/passwd"), b"hello", "api.bad_attachment"),
        (named("/etc/passwd"), b"hello", "api.bad_attachment"),
        (named("a\\b"), b"hello", "api.bad_attachment"),
        (named("a\r\nSet-Cookie: b"), b"hello", "api.bad_attachment"),
        (named("a\0"), b"hello", "api.bad_attachment"),
        (named(".."), b"hello", "api.bad_attachment"),
        (
            NewUpload {
                media_type: Some("text/html; x=\"y\"".into()),
                ..good()
            },
            b"hello",
            "api.bad_attachment",
        ),
        (
            NewUpload {
                size: Some(BYTES_MAX + 1),
                ..good()
            },
            &bytes(BYTES_MAX as usize + 1),
            "tx.attachment_too_large",
        ),
        // A body of unknown length is refused when it exceeds the limit.
        (
            good(),
            &bytes(BYTES_MAX as usize + 1),
            "tx.attachment_too_large",
        ),
    ] {
        assert_eq!(code(put(&client, &wish, body).await), expected, "{wish:?}");
        match client.begin_upload(&wish).await {
            // Only the faults of the bytes are not seen yet.
            Ok(view) => {
                assert!(wish == good() || wish == with_hash(&wrong), "{wish:?}");
                client
                    .remove_upload(&view.upload_id)
                    .await
                    .expect("given up");
            }
            Err(error) => assert_eq!(error.code(), expected, "{wish:?}"),
        }
    }
    // The description excludes these values of parameters.
    for wish in [with_hash("00"), named(""), named(&"n".repeat(256))] {
        let told = code(put(&client, &wish, b"hello").await);
        assert_eq!(told, "api.bad_parameter", "{wish:?}");
        let refused = client.begin_upload(&wish).await.expect_err("refused");
        assert_eq!(refused.code(), "api.bad_attachment", "{wish:?}");
    }
    for path in [
        "..%2f..%2fetc%2fpasswd",
        "%2e%2e",
        "..",
        &right.to_uppercase(),
        &right[1..],
        "",
    ] {
        for rest in ["", "/content"] {
            let reply = fixture
                .authorised("GET", &format!("/v1/attachments/{path}{rest}"), "")
                .await;
            assert!(matches!(reply.status, 400 | 404 | 200), "{path}: {reply:?}");
            assert!(!reply.body.contains("root:"), "{path}");
        }
    }
    until("nothing is left", || fixture.fake.files.on_disk() == (0, 0)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_that_breaks_off_or_stalls_leaves_nothing_behind() {
    let fixture = Fixture::with(|options| options.body_timeout = Duration::from_millis(300)).await;
    let head = |length: usize| {
        format!(
            "POST /v1/attachments HTTP/1.1\r\nhost: {NAME}\r\nauthorization: Bearer {TOKEN}\r\ncontent-length: {length}\r\n\r\n"
        )
    };
    // Breaks off.
    let mut tls = fixture.connect().await;
    tls.send_all(head(500_000).as_bytes()).await.expect("sent");
    tls.send_all(&bytes(300_000)).await.expect("sent");
    until("its part is there", || fixture.fake.files.on_disk().1 == 1).await;
    drop(tls);
    until("its part is gone", || fixture.fake.files.on_disk().1 == 0).await;
    // Stalls: as many as there may be, and those for whom there is no place.
    let mut stalled = Vec::new();
    for _ in 0..TRANSFERS_PER_USER_MAX {
        let mut tls = fixture.connect().await;
        tls.send_all(head(500_000).as_bytes()).await.expect("sent");
        tls.send_all(&bytes(1_000)).await.expect("sent");
        stalled.push(tls);
    }
    until("all have begun", || {
        fixture.fake.files.on_disk().1 == TRANSFERS_PER_USER_MAX
    })
    .await;
    let refused = fixture.authorised("POST", "/v1/attachments", "x").await;
    assert_eq!(refused.status, 429, "{refused:?}");
    assert!(refused.head.contains("retry-after: 2"), "{refused:?}");
    for mut tls in stalled {
        let mut answer = vec![0; 20];
        tls.read_exact(&mut answer).await.expect("an answer");
        assert!(
            answer.starts_with(b"HTTP/1.1 408"),
            "{}",
            String::from_utf8_lossy(&answer)
        );
    }
    until("nothing is left", || fixture.fake.files.on_disk() == (0, 0)).await;
    assert_eq!(
        fixture
            .authorised("POST", "/v1/attachments", "x")
            .await
            .status,
        201
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn uploads_go_on_where_they_were() {
    let fixture = Fixture::new().await;
    let client = fixture.client();
    let all = bytes(1_000_000);
    let hash = Hash::plain(&all).to_string();
    let wish = NewUpload {
        size: Some(all.len() as u64),
        sha256: Some(hash.clone()),
        ..named("a.pdf")
    };
    let view = client.begin_upload(&wish).await.expect("begun");
    let id = view.upload_id.clone();
    assert_eq!(
        (view.offset, view.size, view.name.as_deref()),
        (0, Some(1_000_000), Some("a.pdf"))
    );
    // Breaks off in the middle: the received bytes stay.
    let mut tls = fixture.connect().await;
    let head = format!(
        "PATCH /v1/uploads/{id} HTTP/1.1\r\nhost: {NAME}\r\nauthorization: Bearer {TOKEN}\r\n{UPLOAD_OFFSET}: 0\r\ncontent-length: 1000000\r\n\r\n"
    );
    tls.send_all(head.as_bytes()).await.expect("sent");
    tls.send_all(&all[..600_000]).await.expect("sent");
    let parts = fixture.fake.files.folder.path().join("parts");
    let on_disk = || {
        let entries = std::fs::read_dir(&parts).expect("a folder");
        let lengths = entries.map(|entry| entry.expect("one").metadata().expect("one").len());
        lengths.max().unwrap_or(0)
    };
    until("most of it is on disk", || on_disk() >= 500_000).await;
    let somebody_else = code(client.complete_upload(&id, 0).await);
    assert_eq!(somebody_else, "files.busy");
    drop(tls);
    let mut state = client.upload_state(&id).await.expect("known");
    let deadline = std::time::Instant::now() + Duration::from_secs(20);
    while state.offset == 0 && std::time::Instant::now() < deadline {
        tokio::task::yield_now().await;
        state = client.upload_state(&id).await.expect("known");
    }
    let offset = state.offset;
    assert!((500_000..=600_000).contains(&offset), "{offset}");
    let progress = Progress::default();
    let rest = |from: u64| Cursor::new(all[from as usize..].to_vec());
    for (at, expected) in [(0, "api.upload_offset"), (offset + 1, "api.upload_offset")] {
        let added = client
            .add_to_upload(&id, at, None, rest(offset), &progress)
            .await;
        assert_eq!(code(added), expected);
    }
    assert_eq!(
        code(client.complete_upload(&id, 0).await),
        "files.wrong_size"
    );
    let too_much = Cursor::new(bytes(600_000));
    let added = client
        .add_to_upload(&id, offset, Some(600_000), too_much, &progress)
        .await;
    assert_eq!(code(added), "files.wrong_size");
    assert_eq!(
        client.upload_state(&id).await.expect("known").offset,
        offset
    );
    let added = client
        .add_to_upload(&id, offset, None, rest(offset), &progress)
        .await;
    assert_eq!(added.expect("added").offset, 1_000_000);
    let view = client.complete_upload(&id, 1_000_000).await.expect("whole");
    assert_eq!(view.hash, hash);
    assert!(get(&client, &hash, 0).await.expect("down") == all);
    assert_eq!(code(client.upload_state(&id).await), "api.unknown_upload");
    assert_eq!(fixture.fake.files.on_disk().1, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn uploads_are_bounded_private_and_can_be_given_up() {
    let fixture = Fixture::new().await;
    let ann = fixture.client();
    let mut endpoint = fixture.endpoint();
    endpoint.token = "bob's".into();
    let bob = Client::new(endpoint).expect("a good endpoint");
    let mut ids = Vec::new();
    for _ in 0..OPEN_PER_USER_MAX {
        let view = ann
            .begin_upload(&NewUpload::default())
            .await
            .expect("begun");
        ids.push(view.upload_id);
    }
    for _ in 0..3 {
        let refused = ann.begin_upload(&NewUpload::default()).await;
        assert_eq!(code(refused), "api.uploads_limited");
    }
    assert_eq!(fixture.fake.files.uploads.figures().refused, 3);
    bob.begin_upload(&NewUpload::default())
        .await
        .expect("others have their own");
    assert_eq!(code(bob.upload_state(&ids[0]).await), "api.unknown_upload");
    assert_eq!(code(bob.remove_upload(&ids[0]).await), "api.unknown_upload");
    for id in &ids {
        ann.remove_upload(id).await.expect("given up");
        assert_eq!(code(ann.remove_upload(id).await), "api.unknown_upload");
    }
    assert_eq!(fixture.fake.files.on_disk(), (0, 2));
    ann.begin_upload(&NewUpload::default())
        .await
        .expect("there is room again");
    for headers in ["", "upload-offset: -1\r\n", "upload-offset: x\r\n"] {
        let headers = format!("authorization: Bearer {TOKEN}\r\n{headers}");
        let path = format!("/v1/uploads/{}", ids[0]);
        let reply = fixture.request("PATCH", &path, &headers, "x").await;
        assert_eq!(reply.status, 404, "gone first: {reply:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ranges_make_sense_or_are_refused_and_nothing_runs_in_a_browser() {
    let fixture = Fixture::new().await;
    let client = fixture.client();
    let text = b"0123456789";
    let (view, _) = put(&client, &named("a.pdf"), text).await.expect("up");
    let hash = &view.hash;
    let path = format!("/v1/attachments/{hash}/content");
    let ask = async |headers: &str| {
        let headers = format!("authorization: Bearer {TOKEN}\r\n{headers}");
        fixture.request("GET", &path, &headers, "").await
    };
    for (headers, status, body, range) in [
        ("", 200, "0123456789", ""),
        ("range: bytes=0-0\r\n", 206, "0", "bytes 0-0/10"),
        ("range: bytes=2-4\r\n", 206, "234", "bytes 2-4/10"),
        ("range: bytes=-3\r\n", 206, "789", "bytes 7-9/10"),
        ("range: bytes=8-\r\n", 206, "89", "bytes 8-9/10"),
        ("range: bytes=8-99\r\n", 206, "89", "bytes 8-9/10"),
        (
            &format!("if-range: \"{hash}\"\r\nrange: bytes=1-1\r\n"),
            206,
            "1",
            "bytes 1-1/10",
        ),
        (
            "if-range: \"other\"\r\nrange: bytes=1-1\r\n",
            200,
            "0123456789",
            "",
        ),
        ("range: bytes=10-\r\n", 416, "api.bad_range", "bytes */10"),
        ("range: bytes=4-2\r\n", 416, "api.bad_range", "bytes */10"),
        ("range: bytes=-\r\n", 416, "api.bad_range", "bytes */10"),
        (
            "range: bytes=0-1,4-5\r\n",
            416,
            "api.bad_range",
            "bytes */10",
        ),
        (
            "range: bytes=0-0\r\nrange: bytes=1-1\r\n",
            416,
            "api.bad_range",
            "bytes */10",
        ),
        (
            "range: bytes=99999999999999999999-\r\n",
            416,
            "api.bad_range",
            "bytes */10",
        ),
        ("range: lines=1-2\r\n", 416, "api.bad_range", "bytes */10"),
    ] {
        let reply = ask(headers).await;
        assert_eq!(reply.status, status, "{headers}: {reply:?}");
        assert!(reply.body.contains(body), "{headers}: {reply:?}");
        assert_eq!(
            reply.head.contains("content-range"),
            !range.is_empty(),
            "{headers}"
        );
        assert!(reply.head.contains(range), "{headers}: {reply:?}");
    }
    let headers = format!("authorization: Bearer {TOKEN}\r\n");
    let reply = fixture.request("HEAD", &path, &headers, "").await;
    assert_eq!((reply.status, reply.body.as_str()), (200, ""));
    assert!(
        reply.head.contains("content-length: 10\r\n"),
        "{}",
        reply.head
    );
    // A peer may give a file any name.
    for (name, media_type) in [
        ("../../x.html", "text/html\r\nset-cookie: a=b"),
        ("a\"; filename=\"b.exe", "text/html"),
        ("", ""),
    ] {
        fixture.fake.files.came_from_peer(hash, name, media_type);
        let reply = ask("").await;
        assert_eq!(reply.status, 200);
        for expected in [
            "content-disposition: attachment; filename=\"",
            "nosniff",
            "sandbox",
        ] {
            assert!(reply.head.contains(expected), "{}", reply.head);
        }
        for never in ["set-cookie", "../", "filename=\"b.exe"] {
            assert!(!reply.head.contains(never), "{}", reply.head);
        }
    }
}
