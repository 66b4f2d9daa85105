/** Checks of what files say: against each other, against the blooms of their headers, and against endpoints. */
import type { Hex } from 'viem'
import { proveBlock } from '../../ingest/audit/audit-proof.ts'
import { SourceRefused } from '../../ingest/model/errors.ts'
import { TIME_END } from '../../ingest/model/message.ts'
import { bitsOf, bloomVerdict } from '../../ingest/proof/bloom.ts'
import type { Endpoints } from '../../ingest/rpc/endpoints/endpoints.ts'
import { logsOfBlock } from '../../ingest/rpc/logs/block-logs.ts'
import type { LogRange } from '../../ingest/rpc/logs/log-range.ts'
import { getHeader, type Header, type LogFilter, type RpcLog } from '../../ingest/rpc/rpc.ts'
import { RpcFailed } from '../../ingest/rpc/rpc-error.ts'
import { type CryoFile, nameOfFile } from './cryo-files.ts'

/** Each header names the one before it, where its column is there, and is not older. Returns the last one. `before`: the one before the first. */
export function requireChain(
  files: readonly CryoFile[],
  before: Header | undefined,
  headers: readonly [Header, ...Header[]],
): Header {
  let last = before
  for (const header of headers) {
    const { number, parentHash, timestamp } = header
    if (last && parentHash !== NO_PARENT && parentHash !== last.hash)
      throw refused(files, number, `the parent of block ${number} is not block ${number - 1} of the files.`)
    if (timestamp >= TIME_END || timestamp < (last?.timestamp ?? 0))
      throw refused(files, number, `block ${number} has the time ${timestamp}, which no block after its parent has.`)
    last = header
  }
  return last ?? headers[0]
}

/** `files`: those with the headers. */
function refused(files: readonly CryoFile[], block: number, why: string): SourceRefused {
  return new SourceRefused(`${nameOfFile(files, block)}: ${why}`)
}

/** The parent of a header from a file without that column. */
export const NO_PARENT = '0x'

/**
 * Finds files of another branch, by their last block. It proves no other block: files lack fields of a header, so that its hash is not re-computed, and
 * headers that are made up may name any hashes. Such files are found by the blocks that `requireShare` proves.
 */
export async function requireOnChain(
  endpoints: Endpoints,
  files: readonly CryoFile[],
  { number, hash, timestamp }: Header,
): Promise<void> {
  const answered = await endpoints.run((client) => getHeader(client, number), { atLeast: number })
  if (!answered) return
  if (answered.hash !== hash)
    throw refused(
      files,
      number,
      `the blocks are of another chain: block ${number} is ${hash} there and ${answered.hash} at the endpoints.`,
    )
  if (answered.timestamp !== timestamp)
    throw refused(
      files,
      number,
      `block ${number} has the time ${timestamp} there and ${answered.timestamp} at the endpoints.`,
    )
}

/** The logs of a range of a file, also by block, and the headers of all blocks of that file, in order, with the files that these are of. */
export type CheckedRange = {
  file: string
  range: LogRange
  byBlock: ReadonlyMap<number, readonly RpcLog[]>
  headers: readonly Header[]
  headerFiles: readonly CryoFile[]
}

/** A log whose contract or event is not in the bloom of its header is not of that block. */
export function requireBlooms({ file, byBlock, headers }: CheckedRange): void {
  for (const [number, logs] of byBlock) {
    const { logsBloom } = headerOf(headers, number)
    if (logsBloom === undefined || logs.every(({ address, topics }) => isIn(logsBloom, address, topics[0]))) continue
    if (bloomVerdict(logsBloom, ALL_LOGS) === 'unknown') continue
    throw new SourceRefused(`${file}: block ${number} has a log that is not in the bloom of its header.`)
  }
}

const ALL_LOGS: LogFilter = { topics: [] }

function isIn(bloom: Hex, address: Hex, topic: Hex | undefined): boolean {
  return hasBits(bloom, address) && (topic === undefined || hasBits(bloom, topic))
}

