/** A scripted chain: blocks full of random trades, forks, and the messages in which a listener tells them. */
import { createHash } from 'node:crypto'
import fc from 'fast-check'
import type { Hash } from 'viem'
import type {
  BlockContent,
  BlockMessage,
  Message,
  RangeMessage,
  RangeOverwrite,
  UnixSeconds,
} from '../../ingest/model/message.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import type { LiquidityChange, Pool, PoolBalance, PoolId } from '../../ingest/model/pool.ts'
import type { Tick } from '../../ingest/model/tick.ts'
import { addressOf, poolOf } from './store.ts'

export type MinedBlock = BlockContent & { parentHash: Hash }

/** From its first block to its newest. A fork is `mine(chain.slice(0, n), plans, 'another branch')`. */
export type Chain = readonly MinedBlock[]

/** Content of a block, and its distance in time from its parent. */
export type BlockPlan = { secondsLater: number } & Pick<BlockContent, 'ticks' | 'pools' | 'liquidity' | 'balances'>

export const FIRST_BLOCK = 100
/** Just before the end of a minute, an hour, a day and a month. */
export const FIRST_SECOND: UnixSeconds = Date.UTC(2024, 0, 31, 23, 59, 50) / 1000

const ETHER = { address: addressOf('e1'), symbol: 'ETH', name: 'Ether', decimals: 18 }
export const POOLS: readonly Pool[] = ['a1', 'a2', 'a3'].map((digits, index) =>
  poolOf(addressOf(digits), ETHER, {
    address: addressOf(`b${index}`),
    symbol: `T${index}`,
    name: `Token ${index}`,
    decimals: 6 * index,
  }),
)

/** Plans whose ticks are each of a transaction of its own, as on a real chain: `salt` tells those of one call from those of another. */
export function withOwnTransactions(plans: readonly BlockPlan[], salt: string): readonly BlockPlan[] {
  return plans.map((plan, index) => ({
    ...plan,
    ticks: plan.ticks.map((tick, place) => ({ ...tick, transactionHash: hashOf(`${salt} ${index} ${place}`) })),
  }))
}

/** The chain with more blocks on top. Blocks of another branch have other hashes, whatever they hold. */
export function mine(chain: Chain, plans: readonly BlockPlan[], branch = 'main'): Chain {
  const mined = [...chain]
  for (const { secondsLater, ...content } of plans) {
    const parent = mined.at(-1)
    const number = parent ? parent.number + 1 : FIRST_BLOCK
    const parentHash = parent?.hash ?? hashOf('before the first block')
    const timestamp = parent ? parent.timestamp + secondsLater : FIRST_SECOND
    mined.push({ number, hash: hashOf(`${parentHash} ${branch}`), parentHash, timestamp, ...content })
  }
  return mined
}

export function asBlocks(network: NetworkName, blocks: Chain): BlockMessage[] {
  return blocks.map((block) => ({ kind: 'block', network, finalized: 0, ...block }))
}

/** One message for a stretch of at least one block. */
export function asRange(network: NetworkName, blocks: Chain): RangeMessage {
  const [first, last] = [blocks[0], blocks.at(-1)]
  if (!first || !last) throw new Error('A range has at least one block.')
  return {
    kind: 'range',
    network,
    from: first.number,
    to: last.number,
    hash: last.hash,
    timestamp: last.timestamp,
    parentHash: first.parentHash,
    blocks: blocks.filter(hasContent).map(({ parentHash: _, ...block }) => block),
  }
}

/** Overwrite by a job of at least one block, for all pools or some. */
export function asRestatement(
  network: NetworkName,
  blocks: Chain,
  { job, pools }: { job: number; pools?: readonly PoolId[] | undefined },
): RangeOverwrite {
  const [first, last] = [blocks[0], blocks.at(-1)]
  if (!first || !last) throw new Error('A restatement has at least one block.')
  const isWanted = ({ pool }: { pool: PoolId }) => pools === undefined || pools.includes(pool)
  return {
    kind: 'restatement',
    network,
    job,
    pools,
    from: first.number,
    to: last.number,
    firstTimestamp: first.timestamp,
    timestamp: last.timestamp,
    hash: last.hash,
    blocks: blocks.map(({ parentHash: _, ...block }) => ({
      ...block,
      ticks: block.ticks.filter(isWanted),
      liquidity: block.liquidity.filter(isWanted),
    })),
  }
}

export function hasContent({ ticks, pools, liquidity, balances }: BlockContent): boolean {
  return ticks.length + pools.length + liquidity.length + balances.length > 0
}

/** The part of `chain` that is not in `known`: messages for a reader of `known`. */
export function newTo(known: Chain, chain: Chain): Chain {
  const hashes = new Set(known.map(({ hash }) => hash))
  return chain.filter(({ hash }) => !hashes.has(hash))
}

// --- random blocks

