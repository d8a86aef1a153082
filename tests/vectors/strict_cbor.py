"""The one deterministic form of CBOR that docs/formats/cbor.md describes. Maps are read as lists of pairs."""


class Refused(ValueError):
    """The bytes are not canonical, or outside the subset."""


class Pairs(list):
    """A map, as its pairs in their order."""


def decode(raw):
    """The one item that `raw` is."""
    item, at = _item(raw, 0, 0)
    if at != len(raw):
        raise Refused("bytes follow the item")
    return item


def _head(raw, at):
    if at >= len(raw):
        raise Refused("the input ends")
    major, info = raw[at] >> 5, raw[at] & 31
    if info < 24:
        return major, info, at + 1
    if info > 27:
        raise Refused("an indefinite or reserved length")
    width = 1 << (info - 24)
    argument = raw[at + 1 : at + 1 + width]
    if len(argument) < width:
        raise Refused("the input ends")
    value = int.from_bytes(argument, "big")
    if value < (24 if width == 1 else 1 << (4 * width)):
        raise Refused("not the shortest form")
    return major, value, at + 1 + width


def _item(raw, at, depth):
    if depth > 32:
        raise Refused("nested too deeply")
    if at < len(raw) and raw[at] >> 5 == 7:
        simple = {0xF4: False, 0xF5: True, 0xF6: None}
        if raw[at] not in simple:
            raise Refused("a simple value or a float")
        return simple[raw[at]], at + 1
    major, value, at = _head(raw, at)
    if major == 0:
        return value, at
    if major == 1:
        return -1 - value, at
    if major in (2, 3):
        piece = raw[at : at + value]
        if len(piece) < value:
            raise Refused("the input ends")
        if major == 2:
            return piece, at + value
        try:
            return piece.decode("utf-8"), at + value
        except UnicodeDecodeError as error:
            raise Refused("text that is not UTF-8") from error
    if major == 4:
        items = []
        for _ in range(value):
            item, at = _item(raw, at, depth + 1)
            items.append(item)
        return items, at
    if major == 5:
        pairs, before = Pairs(), None
        for _ in range(value):
            start = at
            key, at = _item(raw, at, depth + 1)
            if before is not None and before >= raw[start:at]:
                raise Refused("keys that do not ascend")
            before = raw[start:at]
            item, at = _item(raw, at, depth + 1)
            pairs.append((key, item))
        return pairs, at
    raise Refused("a tag")


def _encoded_head(major, value):
    if value < 24:
        return bytes([major << 5 | value])
    for info, width in ((24, 1), (25, 2), (26, 4), (27, 8)):
        if value < 1 << (8 * width):
            return bytes([major << 5 | info]) + value.to_bytes(width, "big")
    raise ValueError("a number of more than 64 bits")


def encode(item):
    """The encoding of an item."""
    if item is None:
        return b"\xf6"
    if isinstance(item, bool):
        return b"\xf5" if item else b"\xf4"
    if isinstance(item, int):
        return _encoded_head(0, item) if item >= 0 else _encoded_head(1, -1 - item)
    if isinstance(item, bytes):
        return _encoded_head(2, len(item)) + item
    if isinstance(item, str):
        raw = item.encode("utf-8")
        return _encoded_head(3, len(raw)) + raw
    if isinstance(item, Pairs):
        pairs = [encode(key) + encode(value) for key, value in item]
        return _encoded_head(5, len(pairs)) + b"".join(pairs)
    return _encoded_head(4, len(item)) + b"".join(encode(value) for value in item)
