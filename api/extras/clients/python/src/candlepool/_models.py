"""Generated from /v0/openapi.json: `npm test -- test/api/schema/reference -u` updates it."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict


class Candle(TypedDict):
    """What was traded in one interval."""

    time: str
    open: float
    high: float
    low: float
    close: float
    volume: float
    trades: NotRequired[int]
    buys: NotRequired[int]
    sells: NotRequired[int]
    volumeBase: NotRequired[float]
    volumeQuote: NotRequired[float]
    volumeUsd: NotRequired[float]
    buyVolume: NotRequired[float]
    vwap: NotRequired[float | None]


class Token(TypedDict):
    symbol: str
    name: str
    address: str
    decimals: NotRequired[int]


class Pool(TypedDict):
    """A pool, its tokens in the order on chain."""

    id: str
    network: Literal["ethereum", "arbitrum", "polygon", "base", "optimism"]
    protocolVersion: Literal["dex-v3", "dex-v4"]
    feeTier: str
    liquidity: str
    sqrtPrice: str
    volumeUSD: str
    txCount: str
    totalValueLockedUSD: str
    token0: Token
    token1: Token
    price: NotRequired[float | None]
    change24h: NotRequired[float | None]
    volumeUSD24h: NotRequired[str]
    firstSeen: NotRequired[str]
    venue: NotRequired[Literal["uniswap", "sushi", "pancake", "slipstream", "algebra"]]
    hooks: NotRequired[str | None]
    hookDeltas: NotRequired[bool]


class PairSums(TypedDict):
    """Sums over the pools of a pair that the filters leave."""

    pools: int
    volumeUSD24h: str
    totalValueLockedUSD: str
    heldUSD24h: str
    buys24h: int | None
    sells24h: int | None


class ListedPool(TypedDict):
    """A pool with the figures of its last day, in the order on chain. They are at most a minute old."""

    id: str
    network: Literal["ethereum", "arbitrum", "polygon", "base", "optimism"]
    protocolVersion: Literal["dex-v3", "dex-v4"]
    feeTier: str
    liquidity: str
    sqrtPrice: str
    volumeUSD: str
    txCount: str
    totalValueLockedUSD: str
    token0: Token
    token1: Token
    price: float | None
    change24h: float | None
    volumeUSD24h: str
    firstSeen: str
    venue: Literal["uniswap", "sushi", "pancake", "slipstream", "algebra"]
    hooks: str | None
    hookDeltas: bool
    change1h: float | None
    change5m: float | None
    heldUSD24h: str
    buys24h: int | None
    sells24h: int | None
    symbol: str
    isTrusted: bool
    pair: NotRequired[PairSums]


class PoolList(TypedDict):
    data: list[ListedPool]
    next_cursor: str | None
    credits_used: int


class Tick(TypedDict):
    """One swap, as its taker saw it."""

    id: str
    timestamp: str
    price: float
    side: Literal["buy", "sell"]
    amount0: str
    amount1: str
    amountUSD: float
    token0: str
    token1: str
    block: NotRequired[int]
    logIndex: NotRequired[int]
    sender: NotRequired[str | None]
    hookAmount0: NotRequired[str | None]
    hookAmount1: NotRequired[str | None]
    effectivePrice: NotRequired[float | None]


class UsageCreditsMinute(TypedDict):
    used: int
    limit: int
    remaining: int
    reset_at: str


class UsageCreditsMonth(TypedDict):
    used: int
    limit: int
    remaining: int
    reset_at: str
    billing_period_start: str | None


class UsageCredits(TypedDict):
    minute: UsageCreditsMinute
    month: UsageCreditsMonth


class UsageApiCallsMinute(TypedDict):
    used: int


class UsageApiCallsMonth(TypedDict):
    used: int


class UsageApiCalls(TypedDict):
    """Every request with a good key is a call, whatever becomes of it."""

    minute: UsageApiCallsMinute
    month: UsageApiCallsMonth


class Usage(TypedDict):
    credits: UsageCredits
    api_calls: UsageApiCalls
    subscription_plan: str


class HealthNetworksTip(TypedDict):
    number: int
    hash: str
    time: str


class HealthNetworksHalted(TypedDict):
    stages: list[Literal["listener", "aggregator"]]
    since: str


class HealthNetworks(TypedDict):
    network: Literal["ethereum", "arbitrum", "polygon", "base", "optimism"]
    devnet: bool
    tip: HealthNetworksTip | None
    lag_seconds: int | None
    halted: HealthNetworksHalted | None
    reason: str | None


class Health(TypedDict):
    status: Literal["ok", "degraded"]
    networks: list[HealthNetworks]
