import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import {
  continued,
  continues,
  joined,
  reaches,
  shareTrades,
  sidesOf,
} from '../../../../api/extras/page/browser/chart/candles.ts'
import { firstView } from '../../../../api/extras/page/browser/chart/view.ts'
import type { ListedPoolRow } from '../../../../api/extras/page/browser/lib/client.ts'
import { edits } from '../../../../api/extras/page/browser/lib/edits.ts'
import {
  amountText,
  changeText,
  decimalsOf,
  dollarText,
  feeText,
  priceText,
} from '../../../../api/extras/page/browser/lib/format.ts'
import { refusalOf } from '../../../../api/extras/page/browser/lib/refusal.ts'
import { pause } from '../../../../api/extras/page/browser/lib/wait.ts'
import { transactionLink } from '../../../../api/extras/page/browser/market/explorer.ts'
import { coversHour, hourFlow } from '../../../../api/extras/page/browser/market/hour.ts'
import { flipCandle, flipTick, isFlipped } from '../../../../api/extras/page/browser/market/orientation.ts'
import { dayOpenQuery, type Scene } from '../../../../api/extras/page/browser/market/scene.ts'
import { matching, nearest, suggestionsOf } from '../../../../api/extras/page/browser/market/suggestions.ts'
import { figuresOf, type SceneData } from '../../../../api/extras/page/browser/scene-data.ts'
import { tokenFile, usualPair } from '../../../../api/extras/page/tokens.ts'
import { inverse } from '../../../../api/market/model/inverse.ts'
import { NETWORKS } from '../../../../ingest/model/networks.ts'

const file = tokenFile(Object.values(NETWORKS))
const USDC = { symbol: 'USDC', name: 'USD Coin', address: '0xa0b8', decimals: 6 } as const
const WETH = { symbol: 'WETH', name: 'Wrapped Ether', address: '0xc02a', decimals: 18 } as const
const WBTC = { symbol: 'WBTC', name: 'Wrapped BTC', address: '0x2260', decimals: 8 } as const
const sums = { volumeUSD24h: '1', totalValueLockedUSD: '2', heldUSD24h: '2', buys24h: 3, sells24h: 5 } as const
const row = (
  symbols: readonly [string, string],
  [token0, token1]: readonly [ListedPoolRow['token0'], ListedPoolRow['token1']],
  more: Partial<ListedPoolRow> = {},
): ListedPoolRow => ({
  id: `0x${symbols.join('')}`,
  network: 'ethereum',
  protocolVersion: 'dex-v3',
  ...{ feeTier: '500', liquidity: '1', sqrtPrice: '1', volumeUSD: '1', txCount: '8' },
  token0,
  token1,
  price: 0.0005,
  change24h: 0.25,
  change1h: 0.25,
  change5m: null,
  ...sums,
  ...{ firstSeen: '2024-01-05T00:00:00Z', venue: 'uniswap', hooks: null, hookDeltas: false },
  symbol: symbols.join('-'),
  isTrusted: true,
  ...more,
})
const suggestions = suggestionsOf(
  [row(['USDC', 'ETH'], [USDC, WETH]), row(['WBTC', 'ETH'], [WBTC, WETH], { price: 15 })],
  file.tokens,
)

