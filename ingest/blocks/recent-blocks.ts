/** Reads the next few blocks near the head with their logs, from one endpoint. */
import type { Client } from 'viem'
import type { BlockRef } from '../model/message.ts'
import { bloomVerdict } from '../proof/bloom.ts'
import { limitsOf } from '../rpc/endpoint-limits.ts'
import type { Endpoints } from '../rpc/endpoints/endpoints.ts'
import { logsByNumber, logsOfBlock } from '../rpc/logs/block-logs.ts'
import { readInPieces, readLogs } from '../rpc/logs/log-range.ts'
import { getHeader, type Header, type LogFilter, type RpcLog } from '../rpc/rpc.ts'
import { BadAnswer } from '../rpc/rpc-error.ts'

export type LogBlock = { header: Header; logs: readonly RpcLog[] }

export type BlocksToRead = {
  first: number
  last: number
  /** The head, whose header is known. */
  head: Header
  /** The block before `first`, where known. */
  parent: BlockRef | undefined
  /** Blocks that are read already, if all are. */
  early?: { client: Client; blocks: readonly LogBlock[] } | undefined
}

/** The blocks from `first` on, as far as each links to the next. A chain that changes meanwhile is handled at the next poll. */
export async function readBlocks(
  endpoints: Endpoints,
  filter: LogFilter,
  { first, last, head, parent, early }: BlocksToRead,
): Promise<LogBlock[]> {
  const [oldest] = early?.blocks ?? []
  const isRead = early && oldest?.header.number === first && oldest.header.parentHash === parent?.hash
  const { client, blocks } = isRead
    ? early
    : await endpoints.run(
        async (client) => {
          const headers = await linked(client, first, last, head, parent)
          return { client, blocks: await Promise.all(headers.map((header) => readBlock(client, filter, header))) }
        },
        { atLeast: last },
      )
  return Promise.all(
    blocks.map(async (block) => (isSuspect(block, filter) ? readFromAnother(endpoints, client, filter, block) : block)),
  )
}

async function linked(
  client: Client,
  first: number,
  last: number,
  head: Header,
  parent: BlockRef | undefined,
): Promise<Header[]> {
  const numbers = Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => first + index)
  const headers = await Promise.all(
    numbers.map((number) => (number === head.number ? head : getHeader(client, number))),
  )
  const chain: Header[] = []
  let hash = parent?.hash
  for (const [index, header] of headers.entries()) {
    if (!header) throw new BadAnswer('behind', `The node has no block ${first + index} yet.`)
    if (hash !== undefined && header.parentHash !== hash) break
    if (header.timestamp < (chain.at(-1)?.timestamp ?? 0)) {
      throw new BadAnswer('contradictory', `At the node block ${header.number} is older than its parent.`)
    }
    chain.push(header)
    hash = header.hash
  }
  return chain
}

/**
 * As `readBlocks`, with the logs of all blocks in one request. The headers are linked by hash; the answer is refused unless each log names
 * the hash of its header, and the same node has the last header.
 */
async function readBlockRange(
  endpoints: Endpoints,
  filter: LogFilter,
  { first, last, head, parent }: BlocksToRead,
): Promise<LogBlock[]> {
  const headers = await endpoints.run((client) => linked(client, first, last, head, parent), { atLeast: last })
  const wanted = headers.filter(({ logsBloom }) => bloomVerdict(logsBloom, filter) !== 'none')
  const [from, to] = [wanted[0]?.number, wanted.at(-1)?.number]
  if (from === undefined || to === undefined) return headers.map((header) => ({ header, logs: [] }))
  const hashes = new Map(headers.map(({ number, hash }) => [number, hash]))
  const read = async (client: Client, low: number, high: number) => {
    const { logs, last } = await readLogs(client, filter, low, high)
    const isOther = (number: number, hash: string) => hashes.get(number) !== hash
    if (isOther(high, last.hash) || logs.some((log) => isOther(Number(log.blockNumber), log.blockHash))) {
      throw new BadAnswer('behind', `The node has replaced a block from ${low} to ${high} meanwhile, or has not yet.`)
    }
    return { client, high, logs }
  }
  const { pieces } = await readInPieces(endpoints, from, to, read)
  const logs = pieces.flatMap((piece) => piece.logs)
  return Promise.all(
    headers.map((header) => {
      const block = { header, logs: logs.filter(({ blockHash }) => blockHash === header.hash) }
      const client = pieces.find(({ high }) => header.number <= high)?.client
      return client && isSuspect(block, filter) ? readFromAnother(endpoints, client, filter, block) : block
    }),
  )
}

/** How blocks near the head are read, and how many at once. */
export type LiveReading = { blocksAtOnce: number; read: typeof readBlocks }

/** Each block when it is announced: the lowest latency. */
export const BLOCK_BY_BLOCK: LiveReading = { blocksAtOnce: 16, read: readBlocks }

/** All blocks of a period together: the fewest requests. */
export const BY_RANGES: LiveReading = { blocksAtOnce: 100, read: readBlockRange }

/** Logs are requested only where the bloom may contain topics and addresses of the filter. */
export async function readBlock(client: Client, filter: LogFilter, header: Header): Promise<LogBlock> {
  if (bloomVerdict(header.logsBloom, filter) === 'none') return { header, logs: [] }
  return { header, logs: await logsOfBlock(client, filter, header) }
}

function isSuspect({ header, logs }: LogBlock, filter: LogFilter): boolean {
  return logs.length === 0 && bloomVerdict(header.logsBloom, filter) === 'maybe'
}

/** The bloom may be wrong: a second empty answer suffices. It is asked for by number: an endpoint may answer nothing by hash for a while. */
async function readFromAnother(endpoints: Endpoints, client: Client, filter: LogFilter, block: LogBlock) {
  const { header } = block
  const again = await endpoints.run(
    async (other) => {
      const logs = await logsByNumber(other, filter, header)
      if (other === client && logs.length > 0) limitsOf(client).refuseHash()
      return { header, logs, isSame: other === client }
    },
    { atLeast: header.number, notFirst: client },
  )
  if (again.logs.length > 0 && !again.isSame) {
    const reason = `It answered no logs of block ${header.number}, which has ${again.logs.length}.`
    endpoints.penalize(client, new BadAnswer('contradictory', reason))
  }
  return again
}
