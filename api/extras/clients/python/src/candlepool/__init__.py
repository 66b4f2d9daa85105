"""A client of a Candlepool service: candles, ticks and pools of concentrated-liquidity DEX pools."""

from ._client import Answer, Client
from ._errors import CandlepoolError, InvalidParameters, NotFound, RateLimited, Unauthorized
from ._models import Candle, Health, ListedPool, Pool, PoolList, Tick, Token, Usage
from ._stream import Event

__all__ = [
    "Answer",
    "Candle",
    "CandlepoolError",
    "Client",
    "Event",
    "Health",
    "InvalidParameters",
    "ListedPool",
    "NotFound",
    "Pool",
    "PoolList",
    "RateLimited",
    "Tick",
    "Token",
    "Unauthorized",
    "Usage",
]