describe('suggestions', () => {
  test('come from the table of trusted tokens, each token once', () => {
    const weth = file.tokens.filter(({ symbol }) => symbol === 'WETH')
    expect(weth).toEqual([
      {
        symbol: 'WETH',
        name: 'Wrapped Ether',
        role: 'priced',
        networks: ['ethereum', 'arbitrum', 'polygon', 'base', 'optimism'],
      },
    ])
    expect(tokenFile([NETWORKS.base]).tokens.map(({ symbol }) => symbol)).toContain('cbBTC')
    expect(tokenFile([NETWORKS.ethereum]).tokens.map(({ symbol }) => symbol)).not.toContain('cbBTC')
  })

  test('pay with the steadier token, and turn the price and its change with the pair', () => {
    expect(suggestions.map(({ pair, price }) => [pair, price])).toEqual([
      ['ETH-USDC', 2_000],
      ['WBTC-ETH', 15],
    ])
    // 2,500 before.
    expect(suggestions[0]?.change).toBeCloseTo(-0.2)
    expect(suggestions[0]?.names).toBe('Wrapped Ether in USD Coin')
    expect(suggestions.map(({ buys, sells }) => [buys, sells])).toEqual([
      [5, 3],
      [3, 5],
    ])
  })

  test('name the pool where the symbols are not of trusted tokens', () => {
    const [one] = suggestionsOf([row(['PEPE', 'ETH'], [WBTC, WETH], { isTrusted: false, id: '0x5' })], file.tokens)
    expect(one?.pool).toEqual({ id: '0x5', network: 'ethereum' })
    expect(suggestions[0]?.pool).toBeUndefined()
  })

  test('have both symbols of a pair whose symbols contain hyphens', () => {
    const odd = { ...WBTC, symbol: 'A-ETH-' }
    const pairOf = (...args: Parameters<typeof row>) => suggestionsOf([row(...args)], file.tokens)[0]?.terms.slice(0, 2)
    expect(pairOf(['A-ETH-', 'ETH'], [odd, WETH])).toEqual(['A-ETH-', 'ETH'])
    expect(pairOf(['ETH', 'A-ETH-'], [WETH, odd])?.[0]).toBe('ETH')
    expect(suggestionsOf([row(['ETH', 'A-ETH-'], [WETH, odd])], file.tokens)[0]?.pair).toBe('A-ETH--ETH')
  })

  test('have the sums of a pair where the row is of a pair', () => {
    const pair = { ...sums, pools: 2, volumeUSD24h: '10', buys24h: 30, sells24h: null }
    const [one] = suggestionsOf([row(['WBTC', 'ETH'], [WBTC, WETH], { pair })], file.tokens)
    expect(one).toMatchObject({ volumeUsd: 10, valueUsd: 2, buys: 30, sells: undefined })
  })

  test('are found as people write pairs, by names and by addresses', () => {
    const found = (typed: string) => matching(suggestions, typed).map(({ pair }) => pair)
    for (const typed of [
      'weth/usdc',
      'WETH USDC',
      ' eth-usdc',
      'usdc eth',
      'usd coin',
      'eth-usd',
      '0xA0B8',
      '0xUSDCETH',
    ])
      expect(found(typed), typed).toEqual(['ETH-USDC'])
    expect(found('bitcoin')).toEqual([])
    expect(found('wrapped btc')).toEqual(['WBTC-ETH'])
    expect(found('')).toEqual(['ETH-USDC', 'WBTC-ETH'])
    expect(found('wbtc')).toEqual(['WBTC-ETH'])
    for (const typed of ['WETHUSDC', 'ethusdc', 'ethusd', 'usdcweth']) expect(found(typed), typed).toEqual(['ETH-USDC'])
    for (const typed of ['btc-eth', 'btc/weth', 'BTCETH', 'ethbtc']) expect(found(typed), typed).toEqual(['WBTC-ETH'])
  })

  test('rank the pair that an input names before pairs that contain it', () => {
    const pairs = ['WSTETH', 'WBTC', 'ETH'].map((symbol) => row([symbol, 'USDC'], [WETH, USDC]))
    const [first] = matching(suggestionsOf(pairs, file.tokens), 'ethusdc')
    expect(first?.pair).toBe('ETH-USDC')
  })

  test('offer near names where no pair matches', () => {
    const near = (typed: string) => nearest(suggestions, typed).map(({ pair }) => pair)
    expect(matching(suggestions, 'btc-usdc')).toEqual([])
    expect(near('btc-usdc')).toEqual(['WBTC-ETH', 'ETH-USDC'])
    expect(near('usdc/btc')).toEqual(['ETH-USDC', 'WBTC-ETH'])
    expect(near('wehtusdc')).toEqual(['ETH-USDC'])
    expect(near('etherum')).toEqual(['ETH-USDC', 'WBTC-ETH'])
    expect(near('nope-nada')).toEqual([])
    expect(near(`0x${'ab'.repeat(32)}`)).toEqual([])
  })

  test('offer at most five near names, whatever is typed', () => {
    const symbols = Array.from({ length: 300 }, (_, index) => `AB${index}C`)
    const many = suggestionsOf(
      symbols.map((symbol) => row([symbol, 'ETH'], [WBTC, WETH])),
      file.tokens,
    )
    expect(nearest(many, 'ABC0C')).toHaveLength(5)
    expect(nearest(many, 'eht '.repeat(10_000))).toHaveLength(5)
  })

  test('count the edits between two words', () => {
    expect([edits('ETH', 'ETH'), edits('', 'ETH'), edits('EHT', 'ETH'), edits('WETH', 'ETH')]).toEqual([0, 3, 1, 1])
    const word = fc.string({ maxLength: 8 })
    fc.assert(fc.property(word, word, (one, other) => edits(one, other) === edits(other, one)))
  })
})

