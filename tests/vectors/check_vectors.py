#!/usr/bin/env python3
"""Checks the golden vectors in testdata/ without any of Tallystick's own code.

An independent reading of docs/formats, with Python's standard library only: a strict CBOR reader, the hashes, the Merkle
trees and proofs, transaction ids, tear-offs, composite keys, both signature schemes (slow, plain arithmetic), and the schema.

Usage: check_vectors.py TESTDATA_FOLDER SCHEMA
"""

import hashlib
import json
import pathlib
import sys

import chain
from cddl import Schema
from ed25519 import verify as verify_ed25519
from p256 import verify as verify_p256
from strict_cbor import Refused, decode, encode

NODE, GROUP, TRANSACTION_ID, BATCH_LEAF, SIGNATURE = 0x03, 0x04, 0x05, 0x06, 0x07
NONCE, LEAF, PARTY_ID, CONSUMING, ATTACHMENT, DOCUMENT, NOTARY_REQUEST = 0x01, 0x02, 0x08, 0x0C, 0x0D, 0x0E, 0x0F
SCHEMES = {"ed25519": 1, "p256": 2}
ZERO = bytes(32)
checks = 0


def expect(found, wanted, what):
    global checks
    checks += 1
    if found != wanted:
        sys.exit(f"{what}: found {found!r}, wanted {wanted!r}")


def h(domain, *parts):
    return hashlib.sha256(bytes([domain]) + b"".join(parts)).digest()


def u32(number):
    return number.to_bytes(4, "big")


# Merkle trees: RFC 6962, section 2.1.


def split(count):
    size = 1
    while size * 2 < count:
        size *= 2
    return size


def merkle_root(leaves):
    if len(leaves) == 1:
        return leaves[0]
    at = split(len(leaves))
    return h(NODE, merkle_root(leaves[:at]), merkle_root(leaves[at:]))


def climb(leaf, index, count, path):
    """The root that a proof leads to, from the definition of the tree: the siblings come leaf first."""
    if count == 1:
        if path:
            raise ValueError("a proof with too many hashes")
        return leaf
    at = split(count)
    sibling, rest = path[-1], path[:-1]
    if index < at:
        return h(NODE, climb(leaf, index, at, rest), sibling)
    return h(NODE, sibling, climb(leaf, index - at, count - at, rest))


def partial_root(first, count, leaves, hashes):
    """The root of a part of a tree, of which `leaves` are shown; `hashes` holds what is not, left to right."""
    if not any(first <= index < first + count for index in leaves):
        return hashes.pop(0)
    if count == 1:
        return leaves[first]
    at = split(count)
    left = partial_root(first, at, leaves, hashes)
    return h(NODE, left, partial_root(first + at, count - at, leaves, hashes))


def group_hash(group, leaves):
    root = merkle_root(leaves) if leaves else ZERO
    return h(GROUP, bytes([group]), u32(len(leaves)), root)


def transaction_id(group_hashes):
    return h(TRANSACTION_ID, b"\x01", merkle_root(group_hashes))


# Keys and signatures.


def key_of_text(text):
    scheme, digits = text.split(":")
    return [SCHEMES[scheme], bytes.fromhex(digits)]


def leaves_of(key):
    if key[0] in (1, 2):
        return [key]
    return [leaf for _, child in key[2] for leaf in leaves_of(child)]


def is_fulfilled(key, signers):
    if key[0] in (1, 2):
        return key in signers
    return sum(weight for weight, child in key[2] if is_fulfilled(child, signers)) >= key[1]


def signed_hash(scheme, context, message):
    return h(SIGNATURE, bytes([scheme, context]), message)


def is_valid(key, context, message, signature):
    scheme, raw = signature
    if key[0] != scheme:
        return False
    verify = verify_ed25519 if scheme == 1 else verify_p256
    return verify(key[1], signed_hash(scheme, context, message), raw)


def check_shown(entry):
    """One check of a signature as the files show it; returns its message."""
    key, message = key_of_text(entry["key"]), bytes.fromhex(entry["message"])
    signature = [entry["scheme"], bytes.fromhex(entry["signature"])]
    hash_ = signed_hash(entry["scheme"], entry["context"], message)
    expect(hash_.hex(), entry["signed_hash"], "signed hash")
    expect(is_valid(key, entry["context"], message, signature), entry["valid"], f"verdict: {entry['what']}")
    return message


def check_signatures(document):
    """Published vectors sign any message; `accepted` is the verdict of the rules in signatures.md."""
    for name, verify in [
        ("speccheck", verify_ed25519),
        ("wycheproof_ed25519", verify_ed25519),
        ("wycheproof_p256", verify_p256),
    ]:
        for row in document[name]:
            key, message, signature = (bytes.fromhex(row[field]) for field in ("key", "message", "signature"))
            found = len(signature) == 64 and verify(key, message, signature)
            expect(found, row["accepted"], f"{name} {row['id']}")


