//! Tests of scenarios about a chain: the accepted values, and that a written scenario reads back the same.

use std::io::Write;

use ::chain::genesis::DECIMALS_MAX;

use super::read;
use crate::chain::ChainId;
use crate::plan::NoChecks;
use crate::plan::{ChainServers, Options, parse};

#[test]
fn what_is_left_out_is_as_published() {
    let plan = read("[chain]", false, &[]).expect("it is enough");
    let chain = plan.chain.clone().expect("a chain");
    assert_eq!(
        (
            chain.nodes,
            chain.block_s,
            chain.batch,
            chain.accounts.len()
        ),
        (4, 5, 1, 10)
    );
    let decimals: Vec<u8> = chain.chains.iter().map(|chain| chain.decimals).collect();
    assert_eq!(decimals, [8, 8, 4, 8, 8]);
    let fees: Vec<u64> = chain.chains.iter().map(|chain| chain.fee).collect();
    assert_eq!(fees, [100_000_000, 1_000_000, 100, 1_000_000, 1_000_000]);
    let places: Vec<u32> = chain.accounts.iter().map(|account| account.node).collect();
    assert_eq!(places, [1, 2, 3, 4, 1, 2, 3, 4, 1, 2]);
    assert_eq!(
        (
            plan.network.banks,
            plan.work.len(),
            plan.main_metric.as_str()
        ),
        (0, 0, "chain_tps")
    );
}

#[test]
fn it_is_written_as_it_was_read() {
    for text in [
        "[chain]",
        "[chain]\nnodes = 2\nblock_s = 20\nprofile = 'production'\nchildren = 0\naccounts = ['a', { passphrase = 'b', node = 2 }]\n\
         batch = 100\nhistory = 5\nwaiting_max = 70\ndrain_s = 1.5\ndeadline_minutes = 30\nsettings.pool.count_max = 7",
        "[chain]\n[[chain.chains]]\nid = 1\n[[chain.chains]]\nid = 9\nname = 'X'\ndecimals = 0\nfee = 3",
        "[chain.target]\nkind = 'nxt'\nservers = ['http://127.0.0.1:27876', 'http://b:1']\nsigning = 'prepared'",
        "[chain.target]\nkind = 'tally'\nservers = ['/tmp/x']",
        "[chain]\n[[work]]\nkind = 'payment'\ndepth = 2\n[[work]]\nkind = 'payment'\nlabel = 'b'\nweight = 3",
        "[chain]\n[run]\nseconds = 9\ncount = 50\neach_unit = true\n[run.fault]\nnode = 'node-4'\nat_s = 2",
        "[chain]\n[[sweep]]\nlabel = 'run'\n[[sweep.case]]\nname = 'a'\nset.chain.block_s = 2\nset.load.outstanding = 40",
    ] {
        let plan = read(text, false, &[]).unwrap_or_else(|error| panic!("{text}: {error}"));
        let written = plan.to_toml();
        let again = parse(
            &plan.name,
            "x.toml",
            written.as_bytes(),
            &Options::default(),
            &NoChecks,
        );
        assert_eq!(again.expect("it is in order"), plan, "{written}");
    }
    let plan = read(
        "[chain]\n[[sweep]]\nset = 'chain.block_s'\nvalues = [2, 5]",
        false,
        &[],
    )
    .expect("in order");
    let points = plan.points().expect("points");
    let seconds: Vec<u32> = points
        .iter()
        .filter_map(|point| point.plan.chain.as_ref())
        .map(|chain| chain.block_s)
        .collect();
    assert_eq!(seconds, [2, 5]);
}

#[test]
fn nodes_and_children_may_be_varied() {
    let text = "[chain]\n[[sweep]]\nset = 'chain.nodes'\nvalues = [1, 7]\n[[sweep]]\nset = 'chain.children'\nvalues = [0, 2]";
    let plan = read(text, false, &[]).expect("in order");
    let points = plan.points().expect("points");
    let chains = points.iter().filter_map(|point| point.plan.chain.as_ref());
    let found: Vec<(u32, usize, u32)> = chains
        .map(|chain| {
            let last = chain.accounts.iter().map(|account| account.node).max();
            (chain.nodes, chain.chains.len(), last.unwrap_or(0))
        })
        .collect();
    assert_eq!(found, [(1, 1, 1), (1, 3, 1), (7, 1, 7), (7, 3, 7)]);
}