describe('orientation', () => {
  test('a pair in the other order turns everything round, and back', () => {
    const candle = { time: 60, open: 0.5, high: 0.8, low: 0.25, close: 0.4, volume: 3 }
    expect(inverse(candle)).toEqual({ time: 60, open: 2, high: 4, low: 1.25, close: 2.5, volume: 3 })
    expect(inverse(inverse(candle))).toEqual(candle)
    const tick = {
      id: '0x1-2',
      timestamp: '2024-01-05T00:00:00Z',
      price: 0.5,
      side: 'buy' as const,
      amount0: '2',
      amount1: '-1',
      amountUSD: 2,
      token0: 'USDC',
      token1: 'WETH',
    }
    expect(flipTick(tick)).toEqual({
      ...tick,
      price: 2,
      side: 'sell',
      amount0: '-1',
      amount1: '2',
      token0: 'WETH',
      token1: 'USDC',
    })
  })

  test('a candle that is turned round has the other sides, and volume in the same token', () => {
    const prices = { time: 60, open: 0.5, high: 0.8, low: 0.25, close: 0.4 }
    const volumes = { volume: 3, volumeBase: 6, volumeQuote: 3, volumeUsd: 7 }
    const candle = { ...prices, ...volumes, trades: 5, buys: 4, sells: 1, buyVolume: 2, vwap: 0.5 }
    const turned = { ...inverse(prices), ...volumes, volumeBase: 3, volumeQuote: 6 }
    expect(flipCandle(candle)).toEqual({ ...turned, trades: 5, buys: 1, sells: 4, buyVolume: 1, vwap: 2 })
    expect(flipCandle(flipCandle(candle))).toEqual(candle)
    const none = { ...prices, ...{ volume: 0, volumeBase: 0, volumeQuote: 0, volumeUsd: 0, buyVolume: 0, vwap: null } }
    expect(flipCandle({ ...none, trades: 0, buys: 0, sells: 0 })).toMatchObject({ buys: 0, buyVolume: 0, vwap: null })
    expect(flipCandle({ ...prices, volume: 3 })).toEqual(inverse({ ...prices, volume: 3 }))
  })

  test.each([
    ['WETH-USDC', ['USDC', 'WETH'], true],
    ['weth-usdc', ['WETH', 'USDC'], false],
    ['ETH-USDC', ['USDC', 'WETH'], true],
    ['ETH-USDC', ['ETH', 'USDC'], false],
    ['USDC-MATIC', ['WMATIC', 'USDC'], true],
    ['USDT0-WETH', ['USDT', 'WETH'], false],
    ['WETH-USDT0', ['USDT', 'WETH'], true],
    ['A-B-C', ['C', 'A-B'], true],
    ['WETHUSDC', ['USDC', 'WETH'], true],
    ['wethusdc', ['WETH', 'USDC'], false],
    ['BTC-USDC', ['USDC', 'WBTC'], true],
    ['BTC-USD', ['USDT', 'WBTC'], true],
    ['eth-usd', ['WETH', 'DAI'], false],
  ] as const)('%s in a pool of %s: turned round %s', (pair, tokens, flipped) => {
    expect(isFlipped(pair, tokens)).toBe(flipped)
  })

  test('a pool picked by its id is read as people read such a pair', () => {
    expect(usualPair('USDC', 'WETH', file.tokens)).toBe('WETH-USDC')
    expect(usualPair('PEPE', 'WETH', file.tokens)).toBe('PEPE-WETH')
    expect(usualPair('WETH', 'PEPE', file.tokens)).toBe('PEPE-WETH')
  })
})

