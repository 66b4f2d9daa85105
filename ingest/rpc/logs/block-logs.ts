/** The logs of one block whose header is known. An endpoint may refuse to answer them by hash, or fail at a filter that has too many of them. */
import type { Client } from 'viem'
import { pieces } from '../../lib/pieces.ts'
import type { BlockRef } from '../../model/message.ts'
import { limitsOf } from '../endpoint-limits.ts'
import { getHeader, getLogs, inOrder, type LogFilter, type RpcLog } from '../rpc.ts'
import { BadAnswer, classify, mayBeHeavy } from '../rpc-error.ts'
import { readByPieces, valuesIn } from './filter-pieces.ts'

/**
 * By the hash of the block, which no other branch has. Where the endpoint does not answer that, by its number, and by smaller filters: then
 * its header is read again together with the logs.
 */
export async function logsOfBlock(client: Client, filter: LogFilter, block: BlockRef): Promise<RpcLog[]> {
  const limits = limitsOf(client)
  if (limits.isByNumber || valuesIn(filter) > limits.maxValues) return logsByNumber(client, filter, block)
  try {
    return await logsByHash(client, filter, block)
  } catch (error) {
    const { kind } = classify(error)
    if (kind === 'too-many-values') return logsByNumber(client, filter, block)
    if (kind === 'rate-limited' || kind === 'contradictory' || !(await isThere(client, block))) throw error
    const logs = await logsByNumber(client, filter, block)
    // A node without the block at its first request may have it now: that says nothing about hashes.
    if (kind !== 'behind') limits.refuseHash()
    return logs
  }
}

async function logsByHash(client: Client, filter: LogFilter, { number, hash }: BlockRef): Promise<RpcLog[]> {
  const logs = await getLogs(client, filter, { blockHash: hash })
  const other = logs.find((log) => Number(log.blockNumber) !== number)
  if (other) throw new BadAnswer('contradictory', `A log of block ${number} says ${Number(other.blockNumber)}.`)
  return logs
}

async function isThere(client: Client, { number, hash }: BlockRef): Promise<boolean> {
  const header = await getHeader(client, number).catch(() => undefined)
  return header?.hash === hash
}

/** Throws `BadAnswer` where the endpoint has another block of that number by now. */
export async function logsByNumber(client: Client, filter: LogFilter, block: BlockRef): Promise<RpcLog[]> {
  const read = (piece: LogFilter) => readAtNumber(client, piece, block)
  const parts = await readByPieces(client, filter, (piece) => read(piece).catch((error) => readSmaller(error, piece)))
  return inOrder(client, parts.flat())

  /** A failure may be due to the number of addresses or logs, where the endpoint answers other requests. */
  async function readSmaller(error: unknown, piece: LogFilter): Promise<RpcLog[]> {
    const { kind } = classify(error)
    const smaller = smallerFilters(piece)
    if (!isHeavy(error) || smaller.length < 2 || !(await isThere(client, block))) throw error
    const logs: RpcLog[] = []
    for (const part of smaller) logs.push(...(await read(part).catch((again) => readSmaller(again, part))))
    // A parser's error about a list that is too long names no limit.
    const [asked, passed] = [piece.address?.length ?? 0, smaller[0]?.address?.length ?? 0]
    if (passed < asked && (kind === 'refused' || kind === 'malformed')) limitsOf(client).refuseValues(passed, asked)
    return logs
  }
}

/** Whether the logs of one block may fail for their number, or for that of the filter's addresses. */
export function isHeavy(error: unknown): boolean {
  return classify(error).kind === 'too-many-results' || mayBeHeavy(error)
}

const FEW_ADDRESSES = 30

/** Half of many addresses each, else one topic each, else half of a few addresses. */
function smallerFilters(filter: LogFilter): LogFilter[] {
  const [first, ...topics] = filter.topics
  const addresses = filter.address?.length ?? 0
  if (addresses <= FEW_ADDRESSES && first && first.length > 1) {
    return first.map((topic) => ({ ...filter, topics: [[topic], ...topics] }))
  }
  return pieces(filter.address ?? [], Math.ceil(addresses / 2) || 1).map((address) => ({ ...filter, address }))
}

async function readAtNumber(client: Client, filter: LogFilter, { number, hash }: BlockRef): Promise<RpcLog[]> {
  const [logs, header] = await Promise.all([
    getLogs(client, filter, { from: number, to: number }),
    getHeader(client, number),
  ])
  if (header?.hash !== hash || logs.some(({ blockHash }) => blockHash !== hash)) {
    throw new BadAnswer('behind', `The node has replaced block ${number} (${hash}) meanwhile, or has not yet.`)
  }
  return logs
}
