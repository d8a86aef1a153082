"""Verification of ECDSA on P-256 with SHA-256 (FIPS 186-5), `s` in the lower half. Slow; for checking vectors only."""

import hashlib

P = 2**256 - 2**224 + 2**192 + 2**96 - 1
ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
B = 0x5AC635D8AA3A93E7B3EBBD55769886BC651D06B0CC53B0F63BCE3C3E27D2604B
BASE = (
    0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
    0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5,
)


def _decode(raw):
    """The point of a compressed encoding (SEC 1, 2.3.4), or None."""
    x = int.from_bytes(raw[1:], "big")
    if raw[0] not in (2, 3) or x >= P:
        return None
    squared = (x * x * x - 3 * x + B) % P
    y = pow(squared, (P + 1) // 4, P)
    if y * y % P != squared:
        return None
    return x, (y if y % 2 == raw[0] % 2 else P - y)


def _add(a, b):
    """Addition of affine points; None is the neutral one."""
    if a is None or b is None:
        return a or b
    if a[0] == b[0]:
        if (a[1] + b[1]) % P == 0:
            return None
        slope = (3 * a[0] * a[0] - 3) * pow(2 * a[1], -1, P) % P
    else:
        slope = (b[1] - a[1]) * pow(b[0] - a[0], -1, P) % P
    x = (slope * slope - a[0] - b[0]) % P
    return x, (slope * (a[0] - x) - a[1]) % P


def _times(number, point):
    result = None
    while number:
        if number & 1:
            result = _add(result, point)
        point = _add(point, point)
        number >>= 1
    return result


def verify(key, message, signature):
    """Whether the x of [e/s]G + [r/s]Q is r."""
    point = _decode(key)
    r, s = int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:], "big")
    if point is None or not 0 < r < ORDER or not 0 < s <= ORDER // 2:
        return False
    e = int.from_bytes(hashlib.sha256(message).digest(), "big")
    inverse = pow(s, -1, ORDER)
    sum_ = _add(_times(e * inverse % ORDER, BASE), _times(r * inverse % ORDER, point))
    return sum_ is not None and sum_[0] % ORDER == r
