/** Ranges of blocks with their logs, cut out of the rows of one file. */
import type { Hex } from 'viem'
import { MAX_RANGE_BLOCKS } from '../../ingest/blocks/range-scheduler.ts'
import type { BlockRange } from '../../ingest/model/block-range.ts'
import { SourceRefused } from '../../ingest/model/errors.ts'
import type { LogRange } from '../../ingest/rpc/logs/log-range.ts'
import type { Header, RpcLog } from '../../ingest/rpc/rpc.ts'
import { headerOf } from './file-checks.ts'
import type { LogRow } from './file-rows.ts'

/** Target number of logs of a range. */
const RANGE_LOGS = 5_000
/** Size at which a range ends, in hex digits: any contract may emit our events with long data. */
const RANGE_DIGITS = 16 * 1024 * 1024
/** Size that no block has, in hex digits. */
const MAX_BLOCK_DIGITS = 512 * 1024 * 1024
/** A log without data counts as so many, which is what its topics and hashes take. */
const LOG_DIGITS = 1_000

/** A range, and its logs by block. */
export type FileRange = { range: LogRange; byBlock: ReadonlyMap<number, readonly RpcLog[]> }

/**
 * All blocks from `from` to `to`. `headers`: theirs. Throws where logs are out of order, come twice, are ones that the file may not have, or are more
 * than a block has.
 */
export async function* rangesOf(
  name: string,
  { from: first, to }: BlockRange,
  headers: readonly Header[],
  pieces: AsyncIterable<LogRow[]>,
): AsyncGenerator<FileRange> {
  const next = new NextRange(headers, first)
  let [block, index, digits] = [-1, -1, 0]
  /** Logs of the block so far. */
  let logs: RpcLog[] = []
  let [blockHash, blockNumber]: [Hex, Hex] = ['0x', '0x']
  for await (const rows of pieces) {
    for (const { number, index: logIndex, log, fault } of rows) {
      if (fault !== '') throw new SourceRefused(`${name}: log ${logIndex} of block ${number} ${fault}.`)
      if (number < block || (number === block && logIndex <= index))
        throw outOfOrder(name, block, index, number, logIndex)
      if (number !== block) {
        if (next.isFull) yield next.end(number - 1)
        while (number - next.from >= MAX_RANGE_BLOCKS) yield next.end(next.from + MAX_RANGE_BLOCKS - 1)
        const header = headerOf(headers, number)
        logs = next.begin(header)
        ;[block, digits, blockHash, blockNumber] = [number, 0, header.hash, `0x${number.toString(16)}`]
      }
      index = logIndex
      digits += digitsOf(log)
      if (digits > MAX_BLOCK_DIGITS)
        throw new SourceRefused(`${name}: block ${number} has more logs than fit into a block.`)
      log.blockHash = blockHash
      log.blockNumber = blockNumber
      logs.push(log)
      next.add(log)
    }
  }
  while (next.from <= to) yield next.end(Math.min(to, next.from + MAX_RANGE_BLOCKS - 1))
}

function digitsOf(log: RpcLog): number {
  // Data that is still bytes would become a text.
  return LOG_DIGITS + (log.bytes ? 2 * log.bytes.dataLength : log.data.length)
}

function outOfOrder(name: string, block: number, index: number, number: number, logIndex: number): SourceRefused {
  const fault = number === block && logIndex === index ? 'is there twice' : 'is out of order'
  return new SourceRefused(`${name}: log ${logIndex} of block ${number} ${fault}.`)
}

/** The range that grows. */
class NextRange {
  readonly #headers: readonly Header[]
  #logs: RpcLog[] = []
  #ours: Header[] = []
  #byBlock = new Map<number, RpcLog[]>()
  #digits = 0
  /** Its first block. */
  from: number

  constructor(headers: readonly Header[], from: number) {
    this.#headers = headers
    this.from = from
  }

  get isFull(): boolean {
    return this.#logs.length >= RANGE_LOGS || this.#digits >= RANGE_DIGITS
  }

  /** Returns the logs of a block, which are still to come. */
  begin(header: Header): RpcLog[] {
    const logs: RpcLog[] = []
    this.#byBlock.set(header.number, logs)
    this.#ours.push(header)
    return logs
  }

  add(log: RpcLog): void {
    this.#logs.push(log)
    this.#digits += digitsOf(log)
  }

  /** `to`: its last block. The next range begins behind it. */
  end(to: number): FileRange {
    const last = headerOf(this.#headers, to)
    const ended = {
      range: { from: this.from, to, logs: this.#logs, headers: this.#ours, last },
      byBlock: this.#byBlock,
    }
    this.from = to + 1
    this.#logs = []
    this.#ours = []
    this.#byBlock = new Map()
    this.#digits = 0
    return ended
  }
}
