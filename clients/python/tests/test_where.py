"""Criteria as Python."""

from __future__ import annotations

import pytest

from tallystick import Where, field, locked
from tallystick.where import where_json

IS_GBP = {"is": {"field": "symbol", "value": "GBP"}}
MANY = {"greater": {"field": "quantity", "value": 9}}


@pytest.mark.parametrize(
    ("where", "json"),
    [
        (field("symbol") == "GBP", IS_GBP),
        (field("symbol") != "GBP", {"not": IS_GBP}),
        (field("quantity") > 9, MANY),
        (field("quantity") < 9, {"less": {"field": "quantity", "value": 9}}),
        (field("quantity") >= 9, {"between": {"field": "quantity", "from": 9}}),
        (field("quantity") <= 9, {"between": {"field": "quantity", "to": 9}}),
        (field("quantity").between(1, 9), {"between": {"field": "quantity", "from": 1, "to": 9}}),
        (field("symbol").one_of(["GBP", "USD"]), {"in": {"field": "symbol", "values": ["GBP", "USD"]}}),
        (field("issuer").startswith("O=Bank"), {"prefix": {"field": "issuer", "value": "O=Bank"}}),
        (locked(), {"locked": True}),
        (~locked(), {"not": {"locked": True}}),
        ((field("symbol") == "GBP") & (field("quantity") > 9), {"and": [IS_GBP, MANY]}),
        ((field("symbol") == "GBP") & (field("quantity") > 9) & locked(False), {"and": [IS_GBP, MANY, {"locked": False}]}),
        ((field("symbol") == "GBP") | ~(field("quantity") > 9), {"or": [IS_GBP, {"not": MANY}]}),
    ],
)
def test_a_comparison_reads_as_the_criterion_it_is(where: Where, json: dict[str, object]) -> None:
    assert where.to_json() == json


def test_what_python_would_judge_itself_is_refused() -> None:
    with pytest.raises(TypeError, match="join criteria"):
        assert (field("symbol") == "GBP") and (field("quantity") > 9)
    with pytest.raises(TypeError, match="compared with a number or text"):
        field("quantity") > 1.5  # type: ignore[operator]  # noqa: B015
    with pytest.raises(TypeError, match="compared with a number or text"):
        field("quantity") == True  # noqa: B015, E712


def test_a_criterion_may_be_given_as_json() -> None:
    assert where_json(IS_GBP) == IS_GBP
    assert where_json(None) is None