def signed_message(id_, signature):
    """Context and message of a transaction's signature, [key, [scheme, bytes], proof or null]."""
    proof = signature[2]
    if proof is None:
        return 1, id_
    index, count, path = proof
    return 2, climb(h(BATCH_LEAF, id_), index, count, path)


# The schema.

FORMATS = [
    ("attachments", ("messages",), "hex", "file-message"),
    ("keys", ("pairs", "composites"), "encoding", "public-key"),
    ("network", ("node_infos",), "encoding", "node-info"),
    ("network", ("node_infos",), "signed", "signed-node-info"),
    ("network", ("parameters",), "encoding", "network-parameters"),
    ("network", ("parameters",), "signed", "signed-network-parameters"),
    ("network", ("descriptors",), "encoding", "contract-descriptor"),
    ("notary", ("requests",), "encoding", "notary-request"),
    ("notary", ("responses",), "encoding", "notary-response"),
    ("tear_offs", ("tear_offs",), "encoding", "filtered-transaction"),
    ("transactions", ("unsigned",), "encoding", "wire-transaction"),
    ("transactions", ("signed",), "encoding", "signed-transaction"),
]


def check_schema(files, schema):
    """Every vector is what its rule describes, and what no other format's rule does."""
    rules = sorted({rule for _, _, _, rule in FORMATS})
    for name, fields, encoding, wanted in FORMATS:
        for entry in (entry for field in fields for entry in files[name][field]):
            item = decode(bytes.fromhex(entry[encoding]))
            found = [rule for rule in rules if schema.matches(rule, item)]
            expect(found, [wanted], f"rules that {name} {entry.get('name', '')} matches")


# The files.


def check_cbor(file):
    for entry in file["accepted"]:
        raw = bytes.fromhex(entry["hex"])
        expect(encode(decode(raw)), raw, entry["what"])
    for entry in file["refused"]:
        try:
            decode(bytes.fromhex(entry["hex"]))
        except Refused:
            expect(True, True, entry["what"])
        else:
            sys.exit(f"not refused: {entry}")


def check_hashes(file):
    for entry in file["domains"]:
        expect(h(entry["domain"], b"abc").hex(), entry["hash_of_abc"], entry["name"])
    for tree in file["trees_of_leaves_that_hash_their_index"]:
        leaves = [h(LEAF, u32(index)) for index in range(tree["count"])]
        expect(merkle_root(leaves).hex(), tree["root"], "root")
        for proof in tree["proofs"]:
            path = [bytes.fromhex(hash_) for hash_ in proof["path"]]
            root = climb(leaves[proof["index"]], proof["index"], proof["count"], path)
            expect(root.hex(), tree["root"], "root by a proof")
    for party in file["parties"]:
        id_ = h(PARTY_ID, party["name"].encode()).hex()
        expect(id_, party["id"], party["name"])
        expect(f"p{id_[:40]}.party.tally", party["dns_name"], party["name"])


def check_keys(file):
    composites = {}
    for entry in file["pairs"]:
        expect(decode(bytes.fromhex(entry["encoding"])), key_of_text(entry["key"]), "key")
    for entry in file["composites"]:
        key = composites[entry["name"]] = decode(bytes.fromhex(entry["encoding"]))
        expect(sorted(leaves_of(key)), [key_of_text(text) for text in entry["leaves"]], "leaves")
        children = [encode(child) for _, child in key[2]]
        expect(children, sorted(children), "order of children")
    for entry in file["fulfilment"]:
        signers = [key_of_text(text) for text in entry["signers"]]
        expect(is_fulfilled(composites[entry["key"]], signers), entry["fulfilled"], "fulfilment")
    for entry in file["checks"]:
        check_shown(entry)


def check_transaction(raw):
    """Recomputes a transaction from its encoding; returns its id, its groups and their hashes."""
    version, salt, groups = decode(raw)
    expect((version, len(salt), len(groups)), (1, 32, 9), "shape of a transaction")
    hashes = []
    for group, components in enumerate(groups):
        for component in components:
            expect(encode(decode(component)), component, "a component is canonical")
        nonces = [h(NONCE, salt, bytes([group]), u32(index)) for index in range(len(components))]
        leaves = [h(LEAF, nonce, component) for nonce, component in zip(nonces, components)]
        hashes.append((nonces, leaves, group_hash(group, leaves)))
    return transaction_id([hash_ for _, _, hash_ in hashes]), groups, hashes


def required_signers(groups):
    """The keys that sign the transaction alone, and those that sign a batch."""
    alone = [key for component in groups[6] for key in decode(component)]
    batch = [decode(groups[4][0])[1]] if groups[0] or groups[7] or groups[5] else []
    return alone, batch


