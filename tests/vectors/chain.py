"""The chain's formats (docs/formats/chain.md) read anew: accounts, transactions, headers, genesis, proof of stake, messages."""

import hashlib

from ed25519 import verify as verify_ed25519

ACCOUNT, TRANSACTION, BLOCK, GENESIS, SIGNATURE, NODE = 0x13, 0x14, 0x15, 0x16, 0x07, 0x03
TRANSACTION_CONTEXT, BLOCK_CONTEXT = 9, 10
ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
HEADER = 237


def h(domain, *parts):
    return hashlib.sha256(bytes([domain]) + b"".join(parts)).digest()


def number(raw):
    return int.from_bytes(raw, "big")


def account_of(key):
    return h(ACCOUNT, key)[:16]


def account_text(account):
    raw = account + h(ACCOUNT, b"check", account)[:2]
    bits = number(raw) << 1
    digits = "".join(ALPHABET[bits >> 5 * (28 - at) & 31] for at in range(29))
    return "TLY-" + "-".join(digits[at : at + 5] for at in range(0, 29, 5))


def transaction_length(raw):
    if raw[0] != 1 or raw[1] not in (0x01, 0x02, 0x81, 0x83):
        raise ValueError(f"version {raw[0]}, kind {raw[1]}")
    return 149 if raw[1] < 0x80 else 151 + number(raw[85:87])


def is_signed(key, context, message, signature):
    return verify_ed25519(key, h(SIGNATURE, bytes([1, context]), message), signature)


def check_transaction(entry, genesis, expect):
    raw, name = bytes.fromhex(entry["bytes"]), entry["name"]
    expect(len(raw), transaction_length(raw), f"length of {name}")
    hash_, sender = h(TRANSACTION, genesis, raw[:-64]), raw[9:41]
    expect(hash_.hex(), entry["hash"], f"hash of {name}")
    expect((raw[3:7] + hash_[:28]).hex(), entry["id"], f"id of {name}")
    expect(account_text(account_of(sender)), entry["sender"], f"sender of {name}")
    expect(is_signed(sender, TRANSACTION_CONTEXT, hash_, raw[-64:]), True, f"signature of {name}")


def check_rows(rows, genesis, transactions, expect):
    header = bytes.fromhex(rows["header"])
    expect(len(header), HEADER, "length of a header")
    hash_ = h(BLOCK, genesis, header[:-64])
    expect(hash_.hex(), rows["header_hash"], "hash of a header")
    expect(is_signed(header[41:73], BLOCK_CONTEXT, hash_, header[-64:]), True, "signature of a header")
    expect(header[73:105], hashlib.sha256(genesis + header[41:73]).digest(), "generation of a header")
    # One transaction: the root is its id.
    expect(header[-96:-64].hex(), transactions[0]["id"], "root of a header")
    row = header + hash_ + (100_000_000).to_bytes(8, "big") + bytes(4) + bytes([1, 2, 0, 0, 0, 7])
    expect(row.hex(), rows["headers"], "row of a header")
    # Chain 1: one at 0. Chain 2: two, at 149 and 99,851 after it.
    expect(rows["account_txs"], bytes([1, 1, 0, 2, 2, 149, 1, 0x8B, 0x8C, 0x06]).hex(), "row of an account's transactions")
    expect(rows["tx_index"], "0000000500000095", "row of a transaction's place")
    expect(rows["held_key"][32:], "fffffffa", "inverted height")


