/** What is asked of a block that a node has told of, beside the question whether it is the head: one round trip instead of two. */
import type { Client } from 'viem'
import type { Assembler } from './assemble.ts'
import { type LogBlock, readBlock } from './blocks.ts'
import type { PoolBalance } from './pool.ts'
import type { Header } from './rpc.ts'

export type Early = {
  client: Client
  /** Undefined where the node could not tell. */
  block: Promise<LogBlock | undefined>
  balances: Balances
}

/** Balances after a block: whoever begins to read them tells of them with that block, or gives them up. */
export type Balances = {
  tell(): Promise<readonly PoolBalance[]>
  /** Those that nobody told of are read again. */
  giveUp(): Promise<void>
}

/** Asks this one node; a failure says nothing, since the block may have gone again. */
export function readEarly(client: Client, header: Header, assembler: Assembler): Early {
  const asked = { run: <T>(task: (client: Client) => Promise<T>) => task(client) }
  return {
    client,
    block: readBlock(client, assembler.filter, header).catch(() => undefined),
    balances: balancesAt(
      header,
      assembler,
      assembler.balances.read(header, asked).catch(() => []),
    ),
  }
}

export function balancesAt(header: Header, assembler: Assembler, read: Promise<readonly PoolBalance[]>): Balances {
  let isTold = false
  return {
    tell() {
      isTold = true
      return read
    },
    async giveUp() {
      if (isTold) return
      isTold = true
      await read
      assembler.balances.rollBack(header.number - 1)
    },
  }
}
