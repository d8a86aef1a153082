//! An issuer that is put back on a copy of its disk while a holder's exit is only half presented. In the lost course another session
//! had the exit exchanged, so further steps of the copied flow would issue the amount again, under another id.

use kernel::integrity::{Evidence, IntegrityOrder};
use kernel::message::{PeerMessage, Standing};
use kernel::port::Table;
use kernel::rows::{META_MARK, meta_key};
use kernel::{Event, Order};
use ledger::{DataMark, SignedTransaction};
use primitives::Decode;
use primitives::storage::Reads;

use crate::reissue::{HOLDER, code_of_end, session, with_an_exit};
use crate::rollback::order;
use crate::start_gate::{again, held, order as order_flows};
use crate::testnet::Testnet;

const NOTARY: usize = 0;
const ISSUER: usize = 1;
const OBSERVER: usize = 3;

/// A network whose issuer runs on a copy, alone. The test plays the holder.
struct Scene {
    net: Testnet,
    /// A mark of the issuer from before the copy.
    old_mark: DataMark,
    /// The standing of an honest holder.
    standing: Standing,
    /// The holder's last message, without which the copied flow does not go on.
    proofs: PeerMessage,
    /// The exit and the issue of the lost course.
    lost: Vec<SignedTransaction>,
}

/// Gives a message of a session another number.
fn numbered(message: PeerMessage, seq: u64) -> PeerMessage {
    match message {
        PeerMessage::Session { body, .. } => PeerMessage::Session { seq, body },
        other => panic!("{other:?}"),
    }
}

impl Scene {
    fn new() -> Scene {
        let (mut net, said) = with_an_exit();
        net.quiet_for(2_000);
        // A life before the copy, so that the copy holds marks of its peers.
        again(&mut net, ISSUER, None);
        net.quiet_for(2_000);
        let key = meta_key(META_MARK, net.nodes[ISSUER].id.as_bytes());
        let mark = net.nodes[OBSERVER].disk.get(Table::Meta, &key);
        let mark = mark.expect("the disk reads").expect("a mark");
        net.script(HOLDER);
        net.heard(HOLDER);

        let [first, second] = [1, 2].map(|number| session(number, said.clone()));
        let [terms, exit, proofs] = first.try_into().expect("three messages");
        for (seq, message) in (1..).zip([terms, exit]) {
            net.say(HOLDER, ISSUER, &numbered(message, seq));
        }
        net.settle();
        let copy = net.nodes[ISSUER].disk.clone();
        for (seq, message) in (3..).zip(second) {
            net.say(HOLDER, ISSUER, &numbered(message, seq));
        }
        net.settle();
        net.say(HOLDER, ISSUER, &numbered(proofs.clone(), 6));
        net.quiet_for(2_000);
        let said = net.heard(HOLDER);
        let said = said.iter().filter_map(|message| match message {
            PeerMessage::Session { seq, .. } => Some(*seq),
            _ => None,
        });
        let standing = Standing {
            sent: 6,
            acked: 6,
            taken: said.max().expect("the issuer has answered"),
            ..Standing::default()
        };
        let ledger = net.nodes[ISSUER].disk.ledger();
        let lost = ledger.into_iter().skip(2).map(|(_, lost)| lost).collect();
        for node in [NOTARY, ISSUER, OBSERVER] {
            net.down(node);
        }
        net.settle();
        let mut scene = Scene {
            net,
            old_mark: DataMark::from_bytes(&mark).expect("a mark"),
            standing,
            proofs,
            lost,
        };
        scene.check([4, 1], "the lost course");
        scene.net.nodes[ISSUER].disk = copy;
        scene.net.up(ISSUER);
        scene.net.settle();
        scene
    }

    /// Connects the holder with a standing that shows the old mark.
    fn connect(&mut self, standing: Standing) {
        let (peer, epoch) = (self.net.nodes[HOLDER].id, self.net.nodes[HOLDER].epoch);
        self.net.tell(ISSUER, Event::PeerDown { peer });
        self.net.tell(ISSUER, Event::PeerUp { peer, epoch });
        let standing = Standing {
            mark: Some(self.old_mark.clone()),
            ..standing
        };
        self.net
            .say(HOLDER, ISSUER, &PeerMessage::Standing(standing));
        self.net.settle();
    }

    /// Delivers the exit and the issue of the lost course, as a recovery gives them back.
    fn deliver_lost(&mut self) {
        let lost: Vec<&SignedTransaction> = self.lost.iter().collect();
        self.net.deliver(HOLDER, ISSUER, &lost);
        self.net.settle();
    }

