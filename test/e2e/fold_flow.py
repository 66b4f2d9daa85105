"""Folds Swap logs of the USDC/WETH pool into the flow of minutes, without the project's code: integers and fractions only.

Standard input: a JSON list of [seconds, data of a Swap log]. Standard output: for each direction of the pair, by minute,
[trades, buys, sells, volumeBase, volumeQuote, buyVolume, vwap] as doubles that are rounded once.
"""

import json
import sys
from collections import defaultdict
from fractions import Fraction

UNITS = (10**6, 10**18)


def signed(word: str) -> int:
    value = int(word, 16)
    return value - 2**256 if value >= 2**255 else value


def flow(swaps: list[tuple[int, int]], base: int) -> list[float]:
    """`swaps`: amounts from the side of the pool, which receives what is positive."""
    quote = 1 - base
    bought = [swap for swap in swaps if swap[base] < 0]
    total = [sum(abs(swap[token]) for swap in swaps) for token in (0, 1)]
    paid = sum(swap[quote] for swap in bought)
    volume_base, volume_quote = Fraction(total[base], UNITS[base]), Fraction(total[quote], UNITS[quote])
    exact = [volume_base, volume_quote, Fraction(paid, UNITS[quote]), volume_quote / volume_base]
    return [len(swaps), len(bought), len(swaps) - len(bought), *map(float, exact)]


minutes: dict[int, list[tuple[int, int]]] = defaultdict(list)
for second, data in json.load(sys.stdin):
    amounts = (signed(data[2:66]), signed(data[66:130]))
    minutes[second - second % 60].append(amounts)
json.dump([{minute: flow(swaps, base) for minute, swaps in minutes.items()} for base in (0, 1)], sys.stdout)
