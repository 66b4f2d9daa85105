/** Estimate of a backfill before it begins: its requests and its duration, from a small sample of the range. */
import { MAX_RANGE_BLOCKS, RangeWidth } from '../blocks/range-scheduler.ts'
import type { BlockRange } from '../model/block-range.ts'
import type { Endpoints } from '../rpc/endpoints/endpoints.ts'
import type { RequestBudget } from '../rpc/endpoints/request-budget.ts'
import { narrowerWidth, readRange } from '../rpc/logs/log-range.ts'
import { getLogs, type LogFilter } from '../rpc/rpc.ts'

export type Sample = {
  logsPerBlock: number
  /** Headers that are requested for the times of blocks: none where the node sends times with its logs. */
  headersPerBlock: number
  /** The widest range that an endpoint takes. */
  maxBlocks: number
  roundTripMs: number
  /** Transfer time. */
  msPerLog: number
}

export type Estimate = { requests: number; seconds: number }

/** Dense ranges need a header for each of these blocks, so that the sample is short. */
const SAMPLE_BLOCKS = 100
/** Logs of a range, headers of its ends, and the header that pins it to a branch. */
const REQUESTS_PER_RANGE = 4
/** For the first price of each reference pool, and the first pools. */
const REQUESTS_AT_START = 15
/** No contract has it: the answer is empty, and only the width can be refused. */
const NO_CONTRACT = '0x000000000000000000000000000000000000dead'
const MAX_REFUSALS = 15
const DAY_SECONDS = 86_400

/** Samples the middle of the ranges with about six requests, and a header for each block without a time. */
export async function takeSample(
  endpoints: Endpoints,
  filter: LogFilter,
  ranges: readonly BlockRange[],
): Promise<Sample> {
  const { from, to } = ranges[ranges.length >> 1] ?? { from: 0, to: 0 }
  const low = Math.max(from, Math.floor((from + to) / 2) - SAMPLE_BLOCKS / 2)
  const high = Math.min(to, low + SAMPLE_BLOCKS - 1)
  const maxBlocks = await widestRange(endpoints, filter, from, Math.min(to, from + MAX_RANGE_BLOCKS - 1))
  const narrow = { from: low, to: Math.min(high, low + maxBlocks - 1) }
  const began = performance.now()
  const { logs } = await endpoints.run((client) => readRange(client, filter, narrow.from, narrow.to))
  const ms = performance.now() - began
  const roundTripMs = await timeOf(() =>
    endpoints.run((client) => getLogs(client, nothing(filter), { from, to: from })),
  )
  const blocks = narrow.to - narrow.from + 1
  const untimed = new Set(logs.filter((log) => !log.blockTimestamp).map((log) => log.blockNumber)).size
  return {
    logsPerBlock: logs.length / blocks,
    headersPerBlock: untimed / blocks,
    maxBlocks,
    roundTripMs,
    msPerLog: logs.length === 0 ? 0 : Math.max(0, ms - roundTripMs) / logs.length,
  }
}

/** Ranges grow to the width that the endpoints take: refusals are learned here, with empty answers. */
async function widestRange(endpoints: Endpoints, filter: LogFilter, from: number, to: number): Promise<number> {
  let width = to - from + 1
  for (let refusals = 0; refusals < MAX_REFUSALS && width > 1; refusals++) {
    const last = from + width - 1
    try {
      await endpoints.run((client) => getLogs(client, nothing(filter), { from, to: last }), { blocks: width })
      return width
    } catch (error) {
      const narrower = await narrowerWidth(endpoints, error, { from, to: last })
      if (narrower === undefined) throw error
      width = narrower
    }
  }
  return width
}

function nothing(filter: LogFilter): LogFilter {
  return { ...filter, address: [NO_CONTRACT] }
}

async function timeOf(task: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  await task()
  return performance.now() - began
}

/** Requests of one range of so many blocks. Requests for new pools are left out: most ranges have none. */
export function requestsOf(blocks: number, headersPerBlock = 0): number {
  return REQUESTS_PER_RANGE + blocks * headersPerBlock
}

export function estimate(
  sample: Sample,
  ranges: readonly BlockRange[],
  concurrency: number,
  budget?: Pick<RequestBudget, 'perSecond' | 'leftForHistory' | 'perDayOfHistory'>,
): Estimate {
  let [requests, ms] = [0, 0]
  for (const { from, to } of ranges) {
    requests += REQUESTS_AT_START
    for (const blocks of widthsOf(to - from + 1, sample, concurrency)) {
      requests += requestsOf(blocks, sample.headersPerBlock)
      const roundTrips = sample.headersPerBlock > 0 ? 2 : 1
      ms += roundTrips * sample.roundTripMs + blocks * sample.logsPerBlock * sample.msPerLog
    }
  }
  requests = Math.ceil(requests)
  const { perSecond, leftForHistory, perDayOfHistory } = budget ?? UNLIMITED
  const seconds = Math.max(ms / 1_000 / concurrency, requests / perSecond)
  if (requests <= leftForHistory) return { requests, seconds }
  const later = requests - leftForHistory
  const wholeDays = Math.ceil(later / perDayOfHistory) - 1
  const today = DAY_SECONDS - ((Date.now() / 1_000) % DAY_SECONDS)
  const lastDay = ((later - wholeDays * perDayOfHistory) / requests) * seconds
  return { requests, seconds: today + wholeDays * DAY_SECONDS + lastDay }
}

const UNLIMITED = {
  perSecond: Number.POSITIVE_INFINITY,
  leftForHistory: Number.POSITIVE_INFINITY,
  perDayOfHistory: Number.POSITIVE_INFINITY,
}

/** The widths that `readRanges` would use where all blocks have as many logs as those of the sample. */
function* widthsOf(total: number, { logsPerBlock, maxBlocks }: Sample, inFlight: number): Generator<number> {
  const width = new RangeWidth()
  const asked: number[] = []
  for (let left = total; left > 0 || asked.length > 0; ) {
    while (left > 0 && asked.length < inFlight) {
      const blocks = Math.min(left, width.blocks, maxBlocks)
      left -= blocks
      asked.push(blocks)
      yield blocks
    }
    const answered = asked.shift() ?? 0
    width.answered(answered, answered * logsPerBlock)
  }
}
