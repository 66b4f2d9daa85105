/** Reads announced blocks, their headers and their balances in parallel with the poll of the head, which saves a round trip. */
import type { Client } from 'viem'
import type { Assembler } from '../blocks/assemble.ts'
import { type LogBlock, readBlock } from '../blocks/recent-blocks.ts'
import type { PoolBalance } from '../model/pool.ts'
import { bloomVerdict } from '../proof/bloom.ts'
import { getHeader, type Header } from '../rpc/rpc.ts'
import type { AnnouncedHead } from './announced-heads.ts'

export type HeadPrefetch = {
  client: Client
  /** With the headers as the node answers them; undefined where it lacks one of them, or the read failed. */
  blocks: Promise<readonly LogBlock[] | undefined>
  balances: BalanceRead
}

/** Balances after a block. Each read ends with `take` or `discard`. */
export type BalanceRead = {
  take(): Promise<readonly PoolBalance[]>
  /** Marks the pools for another read, unless the balances were taken. */
  discard(): Promise<void>
}

/** Reads announced blocks up to `newest` from one node. Failures are ignored: the blocks may have been replaced. */
export function prefetch(
  client: Client,
  { announced, newest }: { announced: readonly AnnouncedHead[]; newest: Header },
  assembler: Assembler,
): HeadPrefetch {
  const asked = { run: <T>(task: (client: Client) => Promise<T>) => task(client) }
  return {
    client,
    blocks: readAnnounced(client, announced, assembler).catch(() => undefined),
    balances: balancesAt(
      newest,
      assembler,
      assembler.balances.read(newest, asked).catch(() => []),
    ),
  }
}

/**
 * Blocks count once the same node also answers their headers, which are requested together with the logs. If the announced headers are
 * proven, one request for the newest block suffices: its logs by its hash, or its header where it has no logs.
 */
async function readAnnounced(
  client: Client,
  announced: readonly AnnouncedHead[],
  { filter }: Assembler,
): Promise<readonly LogBlock[] | undefined> {
  const early = announced.map((head) => readBlock(client, filter, head))
  for (const block of early) block.catch(() => undefined)
  const newest = announced.at(-1)
  if (newest && announced.every(({ isProven }) => isProven)) {
    const hasLogs = bloomVerdict(newest.logsBloom, filter) !== 'none' && ((await early.at(-1))?.logs.length ?? 0) > 0
    const isThere = hasLogs || (await getHeader(client, newest.number))?.hash === newest.hash
    return isThere ? Promise.all(early) : undefined
  }
  const headers = await Promise.all(announced.map(({ number }) => getHeader(client, number)))
  const blocks = await Promise.all(
    announced.map(async ({ hash, logsBloom }, index) => {
      const header = headers[index]
      if (header?.hash !== hash) return undefined
      // By another bloom the logs may not have been requested.
      return header.logsBloom === logsBloom
        ? { header, logs: (await early[index])?.logs ?? [] }
        : readBlock(client, filter, header)
    }),
  )
  const known = blocks.filter((block) => block !== undefined)
  return known.length === announced.length ? known : undefined
}

export function balancesAt(header: Header, assembler: Assembler, read: Promise<readonly PoolBalance[]>): BalanceRead {
  let isTaken = false
  return {
    take() {
      isTaken = true
      return read
    },
    async discard() {
      if (isTaken) return
      isTaken = true
      await read
      assembler.balances.rollBack(header.number - 1)
    },
  }
}
