/**
 * The reference consumer of the public topics: it keeps the highest version of each identity, and answers `/v0/ticks` and `/v0/candles` of a
 * pool from the topics alone. It shares no code with the service.
 */
import type { Kafka } from 'kafkajs'

type Token = { address: string; symbol: string; decimals: number }
export type TickOfTopic = {
  op: 'insert' | 'retract'
  version: string
  pool: string
  blockNumber: number
  logIndex: number
  sender: string | null
  transactionHash: string
  id: string
  timestamp: string
  price: number
  side: string
  amount0: string
  amount1: string
  amountUSD: number
  token0: Token
  token1: Token
  raw: Record<'amount0' | 'amount1' | 'amountUSDMicros' | 'sqrtPriceX96' | 'liquidity', string> &
    Record<'tick' | 'fee', number>
}
export type CandleOfTopic = {
  version: string
  pool: string
  resolution: number
  time: string
  open: number
  high: number
  low: number
  close: number
  volume1: string
  spot: { close: number }
  raw: Record<'volume0' | 'volume1' | 'buyVolume0' | 'buyVolume1', string>
  trades: number
  buys: number
}

export type TopicReader = {
  /** Every record so far: value (null: a tombstone), key and headers, in the order of each partition. */
  records: { topic: string; key: string; value: string | null; headers: Record<string, string> }[]
  ticks: ReadonlyMap<string, TickOfTopic>
  /** By key; undefined: deleted. */
  candles: ReadonlyMap<string, { version: bigint; candle: CandleOfTopic | undefined }>
  /** Resolves once everything that the topics hold now is read. */
  catchUp(): Promise<void>
  close(): Promise<void>
}

/** Reads the topics from their beginning. `group`: one that no other reader uses. */
export async function openTopicReader(
  kafka: Kafka,
  topics: { ticks: string; candles: string; pools: string },
  group: string,
): Promise<TopicReader> {
  const records: TopicReader['records'] = []
  const ticks = new Map<string, TickOfTopic>()
  const candles = new Map<string, { version: bigint; candle: CandleOfTopic | undefined }>()
  const next = new Map<string, bigint>()
  const consumer = kafka.consumer({ groupId: group, maxWaitTimeInMs: 100 })
  await consumer.connect()
  await consumer.subscribe({ topics: Object.values(topics), fromBeginning: true })
  await consumer.run({
    autoCommit: false,
    eachMessage: async ({ topic, partition, message }) => {
      const value = message.value === null ? null : String(message.value)
      const key = String(message.key)
      const headers = Object.fromEntries(Object.entries(message.headers ?? {}).map(([name, it]) => [name, String(it)]))
      records.push({ topic, key, value, headers })
      if (topic === topics.ticks && value !== null) takeTick(JSON.parse(value))
      if (topic === topics.candles) takeCandle(key, value, headers['version'])
      next.set(`${topic} ${partition}`, BigInt(message.offset) + 1n)
    },
  })

  function takeTick(tick: TickOfTopic): void {
    const identity = `${tick.pool} ${tick.blockNumber} ${tick.logIndex}`
    const known = ticks.get(identity)
    if (known === undefined || BigInt(known.version) < BigInt(tick.version)) ticks.set(identity, tick)
  }

  /** A tombstone has its version in the headers alone. */
  function takeCandle(key: string, value: string | null, stated = '0'): void {
    const version = BigInt(stated)
    const known = candles.get(key)
    if (known && known.version >= version) return
    candles.set(key, { version, candle: value === null ? undefined : JSON.parse(value) })
  }

  return {
    records,
    ticks,
    candles,
    async catchUp() {
      const admin = kafka.admin()
      await admin.connect()
      for (const topic of Object.values(topics)) {
        for (const { partition, low, high } of await admin.fetchTopicOffsets(topic)) {
          const isRead = () => low === high || (next.get(`${topic} ${partition}`) ?? 0n) >= BigInt(high)
          while (!isRead()) await new Promise((resolve) => setTimeout(resolve, 20))
        }
      }
      await admin.disconnect()
    },
    close: () => consumer.disconnect(),
  }
}

/** The rows of `/v0/ticks?pool=…&include=position,sender`, ascending. */
export function ticksOf({ ticks }: TopicReader, pool: string) {
  return [...ticks.values()]
    .filter((tick) => tick.pool === pool && tick.op === 'insert')
    .sort((one, other) => one.blockNumber - other.blockNumber || one.logIndex - other.logIndex)
    .map(
      ({ id, timestamp, price, side, amount0, amount1, amountUSD, token0, token1, blockNumber, logIndex, sender }) => ({
        ...{ id, timestamp, price, side, amount0, amount1, amountUSD, logIndex, sender },
        block: blockNumber,
        token0: token0.symbol,
        token1: token1.symbol,
      }),
    )
}

/** Stored candles of one resolution, ascending: `/v0/candles?pool=…` of this interval has them, and flat ones between them. */
export function candlesOf({ candles }: TopicReader, pool: string, resolution: number) {
  return [...candles.values()]
    .flatMap(({ candle }) => candle ?? [])
    .filter((candle) => candle.pool === pool && candle.resolution === resolution)
    .sort((one, other) => one.time.localeCompare(other.time))
    .map(({ time, open, high, low, close, volume1 }) => ({ time, open, high, low, close, volume: Number(volume1) }))
}