describe('candles held', () => {
  const row = (time: number, close = 1) => ({ time, open: 1, high: 1, low: 1, close, volume: 0 })

  test('are replaced by what is answered later, and added to at both ends', () => {
    const held = [row(60), row(120), row(180)]
    expect(joined(held, [row(180, 2), row(240)]).map(({ time, close }) => [time, close])).toEqual([
      [60, 1],
      [120, 1],
      [180, 2],
      [240, 1],
    ])
    expect(joined(held, [row(0)]).map(({ time }) => time)).toEqual([0, 60, 120, 180])
    expect(joined(held, [])).toBe(held)
  })

  test('are drawn again where takers bought more of the same volume', () => {
    const held = [row(60), { ...row(120), volume: 2, buyVolume: 0 }]
    const [first, second] = continued(held, [row(60), { ...row(120), volume: 2, buyVolume: 2 }])
    expect([first === held[0], second?.buyVolume]).toEqual([true, 2])
  })

  test('meet an answer only where the newest one is in it', () => {
    const held = [row(60), row(120)]
    expect([reaches(held, [row(120)]), reaches(held, [row(180)]), reaches([], [row(180)])]).toEqual([true, false, true])
  })
})

test('figures are short and never wrong by their shortness', () => {
  expect([decimalsOf(2_013.9), decimalsOf(0.000_5), decimalsOf(1)]).toEqual([2, 9, 5])
  expect(priceText(0.000_496_538, decimalsOf(0.000_496_538))).toBe('0.000496538')
  expect([amountText(0.015_318), amountText(1_234.56), amountText(1_234_567), amountText(3e-9)]).toEqual([
    '0.01532',
    '1,234.6',
    '1.23M',
    '3.00e-9',
  ])
  expect([dollarText(17_119.571), dollarText(176_810_000), dollarText(0)]).toEqual(['$17,119.57', '$176.81M', '–'])
  expect([feeText('500'), feeText('2345')]).toEqual(['0.05%', '0.2345%'])
})

test('a trade links to the explorer of its network', () => {
  expect(transactionLink('optimism', '0xab-12')).toBe('https://optimistic.etherscan.io/tx/0xab')
  expect(transactionLink('elsewhere', '0xab-12')).toBeUndefined()
})

test('a month without credits is waited for to its end, and not asked for at once', async () => {
  vi.useFakeTimers()
  try {
    let isOver = false
    const days = 86_400_000
    const waiting = pause(31 * days, new AbortController().signal).then(() => {
      isOver = true
    })
    await vi.advanceTimersByTimeAsync(30 * days)
    expect(isOver).toBe(false)
    await vi.advanceTimersByTimeAsync(days)
    await waiting
    expect(isOver).toBe(true)
  } finally {
    vi.useRealTimers()
  }
})

test('a chain is told from another one by what two answers have in common', () => {
  const row = (time: number, close: number, volume = 1) => ({ time, open: 1, high: 2, low: 1, close, volume })
  const held = [row(60, 1), row(120, 2), row(180, 1)]
  // The newest one was in progress, so it may differ.
  expect(continues(held, [row(180, 9), row(240, 9)], false)).toBe(true)
  expect(continues(held, [row(120, 2), row(180, 9)], false)).toBe(true)
  expect(continues(held, [row(120, 9), row(180, 9)], false)).toBe(false)
  // A market that begins later than what is held, and one that has not begun.
  expect(continues(held, [row(180, 1)], true)).toBe(false)
  expect([continues(held, [], true), continues(held, [], false), continues([], [], true)]).toEqual([false, true, true])
  // What was not traded in is alike on any two chains.
  expect(shareTrades([row(60, 1, 0), row(120, 2)], [row(60, 1, 0), row(120, 9)])).toBe(false)
  expect(shareTrades(held, [row(60, 1), row(120, 9)])).toBe(true)
})

test('a candle of one trade has the side of its price against the candle before', () => {
  const row = (open: number, close: number) => ({ time: 0, open, high: 9, low: 1, close, volume: 1 })
  const one = (price: number) => row(price, price)
  expect(sidesOf([one(5), one(4), one(4), one(6), one(6), one(5)])).toEqual(['up', 'down', 'down', 'up', 'up', 'down'])
  // A candle of several trades has a side of its own.
  expect(sidesOf([row(5, 4), row(3, 4), one(4), row(6, 5)])).toEqual(['down', 'up', 'up', 'down'])
  expect(sidesOf([])).toEqual([])
})

