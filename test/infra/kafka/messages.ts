/** Messages for tests of the log: random ones for laws, plain ones for order. */
import fc from 'fast-check'
import type { AnyMessage } from '../../../infra/kafka/wire/wire-format.ts'
import type { BlockContent, BlockMessage } from '../../../ingest/model/message.ts'
import { NETWORK_NAMES } from '../../../ingest/model/network.ts'
import type { LiquidityChange, Pool, PoolBalance } from '../../../ingest/model/pool.ts'
import { PROTOCOL_VERSIONS } from '../../../ingest/model/pool.ts'
import type { Tick } from '../../../ingest/model/tick.ts'

/** Plain objects only, as ingest makes them. */
const record = <Row>(model: { [Field in keyof Row]: fc.Arbitrary<Row[Field]> }) =>
  fc.record<Row>(model, { noNullPrototype: true })
const hex = (bytes: number) =>
  fc
    .uint8Array({ minLength: bytes, maxLength: bytes })
    .map((value): `0x${string}` => `0x${Buffer.from(value).toString('hex')}`)
const hash = hex(32)
const poolId = fc.oneof(hex(20), hash)
const signed = (bits: bigint) => fc.bigInt({ min: -(1n << (bits - 1n)), max: (1n << (bits - 1n)) - 1n })
const unsigned = (bits: bigint) => fc.bigInt({ min: 0n, max: (1n << bits) - 1n })
const price = fc.double({ min: 0, noNaN: true, noDefaultInfinity: true }).filter((value) => !Object.is(value, -0))
const text = fc.string({ unit: 'binary', maxLength: 12 })

const tickFields = {
  pool: poolId,
  logIndex: fc.nat(),
  transactionHash: hash,
  amount0: fc.oneof(signed(256n), signed(40n)),
  amount1: fc.oneof(signed(256n), signed(40n)),
  sqrtPriceX96: unsigned(160n),
  liquidity: unsigned(128n),
  poolTick: fc.integer({ min: -887272, max: 887272 }),
  fee: fc.nat(0xffffff),
  price,
  spotPrice: price,
  amountUsdMicros: unsigned(100n),
}
const tick: fc.Arbitrary<Tick> = fc.oneof(
  record<Tick>(tickFields),
  record<Tick>({ ...tickFields, sender: hex(20) }),
  record<Tick>({ ...tickFields, hookAmounts: record({ amount0: signed(256n), amount1: signed(140n) }) }),
)
const token = record({ address: hex(20), symbol: text, name: text, decimals: fc.nat(255) })
const pool: fc.Arbitrary<Pool> = record({
  id: poolId,
  protocol: fc.constantFrom(...PROTOCOL_VERSIONS),
  token0: token,
  token1: token,
  fee: fc.nat(0xffffff),
  initialSqrtPriceX96: unsigned(160n),
})
const liquidityChange: fc.Arbitrary<LiquidityChange> = record({
  pool: poolId,
  logIndex: fc.nat(),
  tickLower: fc.integer({ min: -887272, max: 887272 }),
  tickUpper: fc.integer({ min: -887272, max: 887272 }),
  liquidityDelta: signed(256n),
})
const balance: fc.Arbitrary<PoolBalance> = record({
  pool: poolId,
  balance0: unsigned(256n),
  balance1: unsigned(256n),
})

const content = {
  number: fc.nat(),
  hash,
  timestamp: fc.nat(),
  ticks: fc.array(tick, { maxLength: 5 }),
  pools: fc.array(pool, { maxLength: 3 }),
  liquidity: fc.array(liquidityChange, { maxLength: 3 }),
  balances: fc.array(balance, { maxLength: 3 }),
}
const blockContent: fc.Arbitrary<BlockContent> = record(content)
const network = fc.constantFrom(...NETWORK_NAMES)

export const anyMessage: fc.Arbitrary<AnyMessage> = fc.oneof(
  record({ kind: fc.constant('block' as const), network, parentHash: hash, finalized: fc.nat(), ...content }),
  record({
    kind: fc.constant('range' as const),
    network,
    from: fc.nat(),
    to: fc.nat(),
    hash,
    parentHash: fc.option(hash, { nil: undefined }),
    timestamp: fc.nat(),
    blocks: fc.array(blockContent, { maxLength: 5 }),
  }).chain((range) =>
    fc
      .option(fc.nat(), { nil: undefined })
      .map((finalized) => (finalized === undefined ? range : { ...range, finalized })),
  ),
  record({
    kind: fc.constant('restatement' as const),
    network,
    job: fc.nat(),
    pools: fc.option(fc.array(poolId, { minLength: 1, maxLength: 3 }), { nil: undefined }),
    from: fc.nat(),
    to: fc.nat(),
    firstTimestamp: fc.nat(),
    timestamp: fc.nat(),
    hash,
    blocks: fc.array(blockContent, { maxLength: 5 }),
  }),
)

export function hashOf(number: number): `0x${string}` {
  return `0x${number.toString(16).padStart(64, '0')}`
}

/** Block `number` of a plain chain, with that many ticks. */
export function blockMessage(number: number, tickCount = 1): BlockMessage {
  return {
    kind: 'block',
    network: 'ethereum',
    number,
    hash: hashOf(number),
    parentHash: hashOf(number - 1),
    timestamp: 1_700_000_000 + number * 12,
    finalized: 0,
    ticks: Array.from({ length: tickCount }, (_, index) => tickOf(number, index)),
    pools: [],
    liquidity: [],
    balances: [],
  }
}

export function blockMessages(from: number, to: number, tickCount = 1): BlockMessage[] {
  return Array.from({ length: to - from + 1 }, (_, index) => blockMessage(from + index, tickCount))
}

/** Words that look as random as real ones to gzip, and are the same in every run. */
function tickOf(block: number, index: number): Tick {
  const seed = BigInt(block * 65_536 + index + 1)
  const word = (bits: bigint) =>
    (seed * 0x9e3779b97f4a7c15f39cc0605cedc8341082276bf3a27251f86c6a11d0c18e95n) % (1n << bits)
  const amount0 = word(42n) * (index % 2 === 0 ? 1n : -1n)
  return {
    pool: `0x${(word(64n) % 400n).toString(16).padStart(40, '0')}`,
    logIndex: index,
    transactionHash: `0x${word(256n).toString(16).padStart(64, '0')}`,
    amount0,
    amount1: word(70n) * (index % 2 === 0 ? -1n : 1n),
    sqrtPriceX96: word(110n),
    liquidity: word(64n),
    poolTick: 200_000 - Number(word(10n)),
    fee: 500,
    price: 3000 + Number(word(40n)) / 1e12,
    spotPrice: 3000 + Number(word(41n)) / 1e12,
    amountUsdMicros: word(34n),
    sender: `0x${word(3n).toString(16).padStart(40, 'c')}`,
  }
}
