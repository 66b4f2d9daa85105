import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { NetworkPools, type PoolRow } from '../../../../api/market/pools/network-pools.ts'
import { type LoadedOrder, PairOrder } from '../../../../api/market/pools/pair-order.ts'
import { addressSet } from '../../../../api/market/pools/pair-search.ts'
import { TouchedPools } from '../../../../api/market/pools/touched-pools.ts'
import { lower } from '../../../../ingest/lib/lower.ts'
import { NETWORKS } from '../../../../ingest/model/networks.ts'
import type { PoolId } from '../../../../ingest/model/pool.ts'

const network = NETWORKS.ethereum
const [USDC, WETH] = [lower('0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48'), lower(network.wrappedNative)]
const idOf = (number: number): PoolId => `0x${number.toString(16).padStart(64, '0')}`
const LEAD = idOf(1)

function rowOf(pool: PoolId): PoolRow {
  const token = (side: 'token0' | 'token1', address: string, symbol: string, decimals: number) => ({
    [`${side}_address`]: address,
    [`${side}_symbol`]: symbol,
    [`${side}_name`]: symbol,
    [`${side}_decimals`]: decimals,
  })
  return {
    pool,
    protocol: 'dex-v4',
    venue: 'uniswap',
    fee: 500,
    initial_sqrt_price: '1',
    created: 1,
    first_seen: 1,
    ...token('token0', USDC, 'USDC', 6),
    ...token('token1', WETH, 'WETH', 18),
  } as PoolRow
}

describe('the order of a crowded pair', () => {
  const pools = new NetworkPools(network)
  const search = { pools, base: addressSet([WETH]), quote: addressSet([USDC]) }
  let written: TouchedPools
  let loads: ((loaded: LoadedOrder) => void)[]
  let order: PairOrder
  const loaded = { top: { byValue: [{ pool: LEAD, valueUsd: 1 }], leads: [LEAD], count: 1, sound: 1 }, areAll: true }

  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['performance'] })
    written = new TouchedPools()
    loads = []
    order = new PairOrder(() => new Promise((resolve) => loads.push(resolve)), written, 1_000)
    for (let number = 1; number <= 100; number++) pools.put(rowOf(idOf(number)))
  })
  afterEach(() => vi.useRealTimers())

  async function loadFirst(): Promise<void> {
    const first = order.read(search)
    loads.shift()?.(loaded)
    expect(await first).toEqual({ ...loaded.top, touched: [] })
  }

  test('serves beyond its age, while it is read again, where it has all that was touched', async () => {
    await loadFirst()
    written.add([idOf(2)])
    vi.advanceTimersByTime(3_600_000)
    expect((await order.read(search)).touched).toEqual([idOf(2)])
    expect(loads).toHaveLength(1)
    // One load for all callers.
    await order.read(search)
    expect(loads).toHaveLength(1)
  })

  test('is waited for beyond its age, where more was touched than it has', async () => {
    await loadFirst()
    written.add(Array.from({ length: 40 }, (_, index) => idOf(index + 2)))
    expect((await order.read(search)).touched).toHaveLength(16)
    vi.advanceTimersByTime(3_600_000)
    const late = order.read(search)
    loads.shift()?.({ ...loaded, top: { ...loaded.top, count: 7 } })
    expect((await late).count).toBe(7)
  })

  test('does not count pools that it compares anyway', async () => {
    await loadFirst()
    for (let count = 0; count < 40; count++) written.add([LEAD])
    expect((await order.read(search)).touched).toEqual([])
    vi.advanceTimersByTime(500_000)
    await order.read(search)
    expect(loads).toEqual([])
  })

  test('keeps a touched pool until the catalogue has it', async () => {
    await loadFirst()
    const late = idOf(1_000)
    written.add([late])
    expect((await order.read(search)).touched).toEqual([])
    pools.put(rowOf(late))
    expect((await order.read(search)).touched).toEqual([late])
  })
})
