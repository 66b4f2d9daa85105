/** The story of a chain while its processes die: it grows, forks, forks back, and jobs overwrite final blocks. Reproducible by its seed. */
import fc from 'fast-check'
import type { Message, RangeOverwrite } from '../../ingest/model/message.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import type { Tick } from '../../ingest/model/tick.ts'
import type { Random } from '../simulation/random.ts'
import {
  asBlocks,
  asRange,
  asRestatement,
  type BlockPlan,
  blockPlan,
  type Chain,
  mine,
  POOLS,
} from '../support/chain.ts'

export const MAX_FORK_DEPTH = 64
/** Blocks from before the listener came: only jobs know them. Every few of them are on another day. */
const UNSEEN = 60
const UNSEEN_PER_DAY = 5
const FIRST_LENGTH = 140
/** The same in every run; what differs is which of them follow each other, and when. */
const PLANS = fc.sample(blockPlan(), { numRuns: 500, seed: 1 })

export type Story = {
  /** The chain from where the listener came. */
  chain(): Chain
  /** The listener's first messages: ranges as far as they are final, or nothing but blocks. */
  opening(): Message[]
  grow(): Message[]
  /** Between 1 and 64 blocks deep; the new branch is longer, as long, or shorter; sometimes one that was left before. */
  fork(): { messages: Message[]; depth: number }
  /** Messages that were sent before. */
  replay(): Message[]
  /** Some final history as a job reads it, which may not be what the listener was told. */
  restatement(): RangeOverwrite[]
}

export function tellStory(network: NetworkName, random: Random, { withRange }: { withRange: boolean }): Story {
  const [first, ...rest] = plansOf(random, FIRST_LENGTH - UNSEEN)
  // A pool without a sighting has no decimals, and is not published.
  const seen = first ? [{ ...first, pools: POOLS }, ...rest] : rest
  let chain: Chain = mine([], [...unseenPlans(random), ...seen])
  let branches = 0
  let jobs = 0
  let left: Chain = []
  /** So many blocks are final, for ever. */
  let final = FIRST_LENGTH - MAX_FORK_DEPTH
  /** A backfill continues here, in days of which nothing is stored; other jobs overwrite stored blocks. */
  let next = 0

  function go(to: Chain, from: number): Message[] {
    chain = to
    final = Math.max(final, chain.length - MAX_FORK_DEPTH)
    return asBlocks(network, chain.slice(from))
  }

  return {
    chain: () => chain.slice(UNSEEN),
    opening() {
      if (!withRange) return asBlocks(network, chain.slice(UNSEEN))
      return [asRange(network, chain.slice(UNSEEN, final)), ...asBlocks(network, chain.slice(final))]
    },
    grow() {
      const { length } = chain
      return go(mine(chain, plansOf(random, random.chance(0.1) ? 70 : random.between(1, 6))), length)
    },
    fork() {
      const back = commonLength(chain, left)
      if (left.length > back && back >= final && back < chain.length && random.chance(0.4)) {
        const depth = chain.length - back
        const to = left
        left = chain
        return { depth, messages: go(to, back) }
      }
      const depth = random.pick([1, 2, random.between(1, 8), random.between(1, chain.length - final)])
      const fork = chain.length - depth
      const length = Math.max(1, depth + random.pick([0, 1, 1, 2, -1]))
      left = chain
      const to = mine(chain.slice(0, fork), plansOf(random, length), `branch ${++branches}`)
      return { depth, messages: go(to, fork) }
    },
    replay: () => asBlocks(network, chain.slice(-random.between(1, MAX_FORK_DEPTH))),
    restatement() {
      const job = ++jobs
      const pools = random.chance(0.3) ? [random.pick(POOL_IDS)] : undefined
      const pieces: RangeOverwrite[] = []
      const goesOn = next < UNSEEN && random.chance(0.5)
      const isLiveOnly = next === 0 || random.chance(0.5)
      let from = goesOn ? next : isLiveOnly ? random.between(UNSEEN, final - 1) : random.between(0, next - 1)
      const end = goesOn || from >= UNSEEN ? final : next
      for (let left = random.between(1, 3); left > 0 && from < end; left--) {
        const to = random.between(from, Math.min(end - 1, from + 12))
        pieces.push(restatementOf(network, job, pools, chain.slice(from, to + 1), random))
        from = to + 1
      }
      if (goesOn) next = from
      return pieces
    },
  }
}

const POOL_IDS = POOLS.map(({ id }) => id) as [Tick['pool'], ...Tick['pool'][]]

/** Most of it within one day: jobs, forks and the listener meet in the same buckets. */
function plansOf(random: Random, count: number): BlockPlan[] {
  return Array.from({ length: count }, () => ({
    ...(PLANS[random.between(0, PLANS.length - 1)] ?? { ticks: [], pools: [], liquidity: [], balances: [] }),
    secondsLater: random.chance(0.02) ? random.between(1_000, 90_000) : random.pick([0, 1, 1, 2, 12, 59]),
  }))
}

function unseenPlans(random: Random): BlockPlan[] {
  return plansOf(random, UNSEEN).map((plan, index) =>
    index % UNSEEN_PER_DAY === UNSEEN_PER_DAY - 1 ? { ...plan, secondsLater: 90_000 } : plan,
  )
}

function commonLength(one: Chain, other: Chain): number {
  let length = 0
  while (length < one.length && one[length]?.hash === other[length]?.hash) length++
  return length
}

function restatementOf(
  network: NetworkName,
  job: number,
  pools: RangeOverwrite['pools'],
  blocks: Chain,
  random: Random,
): RangeOverwrite {
  const stated = asRestatement(network, blocks, { job, pools })
  return {
    ...stated,
    blocks: stated.blocks.map((block) => ({
      ...block,
      ticks: mended(random, block.ticks),
      liquidity: block.liquidity.filter(() => random.chance(0.95)),
    })),
  }
}

function mended(random: Random, ticks: readonly Tick[]): readonly Tick[] {
  if (random.chance(0.6)) return ticks
  const found = ticks.filter(() => random.chance(0.8))
  const last = ticks.at(-1)
  return last && random.chance(0.5) ? [...found, { ...last, logIndex: last.logIndex + 5 }] : found
}
