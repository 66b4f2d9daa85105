"""Requests, whole ranges by pages, and streams."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast
from urllib.parse import unquote

import httpx

from ._errors import CandlepoolError, error_of
from ._models import Candle, Health, Pool, PoolList, Tick, Usage
from ._stream import Event, follow

if TYPE_CHECKING:
    import pandas

Row = TypeVar("Row", Candle, Tick)
#: A `date` is its midnight in UTC, a number is seconds since 1970. A `datetime` has a time zone.
Time = datetime | date | int | float | str

_MAX_CANDLES = 100
_MAX_TICKS = 1_000
_FIRST_PAUSE = 0.25
_MAX_PAUSE = 60.0


@dataclass
class Answer(Generic[Row]):
    """Rows ascend in time. `incomplete`: time that is not stored; `final_until`: a reorg changes nothing before it."""

    rows: list[Row]
    network: str
    pool: str
    pair: str
    incomplete: list[tuple[str, str]]
    final_until: str | None
    credits_used: int

    def df(self, *, decimals: bool = False) -> pandas.DataFrame:
        """A data frame with a UTC index. Amounts of ticks are doubles, or exact `Decimal` objects with `decimals`."""
        try:
            import pandas
        except ImportError as error:
            raise ImportError("Data frames need pandas: pip install 'candlepool[pandas]'.") from error
        frame = pandas.DataFrame(cast("list[dict[str, Any]]", self.rows))
        if frame.empty:
            return frame
        for name in ("amount0", "amount1"):
            if name in frame:
                frame[name] = frame[name].map(Decimal if decimals else float)
        key = "time" if "time" in frame else "timestamp"
        frame[key] = pandas.to_datetime(frame[key], utc=True)
        return frame.set_index(key)


class Client:
    """`retries`: repetitions of a request after 429, 5xx or no answer."""

    def __init__(self, base_url: str, key: str | None = None, *, timeout: float = 30.0, retries: int = 4) -> None:
        headers = {} if key is None else {"X-API-KEY": key}
        self._http = httpx.Client(base_url=base_url.rstrip("/"), headers=headers, timeout=timeout)
        self._retries = retries

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    def candles(
        self,
        symbol: str | None = None,
        *,
        pool: str | None = None,
        interval: str,
        from_: Time | None = None,
        to: Time | None = None,
        limit: int | None = None,
        networks: Sequence[str] | None = None,
        price: str | None = None,
        fill: str | None = None,
        include: Sequence[str] | None = None,
    ) -> Answer[Candle]:
        """With `from_` and without `limit`, every candle of the range, page by page; else one request."""
        query = _query(
            symbol, pool, from_, to, networks, price, interval=interval, fill=fill, include=_listed(include)
        )
        if limit is not None or from_ is None:
            return self._page("/v0/candles", {**query, **_given(limit=limit)})
        pages: list[Answer[Candle]] = []
        while True:
            page: Answer[Candle] = self._page("/v0/candles", {**query, "limit": _MAX_CANDLES})
            pages.append(page)
            if len(page.rows) < _MAX_CANDLES or _moment(page.rows[0]["time"]) <= _moment(from_):
                return _joined(pages)
            query["to"] = page.rows[0]["time"]

    def ticks(
        self,
        symbol: str | None = None,
        *,
        pool: str | None = None,
        from_: Time | None = None,
        to: Time | None = None,
        limit: int | None = None,
        networks: Sequence[str] | None = None,
        price: str | None = None,
        include: Sequence[str] | None = None,
    ) -> Answer[Tick]:
        """With `from_` and without `limit`, every tick of the range once, page by page; else one request."""
        query = _query(symbol, pool, from_, to, networks, price, include=_listed(include))
        if limit is not None or from_ is None:
            return self._page("/v0/ticks", {**query, **_given(limit=limit)})
        pages: list[Answer[Tick]] = []
        known: set[str] = set()
        while True:
            page: Answer[Tick] = self._page("/v0/ticks", {**query, "limit": _MAX_TICKS})
            rows = page.rows
            page.rows = [row for row in rows if row["id"] not in known]
            pages.append(page)
            if len(rows) < _MAX_TICKS:
                return _joined(pages)
            oldest = rows[0]["timestamp"]
            if oldest == rows[-1]["timestamp"]:
                raise OverflowError(f"{oldest} has more ticks than a page: read them from an export.")
            known = {row["id"] for row in rows}
            query["to"] = _text(_moment(oldest) + timedelta(seconds=1))

    def pools(
        self, symbol: str | None = None, *, pool: str | None = None, include: Sequence[str] | None = None
    ) -> list[Pool]:
        query = _given(symbol=symbol, pool=pool, include=_listed(include))
        return self._get("/v0/pools", query).json()["data"]

    def top_pools(self, **query: Any) -> PoolList:
        """One page of `/v0/pools/top`, with its parameters by name; `cursor=page["next_cursor"]` has the next one."""
        return self._get("/v0/pools/top", _given(**query)).json()

    def new_pools(self, **query: Any) -> PoolList:
        """As `top_pools`, of the pools of the last week."""
        return self._get("/v0/pools/new", _given(**query)).json()

    def usage(self) -> Usage:
        return self._get("/v0/usage", {}).json()

    def health(self) -> Health:
        return self._get("/v0/health", {}).json()

    def stream_candles(
        self,
        symbol: str | None = None,
        *,
        pool: str | Sequence[str] | None = None,
        interval: str,
        include: Sequence[str] | None = None,
        **more: Any,
    ) -> Iterator[Event]:
        """Events without end, resumed where the connection breaks."""
        query = _given(symbol=symbol, pool=pool, interval=interval, include=_listed(include), **more)
        return self._follow("/v0/candles", query)

    def stream_ticks(
        self,
        symbol: str | None = None,
        *,
        pool: str | Sequence[str] | None = None,
        include: Sequence[str] | None = None,
        **more: Any,
    ) -> Iterator[Event]:
        """As `stream_candles`. With `include=["position"]` a row says its block, which orders the ticks of one second."""
        return self._follow("/v0/ticks", _given(symbol=symbol, pool=pool, include=_listed(include), **more))

    def _follow(self, path: str, query: dict[str, Any]) -> Iterator[Event]:
        @contextmanager
        def open_stream(headers: dict[str, str]) -> Iterator[httpx.Response]:
            request = self._http.build_request("GET", path, params=query, headers={**headers, "Accept": "text/event-stream"})
            response = self._send(request, stream=True)
            try:
                yield response
            finally:
                response.close()

        opened: Any = open_stream
        return follow(opened, self._pause)

    def _page(self, path: str, query: dict[str, Any]) -> Answer[Any]:
        response = self._get(path, query)
        body, headers = response.json(), response.headers
        intervals = [text.split("/") for text in headers.get("X-Market-Incomplete", "").split(", ") if text]
        return Answer(
            rows=body["data"],
            network=headers.get("X-Market-Network", ""),
            pool=headers.get("X-Market-Pool", ""),
            pair=unquote(headers.get("X-Market-Pair", "")),
            incomplete=[(start, end) for start, end in intervals],
            final_until=headers.get("X-Market-Final-Until"),
            credits_used=body["credits_used"],
        )

    def _get(self, path: str, query: dict[str, Any]) -> httpx.Response:
        return self._send(self._http.build_request("GET", path, params=query))

    def _send(self, request: httpx.Request, *, stream: bool = False) -> httpx.Response:
        attempt = 0
        while True:
            try:
                response = self._http.send(request, stream=stream)
                if response.is_success:
                    return response
                response.read()
                is_json = "json" in response.headers.get("Content-Type", "")
                problem = response.json() if is_json else {}
                error = error_of(problem, response.status_code, response.headers.get("Retry-After"))
            except httpx.TransportError:
                error = error_of({"message": "The service does not answer."}, 0)
            if not error.is_temporary or attempt >= self._retries:
                raise error
            time.sleep(self._pause(error, attempt))
            attempt += 1

    @staticmethod
    def _pause(error: CandlepoolError, attempt: int) -> float:
        """As the service asks, else doubled at each repetition."""
        own = _FIRST_PAUSE * 2**attempt if error.retry_after is None else error.retry_after
        return min(own, _MAX_PAUSE)


def _query(
    symbol: str | None,
    pool: str | None,
    from_: Time | None,
    to: Time | None,
    networks: Sequence[str] | None,
    price: str | None,
    **more: Any,
) -> dict[str, Any]:
    times = {"from": None if from_ is None else _text(from_), "to": None if to is None else _text(to)}
    return _given(symbol=symbol, pool=pool, networks=_listed(networks), price=price, **times, **more)


def _listed(names: Sequence[str] | None) -> str | None:
    return None if names is None else names if isinstance(names, str) else ",".join(names)


def _given(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _text(moment: Time) -> str:
    if isinstance(moment, str):
        return moment
    if isinstance(moment, (int, float)):
        moment = _from_seconds(moment)
    elif not isinstance(moment, datetime):
        moment = datetime(moment.year, moment.month, moment.day, tzinfo=timezone.utc)
    if moment.tzinfo is None:
        raise ValueError(f"{moment} has no time zone: use datetime(..., tzinfo=timezone.utc).")
    return moment.astimezone(timezone.utc).isoformat().replace("+00:00", "Z")


def _from_seconds(seconds: float) -> datetime:
    try:
        return datetime.fromtimestamp(seconds, tz=timezone.utc)
    except (OverflowError, OSError, ValueError) as error:
        raise ValueError(f"{seconds} is not a time in seconds since 1970.") from error


def _moment(moment: Time) -> datetime:
    """A text without a zone is UTC, as for the service."""
    read = datetime.fromisoformat(_text(moment))
    return read if read.tzinfo else read.replace(tzinfo=timezone.utc)


def _joined(pages: list[Answer[Row]]) -> Answer[Row]:
    """Pages come newest first."""
    newest = pages[0]
    incomplete = [one for page in reversed(pages) for one in page.incomplete]
    return Answer(
        rows=[row for page in reversed(pages) for row in page.rows],
        network=newest.network,
        pool=newest.pool,
        pair=newest.pair,
        incomplete=sorted(set(incomplete)),
        final_until=newest.final_until,
        credits_used=sum(page.credits_used for page in pages),
    )