#[test]
fn what_contradicts_is_refused() {
    for (text, wanted) in [
        (
            "[chain]\n[work]\nkind = 'issue'",
            "only work of the kind `payment` can be done on a chain",
        ),
        ("[work]\nkind = 'payment'", "needs `chain`"),
        (
            "[chain]\nnodes = 2\n[run.fault]\nnode = 'node-3'",
            "there is no node `node-3`",
        ),
        (
            "[chain.target]\nkind = 'tally'\nservers = ['x']\n[run.fault]\nnode = 'node-1'",
            "which the laboratory does not own",
        ),
        (
            "[chain]\n[network]\nbanks = 2",
            "cannot be combined with `chain`",
        ),
        ("[chain]\nnodes = 0", "from 1 to 64"),
        ("[chain]\naccounts = 1", "from 2 to 1000"),
        ("[chain]\naccounts = ['a', 'a']", "same passphrase"),
        (
            "[chain]\naccounts = ['a', { passphrase = 'b', node = 9 }]",
            "there are 4",
        ),
        (
            "[chain]\n[[chain.chains]]\nid = 2",
            "the parent, with the id 1",
        ),
        (
            "[chain]\n[[chain.chains]]\nid = 1\n[[chain.chains]]\nid = 1\nname = 'x'",
            "must be unique",
        ),
        (
            "[chain]\nchildren = 1\n[[chain.chains]]\nid = 1",
            "contradicts",
        ),
        ("[chain]\naccounts_csv = '/nowhere/x.csv'", "/nowhere/x.csv"),
        (
            "[chain]\naccounts = 3\naccounts_csv = '/nowhere/x.csv'",
            "`accounts` contradicts `accounts_csv`",
        ),
        ("[chain.target]\nkind = 'nxt'", "needs 1 to 64 `servers`"),
        (
            "[chain.target]\nkind = 'nxt'\nservers = ['ftp://x']",
            "http://host:port",
        ),
        (
            "[chain.target]\nkind = 'tally'\nservers = ['x']\nsigning = 'prepared'",
            "the client signs",
        ),
        (
            "[chain]\nnodes = 2\n[chain.target]\nkind = 'nxt'\nservers = ['http://x:1']",
            "cannot be used with a target",
        ),
        ("[chain]\nblok_s = 2", "did you mean `block_s`?"),
    ] {
        let error = read(text, false, &[]).expect_err(text);
        assert!(error.contains(wanted), "{text}: {error}");
    }
}

#[test]
fn tables_of_other_load_tests_are_taken_as_they_are() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        let mut file = std::fs::File::create(&path).expect("a file");
        file.write_all(text.as_bytes()).expect("written");
        path.display().to_string()
    };
    let servers = file(
        "servers.csv",
        "name,url\na,http://10.0.0.1:27876\nb,http://10.0.0.2:27876\n",
    );
    let chains = file("chains.csv", "1,ARDR,8\n2,IGNIS,8,500\n3,AEUR,4\n");
    let accounts = file("accounts.csv", "passphrase\n0\n1\n2\n");
    let text = format!(
        "[chain]\nchains_csv = '{chains}'\naccounts_csv = '{accounts}'\n[chain.target]\nkind = 'nxt'\nservers_csv = '{servers}'"
    );
    let plan = read(&text, false, &[]).expect("in order");
    let chain = plan.chain.expect("a chain");
    let urls = ["http://10.0.0.1:27876", "http://10.0.0.2:27876"].map(str::to_owned);
    let target = ChainServers::Nxt {
        urls: urls.to_vec(),
        prepared: false,
    };
    assert_eq!((chain.nodes, chain.target), (2, Some(target)));
    let fees: Vec<(ChainId, u64)> = chain
        .chains
        .iter()
        .map(|chain| (chain.id, chain.fee))
        .collect();
    assert_eq!(
        fees,
        [
            (ChainId(1), 100_000_000),
            (ChainId(2), 500),
            (ChainId(3), 100)
        ]
    );
    let accounts: Vec<(&str, u32)> = chain
        .accounts
        .iter()
        .map(|account| (account.passphrase.expose().as_str(), account.node))
        .collect();
    assert_eq!(accounts, [("0", 1), ("1", 2), ("2", 1)]);
    for wrong in [
        "",
        "8,1.5",
        "8,-1",
        "8,x",
        "8,9223372036854775808",
        "13",
        "18",
        "256",
    ] {
        let chains = file("chains.csv", &format!("1,ARDR,{wrong}\n"));
        let text = format!("[chain]\nchains_csv = '{chains}'");
        let error = read(&text, false, &[]).expect_err(wrong);
        let field = if wrong.starts_with("8,") {
            "fee"
        } else {
            "decimals"
        };
        let message = format!("`chain.chains.{field}` is ");
        assert!(error.contains(&message), "{wrong}: {error}");
    }
}

#[test]
fn a_file_and_a_list_of_chains_allow_the_decimals_of_a_genesis() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("chains.csv");
    for decimals in [DECIMALS_MAX, DECIMALS_MAX + 1] {
        std::fs::write(&path, format!("1,ARDR,{decimals}\n")).expect("written");
        let file = format!("[chain]\nchains_csv = '{}'", path.display());
        let list = format!("[chain]\n[[chain.chains]]\nid = 1\ndecimals = {decimals}");
        for text in [file, list] {
            let is_read = read(&text, false, &[]).is_ok();
            assert_eq!(is_read, decimals <= DECIMALS_MAX, "{text}");
        }
    }
}
