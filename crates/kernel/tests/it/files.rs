//! Files that transactions list: a node takes part in a transaction only with its files, and other nodes get no byte of them.

use std::sync::Arc;

use finance::cash_builder;
use finance::document::{DocumentCommand, DocumentState, document_code, document_name};
use kernel::files::{FileFailure, FileOrigin, FileRow, file_page, file_references, file_row};
use kernel::message::PeerMessage;
use kernel::port::Table;
use kernel::{Event, KernelOptions, Reply, Token};
use ledger::{PartyId, SignedTransaction, TransactionBuilder, TxId};
use primitives::{Encode, Hash};

use crate::pay::{issue, pay};
use crate::testnet::{Crash, Last, Testnet, TransferBehaviour, key, waits};
use crate::waiting::{names_the_difference, with_parameters};

/// Arguments of a share with node 2.
fn share(hash: &Hash) -> String {
    format!(r#"{{"to":"O=Node 2, L=London, C=GB","attachment":"{hash}","title":"a paper"}}"#)
}

fn row(net: &Testnet, node: usize, hash: &Hash) -> Option<FileRow> {
    file_row(&net.nodes[node].disk, hash).expect("the disk reads")
}

/// Returns the code of a refusal, or an empty text for any other reply.
fn code(reply: &Reply) -> &str {
    match reply {
        Reply::Rejected(rejection) => &rejection.code,
        _ => "",
    }
}

/// Returns the id of the transaction that a node recorded last.
fn last(net: &Testnet, node: usize) -> TxId {
    let ledger = net.nodes[node].disk.ledger();
    ledger.last().expect("something recorded").1.id()
}

/// Shares files of node `from` with node `to` in one transaction.
fn shared(net: &Testnet, from: usize, to: usize, files: &[Hash]) -> SignedTransaction {
    let (code, constraint) = document_code();
    let mut builder = TransactionBuilder::new(net.nodes[0].party.clone()).attachment(*code);
    for file in files {
        let document = DocumentState {
            from: net.nodes[from].party.clone(),
            to: net.nodes[to].party.clone(),
            title: "a paper".to_owned(),
            attachment: *file,
        };
        let (name, constraint) = (document_name().clone(), constraint.clone());
        builder = builder
            .attachment(*file)
            .output_data(name, constraint, document.to_bytes());
    }
    let signers = vec![key(from).public().clone()];
    let value = DocumentCommand::Share.to_bytes();
    let builder = builder.command(document_name().clone(), value, signers);
    SignedTransaction::new(net.built(builder), []).signed_by(&key(from))
}

/// Returns the answers to the deliveries of a scripted node: `delivered`, the code of the refusal, or the code of the reason to wait.
fn answers(net: &mut Testnet, node: usize) -> Vec<String> {
    let heard = net.heard(node).into_iter();
    let answers = heard.filter_map(|message| match message {
        PeerMessage::Delivered { ids } => Some(format!("delivered {}", ids.len())),
        PeerMessage::Refused { rejection, .. } => Some(rejection.code),
        other => waits(&other).map(|notice| format!("waits {}", notice.rejection.code)),
    });
    answers.collect()
}

#[test]
fn a_document_arrives_with_its_file_which_travels_once() {
    let mut net = Testnet::new(3);
    let (hash, reply) = net.upload(1, b"all of it", "paper.txt");
    assert!(
        matches!(reply, Reply::FileKnown { is_new: true, .. }),
        "{reply:?}"
    );
    for count in 1..=3u64 {
        let token = net.start(1, "document.share", &share(&hash), None);
        net.settle();
        assert_eq!(net.ended(token), Ok(true), "{:?}", net.logs);
        for node in [1, 2] {
            assert_eq!(row(&net, node, &hash).expect("it is here").refs, count);
            assert_eq!(net.nodes[node].disk.count(Table::FileRefs) as u64, count);
        }
    }
    assert_eq!(net.fetched, [(2, 1, hash)]);
    let received = row(&net, 2, &hash).expect("it is here");
    let (from, id) = (net.nodes[1].id, last(&net, 2));
    assert_eq!(received.origin, FileOrigin::Received { from });
    assert_eq!((received.name.as_str(), received.size), ("paper.txt", 9));
    assert!(!received.trusted, "it is data from a peer");
    assert!(
        row(&net, 1, &hash).expect("it is here").trusted,
        "a user vouches for it"
    );
    let references = file_references(&net.nodes[2].disk, &hash, None, 10).expect("reads");
    assert_eq!(references.len(), 3);
    assert!(references.contains(&id));
    let none = Default::default();
    let page = file_page(&net.nodes[2].disk, None, 10, &none).expect("reads");
    assert_eq!((page.files.len(), page.next), (1, None));
    assert_eq!(
        (
            net.nodes[0].disk.count(Table::FileRefs),
            net.figures(2).files_awaited
        ),
        (0, 0)
    );
}

#[test]
fn a_node_starts_nothing_with_a_file_that_it_lacks() {
    let mut net = Testnet::new(2);
    let token = net.start(
        1,
        "document.share",
        &share(&Hash::plain(b"elsewhere")),
        None,
    );
    net.settle();
    assert_eq!(net.ended(token), Err("tx.attachment_missing".to_owned()));
    assert!(net.nodes[1].disk.ledger().is_empty() && net.fetched.is_empty());
}

#[test]
fn what_waits_for_a_file_holds_up_nothing_else() {
    let mut net = Testnet::new(2);
    let issued = net.start(1, "cash.issue", &issue(100), None);
    let (hash, _) = net.upload(1, b"a large one", "large.bin");
    net.nodes[2].files.transfers = TransferBehaviour::Never;
    let token = net.start(1, "document.share", &share(&hash), None);
    net.settle();
    assert_eq!(net.ended(issued), Ok(true));
    for _ in 0..10 {
        let paid = net.start(1, "cash.pay", &pay(1, 2), None);
        net.settle();
        assert_eq!(net.ended(paid), Ok(true), "{:?}", net.logs);
        // The delivery is repeated meanwhile.
        net.now += 60_000;
    }
    assert!(!net.replies.contains_key(&token), "not delivered");
    assert_eq!((net.balance(2), net.fetched.len()), (10, 1));
    assert_eq!(net.figures(2).files_awaited, 1);
    net.nodes[2].files.transfers = TransferBehaviour::Whole;
    net.ask_for_file(2, hash);
    net.settle();
    assert_eq!(net.ended(token), Ok(true), "{:?}", net.logs);
    assert_eq!(net.figures(2).files_awaited, 0);
}

#[test]
fn what_does_not_come_is_asked_for_again_and_refuses_nothing() {
    for transfers in [
        TransferBehaviour::Damaged,
        TransferBehaviour::Away,
        TransferBehaviour::Full,
    ] {
        let mut net = Testnet::new(2);
        let (hash, _) = net.upload(1, b"a file", "");
        net.nodes[2].files.transfers = transfers;
        let token = net.start(1, "document.share", &share(&hash), None);
        for _ in 0..40 {
            net.settle();
            net.now += 30_000;
        }
        assert!(!net.replies.contains_key(&token), "{transfers:?}");
        assert!(row(&net, 2, &hash).is_none() && net.nodes[2].disk.ledger().is_empty());
        assert_eq!(net.figures(2).transactions_refused, 0, "{transfers:?}");
        // Back-off: far fewer requests than there were moments to send one.
        let asked = net.fetched.len();
        assert!(
            (3..=40).contains(&asked),
            "{transfers:?}: asked for {asked} times"
        );
        net.nodes[2].files.transfers = TransferBehaviour::Whole;
        for _ in 0..40 {
            net.settle();
            net.now += 60_000;
        }
        assert_eq!(net.ended(token), Ok(true), "{transfers:?}: {:?}", net.logs);
    }
}

#[test]
fn what_is_too_large_waits_before_its_bytes_move() {
    const MIB: u64 = 1 << 20;
    let names = [b"a", b"b", b"c"].map(|name| Hash::plain(name));
    // The sizes that the sender says, one file each, and the answer; nothing as long as there is room for all.
    let table: [(&[u64], Option<&str>); 5] = [
        (&[500 * MIB], None),
        (&[500 * MIB + 1], Some("waits tx.attachment_too_large")),
        (&[250 * MIB, 250 * MIB], None),
        (
            &[250 * MIB, 250 * MIB + 1],
            Some("waits tx.attachments_too_large"),
        ),
        (&[1, 500 * MIB, 0], Some("waits tx.attachments_too_large")),
    ];
    for (sizes, expected) in table {
        let mut net = Testnet::new(2);
        net.script(1);
        net.nodes[2].files.transfers = TransferBehaviour::Never;
        let files = &names[..sizes.len()];
        let transaction = shared(&net, 1, 2, files);
        net.deliver(1, 2, &[&transaction]);
        net.settle();
        assert_eq!(net.fetched.len(), sizes.len());
        let peer = net.nodes[1].id;
        for (hash, size) in files.iter().zip(sizes.iter().copied()) {
            let (hash, wanted) = (*hash, net.nodes[2].files.wanted.get(hash));
            let event = match wanted {
                Some((_, _, max)) if size > *max => Event::FileFailed {
                    hash,
                    peer,
                    failure: FileFailure::TooLarge { size },
                },
                _ => Event::FileOffered { hash, peer, size },
            };
            net.tell(2, event);
            net.settle();
        }
        let answered = answers(&mut net, 1);
        assert_eq!(answered.first().map(String::as_str), expected, "{sizes:?}");
        let given_up = &net.nodes[2].files.abandoned;
        assert_eq!(
            given_up.is_empty(),
            expected.is_none() || sizes.len() == 1,
            "{sizes:?}"
        );
        assert_eq!(
            net.figures(2).files_awaited > 0,
            expected.is_none(),
            "{sizes:?}"
        );
    }
}

#[test]
fn the_reason_against_a_file_names_the_parameters_that_differ() {
    const MIB: u64 = 1 << 20;
    for (sizes, parameter) in [
        (&[600 * MIB][..], "max_attachment_bytes"),
        (&[300 * MIB, 300 * MIB], "max_transaction_attachment_bytes"),
    ] {
        let mut net = Testnet::new(2);
        net.script(1);
        net.nodes[2].files.transfers = TransferBehaviour::Never;
        let strict = Arc::clone(&net.network);
        let lax = with_parameters(&net, |p| {
            p.max_attachment_bytes = 1_000 * MIB;
            p.max_transaction_attachment_bytes = 1_000 * MIB;
        });
        net.network = Arc::clone(&lax);
        let files: Vec<Hash> = sizes
            .iter()
            .zip(0..)
            .map(|(_, n)| Hash::plain(&[n]))
            .collect();
        let transaction = shared(&net, 1, 2, &files);
        net.heard(1);
        net.deliver(1, 2, &[&transaction]);
        net.settle();
        let peer = net.nodes[1].id;
        for (hash, size) in files.iter().zip(sizes) {
            let (hash, size) = (*hash, *size);
            net.tell(2, Event::FileOffered { hash, peer, size });
            net.settle();
        }
        let heard = net.heard(1);
        let reasons: Vec<_> = heard.iter().filter_map(waits).collect();
        assert_eq!(reasons.len(), 1, "{heard:?}");
        names_the_difference(&reasons[0].rejection, parameter, [&lax, &strict]);
    }
}

#[test]
fn what_came_for_a_transaction_whose_files_are_too_large_together_goes_again() {
    // Whether the first file was uploaded here too, and whether it is kept at the end.
    for (vouched, stays) in [(false, false), (true, true)] {
        let mut net = Testnet::new(2);
        net.script(1);
        net.nodes[2].files.transfers = TransferBehaviour::Never;
        let (first, second) = (Hash::plain(b"a"), Hash::plain(b"b"));
        let transaction = shared(&net, 1, 2, &[first, second]);
        net.deliver(1, 2, &[&transaction]);
        net.settle();
        let (peer, size) = (net.nodes[1].id, 300 << 20);
        let arrived = Event::FileArrived {
            hash: first,
            size,
            name: String::new(),
            media_type: String::new(),
            peer,
        };
        net.tell(2, arrived);
        net.settle();
        assert!(row(&net, 2, &first).is_some(), "it is here");
        if vouched {
            net.about_file(2, |token| stored(first, size, token));
        }
        // Its size still counts, although the transaction no longer waits for it.
        let hash = second;
        net.tell(2, Event::FileOffered { hash, peer, size });
        net.settle();
        assert_eq!(answers(&mut net, 1), ["waits tx.attachments_too_large"]);
        assert_eq!(row(&net, 2, &first).is_some(), stays, "vouched: {vouched}");
        assert_eq!(net.nodes[2].files.abandoned, [second]);
    }
}

#[test]
fn files_that_are_here_count_against_the_limit() {
    let mut net = Testnet::new(2);
    net.script(1);
    let size = 300 << 20;
    let files = [Hash::plain(b"a"), Hash::plain(b"b")];
    for hash in files {
        let reply = net.about_file(2, |token| stored(hash, size, token));
        assert!(matches!(reply, Reply::FileKnown { .. }), "{reply:?}");
    }
    let transaction = shared(&net, 1, 2, &files);
    net.deliver(1, 2, &[&transaction]);
    net.settle();
    assert_eq!(answers(&mut net, 1), ["waits tx.attachments_too_large"]);
    let reply = net.about_file(2, |token| stored(Hash::plain(b"c"), 501 << 20, token));
    assert_eq!(code(&reply), "tx.attachment_too_large");
}

fn stored(hash: Hash, size: u64, token: Token) -> Event {
    Event::FileStored {
        hash,
        size,
        name: String::new(),
        media_type: String::new(),
        user: "ann".to_owned(),
        token,
    }
}

#[test]
fn only_those_concerned_get_a_file_and_others_do_not_learn_of_it() {
    let mut net = Testnet::new(3);
    let (hash, _) = net.upload(1, b"a secret", "");
    let (other, _) = net.upload(1, b"another", "");
    let unshared = Hash::plain(b"never seen");
    for file in [hash, other] {
        let token = net.start(1, "document.share", &share(&file), None);
        net.settle();
        assert_eq!(net.ended(token), Ok(true));
    }
    let ledger = net.nodes[1].disk.ledger();
    let [first, second] = [0, 1].map(|place: usize| ledger[place].1.id());
    let nowhere = TxId::from_array([9; 32]);
    // The requesting node, the file, the transaction that it names, and whether it may have the file.
    let table = [
        (2, hash, first, true),
        (2, other, second, true),
        (2, other, first, false),
        (2, hash, second, false),
        (2, hash, nowhere, false),
        (2, unshared, first, false),
        (2, document_code().0, first, false),
        (3, hash, first, false),
        (3, other, second, false),
        (0, hash, first, false),
    ];
    for (asker, file, transaction, expected) in table {
        net.permits.clear();
        let peer = net.nodes[asker].id;
        let event = Event::FilePermit {
            peer,
            hash: file,
            transaction,
        };
        net.tell(1, event);
        net.settle();
        let [(1, to, about, offer)] = net.permits.as_slice() else {
            panic!("{:?}", net.permits);
        };
        assert_eq!((*to, *about), (asker, file));
        assert_eq!(offer.is_some(), expected, "node {asker}, file {file}");
    }
}

#[test]
fn files_to_which_something_refers_stay() {
    let mut net = Testnet::new(2);
    let (hash, _) = net.upload(1, b"a file", "x");
    let unknown = Hash::plain(b"unknown");
    let again = net.upload(1, b"a file", "another name").1;
    let Reply::FileKnown {
        record,
        is_new: false,
    } = again
    else {
        panic!("{again:?}");
    };
    assert_eq!(record.row.name, "x", "the first hint stays");
    for (what, expected) in [
        (unknown, "file.unknown"),
        (hash, ""),
        (hash, "file.unknown"),
    ] {
        let reply = net.about_file(1, |token| Event::FileRemove { hash: what, token });
        assert_eq!(code(&reply), expected);
        let reply = net.about_file(1, |token| Event::FileLook { hash: what, token });
        assert_eq!(code(&reply), "file.unknown");
    }
    assert!(net.nodes[1].files.whole.is_empty(), "its bytes are gone");
    assert!(row(&net, 1, &hash).is_none());
    net.upload(1, b"a file", "x");
    let token = net.start(1, "document.share", &share(&hash), None);
    net.settle();
    assert_eq!(net.ended(token), Ok(true));
    for node in [1, 2] {
        let reply = net.about_file(node, |token| Event::FileRemove { hash, token });
        assert_eq!(code(&reply), "file.referenced");
        assert!(net.nodes[node].files.whole.contains_key(&hash));
    }
}

#[test]
fn trust_is_a_users_word_or_a_rule() {
    let mut options = KernelOptions::default();
    for is_ruled in [false, true] {
        let mut net = Testnet::with(2, false, options.clone());
        let (hash, _) = net.upload(1, b"a file", "");
        net.start(1, "document.share", &share(&hash), None);
        net.settle();
        assert_eq!(row(&net, 2, &hash).expect("it is here").trusted, is_ruled);
        for trusted in [true, false] {
            let reply = net.about_file(2, |token| Event::FileTrust {
                hash,
                trusted,
                user: "ops".to_owned(),
                token,
            });
            assert!(matches!(reply, Reply::FileKnown { .. }), "{reply:?}");
            let row = row(&net, 2, &hash).expect("it is here");
            assert_eq!(
                (row.trusted, row.trust_by.as_deref()),
                (trusted, Some("ops"))
            );
        }
        let peer: PartyId = net.nodes[1].id;
        options.trust_peers.insert(peer);
    }
}

#[test]
fn a_crash_while_a_file_is_awaited_loses_nothing() {
    let mut net = Testnet::new(2);
    let (hash, _) = net.upload(1, b"a file", "");
    net.nodes[2].files.transfers = TransferBehaviour::Never;
    let token = net.start(1, "document.share", &share(&hash), None);
    net.settle();
    for node in [2, 1] {
        net.down(node);
        net.settle();
        net.up(node);
        net.settle();
    }
    assert!(net.nodes[2].disk.ledger().is_empty());
    net.nodes[2].files.transfers = TransferBehaviour::Whole;
    net.ask_for_file(2, hash);
    net.quiet();
    assert!(
        !net.replies.contains_key(&token),
        "the client was lost with node 1"
    );
    assert_eq!(net.nodes[1].disk.count(Table::Deliveries), 0);
    assert_eq!(row(&net, 2, &hash).expect("it is here").refs, 1);
    assert_eq!(row(&net, 1, &hash).expect("it is here").refs, 1);
}

#[test]
fn a_back_chain_needs_no_files_and_its_references_count_when_they_come() {
    let mut net = Testnet::new(3);
    net.script(3);
    let bytes = b"an invoice";
    let (hash, _) = net.upload(1, bytes, "");
    // Node 3 issues to node 1, with a file.
    let token = finance::IssuedToken {
        issuer: net.nodes[3].party.clone(),
        reference: finance::Reference::default(),
        currency: "GBP".parse().expect("a currency"),
    };
    let (notary, portion) = (net.nodes[0].party.clone(), net.portion(1, 5));
    let builder = cash_builder::issue(notary, &token, &[portion]).expect("an issue");
    let issued = net.built(builder.attachment(hash));
    let issued = SignedTransaction::new(issued, []).signed_by(&key(3));
    net.deliver(3, 1, &[&issued]);
    net.settle();
    assert_eq!(answers(&mut net, 3), ["delivered 1"]);
    let args = pay(2, 2).replace("Node 1", "Node 3");
    let paid = net.start(1, "cash.pay", &args, None);
    net.settle();
    assert_eq!(net.ended(paid), Ok(true), "{:?}", net.logs);
    assert_eq!(net.balance(2), 2);
    assert!(net.fetched.is_empty() && row(&net, 2, &hash).is_none());
    assert_eq!(net.nodes[2].disk.count(Table::FileRefs), 1);
    let (_, reply) = net.upload(2, bytes, "");
    let Reply::FileKnown {
        record,
        is_new: true,
    } = reply
    else {
        panic!("{reply:?}");
    };
    assert_eq!(record.row.refs, 1);
}

#[test]
fn one_peers_fault_is_not_anothers() {
    let mut net = Testnet::new(3);
    let (hash, _) = net.upload(1, b"a file", "");
    net.script(3);
    net.nodes[2].files.transfers = TransferBehaviour::Never;
    // Node 3 delivers a transaction with the same file, which it does not have.
    let theirs = shared(&net, 3, 2, &[hash]);
    net.deliver(3, 2, &[&theirs]);
    net.settle();
    let token = net.start(1, "document.share", &share(&hash), None);
    net.settle();
    assert_eq!(net.fetched, [(2, 3, hash)]);
    net.nodes[2].files.transfers = TransferBehaviour::Whole;
    net.file_failed(2, hash, FileFailure::Unknown);
    net.settle();
    assert_eq!(net.ended(token), Ok(true), "{:?}", net.logs);
    assert_eq!(net.fetched, [(2, 3, hash), (2, 1, hash)]);
    assert_eq!(
        answers(&mut net, 3),
        ["waits tx.attachment_unavailable"],
        "neither taken nor refused"
    );
    // The file is present now, so the delivery is accepted from any peer.
    net.deliver(3, 2, &[&theirs]);
    net.settle();
    assert_eq!(answers(&mut net, 3), ["delivered 1"]);
    assert_eq!(row(&net, 2, &hash).expect("it is here").refs, 2);
}

/// Starts a flow of node 1 that asks node 2 to sign that a file is shared.
fn cosign(net: &mut Testnet, hash: &Hash) -> u64 {
    let args = format!(r#"{{"with":2,"file":"{hash}"}}"#);
    net.start(1, "test.cosign", &args, None)
}

#[test]
fn who_is_asked_to_sign_has_the_file_before_it_signs() {
    let mut net = Testnet::new(3);
    let (hash, _) = net.upload(1, b"a contract", "");
    net.nodes[2].files.transfers = TransferBehaviour::Never;
    let token = cosign(&mut net, &hash);
    net.settle();
    assert!(net.nodes[1].disk.ledger().is_empty(), "not signed");
    let (from, transaction, _) = net.nodes[2].files.wanted[&hash];
    assert_eq!(from, 1);
    // While the transaction is only proposed, no other node gets the file, and no user can remove it.
    let peer = net.nodes[3].id;
    net.permits.clear();
    net.tell(
        1,
        Event::FilePermit {
            peer,
            hash,
            transaction,
        },
    );
    net.settle();
    assert_eq!(net.permits, [(1, 3, hash, None)]);
    let reply = net.about_file(1, |token| Event::FileRemove { hash, token });
    assert_eq!(code(&reply), "file.in_use");
    // Either node may restart meanwhile.
    for node in [1, 2] {
        net.down(node);
        net.settle();
        net.up(node);
        net.settle();
    }
    net.nodes[2].files.transfers = TransferBehaviour::Whole;
    net.ask_for_file(2, hash);
    net.quiet();
    for node in [1, 2] {
        assert_eq!(net.nodes[node].disk.ledger().len(), 1, "{:?}", net.logs);
        assert_eq!(row(&net, node, &hash).expect("it is here").refs, 1);
        assert_eq!(net.nodes[node].disk.count(Table::Journal), 0);
        let disk = &net.nodes[node].disk;
        let proposed = primitives::storage::Reads::scan(
            disk,
            Table::Meta,
            b"proposed/",
            Some(b"proposed0"),
            10,
        );
        assert!(proposed.expect("reads").is_empty());
    }
    assert!(
        !net.replies.contains_key(&token),
        "the client was lost with node 1"
    );
}

#[test]
fn a_killed_flow_gives_its_file_up() {
    let mut net = Testnet::new(2);
    let (hash, _) = net.upload(1, b"a contract", "");
    net.nodes[2].files.transfers = TransferBehaviour::Never;
    cosign(&mut net, &hash);
    net.settle();
    let kernel = net.nodes[2].kernel.as_ref().expect("up");
    let flow = kernel.flows().flow_ids()[0];
    let reply = net.about_file(2, |token| Event::Cancel { flow, token });
    assert_eq!(reply, Reply::Done);
    assert_eq!(net.nodes[2].files.abandoned, [hash]);
    assert_eq!(net.figures(2).files_awaited, 0);
}

#[test]
fn what_nobody_asked_for_changes_nothing() {
    let mut net = Testnet::new(2);
    let (peer, hash) = (net.nodes[2].id, Hash::plain(b"unasked"));
    let size = u64::MAX;
    net.tell(1, Event::FileOffered { hash, peer, size });
    for failure in [
        FileFailure::Unknown,
        FileFailure::TooLarge { size },
        FileFailure::Mismatch,
        FileFailure::Gone,
    ] {
        net.tell(
            1,
            Event::FileFailed {
                hash,
                peer,
                failure,
            },
        );
    }
    net.settle();
    assert!(row(&net, 1, &hash).is_none() && net.fetched.is_empty());
    assert!(net.logs.is_empty(), "{:?}", net.logs);
}

#[test]
fn a_proposal_whose_file_is_not_given_fails() {
    let mut net = Testnet::new(2);
    let (hash, _) = net.upload(1, b"a contract", "");
    net.nodes[1].files.whole.clear();
    let token = cosign(&mut net, &hash);
    net.settle();
    assert_eq!(
        net.ended(token),
        Err("tx.attachment_unavailable".to_owned())
    );
    for node in [1, 2] {
        assert_eq!(net.nodes[node].disk.count(Table::Journal), 0);
    }
}

#[test]
fn a_crash_at_any_commit_counts_references_once() {
    // Commits of nodes 1 and 2 over a test network that shares the same file twice.
    for node in [1, 2] {
        for at in 1..=12 {
            for last in [Last::Lost, Last::Durable, Last::Performed] {
                let mut net = Testnet::new(2);
                net.crashes = vec![Crash { node, at, last }];
                let mut hash = Hash::ZERO;
                for client in ["a", "b"] {
                    // A user without an answer uploads the file again and starts the flow again.
                    for _ in 0..4 {
                        (hash, _) = match net.nodes[1].kernel.is_some() {
                            true => upload_perhaps(&mut net),
                            false => (hash, None),
                        };
                        let token = net.start(1, "document.share", &share(&hash), Some(client));
                        net.settle();
                        let down = (1..3).find(|node| net.nodes[*node].kernel.is_none());
                        down.into_iter().for_each(|node| net.up(node));
                        net.quiet();
                        if net.replies.remove(&token).is_some() {
                            break;
                        }
                    }
                }
                for node in [1, 2] {
                    let what = format!("{node} crashes at {at}, {last:?}: {:?}", net.logs);
                    let row = row(&net, node, &hash).expect(&what);
                    let rows = net.nodes[node].disk.count(Table::FileRefs);
                    assert_eq!(
                        (row.refs, rows, net.nodes[node].disk.ledger().len()),
                        (2, 2, 2),
                        "{what}"
                    );
                }
            }
        }
    }
}

/// Uploads a file to node 1. Returns no reply if the node crashes meanwhile.
fn upload_perhaps(net: &mut Testnet) -> (Hash, Option<Reply>) {
    let bytes = b"a file";
    let hash = Hash::plain(bytes);
    net.nodes[1].files.whole.insert(hash, bytes.to_vec());
    let token = net.token();
    net.tell(1, stored(hash, bytes.len() as u64, Token(token)));
    net.settle();
    (hash, net.replies.remove(&token))
}

#[test]
fn what_a_peer_proposed_waits_until_it_is_back() {
    let mut net = Testnet::new(2);
    let (hash, _) = net.upload(1, b"a contract", "");
    net.nodes[2].files.transfers = TransferBehaviour::Never;
    cosign(&mut net, &hash);
    net.settle();
    net.down(1);
    net.settle();
    net.nodes[2].files.transfers = TransferBehaviour::Away;
    net.file_failed(2, hash, FileFailure::Gone);
    // A responder gives a proposal up after a quarter of an hour.
    for _ in 0..13 {
        net.settle();
        net.now += 60_000;
    }
    assert!(net.fetched.len() > 8, "it was asked for again and again");
    assert_eq!(net.figures(2).flows_live, 1, "{:?}", net.logs);
    net.nodes[2].files.transfers = TransferBehaviour::Whole;
    net.up(1);
    net.quiet();
    assert_eq!(net.nodes[2].disk.ledger().len(), 1, "{:?}", net.logs);
}