    /// Checks the number of transactions and claims that the issuer has.
    #[track_caller]
    fn check(&self, rows: [usize; 2], what: &str) {
        let disk = &self.net.nodes[ISSUER].disk;
        let found = [Table::Ledger, Table::Claims].map(|table| disk.count(table));
        assert_eq!(found, rows, "{what}: {:#?}", self.net.logs);
    }
}

#[test]
fn an_old_mark_beside_numbers_that_the_copy_lacks_releases_nothing() {
    let mut scene = Scene::new();
    let honest = scene.standing.clone();
    let agreeing = Standing {
        taken: 0,
        ..honest.clone()
    };
    // The contradiction counts over restarts too, when the numbers agree again.
    for (start, standing) in [honest, agreeing.clone(), agreeing.clone()]
        .into_iter()
        .enumerate()
    {
        again(&mut scene.net, ISSUER, None);
        scene.connect(standing);
        scene
            .net
            .say(HOLDER, ISSUER, &numbered(scene.proofs.clone(), 7));
        scene.net.quiet_for(100_000);
        let held = held(&scene.net, ISSUER).expect("held");
        assert!(held.flows == 1 && held.overdue, "start {start}: {held:?}");
        let report = order(&mut scene.net, ISSUER, IntegrityOrder::Show).expect("a report");
        assert_eq!(report.links.len(), 1, "start {start}");
        assert_eq!(report.rollback, None, "start {start}");
    }
    scene.check([2, 0], "held");
    // Nothing proves the copy, and the operator takes the data for one: its flows are halted before anything is given back.
    let accept_missing = true;
    let finish = IntegrityOrder::Finish { accept_missing };
    let early = order(&mut scene.net, ISSUER, finish);
    assert_eq!(early.unwrap_err(), "node.recovery_incomplete");
    order(&mut scene.net, ISSUER, IntegrityOrder::Recover).expect("a report");
    assert_eq!(scene.net.figures(ISSUER).flows_paused, 1);
    scene.deliver_lost();
    let report = order(&mut scene.net, ISSUER, finish).expect("a report");
    assert!(report.links.is_empty());
    assert_eq!(held(&scene.net, ISSUER), None);
    scene.check([4, 0], "recovered");
    scene.net.heard(HOLDER);
    order_flows(&mut scene.net, Order::Resume);
    scene.net.quiet_for(10_000);
    let told = code_of_end(scene.net.heard(HOLDER));
    assert_eq!(told.as_deref(), Some("cash.not_a_reissue"));
    scene.check([4, 0], "resumed");
}

#[test]
fn a_proof_halts_a_flow_whose_request_is_in_flight() {
    let mut scene = Scene::new();
    // A liar hides what the copy lacks: it vouches for the copy.
    scene.connect(Standing {
        sent: 2,
        acked: 2,
        ..Standing::default()
    });
    // The message waits until the others have had their time.
    scene
        .net
        .say(HOLDER, ISSUER, &numbered(scene.proofs.clone(), 3));
    scene.net.quiet_for(5_000);
    let figures = scene.net.figures(ISSUER);
    assert_eq!((held(&scene.net, ISSUER), figures.rolled_back), (None, 0));
    assert_eq!((figures.flows_live, figures.flows_paused), (1, 0));
    assert_eq!(figures.requests_outstanding, 1, "the notary is asked");
    // The notary's mark proves the copy before the answer arrives.
    scene.net.up(NOTARY);
    scene.net.quiet_for(40_000);
    let report = order(&mut scene.net, ISSUER, IntegrityOrder::Show).expect("a report");
    let evidence = report.rollback.map(|row| row.evidence);
    assert!(matches!(evidence, Some(Evidence::Mark(_))), "{evidence:?}");
    let figures = scene.net.figures(ISSUER);
    assert_eq!((figures.flows_paused, figures.requests_outstanding), (1, 0));
    scene.check([2, 0], "halted");
    // No order lets it go on before the recovery is finished.
    order_flows(&mut scene.net, Order::Resume);
    assert_eq!(scene.net.figures(ISSUER).flows_paused, 1);

    // The claim of the lost course is not given back, and a flow that goes on claims nothing in its place.
    order(&mut scene.net, ISSUER, IntegrityOrder::Recover).expect("a report");
    scene.deliver_lost();
    let accept_missing = true;
    let finish = IntegrityOrder::Finish { accept_missing };
    order(&mut scene.net, ISSUER, finish).expect("a report");
    scene.check([4, 0], "recovered");
    scene.net.heard(HOLDER);
    order_flows(&mut scene.net, Order::Resume);
    scene.net.quiet_for(10_000);
    let told = code_of_end(scene.net.heard(HOLDER));
    assert_eq!(told.as_deref(), Some("node.claim_lost"));
    assert_eq!(scene.net.figures(ISSUER).flows_live, 0);
    scene.check([4, 0], "resumed");
}
