//! Leases begin after the delay, follow one another, and end.

use chain::state::effective_tokens;

use crate::kit::{EACH, Net, account};

fn tokens(net: &Net, who: usize) -> u64 {
    effective_tokens(&net.overlay, &net.genesis, &account(who)).unwrap()
}

#[test]
fn a_lease_counts_for_the_lessee_from_the_delay_on_and_until_its_end() {
    let mut net = Net::new();
    let lease = net.lease(1, 2, 5);
    net.forge(vec![Net::entry(lease)]);
    assert_eq!(net.height(), 1);
    // Delay 12, 5 blocks: the blocks of heights 13 to 17.
    let whole = EACH / 10_000;
    for height in 2..25 {
        let leased = (13..18).contains(&height);
        assert_eq!(tokens(&net, 1) == 0, leased, "{height}");
        assert_eq!(tokens(&net, 2) > whole + whole / 2, leased, "{height}");
        net.forge_empty(1);
    }
}
