"""Validates decoded items against docs/formats/tallystick.cddl: just the part of CDDL (RFC 8610) that this file uses.

Types are tuples: ("name", n), ("literal", n), ("range", low, high), ("choice", [types]), ("array", [(low, high, type)]),
("size", type, low, high), ("regexp", type, text), ("cbor", type, inner).
"""

import re

from strict_cbor import Refused, decode

_TOKEN = re.compile(r"\s+|;[^\n]*|(\"[^\"]*\"|\.\.|\.[a-z]+|[a-z][a-z0-9-]*|[0-9]+|[][()/:=,?*])")
_PRELUDE = {
    "uint": lambda item: type(item) is int and 0 <= item < 1 << 64,
    "bytes": lambda item: type(item) is bytes,
    "tstr": lambda item: type(item) is str,
    "bool": lambda item: type(item) is bool,
    "null": lambda item: item is None,
}


class Schema:
    """The rules of a CDDL file, by name."""

    def __init__(self, text):
        self.tokens, at = [], 0
        while at < len(text):
            match = _TOKEN.match(text, at)
            if not match:
                raise ValueError(f"unknown CDDL at {text[at:at + 30]!r}")
            self.tokens += [match[1]] if match[1] else []
            at = match.end()
        self.at, self.rules = 0, {}
        while self.at < len(self.tokens):
            name = self._next()
            self._expect("=")
            self.rules[name] = self._type()

    def matches(self, rule, item):
        """Whether an item is what a rule describes."""
        return self._matches(self.rules[rule], item)

    # Reading.

    def _peek(self, ahead=0):
        at = self.at + ahead
        return self.tokens[at] if at < len(self.tokens) else ""

    def _next(self):
        self.at += 1
        return self.tokens[self.at - 1]

    def _expect(self, token):
        if self._next() != token:
            raise ValueError(f"CDDL: {token} is missing after {self.tokens[self.at - 6:self.at]}")

    def _take(self, token):
        found = self._peek() == token
        self.at += found
        return found

    def _number(self):
        return int(self._next())

    def _type(self):
        types = [self._controlled()]
        while self._take("/"):
            types.append(self._controlled())
        return types[0] if len(types) == 1 else ("choice", types)

    def _controlled(self):
        type_ = self._primary()
        if self._take(".size"):
            if self._take("("):
                low = self._number()
                self._expect("..")
                high = self._number()
                self._expect(")")
                return "size", type_, low, high
            size = self._number()
            return "size", type_, size, size
        if self._take(".regexp"):
            return "regexp", type_, self._next()[1:-1]
        if self._take(".cbor"):
            return "cbor", type_, self._primary()
        return type_

    def _primary(self):
        if self._take("["):
            entries = []
            while not self._take("]"):
                entries.append(self._entry())
                self._take(",")
            return "array", entries
        if self._peek().isdigit():
            low = self._number()
            return ("range", low, self._number()) if self._take("..") else ("literal", low)
        return "name", self._next()

    def _entry(self):
        low, high = 1, 1
        if self._take("?"):
            low = 0
        elif self._peek().isdigit() and self._peek(1) == "*":
            low = self._number()
            self._expect("*")
            high = self._number()
        if self._peek(1) == ":":
            self.at += 2
        return low, high, self._type()

    # Matching.

    def _matches(self, type_, item):
        kind = type_[0]
        if kind == "name":
            if type_[1] in self.rules:
                return self._matches(self.rules[type_[1]], item)
            return _PRELUDE[type_[1]](item)
        if kind == "literal":
            return type(item) is int and item == type_[1]
        if kind == "range":
            return type(item) is int and type_[1] <= item <= type_[2]
        if kind == "choice":
            return any(self._matches(one, item) for one in type_[1])
        if kind == "array":
            return type(item) is list and self._matches_entries(type_[1], item)
        if not self._matches(type_[1], item):
            return False
        if kind == "size":
            length = len(item.encode() if isinstance(item, str) else item)
            return type_[2] <= length <= type_[3]
        if kind == "regexp":
            return re.fullmatch(type_[2], item) is not None
        try:
            return self._matches(type_[2], decode(item))
        except Refused:
            return False

    def _matches_entries(self, entries, items):
        """Each entry takes as many items as it can; no format has two entries in a row that could take the same item."""
        at = 0
        for low, high, type_ in entries:
            taken = 0
            while taken < high and at < len(items) and self._matches(type_, items[at]):
                taken, at = taken + 1, at + 1
            if taken < low:
                return False
        return at == len(items)
