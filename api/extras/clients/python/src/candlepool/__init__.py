"""A client of a Candlepool service: candles, ticks and pools of concentrated-liquidity DEX pools."""

from ._client import Answer, Client
from ._errors import CandlepoolError, InvalidParameters, NotFound, RateLimited, Unauthorized
from ._models import Candle, Health, Pool, Tick, Token, Usage
from ._stream import Event

__all__ = [
    "Answer",
    "Candle",
    "CandlepoolError",
    "Client",
    "Event",
    "Health",
    "InvalidParameters",
    "NotFound",
    "Pool",
    "RateLimited",
    "Tick",
    "Token",
    "Unauthorized",
    "Usage",
]
