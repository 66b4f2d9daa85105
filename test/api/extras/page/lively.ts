/** A pair whose pools traded for the last hours, and trade on when told to: what the page is looked at with. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { Pool } from '../../../../ingest/model/pool.ts'
import { balance, block, liquidity, openStore, tick } from '../../../support/store.ts'
import { POOLS, sqrtPrice } from '../../scenario.ts'

const DOLLAR = 10n ** 6n
const BLOCK_SECONDS = 12
/** For a service that is told of writes: each poll reads all there is to know, and streams keep it polling for minutes. */
export const POLL_MS = 3_000

export type Lively = {
  /** The time stamp of the newest block, in seconds. */
  tip(): number
  /** One more block with a purchase of one ether for so many dollars. */
  trade(dollars: number, timestamp: number): Promise<void>
  /** A block without trades. */
  rest(timestamp: number): Promise<void>
}

/** So many hours of trades in `POOLS.main` that end at `end`, from a first price in dollars on. `onStored` is called after each later block. */
export async function storeLively(
  client: ClickHouseClient,
  end: number,
  hours: number,
  firstPrice = 2_000,
  onStored: () => void = () => undefined,
): Promise<Lively> {
  const store = openStore(client, 'ethereum')
  const { main, side, silent } = POOLS
  const count = Math.floor((hours * 3_600) / BLOCK_SECONDS)
  let number = 1_000
  let log = 0
  let tip = end

  /** `ether` is negative where the taker sells it. */
  function swap(pool: Pool, ether: number, dollars: number) {
    log += 1
    const micros = BigInt(Math.round(Math.abs(ether) * dollars * 1e6))
    const wei = BigInt(Math.round(Math.abs(ether) * 1e9)) * 10n ** 9n
    const buys = ether > 0
    return tick({
      pool,
      logIndex: log,
      amount0: buys ? -micros : micros,
      amount1: buys ? wei : -wei,
      sqrtPriceX96: sqrtPrice(10n ** 18n, BigInt(Math.round(dollars * 1e6))),
      liquidity: 18_293_849_283_748_923n,
      poolTick: 200_311,
      usdMicros: micros,
    })
  }

  const random = sequence()
  let price = firstPrice
  const past = Array.from({ length: count }, (_, index) => {
    number += 1
    price *= 1 + (random() - 0.5) * 0.0016 + Math.sin(index / 140) * 0.00012
    const trades = random() < 0.45 ? 1 + Math.floor(random() * 3) : 0
    const ticks = Array.from({ length: trades }, () =>
      swap(main, (random() - 0.48) * 10 ** (random() * 3 - 1), price * (1 + (random() - 0.5) * 0.001)),
    )
    return block(number, end - (count - index) * BLOCK_SECONDS, { ticks })
  })
  number += 1
  const [first, ...rest] = past
  const opening = {
    pools: [main, side, silent],
    liquidity: [liquidity(main, 900, 200_000, 200_600, 18_293_849_283_748_923n)],
  }
  await store([
    { ...(first ?? block(1_001, end - BLOCK_SECONDS)), ...opening },
    ...rest,
    block(1_001 + count, end, {
      balances: [
        balance(main, 93_481_223n * DOLLAR, 41_377n * 10n ** 18n),
        balance(side, 3_050_000n * DOLLAR, 1_525n * 10n ** 18n),
        balance(silent, 10n ** 8n, 10n ** 19n),
      ],
    }),
  ])

  const add = async (timestamp: number, ticks: ReturnType<typeof swap>[]) => {
    number += 1
    tip = timestamp
    await store([block(number, timestamp, { ticks })])
    onStored()
  }
  return {
    tip: () => tip,
    trade: (dollars, timestamp) => add(timestamp, [swap(main, 1, dollars)]),
    rest: (timestamp) => add(timestamp, []),
  }
}

/** The same numbers between 0 and 1 in every run. */
function sequence(): () => number {
  let state = 20_240_105
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32
    return state / 2 ** 32
  }
}
