"""Answers as pandas frames. pandas is loaded only when a frame is requested."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ._models import Balance, FoundGroup, FoundState
from .errors import TallystickError

if TYPE_CHECKING:
    import pandas

__all__ = ["balances_frame", "groups_frame", "states_frame"]

#: The maximum sum that a column of pandas' own integers holds; columns with larger sums hold Python's integers.
UINT64_MAX = 2**64 - 1


def _pandas() -> Any:
    try:
        import pandas
    except ImportError as cause:
        raise TallystickError(
            "pandas is not installed", code="client.no_pandas", hint="pip install 'tallystick[pandas]'"
        ) from cause
    return pandas


def states_frame(states: Iterable[FoundState]) -> pandas.DataFrame:
    """Returns one row for each state, indexed by its `state_ref`. Times are UTC. Quantities are in minor units, and missing
    if a state is not fungible. Columns of contracts are prefixed with their contract's name, such as `tally.paper.face`. They
    are text: `astype("UInt64")` converts a column of numbers."""
    found = list(states)
    pd = _pandas()
    fungible = [state.fungible for state in found]
    data: dict[str, Any] = {
        "number": pd.array([state.number for state in found], dtype="UInt64"),
        "contract": [state.contract for state in found],
        "symbol": [None if one is None else one.symbol for one in fungible],
        "quantity": pd.array([None if one is None else int(one.quantity) for one in fungible], dtype="UInt64"),
        "issuer": [None if one is None else one.issuer for one in fungible],
        "token": [None if one is None else one.token for one in fungible],
        "notary": [state.notary for state in found],
        "linear_id": [state.linear_id for state in found],
        "locked_by": [state.locked_by for state in found],
        "recorded_at": _times(pd, [state.recorded_at_ms for state in found]),
        "consumed_at": _times(pd, [state.consumed_at_ms for state in found]),
    }
    for name in sorted({name for state in found for name in state.columns}):
        data[name] = [state.columns.get(name) for state in found]
    frame: pandas.DataFrame = pd.DataFrame(data, index=pd.Index([state.state_ref for state in found], name="state_ref"))
    return frame


def balances_frame(balances: Iterable[Balance]) -> pandas.DataFrame:
    """Returns one row for each token, indexed by its symbol and issuer."""
    found = list(balances)
    pd = _pandas()
    index = pd.MultiIndex.from_arrays([[one.symbol for one in found], [one.issuer for one in found]], names=["symbol", "issuer"])
    data = {
        "quantity": _sums(pd, [int(one.quantity) for one in found]),
        "states": pd.array([one.states for one in found], dtype="UInt64"),
        "token": [one.token for one in found],
    }
    frame: pandas.DataFrame = pd.DataFrame(data, index=index)
    return frame


def groups_frame(groups: Iterable[FoundGroup], fields: Sequence[str]) -> pandas.DataFrame:
    """Returns one row for each group, indexed by the values that it was grouped by."""
    found = list(groups)
    pd = _pandas()
    index = None
    if fields:
        index = pd.MultiIndex.from_tuples([tuple(one.key) for one in found], names=list(fields))
        index = index.get_level_values(0) if len(fields) == 1 else index
    data = {
        "states": pd.array([one.states for one in found], dtype="UInt64"),
        "quantity": _sums(pd, [int(one.quantity) for one in found]),
    }
    frame: pandas.DataFrame = pd.DataFrame(data, index=index)
    return frame


def _sums(pd: Any, values: list[int]) -> Any:
    fits = all(value <= UINT64_MAX for value in values)
    return pd.array(values, dtype="UInt64") if fits else pd.Series(values, dtype=object).array


def _times(pd: Any, ms: list[int | None]) -> Any:
    # Whole milliseconds: floating point would lose some.
    values = pd.array(ms, dtype="Int64")
    return pd.to_datetime(values, unit="ms", utc=True)
