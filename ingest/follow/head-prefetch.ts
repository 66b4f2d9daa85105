/** Reads announced blocks and their balances in parallel with the poll of the head, which saves a round trip. */
import type { Client } from 'viem'
import type { Assembler } from '../blocks/assemble.ts'
import { type LogBlock, readBlock } from '../blocks/recent-blocks.ts'
import type { PoolBalance } from '../model/pool.ts'
import { getHeader, type Header } from '../rpc/rpc.ts'

export type HeadPrefetch = {
  client: Client
  /** Undefined where the read failed. */
  blocks: Promise<readonly LogBlock[] | undefined>
  /** Whether the newest of the blocks is an ancestor of `head` on this node. */
  isOnChain(head: Header): Promise<boolean>
  balances: BalanceRead
}

/** Balances after a block. Each read ends with `take` or `discard`. */
export type BalanceRead = {
  take(): Promise<readonly PoolBalance[]>
  /** Marks the pools for another read, unless the balances were taken. */
  discard(): Promise<void>
}

/** Reads a chain of blocks up to `newest` from one node, whose head is polled meanwhile or not. Failures are ignored: the blocks may have been replaced. */
export function prefetch(
  client: Client,
  { told, newest, isPolled }: { told: readonly Header[]; newest: Header; isPolled: boolean },
  assembler: Assembler,
): HeadPrefetch {
  const asked = { run: <T>(task: (client: Client) => Promise<T>) => task(client) }
  // For one block the head itself nearly always confirms it.
  const onChain = told.length === 1 || !isPolled ? undefined : getHeader(client, newest.number).catch(() => undefined)
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
