"""Verification of Ed25519 by the rules of ZIP 215 (https://zips.z.cash/zip-0215). Slow; for checking vectors only."""

import hashlib

P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P
ROOT_OF_MINUS_ONE = pow(2, (P - 1) // 4, P)


def _decode(raw):
    """The point of an encoding, in any form that ZIP 215 accepts, or None."""
    number = int.from_bytes(raw, "little")
    sign, y = number >> 255, (number & (1 << 255) - 1) % P
    x_squared = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(x_squared, (P + 3) // 8, P)
    if (x * x - x_squared) % P:
        x = x * ROOT_OF_MINUS_ONE % P
    if (x * x - x_squared) % P:
        return None
    if x % 2 != sign:
        x = -x % P
    return x, y, 1, x * y % P


def _add(a, b):
    """Twisted Edwards addition in extended coordinates (Hisil and others, 2008); complete."""
    e = (a[1] - a[0]) * (b[1] - b[0]) % P
    f = (a[1] + a[0]) * (b[1] + b[0]) % P
    g, k = 2 * D * a[3] * b[3] % P, 2 * a[2] * b[2] % P
    w, x, y, z = f - e, k - g, k + g, f + e
    return w * x % P, y * z % P, x * y % P, w * z % P


def _times(number, point):
    result = (0, 1, 1, 0)
    while number:
        if number & 1:
            result = _add(result, point)
        point = _add(point, point)
        number >>= 1
    return result


BASE = _decode((4 * pow(5, -1, P) % P).to_bytes(32, "little"))


def verify(key, message, signature):
    """Whether [8][s]B = [8]R + [8][k]A."""
    a, r = _decode(key), _decode(signature[:32])
    s = int.from_bytes(signature[32:], "little")
    if a is None or r is None or s >= ORDER:
        return False
    k = int.from_bytes(hashlib.sha512(signature[:32] + key + message).digest(), "little") % ORDER
    left, right = _times(8 * s, BASE), _times(8, _add(r, _times(k, a)))
    return not (left[0] * right[2] - right[0] * left[2]) % P and not (left[1] * right[2] - right[1] * left[2]) % P
