//! Uploads whose client goes away while the disk is waited for, or whose disk fails: nothing stays taken, nothing is lost.

use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Waker};

use api::NewUpload;
use bytes::Bytes;
use node::http::Refusal;
use node::uploads::{Incoming, Promise, Upload, Uploads};
use primitives::Hash;

use crate::http_api::fake_files::FakeFiles;

/// Each disk operation waits for the previous one, because there is one thread for them.
fn slow_disk(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(1)
        .build();
    runtime.expect("a runtime").block_on(test);
}

/// Drops `request` while it waits for the disk, which then goes on.
fn cancel<T>(request: impl Future<Output = T>) {
    let (go_on, wait) = mpsc::channel::<()>();
    tokio::task::spawn_blocking(move || wait.recv());
    {
        let mut request = pin!(request);
        let polled = request
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()));
        assert!(polled.is_pending(), "it waits for the disk");
    }
    go_on.send(()).expect("the disk waits");
}

/// The disk has done all that it was asked to.
async fn settled() {
    tokio::task::spawn_blocking(|| ()).await.expect("no panic");
}

fn ann() -> Arc<str> {
    "ann".into()
}

async fn begun(uploads: &Arc<Uploads>) -> Arc<Upload> {
    let view = uploads.begin(&ann(), NewUpload::default()).await;
    found(uploads, &view.expect("begun").upload_id)
}

fn found(uploads: &Uploads, id: &str) -> Arc<Upload> {
    let id = primitives::hex::decode_array(id).expect("an id");
    uploads.find(&ann(), &id).expect("found")
}

async fn taken(uploads: &Arc<Uploads>, upload: &Arc<Upload>) -> Incoming {
    uploads.take(upload).await.expect("nobody has it")
}

fn code<T>(outcome: Result<T, Refusal>) -> Option<String> {
    outcome.err().map(|refusal| refusal.code.into_owned())
}

#[test]
fn a_begin_that_nobody_waits_for_leaves_nothing_behind() {
    slow_disk(async {
        let fake = FakeFiles::new();
        for _ in 0..3 {
            cancel(fake.uploads.begin(&ann(), NewUpload::default()));
            settled().await;
            assert_eq!((fake.uploads.count(), fake.on_disk()), (0, (0, 0)));
            cancel(fake.uploads.single(Promise::default()));
            settled().await;
            assert_eq!(fake.on_disk(), (0, 0));
        }
    });
}

#[test]
fn an_upload_that_is_opened_for_nobody_is_open_for_the_next() {
    slow_disk(async {
        let fake = FakeFiles::new();
        let upload = begun(&fake.uploads).await;
        let mut incoming = taken(&fake.uploads, &upload).await;
        let sent = Bytes::from_static(b"hello");
        incoming.add(&sent).await.expect("added");
        incoming.write().await.expect("written");
        drop(incoming);
        // As after a restart of the node: no request has opened the part yet.
        let id = fake.uploads.view(&upload).upload_id;
        drop(upload);
        let fake = fake.opened_again();
        let upload = found(&fake.uploads, &id);
        cancel(fake.uploads.take(&upload));
        settled().await;
        // It is open: taking it again waits for no disk.
        let polled = pin!(fake.uploads.take(&upload)).poll(&mut Context::from_waker(Waker::noop()));
        let Poll::Ready(Ok(incoming)) = polled else {
            panic!("it is taken at once: {polled:?}");
        };
        assert_eq!(incoming.len(), 5);
        drop(incoming);
        // While it is written to, too.
        let mut incoming = taken(&fake.uploads, &upload).await;
        incoming.add(&sent).await.expect("added");
        cancel(async move { incoming.write().await });
        settled().await;
        let incoming = taken(&fake.uploads, &upload).await;
        assert_eq!((incoming.len(), upload.offset()), (10, 10));
        assert_eq!(
            code(fake.uploads.take(&upload).await).as_deref(),
            Some("files.busy")
        );
        let published = incoming.finish().await.expect("whole");
        assert_eq!(published.size, 10);
    });
}

#[test]
fn an_upload_that_is_given_up_goes_though_nobody_waits() {
    slow_disk(async {
        let fake = FakeFiles::new();
        let upload = begun(&fake.uploads).await;
        cancel(fake.uploads.remove(&upload));
        settled().await;
        assert_eq!((fake.uploads.count(), fake.on_disk()), (0, (0, 0)));
        let gone = code(fake.uploads.take(&upload).await);
        assert_eq!(
            gone.as_deref(),
            Some("files.busy"),
            "of one that it was found for before"
        );
    });
}

#[test]
fn what_cannot_be_finished_stays_only_for_who_can_go_on_with_it() {
    slow_disk(async {
        let fake = FakeFiles::new();
        let hash = Hash::plain(b"hello").to_string();
        let shelf = fake.folder.path().join("files").join(&hash[..2]);
        std::fs::create_dir(shelf.join(&hash)).expect("in its way");
        let upload = begun(&fake.uploads).await;
        let single = fake.uploads.single(Promise::default()).await;
        let resumable = taken(&fake.uploads, &upload).await;
        for (mut incoming, left) in [(single.expect("begun"), 2), (resumable, 2)] {
            let sent = Bytes::from_static(b"hello");
            incoming.add(&sent).await.expect("added");
            let refused = code(incoming.finish().await.map_err(Refusal::from));
            assert_eq!(refused.as_deref(), Some("files.damaged"));
            assert_eq!(fake.on_disk(), (0, left), "the part with a note");
        }
        std::fs::remove_dir(shelf.join(&hash)).expect("out of its way");
        let incoming = taken(&fake.uploads, &upload).await;
        assert_eq!(incoming.finish().await.expect("whole").size, 5);
    });
}
