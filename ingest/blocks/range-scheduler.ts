/** Reads final history by ranges: as wide as endpoints allow, several in flight, yielded in order. */
import type { Client } from 'viem'
import type { Endpoints } from '../rpc/endpoints/endpoints.ts'
import { type LogRange, type Pieces, readInPieces, readRange } from '../rpc/logs/log-range.ts'
import type { LogFilter } from '../rpc/rpc.ts'

export type RangesOptions = {
  filter: LogFilter
  from: number
  to: number
  signal: AbortSignal
  /** Ranges in flight. */
  inFlight?: number
  /** Called before each range with its width; where it returns false, reading ends with the ranges in flight. */
  mayStart?: (blocks: number) => boolean
  onSplit?: (from: number, to: number, reason: string) => void
}

const FIRST_RANGE_BLOCKS = 500
export const MAX_RANGE_BLOCKS = 20_000
const RANGES_AT_ONCE = 4
const CEILING_GROWTH = 1.05
/** Target number of logs in an answer; ranges grow while answers have fewer. */
const GOOD_ANSWER_LOGS = 5_000

/** Width of the next range, adapted to the answers. */
export class RangeWidth {
  #width = FIRST_RANGE_BLOCKS
  /** After a refusal the width grows back step by step. */
  #ceiling = MAX_RANGE_BLOCKS

  get blocks(): number {
    return this.#width
  }

  /** `narrowedTo`: width that the endpoints accepted after a refusal. */
  answered(blocks: number, logs: number, narrowedTo?: number): void {
    if (narrowedTo !== undefined) this.#ceiling = Math.max(1, narrowedTo)
    else this.#ceiling = Math.min(MAX_RANGE_BLOCKS, Math.ceil(this.#ceiling * CEILING_GROWTH))
    // Answers to narrower ranges are still in flight when the first one allows a wider range.
    if (logs > 2 * GOOD_ANSWER_LOGS) this.#width = Math.max(1, Math.min(this.#width, Math.floor(blocks / 2)))
    else if (logs < GOOD_ANSWER_LOGS) this.#width = Math.max(this.#width, blocks * 2)
    this.#width = Math.min(this.#width, this.#ceiling)
  }
}

export async function* readRanges(endpoints: Endpoints, options: RangesOptions): AsyncGenerator<LogRange> {
  const { filter, from, to, signal, inFlight = RANGES_AT_ONCE, mayStart, onSplit } = options
  const width = new RangeWidth()
  let next = from
  const asked: Promise<Pieces<LogRange>>[] = []

  const read = (client: Client, low: number, high: number) => readRange(client, filter, low, high)

  /** False where no further range may begin. */
  function start(): boolean {
    const first = next
    const last = Math.min(to, first + Math.min(width.blocks, endpoints.maxBlocks()) - 1)
    if (mayStart?.(last - first + 1) === false) return false
    next = last + 1
    const answer = readInPieces(endpoints, first, last, read, onSplit)
    // The failure is thrown at its turn; until then it must not count as an unhandled rejection.
    answer.catch(() => undefined)
    asked.push(answer)
    return true
  }

  function fill(): void {
    while (next <= to && asked.length < inFlight && start());
  }

  fill()
  while (asked.length > 0) {
    const { pieces: ranges, narrowedTo } = (await asked.shift()) ?? { pieces: [], narrowedTo: undefined }
    signal.throwIfAborted()
    const logs = ranges.reduce((sum, range) => sum + range.logs.length, 0)
    width.answered(blocksIn(ranges), logs, narrowedTo)
    // The caller processes this range while the endpoint reads the next ones.
    fill()
    yield* ranges
  }
}

function blocksIn(ranges: readonly LogRange[]): number {
  return ranges.reduce((sum, { from, to }) => sum + to - from + 1, 0)
}
