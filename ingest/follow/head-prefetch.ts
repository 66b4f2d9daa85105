/** What is asked of blocks that a node has told of, beside the question whether they are on its chain: one round trip for all of it. */
import type { Client } from 'viem'
import type { Assembler } from '../blocks/assemble.ts'
import { type LogBlock, readBlock } from '../blocks/recent-blocks.ts'
import type { PoolBalance } from '../model/pool.ts'
import { getHeader, type Header } from '../rpc/rpc.ts'

export type HeadPrefetch = {
  client: Client
  /** Undefined where the node could not tell. */
  blocks: Promise<readonly LogBlock[] | undefined>
  /** Whether the newest of them is on the node's chain below this head. */
  isOnChain(head: Header): Promise<boolean>
  balances: BalanceRead
}

/** Balances after a block: whoever begins to read them tells of them with that block, or gives them up. */
export type BalanceRead = {
  take(): Promise<readonly PoolBalance[]>
  /** Those that nobody told of are read again. */
  discard(): Promise<void>
}

/** Asks this one node for blocks of which each is the parent of the next, up to `newest`; a failure says nothing, since they may have gone again. */
export function prefetch(client: Client, told: readonly Header[], newest: Header, assembler: Assembler): HeadPrefetch {
  const asked = { run: <T>(task: (client: Client) => Promise<T>) => task(client) }
  // Of one block the head itself nearly always tells.
  const onChain = told.length === 1 ? undefined : getHeader(client, newest.number).catch(() => undefined)
  return {
    client,
    blocks: Promise.all(told.map((header) => readBlock(client, assembler.filter, header))).catch(() => undefined),
    async isOnChain(head) {
      if (head.hash === newest.hash || head.parentHash === newest.hash) return true
      return head.number > newest.number && (await onChain)?.hash === newest.hash
    },
    balances: balancesAt(
      newest,
      assembler,
      assembler.balances.read(newest, asked).catch(() => []),
    ),
  }
}

export function balancesAt(header: Header, assembler: Assembler, read: Promise<readonly PoolBalance[]>): BalanceRead {
  let isTold = false
  return {
    take() {
      isTold = true
      return read
    },
    async discard() {
      if (isTold) return
      isTold = true
      await read
      assembler.balances.rollBack(header.number - 1)
    },
  }
}
