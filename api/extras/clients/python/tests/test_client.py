"""Against a running service; see NEEDED."""

from __future__ import annotations

import os
import time
from datetime import date, datetime, timedelta
from decimal import Decimal

import pytest

from candlepool import Client, InvalidParameters, NotFound, RateLimited, Unauthorized

NEEDED = {
    "CANDLEPOOL_URL": "a running service, such as http://127.0.0.1:3000 of npm start",
    "CANDLEPOOL_KEY": "the key that npm start prints",
    "CANDLEPOOL_FREE_KEY": "a key of npm run keys -- create --plan free",
}
MISSING = [f"{name} ({what})" for name, what in NEEDED.items() if name not in os.environ]
if MISSING:
    pytest.skip(f"These tests need {', '.join(MISSING)}.", allow_module_level=True)

URL, KEY, FREE_KEY = (os.environ[name] for name in NEEDED)
PAIR = "WETH-USDC"


@pytest.fixture
def client():
    with Client(URL, KEY) as one:
        yield one


def minute(moment: datetime) -> datetime:
    return moment.replace(second=0, microsecond=0)


def closed_range(client: Client, hours: int) -> tuple[datetime, datetime]:
    """Ends at a minute that new blocks no longer change."""
    tip = client.health()["networks"][0]["tip"]
    assert tip is not None
    end = minute(datetime.fromisoformat(tip["time"].replace("Z", "+00:00"))) - timedelta(minutes=1)
    return end - timedelta(hours=hours), end


def test_a_range_of_candles_is_that_of_single_requests(client: Client):
    start, end = closed_range(client, 5)
    pool = client.candles(PAIR, interval="1m").pool
    answer = client.candles(pool=pool, interval="1m", from_=start, to=end)
    assert len(answer.rows) > 100
    single = []
    step = timedelta(minutes=50)
    moment = start
    while moment < end:
        single += client.candles(pool=pool, interval="1m", from_=moment, to=min(moment + step, end), limit=100).rows
        moment += step
    assert answer.rows == single
    assert answer.pool == pool


def test_a_range_of_ticks_has_each_once_in_the_order_of_the_chain(client: Client):
    start, end = closed_range(client, 6)
    answer = client.ticks(PAIR, from_=start, to=end, include=["position"])
    assert len(answer.rows) > 1_000
    places = [(row["block"], row["logIndex"]) for row in answer.rows]
    assert places == sorted(set(places))
    volume = sum(abs(Decimal(row["amount1"])) for row in answer.rows)
    candles = client.candles(PAIR, interval="1m", from_=start, to=end)
    assert float(volume) == pytest.approx(sum(row["volume"] for row in candles.rows))


def test_data_frames_have_a_utc_index_and_exact_amounts(client: Client):
    frame = client.candles(PAIR, interval="1m", limit=10).df()
    assert str(frame.index.tz) == "UTC"
    assert list(frame.columns) == ["open", "high", "low", "close", "volume"]
    answer = client.ticks(PAIR, limit=5)
    assert [str(amount) for amount in answer.df(decimals=True)["amount0"]] == [row["amount0"] for row in answer.rows]
    assert answer.df()["amount0"].dtype == "float64"


def test_pools_usage_and_health(client: Client):
    [first, *_] = client.pools(PAIR)
    assert "price" not in first
    [same] = client.pools(pool=first["id"], include=["market"])
    assert same["id"] == first["id"] and same["price"] is not None
    page = client.top_pools(sort="value", limit=1)
    assert page["data"][0]["id"] == first["id"]
    assert client.new_pools(maxAge="1h")["next_cursor"] is None
    assert client.usage()["subscription_plan"] == "operator"
    assert client.health()["status"] == "ok"


def test_times_are_dates_seconds_texts_and_datetimes_alike(client: Client):
    start, end = closed_range(client, 2)
    pool = client.candles(PAIR, interval="1m").pool
    ways = [(start, end), (start.timestamp(), int(end.timestamp())), (start.isoformat(), end.isoformat())]
    answers = [client.candles(pool=pool, interval="1m", from_=one, to=other).rows for one, other in ways]
    assert len(answers[0]) > 100
    assert answers[0] == answers[1] == answers[2]
    day = date(2026, 1, 1)
    midnight = datetime(2026, 1, 1, tzinfo=start.tzinfo)
    first, same = (client.candles(pool=pool, interval="1h", from_=one, to=end).rows for one in (day, midnight))
    assert first == same and len(first) > 1
    with pytest.raises(ValueError, match="seconds since 1970"):
        client.ticks(pool=pool, from_=start.timestamp() * 1_000)


def test_a_stream_folds_to_the_answer(client: Client):
    pool = client.ticks(PAIR).pool
    known: dict[str, dict] = {}
    for event in client.stream_ticks(pool=pool, limit=20):
        if event.kind == "snapshot":
            known = {row["id"]: row for row in event.data["data"]}
        elif event.kind == "tick":
            known[event.data["id"]] = {name: value for name, value in event.data.items() if name not in ("network", "pool")}
        elif event.kind == "retract":
            for one in event.data["ids"]:
                known.pop(one, None)
        elif event.kind == "tip" and len(known) > 22:
            break
    asked = {row["id"]: row for row in client.ticks(pool=pool, limit=1_000).rows}
    assert all(asked[one] == row for one, row in known.items() if one in asked)
    assert len(set(known) & set(asked)) > 20


def test_errors_have_their_type_and_never_the_key(client: Client):
    with Client(URL, "cp_unknown_key_of_a_stranger") as stranger, pytest.raises(Unauthorized) as caught:
        stranger.usage()
    assert "cp_unknown" not in f"{caught.value!r} {caught.value.message}"
    with pytest.raises(InvalidParameters) as invalid:
        client.candles("WETH", interval="2d")
    assert {error["field"] for error in invalid.value.errors} == {"symbol", "interval"}
    with pytest.raises(NotFound) as missing:
        client.ticks("NOPE-WETH")
    assert missing.value.code == "unknown_symbol"
    with pytest.raises(ValueError, match="no time zone"):
        client.ticks(PAIR, from_=datetime(2026, 1, 1))


def test_no_service_is_an_error_without_a_code_of_the_service():
    with Client("http://127.0.0.1:9", KEY, retries=1) as client, pytest.raises(Exception, match="does not answer"):
        client.usage()


def test_a_spent_minute_is_waited_out(client: Client):
    with Client(URL, FREE_KEY, retries=0) as impatient:
        with pytest.raises(RateLimited) as caught:
            for _ in range(200):
                impatient.pools(PAIR)
    assert caught.value.retry_after is not None and 1 <= caught.value.retry_after <= 60
    began = time.monotonic()
    with Client(URL, FREE_KEY) as patient:
        assert patient.pools(PAIR)
    assert time.monotonic() - began >= caught.value.retry_after - 1
