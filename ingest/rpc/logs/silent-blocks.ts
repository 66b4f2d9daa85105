/**
 * Blocks without logs in an answer for a range. go-ethereum (up to 1.17 at least) may leave a whole block out of the answer while its log index
 * grows past a map of 65,536 values: it counts the block as searched, though only a part of it was indexed.
 */
import type { Client } from 'viem'
import { quantity } from '../../lib/hex-bytes.ts'
import { bloomVerdict } from '../../proof/bloom.ts'
import { limitsOf } from '../endpoint-limits.ts'
import { getHeader, getLogs, type Header, type LogFilter, type RpcLog } from '../rpc.ts'
import { BadAnswer, classify } from '../rpc-error.ts'
import { logsOfBlock } from './block-logs.ts'

/** More are no exception: then a look at each would cost more than the range, and the audit reads all blocks again. */
const MAX_SILENT_BLOCKS = 8
/** One of so many blocks at most is silent where that is an exception. */
const MIN_BLOCKS_PER_SILENT = 8

/**
 * Requests the logs of silent blocks whose bloom may have some, and returns them with `logs`, in order. Silent blocks are the blocks without
 * logs in a range where these are few, and the ones in `ends`, whose headers are known. The request names the block's hash where the node
 * supports it: such an answer does not use the node's index, which may lack the block for a second time.
 */
export async function withSilentBlocks(
  client: Client,
  filter: LogFilter,
  { from, to, logs, ends }: { from: number; to: number; logs: readonly RpcLog[]; ends: readonly Header[] },
): Promise<readonly RpcLog[]> {
  const known = new Map(ends.map((header) => [header.number, header]))
  const heard = blocksOf(logs)
  const silent = new Set([...silentBlocks(from, to, heard), ...[...known.keys()].filter((block) => !heard.has(block))])
  const again = await Promise.all(
    [...silent].map(async (block) => logsAgain(client, filter, known.get(block) ?? (await getHeader(client, block)))),
  )
  const found = again.flat()
  if (found.length === 0) return logs
  // Logs of one block come from one answer, in order: a stable sort keeps that.
  return [...logs, ...found].sort((a, b) => Number(a.blockNumber) - Number(b.blockNumber))
}

function blocksOf(logs: readonly RpcLog[]): ReadonlySet<number> {
  const blocks = new Set<number>()
  let text = ''
  for (const { blockNumber } of logs) {
    if (blockNumber !== text) blocks.add(quantity(blockNumber))
    text = blockNumber
  }
  return blocks
}

function silentBlocks(from: number, to: number, heard: ReadonlySet<number>): number[] {
  const blocks = to - from + 1
  if (blocks - heard.size > Math.min(MAX_SILENT_BLOCKS, blocks / MIN_BLOCKS_PER_SILENT)) return []
  return Array.from({ length: blocks }, (_, index) => from + index).filter((block) => !heard.has(block))
}

async function logsAgain(client: Client, filter: LogFilter, header: Header | undefined): Promise<readonly RpcLog[]> {
  if (!header || bloomVerdict(header.logsBloom, filter) !== 'maybe') return []
  return logsOfBlock(client, filter, header)
}

const ALL_LOGS: LogFilter = { topics: [] }
/** Among so many blocks, one is likely to have logs. */
const LOOKS = 4

/**
 * Throws `BadAnswer` where the node lacks the history from block `from` on; `last` is the header of the range's end in its answer. An empty
 * answer alone proves nothing: a pruned node may have no headers, or headers and no logs, and answer without an error.
 */
export async function requireHistory(client: Client, from: number, last: Header): Promise<void> {
  if (limitsOf(client).hasLogsFrom(from)) return
  // Together: a node that is behind, or on another branch, lacks more than its history.
  const [first, again] = await Promise.all([getHeader(client, from), getHeader(client, last.number)])
  if (again?.hash !== last.hash) throw new BadAnswer('behind', `The node has replaced block ${last.number} meanwhile.`)
  if (!first) {
    throw new BadAnswer('pruned', `The node has no block ${from} any more, so its logs from there on prove nothing.`)
  }
  await requireLogs(client, first, last.number)
}

/** Looks for the first block from `first` up to `to` that has logs by its header. Throws `BadAnswer` where the node answers none of them. */
export async function requireLogs(client: Client, first: Header, to: number): Promise<void> {
  const limits = limitsOf(client)
  if (limits.hasLogsFrom(first.number)) return
  const header = await firstWithLogs(client, first, to)
  const block = header && { from: header.number, to: header.number }
  const logs = block && (await getLogs(client, ALL_LOGS, block).catch(unlessRefused))
  if (logs?.length === 0) {
    limits.reportOnce('no-old-logs', `block ${block?.from} has logs by its header, and none in the answer`)
    throw new BadAnswer('pruned', `The node has no logs of block ${block?.from}, which has some by its header.`)
  }
  // Where no header shows logs, the node's answer is trusted.
  limits.noteLogsFrom(first.number)
}

async function firstWithLogs(client: Client, first: Header, to: number): Promise<Header | undefined> {
  const hasLogs = (header: Header | undefined) => bloomVerdict(header?.logsBloom, ALL_LOGS) !== 'unknown'
  if (hasLogs(first)) return first
  const next = Array.from(
    { length: Math.min(LOOKS, to - first.number + 1) - 1 },
    (_, index) => first.number + 1 + index,
  )
  return (await Promise.all(next.map((block) => getHeader(client, block)))).find(hasLogs)
}

/** A node that has the logs may refuse a filter without topics, or too many logs. */
function unlessRefused(error: unknown): undefined {
  if (!REFUSALS.some((kind) => kind === classify(error).kind)) throw error
}

const REFUSALS = ['unsupported', 'refused', 'too-many-results', 'too-many-values', 'range-capped'] as const