def check_transactions(file):
    for entry in file["unsigned"]:
        id_, groups, hashes = check_transaction(bytes.fromhex(entry["encoding"]))
        expect(id_.hex(), entry["id"], f"id of {entry['name']}")
        for shown, components, (nonces, leaves, hash_) in zip(entry["groups"], groups, hashes):
            expect([c["bytes"] for c in shown["components"]], [c.hex() for c in components], "components")
            expect([c["nonce"] for c in shown["components"]], [n.hex() for n in nonces], "nonces")
            expect([c["leaf"] for c in shown["components"]], [leaf.hex() for leaf in leaves], "leaves")
            expect(hash_.hex(), shown["hash"], "group hash")
    for entry in file["signed"]:
        raw = bytes.fromhex(entry["encoding"])
        wire, signatures = decode(raw)
        id_, groups, _ = check_transaction(encode(wire))
        expect(id_.hex(), entry["id"], f"id of {entry['name']}")
        for signature, shown in zip(signatures, entry["signatures"], strict=True):
            context, message = signed_message(id_, signature)
            expect(message, check_shown(shown), "message")
            expect(is_valid(signature[0], context, message, signature[1]), True, "signature")
        for required, is_batch in zip(required_signers(groups), (False, True), strict=True):
            signers = [key for key, _, proof in signatures if (proof is not None) == is_batch]
            fulfilled = [is_fulfilled(key, signers) for key in required]
            expect(all(fulfilled), True, "all required keys have signed")


def filtered_group_hash(group, filtered):
    if filtered[0] == 0:
        return filtered[1]
    if filtered[0] == 1:
        return group_hash(group, [h(LEAF, nonce, component) for nonce, component in filtered[1]])
    _, count, shown, hashes = filtered
    leaves = {index: h(LEAF, nonce, component) for index, nonce, component in shown}
    hashes = list(hashes)
    root = partial_root(0, count, leaves, hashes)
    expect(hashes, [], "hashes left over")
    return h(GROUP, bytes([group]), u32(count), root)


def check_tear_off(tear_off):
    version, id_, groups = tear_off
    expect((version, len(groups)), (1, 9), "shape of a tear-off")
    hashes = [filtered_group_hash(group, filtered) for group, filtered in enumerate(groups)]
    expect(transaction_id(hashes), id_, "id of a tear-off")
    return id_, all(groups[group][0] == 1 for group in (0, 4, 5, 7, 8))


def check_tear_offs(file):
    for entry in file["tear_offs"]:
        id_, enough = check_tear_off(decode(bytes.fromhex(entry["encoding"])))
        expect((id_.hex(), enough), (entry["id"], entry["enough_for_a_notary"]), entry["name"])


def check_notary(file):
    for entry in file["requests"]:
        (form, subject), _requester, key, signature = decode(bytes.fromhex(entry["encoding"]))
        if form == 0:
            id_, enough = check_tear_off(subject)
            expect(enough, True, "a notary's tear-off")
            party = subject[2][4][1][0][1]
        else:
            id_, groups, _ = check_transaction(encode(subject[0]))
            party = groups[4][0]
        notary = h(PARTY_ID, decode(party)[0].encode())
        expect(notary.hex(), entry["notary"], "notary")
        message = h(NOTARY_REQUEST, id_, notary)
        expect(message, check_shown(entry["check"]), "message of a request")
        expect(is_valid(key, 3, message, signature), True, "signature of a request")
    for entry in file["responses"]:
        decode(bytes.fromhex(entry["encoding"]))


def check_network(file):
    root = key_of_text(file["root_key"])
    for field, context in (("node_infos", 4), ("parameters", 5)):
        for entry in file[field]:
            document, by, signature = decode(bytes.fromhex(entry["signed"]))
            expect(document.hex(), entry["encoding"], "document")
            expect(by, root, "signer")
            message = h(DOCUMENT, document)
            expect(message.hex(), entry["hash"], "hash of a document")
            expect(is_valid(by, context, message, signature), True, "signature of a document")
    for entry in file["descriptors"]:
        raw = bytes.fromhex(entry["encoding"])
        expect(h(ATTACHMENT, raw).hex(), entry["hash"], "hash of a descriptor")
        *unsigned, signature = decode(raw)
        message = h(DOCUMENT, encode(unsigned))
        expect(message, check_shown(entry["check"]), "message of a descriptor")
        expect(is_valid(unsigned[3], 6, message, signature), True, "signature of a descriptor")


def check_attachments(file):
    """Messages of one form; what CDDL does not say about those that are refused is said by the decoder's own tests."""
    for entry in file["messages"]:
        raw = bytes.fromhex(entry["hex"])
        expect(encode(decode(raw)), raw, entry["name"])
    data = next(decode(bytes.fromhex(entry["hex"])) for entry in file["messages"] if entry["name"] == "data")
    expect(hashlib.sha256(data[3]).digest(), data[1], "hash of a file in one part")


def check_chain(file):
    chain.check_chain(file, expect)


def check_chain_messages(file):
    chain.check_chain_messages(file, expect)


def main():
    folder, schema = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    files = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("*.json")}
    expect(sorted(files), ["attachments", "cbor", "chain", "chain_messages", "hashes", "keys", "network", "notary", "signatures", "tear_offs", "transactions"], "files")
    check_schema(files, Schema(schema.read_text(encoding="utf-8")))
    for name, file in files.items():
        globals()[f"check_{name}"](file)
    print(f"{checks} checks of the golden vectors passed")


if __name__ == "__main__":
    main()