test('the change of a day is that of the shown price, and absent where trades began later', () => {
  const held = (open: number | undefined) =>
    ({
      scene: { interval: '1h' },
      rows: [{ close: 125 }],
      day: { volume: '192 USDC', open },
      hour: undefined,
    }) as unknown as SceneData
  expect(figuresOf(held(100))).toEqual({ price: 125, change: 0.25, dayVolume: '192 USDC', hour: undefined })
  expect(figuresOf(held(undefined)).change).toBeUndefined()
  expect([changeText(0.0125), changeText(-0.5)]).toEqual(['+1.25%', '−50.00%'])
})

test('the flow of the last hour is of the sixty newest minutes, in candles of a minute or less', () => {
  const candles = (count: number, seconds: number) =>
    Array.from({ length: count }, (_, index) => ({
      ...{ time: 7_200 + index * seconds, open: 1, high: 1, low: 1, close: 1 },
      ...{ volume: 4, buyVolume: 1, trades: 3, buys: 1, sells: 2 },
    }))
  const hour = { buys: 60, sells: 120, volume: 240, bought: 60, ends: 7_200 + 100 * 60 }
  expect(hourFlow(candles(100, 60), 60)).toEqual(hour)
  expect(hourFlow(candles(5, 60), 60)).toMatchObject({ buys: 5, volume: 20 })
  expect(hourFlow([], 60)).toBeUndefined()
  expect([coversHour(candles(60, 60), 60, false), coversHour(candles(59, 60), 60, false)]).toEqual([true, false])
  // A pool whose first trade was just now.
  expect([coversHour(candles(59, 60), 60, true), coversHour([], 60, true)]).toEqual([true, false])
  // A candle in progress of five minutes may have begun just now.
  expect([coversHour(candles(3_600, 1), 1, false), coversHour(candles(100, 300), 300, false)]).toEqual([true, false])
})

test('the figures take the hour of the chart where it has it, and the requested one elsewhere', () => {
  const hour = { buys: 7, sells: 8, volume: 9, bought: 1, ends: 60 }
  const held = (interval: string) => ({
    scene: { interval },
    rows: [{ time: 60, close: 1, volume: 2, buyVolume: 2, buys: 1, sells: 0 }],
    hour,
  })
  const figures = (interval: string) => figuresOf(held(interval) as unknown as SceneData)
  expect(figures('1m').hour).toEqual({ buys: 1, sells: 0, volume: 2, bought: 2, ends: 120 })
  expect(figures('5m').hour).toBe(hour)
})

test('the price of a day ago is that of one second, whatever the clock of the browser says', () => {
  const listing = { id: '0x1', network: 'ethereum', tokens: ['A', 'B'], pool: undefined } as const
  const scene: Scene = { listing, flipped: false, interval: '1m', price: 'spot' }
  const newest = Date.UTC(2024, 0, 5, 14) / 1_000
  const rows = Array.from({ length: 96 }, (_, index) => ({ time: newest - (95 - index) * 900 }))
  const asked = (now: string) => dayOpenQuery(scene, rows, new Date(now))
  expect(asked('2024-01-05T14:03:20Z')).toEqual({
    pool: '0x1',
    networks: 'ethereum',
    interval: '1s',
    price: 'spot',
    limit: '1',
    to: '2024-01-04T14:03:20.000Z',
  })
  expect(asked('2023-01-01T00:00:00Z')?.['to']).toBe('2024-01-04T14:00:00.000Z')
  expect(asked('2025-01-01T00:00:00Z')?.['to']).toBe('2024-01-04T14:15:00.000Z')
  expect(dayOpenQuery(scene, rows.slice(1), new Date('2024-01-05T14:03:20Z'))).toBeUndefined()
})

test('the first view has all candles, or the newest hundred', () => {
  expect(firstView(8)).toEqual({ from: 0, to: 10 })
  expect(firstView(500)).toEqual({ from: 400, to: 502 })
})

test('a refusal says what to do, whatever its source', () => {
  expect(refusalOf(429, 'minute_credits_exceeded', 'm', '17')).toMatchObject({ kind: 'minute-credits', waitMs: 17_000 })
  // A proxy before the service, which knows no codes.
  expect(refusalOf(502, undefined, 'm', null)).toMatchObject({ kind: 'away', waitMs: 5_000 })
  expect(refusalOf(404, 'unknown_pool', 'm', null).kind).toBe('question')
})