def next_target(profile, initial, current, elapsed):
    seconds, span, limit, gamma, least, greatest = profile
    aim = span * seconds * 100
    held = min(max(elapsed * 100, aim - span * seconds * limit), aim + span * seconds * limit)
    if held > aim:
        target = current * held // aim
    else:
        target = current - current * ((aim - held) * gamma) // (aim * 100)
    return min(max(target, initial * least // 100), initial * greatest // 100)


PROFILES = {"production": (60, 2, 12, 64, 90, 5_000), "loadtest": (5, 2, 12, 64, 90, 5_000)}


def check_forging(file, genesis, expect):
    """Two forgers of 10,000 tokens each, under the profile `loadtest`."""
    initial = target = int(file["genesis"]["base_target"])
    generation, difficulty, times = genesis, 0, [0]
    keys = {entry["sender"]: bytes.fromhex(entry["bytes"])[9:41] for entry in file["transactions"]}
    forgers = [keys[account_text(account_of(key))] for key in keys.values()]
    other = bytes.fromhex(file["rows"]["header"])[41:73]
    forgers = {account_text(account_of(key)): key for key in forgers + [other]}
    for block in file["forging"]:
        turns = []
        for name, key in forgers.items():
            made = hashlib.sha256(generation + key).digest()
            hit = int.from_bytes(made[:8], "little")
            turns.append((times[-1] + hit // (target * 10_000) + 1, key, name, made, hit))
        time, _, name, generation, hit = min(turns)
        difficulty += max((5 << 64) // (target * (time - times[-1])), 1)
        times.append(time)
        if block["height"] % 2 == 0:
            target = next_target(PROFILES["loadtest"], initial, target, time - times[-3])
        found = (name, generation.hex(), str(hit), time, str(target), str(difficulty))
        wanted = tuple(block[field] for field in ("forger", "generation", "hit", "time", "base_target", "difficulty"))
        expect(found, wanted, f"block {block['height']}")


def check_chain(file, expect):
    account = file["account"]
    expect(account_text(account_of(bytes.fromhex(account["key"]))), account["account"], "account")
    genesis = h(GENESIS, bytes.fromhex(file["genesis"]["bytes"]))
    expect(genesis.hex(), file["genesis"]["hash"], "genesis")
    # Two accounts with 10^12 minor units of 8 decimals each.
    expect(str((1 << 63) // (5 * 20_000)), file["genesis"]["base_target"], "first base target")
    for entry in file["transactions"]:
        check_transaction(entry, genesis, expect)
    check_rows(file["rows"], genesis, file["transactions"], expect)
    check_forging(file, genesis, expect)
    for entry in file["base_targets"]:
        numbers = (int(entry[field]) for field in ("initial", "current", "elapsed"))
        expect(str(next_target(PROFILES[entry["profile"]], *numbers)), entry["next"], "base target")


def transactions_of(raw):
    while raw:
        length = transaction_length(raw)
        yield raw[:length]
        raw = raw[length:]


def check_chain_messages(file, expect):
    """Lengths and orders; the kinds are those of docs/formats/chain-messages.md."""
    messages = {(part, entry["what"]): bytes.fromhex(entry["hex"]) for part in file for entry in file[part]}
    for (part, what), raw in messages.items():
        kind, rest = raw[0], raw[1:]
        if (part, kind) in (("questions", 1), ("answers", 1)):
            expect(len(rest), 4 + 32 + 16, f"{part}: {what}")
        elif (part, kind) in (("gossip", 1), ("answers", 4)):
            expect(sum(map(len, transactions_of(rest))), len(rest), f"{part}: {what}")
        elif (part, kind) in (("questions", 2), ("questions", 3), ("answers", 6)):
            expect(len(rest) % 32, 0, f"{part}: {what}")
        elif (part, kind) == ("answers", 2):
            expect((len(rest) - 32) % HEADER, 0, f"{part}: {what}")
        elif (part, kind) == ("gossip", 2):
            ids = [rest[at : at + 32] for at in range(HEADER, len(rest), 32)]
            expect((ids, len(rest)), (sorted(set(ids)), HEADER + 32 * len(ids)), f"{part}: {what}")
        elif (part, kind) == ("gossip", 3):
            length = transaction_length(rest)
            count = number(rest[length : length + 4])
            expect(len(rest), length + 4 + 32 * count, f"{part}: {what}")
