/** Balances of v3 pools: their locked value is their token balance, which no event contains. */
import { type Client, erc20Abi, type Hex } from 'viem'
import type { BlockRef, UnixSeconds } from '../model/message.ts'
import type { Pool, PoolBalance, PoolId } from '../model/pool.ts'
import { type ContractRead, isRefusal } from '../rpc/capped-reads.ts'
import type { Endpoints } from '../rpc/endpoints/endpoints.ts'
import { pinToBlock } from '../rpc/endpoints/pin-to-block.ts'
import { readMany } from '../rpc/multicall.ts'

const MAX_POOLS_PER_READ = 100
/** Chains with several blocks in this time: changed pools are read once in it. */
const PERIOD_SECONDS = 6
/** A refusal may be of another cause. */
const BY_NUMBER_MS = 600_000

/** Each change in a pool is eventually followed by a read of its balance on the canonical branch. */
export class BalanceReader {
  readonly #endpoints: Endpoints
  /** Pools with changes since their last read, the latest last. */
  readonly #due = new Map<PoolId, Pool>()
  /** Block of each pool's last read. */
  readonly #read = new Map<PoolId, { pool: Pool; block: number }>()
  #lastSecond: UnixSeconds | undefined
  /** Nodes that refuse to read by the hash of a block. */
  readonly #byNumberUntil = new WeakMap<Client, number>()

  constructor(endpoints: Endpoints) {
    this.#endpoints = endpoints
  }

  /** Marks the pool for a read. */
  touch(pool: Pool): void {
    this.#due.delete(pool.id)
    this.#due.set(pool.id, pool)
  }

  /** Balances after `block` of some marked pools, the latest changes first, because those pools are the most active. */
  async read(
    block: BlockRef & { timestamp: UnixSeconds },
    asked: Pick<Endpoints, 'run'> = this.#endpoints,
  ): Promise<PoolBalance[]> {
    // The pools stay marked until the period is over.
    if (this.#lastSecond !== undefined && block.timestamp < this.#lastSecond + PERIOD_SECONDS) return []
    const pools = [...this.#due.values()].slice(-MAX_POOLS_PER_READ)
    if (pools.length === 0) return []
    const reads = pools.flatMap((pool) =>
      [pool.token0, pool.token1].map((token) => ({
        address: token.address,
        abi: erc20Abi,
        functionName: 'balanceOf',
        args: [pool.id],
      })),
    )
    const answers = await this.#readAfter(block, reads, asked)
    this.#lastSecond = block.timestamp
    const balances: PoolBalance[] = []
    for (const [index, pool] of pools.entries()) {
      this.#due.delete(pool.id)
      this.#read.set(pool.id, { pool, block: block.number })
      const [balance0, balance1] = answers.slice(index * 2, index * 2 + 2)
      if (typeof balance0 === 'bigint' && typeof balance1 === 'bigint') {
        balances.push({ pool: pool.id, balance0, balance1 })
      }
    }
    return balances
  }

  /** A node on another branch has other balances at this height: the hash excludes it, or else its header, which is a second request. */
  async #readAfter(block: BlockRef, reads: readonly ContractRead[], asked: Pick<Endpoints, 'run'>): Promise<unknown[]> {
    const { hash, number } = block
    const options = { atLeast: number }
    const byHash = { at: { blockHash: hash as Hex, requireCanonical: true }, maxAlone: 0 } as const
    const answers = await asked.run(async (client) => {
      if ((this.#byNumberUntil.get(client) ?? 0) > performance.now()) return undefined
      try {
        return await readMany(client, reads, byHash)
      } catch (error) {
        if (!isRefusal(error)) throw error
        this.#byNumberUntil.set(client, performance.now() + BY_NUMBER_MS)
        return undefined
      }
    }, options)
    if (answers) return answers
    return pinToBlock(asked, block).run((client) =>
      readMany(client, reads, { at: { blockNumber: BigInt(number) }, maxAlone: 0 }),
    )
  }

  /** Marks all pools again that were read above `block`. */
  rollBack(block: number): void {
    for (const { pool, block: at } of this.#read.values()) if (at > block) this.touch(pool)
    this.#lastSecond = undefined
  }
}
