/** The ways of providers at simulated endpoints: limits, refusals in their own words, and answers that lag behind the chain. */
import { numberToHex } from 'viem'
import { type Call, type Outcome, refusal } from '../support/json-rpc.ts'
import { OLDEST } from './block.ts'
import type { EndpointFault } from './fault.ts'
import type { View } from './node.ts'
import type { Random } from './random.ts'

type AskedCall = { call: Call; truth: Outcome; view: View; random: Random }
type FaultyAnswer = {
  /** Share of calls while it is active; all where absent. */
  share?: number
  /** Undefined where the call is answered as it would be without. */
  answer(asked: AskedCall): Outcome | undefined
}
type Query = { blockHash?: string; fromBlock?: string; toBlock?: string; topics?: readonly unknown[] }

const CAP_BLOCKS = 5
const LIGHT_BLOCKS = 8
const MAX_TOPICS = 3
/** So much history is left above the oldest block that others have. */
const EXPIRED_BLOCKS = 12

function queryOf({ method, params }: Call): Query | undefined {
  return method === 'eth_getLogs' ? (params[0] as Query) : undefined
}

/** Blocks of a range; 0 for a filter by hash. */
function widthOf(call: Call): number {
  const { fromBlock, toBlock } = queryOf(call) ?? {}
  return fromBlock === undefined ? 0 : Number(toBlock) - Number(fromBlock) + 1
}

function isHeaderOf({ method, params }: Call, tag: string): boolean {
  return method === 'eth_getBlockByNumber' && params[0] === tag
}

function logsIn(outcome: Outcome): readonly { blockNumber: string }[] {
  return 'result' in outcome ? (outcome.result as { blockNumber: string }[]) : []
}

export const FAULTY_ANSWERS: Readonly<Record<EndpointFault, FaultyAnswer>> = {
  'ranges of few blocks': {
    answer({ call, random }) {
      if (widthOf(call) <= CAP_BLOCKS) return undefined
      return random.pick([
        refusal(-32602, `query exceeds max block range ${CAP_BLOCKS}`),
        refusal(-32000, `block range is too wide`),
        refusal(-32600, `eth_getLogs is limited to a ${CAP_BLOCKS} range`),
      ])
    },
  },
  'heavy ranges that fail without a reason': {
    answer({ call, random }) {
      if (widthOf(call) <= LIGHT_BLOCKS) return undefined
      return random.pick([
        refusal(-32603, 'Internal error'),
        refusal(-32001, 'Unable to complete request at this time.'),
        refusal(-32000, 'request timed out'),
        refusal(-32000, 'Server error'),
      ])
    },
  },
  'too many logs, with a range that would do': {
    answer({ call, truth }) {
      const logs = logsIn(truth)
      const { fromBlock = '' } = queryOf(call) ?? {}
      const fifth = logs[4]
      if (widthOf(call) < 2 || !fifth) return undefined
      const to = numberToHex(Math.max(Number(fromBlock), Number(fifth.blockNumber) - 1))
      const text = 'Log response size exceeded. Based on your parameters, this block range should work'
      return refusal(-32602, `${text}: [${fromBlock}, ${to}]`)
    },
  },
  'filters of few topics': {
    answer({ call }) {
      const most = Math.max(0, ...(queryOf(call)?.topics ?? []).map((topics) => [topics].flat().length))
      const text = `exceed max addresses or topics per search position (${MAX_TOPICS})`
      return most > MAX_TOPICS ? refusal(-32602, `invalid argument 0: ${text}`) : undefined
    },
  },
  'no logs by block hash': {
    answer({ call, random }) {
      if (queryOf(call)?.blockHash === undefined) return undefined
      return random.pick([
        refusal(-32602, 'invalid argument 0: unknown field "blockHash"'),
        refusal(-32000, 'must specify fromBlock and toBlock'),
        refusal(-32603, 'Internal error'),
      ])
    },
  },
  'logs that come twice': {
    share: 0.5,
    answer({ call, truth, random }) {
      const logs = queryOf(call) ? logsIn(truth) : []
      if (logs.length === 0) return undefined
      return { result: random.chance(0.5) ? logs.flatMap((log) => [log, log]) : [...logs, ...logs.slice(0, 1)] }
    },
  },
  'null headers of the newest block': {
    share: 0.5,
    answer: ({ call, view }) => (isHeaderOf(call, numberToHex(view.head.number)) ? { result: null } : undefined),
  },
  'a newest block whose logs are not there yet': {
    share: 0.5,
    answer({ call, view, random }) {
      if (queryOf(call)?.blockHash !== view.head.hash) return undefined
      return random.pick<Outcome>([
        refusal(-32000, 'unknown block'),
        refusal(-32001, 'block not found'),
        { result: [] },
      ])
    },
  },
  'the tag `finalized` is not supported': {
    answer({ call, random }) {
      if (!isHeaderOf(call, 'finalized')) return undefined
      return random.pick<Outcome>([
        refusal(-32602, "'finalized' tag not supported on pre-merge network"),
        { result: null },
      ])
    },
  },
  'a final block far below the others': {
    answer({ call, view }) {
      if (!isHeaderOf(call, 'finalized')) return undefined
      let block = view.finalized
      while (block.parent && block.number > OLDEST + 1) block = block.parent
      return { result: { ...block.header, transactions: [] } }
    },
  },
  'rate limits within answers': {
    share: 0.15,
    answer: ({ random }) =>
      random.pick([
        refusal(429, 'Your app has exceeded its compute units per second capacity.'),
        refusal(-32005, 'daily request count exceeded, request rate limited'),
        refusal(-32016, 'over rate limit'),
      ]),
  },
  'expired history': {
    answer({ call, random }) {
      const first = OLDEST + EXPIRED_BLOCKS
      const { fromBlock } = queryOf(call) ?? {}
      const isOldHeader = call.method === 'eth_getBlockByNumber' && Number(call.params[0]) < first
      if (!isOldHeader && !(Number(fromBlock) < first)) return undefined
      return random.pick<Outcome>([refusal(4444, 'pruned history unavailable'), { result: isOldHeader ? null : [] }])
    },
  },
}
