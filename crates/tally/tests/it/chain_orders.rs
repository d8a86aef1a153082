//! Operators' commands: pop blocks off, trust a block, drop old bodies, ban peers across a restart, and repair a damaged store.

use api::chain::NewBan;

use crate::chain_stage::{self, Chain, code, confirmed, eventually, log_of, reaches};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn blocks_are_taken_back_and_pinned_by_order() {
    let chain = Chain::bring_up(1, 1);
    let client = chain.client(0);
    reaches(&client, 6).await;
    let id = chain.pay(0, "2", "3", "1", "TLY");
    confirmed(std::slice::from_ref(&client), &id, 1).await;
    let before = client.status().await.expect("an answer").height;
    for (line, good) in [
        ("pop-off --node % 3 --json", true),
        ("clear-pool --node % --json", true),
        ("pop-off --node % --to 2", true),
        ("pop-off --node % --to 1000000", false),
        ("pop-off --node % 1000000", false),
        ("pop-off --node %", false),
        ("trust --node % 0 00", false),
        ("prune --node % --keep 10", true),
    ] {
        let ran = chain.tally(0, line);
        assert_eq!(ran.code == 0, good, "{line}: {}{}", ran.out, ran.err);
        if line.ends_with("--json") {
            let fields = ran.json();
            let number = fields["blocks"]
                .as_u64()
                .or(fields["transactions"].as_u64());
            assert!(number.is_some(), "{line}: {fields}");
        }
    }
    // The transaction of the popped block is confirmed again.
    confirmed(std::slice::from_ref(&client), &id, 0).await;
    reaches(&client, before).await;
    let third = client.block("3", "none").await.expect("a block").hash;
    let ran = chain.tally(0, &format!("trust --node % 3 {third} --json"));
    assert_eq!(ran.code, 0, "{}", ran.err);
    // A block that is not on our branch: ours goes back below it, and nothing that contradicts it is followed.
    let other = "ab".repeat(32);
    let ran = chain.tally(0, &format!("trust --node % 5 {other}"));
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("rolled back"), "{}", ran.out);
    let height = client.status().await.expect("an answer").height;
    assert!(height < 5, "{height}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ban_survives_a_restart() {
    let mut chain = Chain::bring_up(2, 1);
    let clients = chain.clients();
    eventually("the nodes find each other", async || {
        (clients[0].status().await.ok()?.peers == 1).then_some(())
    })
    .await;
    let other = clients[1].peers().await.expect("an answer").me;
    let ban = NewBan {
        seconds: 3_600,
        reason: "the test".into(),
    };
    clients[0].ban_peer(&other, &ban).await.expect("banned");
    let file = chain.dir(0).join("data/bans.json");
    eventually("the ban is written", async || {
        let text = std::fs::read_to_string(&file).ok()?;
        text.contains(&other).then_some(())
    })
    .await;
    chain.kill(0);
    chain.start(0);
    let client = chain.client(0);
    let banned = eventually("the ban is there again", async || {
        let peers = client.peers().await.ok()?.peers;
        let peer = peers.into_iter().find(|peer| peer.id == other)?;
        peer.banned_for_ms.map(|left| (left, peer.reason))
    })
    .await;
    assert!(banned.0 > 3_000_000 && banned.0 <= 3_600_000, "{banned:?}");
    assert_eq!(banned.1.as_deref(), Some("the test"));
    client.unban_peer(&other).await.expect("it may come back");
    eventually("they are connected again", async || {
        (client.status().await.ok()?.peers == 1).then_some(())
    })
    .await;
    // An unknown peer cannot be banned. A node starts even if its file of bans is damaged.
    let unknown = client.ban_peer(&"cd".repeat(32), &ban).await;
    assert_eq!(code(unknown), api::chain::codes::UNKNOWN_PEER.code);
    chain.kill(0);
    std::fs::write(&file, "[{").expect("written");
    chain.start(0);
    assert!(log_of(&chain.dir(0)).contains("the bans of peers are lost"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_store_is_mended_at_the_start_and_by_order() {
    let mut chain = Chain::bring_up(1, 1);
    let client = chain.client(0);
    reaches(&client, 3).await;
    let mut ids = Vec::new();
    for token in ["TLY", "AMB", "BAS"] {
        ids.push(chain.pay(0, "2", "3", "0.5", token));
    }
    for id in &ids {
        confirmed(std::slice::from_ref(&client), id, 2).await;
    }
    chain.kill(0);
    let sound = chain.tally(0, "check % --json").json();
    let height = sound["height"].as_u64().expect("a height");
    assert!(sound["replayed"].as_u64() > Some(3), "{sound}");

    // An index row goes: the start puts it back, and nothing is lost.
    chain_stage::spoil(&chain.dir(0), chain_stage::Spoil::Index);
    let found = chain.tally(0, "check % --json");
    assert!(
        found.code == 5 && found.err.contains("chain.store_damaged"),
        "{}",
        found.err
    );
    assert_eq!(found.json()["rows_damaged"], 1);
    chain.start(0);
    assert!(
        log_of(&chain.dir(0)).contains("repaired"),
        "{}",
        log_of(&chain.dir(0))
    );
    let client = chain.client(0);
    let status = client.status().await.expect("an answer");
    assert!(u64::from(status.height) >= height);
    for id in &ids {
        confirmed(std::slice::from_ref(&client), id, 0).await;
    }
    chain.kill(0);

    // A body goes: blocks are cut off, and forged again; with repair switched off the node does not start.
    chain_stage::spoil(&chain.dir(0), chain_stage::Spoil::Body);
    chain.edit(0, "repair = true", "repair = false");
    let ran = chain.tally(0, "run %");
    assert!(
        ran.code == 5 && ran.err.contains("chain.store_damaged"),
        "{}",
        ran.err
    );
    let mended = chain.tally(0, "check % --repair --json");
    assert_eq!(mended.code, 0, "{}", mended.err);
    let mended = mended.json();
    assert!(mended["height"].as_u64() < Some(height), "{mended}");
    assert!(!mended["repaired"].as_array().expect("a list").is_empty());
    chain.start(0);
    let client = chain.client(0);
    reaches(&client, height as u32 + 2).await;
    // The body that was lost may have been the only one.
    let again = chain.pay(0, "2", "3", "0.25", "TLY");
    confirmed(std::slice::from_ref(&client), &again, 2).await;
    chain.kill(0);

    // Damage beyond repair is refused with its own code.
    chain_stage::spoil(&chain.dir(0), chain_stage::Spoil::BodyAndUndo);
    let ran = chain.tally(0, "check % --repair");
    assert!(
        ran.code == 5 && ran.err.contains("chain.store_beyond_repair"),
        "{}{}",
        ran.out,
        ran.err
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_file_is_replaced_by_a_snapshot_or_an_empty_store() {
    let mut chain = Chain::bring_up(1, 1);
    let client = chain.client(0);
    reaches(&client, 3).await;
    let taken = chain.tally(0, "snapshot --node % early --json");
    let snapshot = taken.json()["path"].as_str().expect("a path").to_owned();
    assert!(snapshot.ends_with("data/snapshots/early"), "{snapshot}");
    // Each block is a record of the log.
    reaches(&client, 8).await;
    chain.kill(0);
    let sound = chain.tally(0, "check % --json");
    assert_eq!(sound.code, 0, "{}", sound.err);
    let read = sound.json();
    assert!(
        read["files"].as_u64() > Some(0) && read["bytes"].as_u64() > Some(0),
        "{read}"
    );

    let log = chain.dir(0).join("data/chain/log");
    for segment in std::fs::read_dir(log).expect("the log") {
        let path = segment.expect("an entry").path();
        let mut bytes = std::fs::read(&path).expect("a segment");
        // The first record follows the header of 512 bytes.
        if let Some(byte) = bytes.get_mut(600) {
            *byte ^= 1;
        }
        std::fs::write(path, bytes).expect("written");
    }
    for line in ["check %", "check % --repair", "run %"] {
        let ran = chain.tally(0, line);
        assert_eq!(ran.code, 5, "{line}: {} {}", ran.out, ran.err);
        for part in ["tally chain restore", "tally chain init-store"] {
            assert!(ran.err.contains(part), "{line}: {}", ran.err);
        }
        assert!(!ran.err.contains("--repair'"), "{line}: {}", ran.err);
        assert!(!ran.out.contains(" 0 files"), "{line}: {}", ran.out);
    }

    // The advised commands: a snapshot in place of the store.
    let ran = chain.tally(0, &format!("restore % {snapshot}"));
    assert_eq!(ran.code, 0, "{}", ran.err);
    let ran = chain.tally(0, "check % --repair");
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    chain.start(0);
    reaches(&chain.client(0), 3).await;
    chain.kill(0);

    // Or an empty store: the folder of the damaged one is moved away first.
    let init = "init-store % --confirm server1";
    let refused = chain.tally(0, init);
    assert!(refused.err.contains("store.not_empty"), "{}", refused.err);
    let data = chain.dir(0).join("data");
    std::fs::rename(data.join("chain"), data.join("chain.damaged")).expect("moved");
    let ran = chain.tally(0, init);
    assert_eq!(ran.code, 0, "{}", ran.err);
    chain.start(0);
    reaches(&chain.client(0), 1).await;
}
