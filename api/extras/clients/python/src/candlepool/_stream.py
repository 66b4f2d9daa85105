"""`Accept: text/event-stream`, opened again where it breaks."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import httpx

from ._errors import CandlepoolError, error_of


@dataclass(frozen=True)
class Event:
    """`kind`: snapshot, candle, tick, retract or tip. `id` resumes after it."""

    kind: str
    data: dict[str, Any]
    id: str | None


def events_of(chunks: Iterator[str]) -> Iterator[Event]:
    """Comments are left out."""
    rest = ""
    for chunk in chunks:
        rest += chunk
        *blocks, rest = rest.split("\n\n")
        for block in blocks:
            fields = dict(line.split(": ", 1) for line in block.split("\n") if ": " in line)
            if "event" in fields:
                yield Event(fields["event"], json.loads(fields.get("data", "{}")), fields.get("id"))


def follow(
    open_stream: Callable[[dict[str, str]], AbstractContextManager[httpx.Response]],
    pause: Callable[[CandlepoolError, int], float],
) -> Iterator[Event]:
    """Events without end. Raises the error that ends the stream where opening it again would not help."""
    last_id: str | None = None
    attempt = 0
    while True:
        ended = error_of({"message": "The stream broke."}, 0)
        try:
            with open_stream({"Last-Event-ID": last_id} if last_id else {}) as response:
                for event in events_of(response.iter_text()):
                    attempt = 0
                    last_id = event.id or last_id
                    if event.kind == "error":
                        ended = error_of(event.data, int(event.data.get("status", 0)))
                    else:
                        yield event
        except httpx.TransportError:
            pass
        if not ended.is_temporary:
            raise ended
        time.sleep(pause(ended, attempt))
        attempt += 1