const unsigned = (bits: number) => fc.bigInt({ min: 0n, max: (1n << BigInt(bits)) - 1n })
const signed = (bits: number) => fc.bigInt({ min: -(1n << BigInt(bits - 1)), max: (1n << BigInt(bits - 1)) - 1n })
const price = fc.double({ min: 1e-18, max: 1e18, noNaN: true })
const pool = fc.constantFrom(...POOLS)
/** Log indexes grow by this. */
const step = fc.integer({ min: 1, max: 3 })

const swap = fc.record({
  step,
  pool: pool.map(({ id }) => id),
  transactionHash: fc.nat().map((text) => hashOf(`transaction ${text}`)),
  amount0: fc.oneof(signed(128), signed(8)),
  amount1: fc.oneof(signed(128), signed(8)),
  sqrtPriceX96: unsigned(160),
  liquidity: unsigned(128),
  poolTick: fc.integer({ min: -887_272, max: 887_272 }),
  fee: fc.constantFrom(100, 500, 3_000),
  price,
  spotPrice: price,
  amountUsdMicros: unsigned(60),
})
const change = fc.record({
  step,
  pool: pool.map(({ id }) => id),
  tickLower: fc.integer({ min: -887_272, max: 0 }),
  tickUpper: fc.integer({ min: 1, max: 887_272 }),
  liquidityDelta: signed(128),
})
const balances = pool.chain(({ id }) =>
  fc.record({ pool: fc.constant(id), balance0: unsigned(112), balance1: unsigned(112) }),
)

/** Many blocks in a second, then blocks a slot, an hour, a day or days apart, to the second. */
const secondsLater = fc.oneof(
  { weight: 3, arbitrary: fc.constant(0) },
  { weight: 6, arbitrary: fc.constantFrom(1, 2, 12, 59, 60) },
  { weight: 1, arbitrary: fc.constantFrom(3_599, 3_600, 86_399, 86_400) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 300_000 }) },
)

/** `full`: with some of everything; else many blocks hold nothing. */
export function blockPlan({ full = false } = {}): fc.Arbitrary<BlockPlan> {
  const minLength = full ? 1 : 0
  return fc
    .record({
      secondsLater,
      swaps: fc.array(swap, { minLength, maxLength: 5 }),
      changes: fc.array(change, { minLength, maxLength: 2 }),
      pools: full ? fc.subarray([...POOLS], { minLength }) : fc.subarray([...POOLS], { maxLength: 1 }),
      balances: fc.uniqueArray(balances, { minLength, maxLength: 2, selector: (balance) => balance.pool }),
      isEmpty: full ? fc.constant(false) : fc.boolean(),
    })
    .map(({ isEmpty, secondsLater, swaps, changes, ...sightings }) => {
      if (isEmpty) return { secondsLater, ticks: [], pools: [], liquidity: [], balances: [] }
      let logIndex = 0
      const numbered = <Log>(logs: readonly (Log & { step: number })[]) =>
        logs.map(({ step, ...log }) => {
          logIndex += step
          return { ...log, logIndex }
        })
      return {
        secondsLater,
        ticks: numbered(swaps) as unknown as Tick[],
        liquidity: numbered(changes) as unknown as LiquidityChange[],
        pools: sightings.pools,
        balances: sightings.balances as PoolBalance[],
      }
    })
}

/** Blocks with some of everything, the same in every run. */
export function fullBlocks(count: number, seed: number): readonly BlockPlan[] {
  return fc.sample(blockPlan({ full: true }), { numRuns: count, seed })
}

// --- random histories

/** Goes back over some blocks that the ledger knows, mines others, and tells them. */
export type Step = {
  drop: number
  plans: readonly BlockPlan[]
  as: 'blocks' | 'range'
  /** Told together with the step before. */
  joined: boolean
}

/** A stretch of messages appended at once, and the chain as it is after them. */
export type Telling = { messages: readonly Message[]; chain: Chain }

export const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.record({
    drop: fc.oneof(fc.constant(0), fc.nat(6)),
    plans: fc.array(blockPlan(), { minLength: 1, maxLength: 5 }),
    as: fc.constantFrom('blocks', 'blocks', 'range'),
    joined: fc.boolean(),
  }),
  { minLength: 2, maxLength: 6 },
)

/** Finality in a range: a fork begins above the newest final block. */
export function tellings(network: NetworkName, steps: readonly Step[]): Telling[] {
  let chain: Chain = []
  /** How many blocks are final. */
  let final = 0
  const told: Telling[] = []
  for (const [index, { drop, plans, as, joined }] of steps.entries()) {
    const length = Math.max(chain.length - drop, final, Math.min(chain.length, 1))
    chain = mine(chain.slice(0, length), plans, `step ${index}`)
    const fresh = chain.slice(length)
    const all = as === 'blocks'
    if (!all) final = chain.length
    const messages = all ? asBlocks(network, fresh) : [asRange(network, fresh)]
    const before = joined ? told.pop() : undefined
    told.push({ messages: [...(before?.messages ?? []), ...messages], chain })
  }
  return told
}

function hashOf(text: string): Hash {
  return `0x${createHash('sha256').update(text).digest('hex')}`
}