/** Reads the digits of the bloom: bytes of each block's bloom would take longer than the rest of its checks. */
function hasBits(bloom: Hex, value: Hex): boolean {
  for (const bit of bitsOf(value)) {
    const code = bloom.charCodeAt(LAST_DIGIT - (bit >> 2))
    const digit = code <= CODE_OF_9 ? code : code - CODE_OF_A + 10
    if ((digit & (1 << (bit & 3))) === 0) return false
  }
  return true
}

/** Codes of the digits 0 to 9 end with their bits. */
const CODE_OF_9 = 57
const CODE_OF_A = 97
/** Four bits a digit; the last one has the lowest. */
const LAST_DIGIT = 2 + 512 - 1

/** More are no exception: blooms of busy blocks match events that the block does not have. */
const MAX_SILENT_BLOCKS = 8

/**
 * Compares blocks with the chain: each one with the probability `share`, by the proof of its receipts, and the few without logs whose bloom may
 * have some.
 */
export async function requireShare(
  endpoints: Endpoints,
  checked: CheckedRange,
  filter: LogFilter,
  share: number,
): Promise<void> {
  const { range, byBlock, headers } = checked
  const blocks = headers.slice(range.from - headerAt(headers), range.to - headerAt(headers) + 1)
  const silent = blocks.filter(
    ({ number, logsBloom }) => !byBlock.has(number) && bloomVerdict(logsBloom, filter) === 'maybe',
  )
  const doubted = silent.length <= MAX_SILENT_BLOCKS ? silent : []
  const drawn = blocks.filter(() => Math.random() < share)
  await Promise.all([
    ...drawn.map((header) => requireBlock(endpoints, checked, filter, header)),
    ...doubted.map((header) => requireSame(checked, header, readLogs(endpoints, filter, header))),
  ])
}

async function requireBlock(
  endpoints: Endpoints,
  checked: CheckedRange,
  filter: LogFilter,
  header: Header,
): Promise<void> {
  const proven = await proveBlock(endpoints, filter, header.number)
  const { hash, timestamp } = proven?.header ?? header
  if (hash !== header.hash || timestamp !== header.timestamp)
    throw refused(checked.headerFiles, header.number, `the header of block ${header.number} is not that of the chain.`)
  await requireSame(checked, header, proven ? Promise.resolve(proven.logs) : readLogs(endpoints, filter, header))
}

async function requireSame(
  { file, byBlock }: CheckedRange,
  { number }: Header,
  reading: Promise<readonly RpcLog[] | undefined>,
): Promise<void> {
  const answered = await reading
  const own = byBlock.get(number) ?? []
  if (answered === undefined || textOf(answered) === textOf(own)) return
  throw new SourceRefused(
    `${file}: the logs of block ${number} are not those of the chain: ${own.length} in the file, ${answered.length} at the endpoints.`,
  )
}

/** Undefined where no endpoint has the logs of that block any more. */
async function readLogs(endpoints: Endpoints, filter: LogFilter, header: Header): Promise<RpcLog[] | undefined> {
  try {
    return await endpoints.run((client) => logsOfBlock(client, filter, header), {
      atLeast: header.number,
      oldest: header.number,
    })
  } catch (error) {
    if (error instanceof RpcFailed && error.problem.kind === 'pruned') return undefined
    throw error
  }
}

function textOf(logs: readonly RpcLog[]): string {
  return JSON.stringify(
    logs.map(({ logIndex, transactionHash, address, topics, data }) => [
      Number(logIndex),
      transactionHash,
      address.toLowerCase(),
      topics,
      data,
    ]),
  )
}

function headerAt(headers: readonly Header[]): number {
  return headers[0]?.number ?? 0
}

export function headerOf(headers: readonly Header[], number: number): Header {
  const header = headers[number - headerAt(headers)]
  if (!header) throw new Error(`No header of block ${number} was read.`)
  return header
}
