//! Peers are charged for the work that their questions cause and not for the length of the answers.

use chain::core::{Event, Settings, limits};
use chain::message::{Answer, IDS_MAX, QUESTION_IDS_MAX, Question};
use chain::{Height, TxId};

use crate::core::bench::{Bench, Manner};
use crate::core::kit::genesis;
use crate::core::rounds::heavy_chain;

#[test]
fn a_question_costs_its_asker_what_it_costs_to_answer() {
    let maker = heavy_chain();
    let mut bench = Bench::new(Settings::default());
    bench.run_to(5_000);
    bench.reopen_with(&maker.blocks);
    bench.rounds();
    assert_eq!(bench.height(), 20);
    let block = maker.blocks[0].hash;
    let unknown: Vec<TxId> = (0..QUESTION_IDS_MAX as u32)
        .map(|n| {
            let mut id = [0; 32];
            id[28..].copy_from_slice(&n.to_be_bytes());
            TxId(id)
        })
        .collect();
    let absent = unknown[..1].to_vec();
    // These questions have empty answers. This is the maximum number that is answered at once.
    let mut cases = vec![
        (
            Question::Parents { block, ids: absent },
            limits::SERVED_BYTES_BURST as usize / (4 * maker.blocks[0].header.body_bytes as usize),
        ),
        (
            Question::Transactions {
                block,
                ids: unknown,
            },
            limits::SERVED_BYTES_BURST as usize / limits::SERVED_WORK_MAX,
        ),
    ];
    let busy = |bench: &mut Bench, peer: usize, question: Question, most: usize| {
        bench.connect(peer, &[], Manner::Honest);
        let bytes = question.to_bytes();
        let at = (0..20_000).find(|_| bench.ask(peer, bytes.clone()) == Answer::Busy);
        assert!(
            at.is_some_and(|at| (most..=most + 1).contains(&at)),
            "{question:?}: {at:?} of {most}"
        );
    };
    for (peer, (question, most)) in cases.drain(..).enumerate() {
        busy(&mut bench, peer, question, most);
    }
    // The transactions found come in the order of the question, regardless of their blocks.
    let mut ids: Vec<TxId> = maker.blocks[..4]
        .iter()
        .flat_map(|block| block.body.iter().step_by(300))
        .map(|entry| entry.transaction.id)
        .collect();
    ids.sort_unstable();
    bench.connect(3, &[], Manner::Honest);
    let question = Question::Transactions {
        block,
        ids: ids.clone(),
    };
    let Answer::Transactions(found) = bench.ask(3, question.to_bytes()) else {
        panic!("another answer");
    };
    let found: Vec<TxId> = found.iter().map(|one| one.id(&genesis().hash)).collect();
    assert_eq!(found, ids);
    // The pool, which contains the transactions of the undone blocks, is read in pages.
    let (ticket, height) = (1, 0);
    bench.tell(Event::PopOff {
        ticket,
        height: Height::new(height),
    });
    assert_eq!(bench.core.pool().figures().transactions, 36_000);
    bench.connect(5, &[], Manner::Honest);
    let (mut after, mut pages) = (TxId([0; 32]), Vec::new());
    while let Answer::PoolIds(ids) = bench.ask(5, Question::PoolIds { after }.to_bytes())
        && let Some(last) = ids.last()
    {
        after = *last;
        pages.push(ids);
    }
    let lengths: Vec<usize> = pages.iter().map(Vec::len).collect();
    assert_eq!(lengths, [IDS_MAX, 36_000 - IDS_MAX]);
    assert!(pages.concat().is_sorted());
}
