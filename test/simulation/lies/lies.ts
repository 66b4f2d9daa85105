/** Lies of endpoints: well-formed answers that are not true, the same ones in each answer. */
import { type Hex, numberToHex, stringToHex } from 'viem'
import { V3_TOPICS } from '../../../ingest/decode/decode-v3.ts'
import { V4_TOPICS } from '../../../ingest/decode/decode-v4.ts'
import { type Call, refusal } from '../../support/json-rpc.ts'
import { sealedHeader } from '../../support/sealed-header.ts'
import { ancestorOf, type Block, mine, OLDEST } from '../block.ts'
import type { Answerer, Liar } from '../endpoint.ts'
import { NETWORK } from '../market.ts'
import { headerOf, respondFrom, type View } from '../node.ts'
import type { Random } from '../random.ts'

/** False logs of blocks whose hashes are true. */
export const CONTENT_LIES = [
  'omitted swaps',
  'invented swaps',
  'altered amounts',
  'logs of another block',
  'altered times of logs',
] as const
/** Refused where they are read. */
export const HEADER_LIES = [
  'a wrong header hash',
  'an altered header time',
  'the block before the one that was asked for',
] as const
export const OTHER_LIES = [
  'forged receipts',
  'no receipts',
  'its head is final',
  'a final block that goes back',
  'a final block above its head',
  'false token names',
] as const
/** Other hashes at the heights of the chain: each liar has a branch of its own. */
export const BRANCH_LIES = [
  'a branch of its own',
  'a longer branch of its own',
  'a branch of its own into the future',
  'another chain after a while',
] as const

export const LIES = [...CONTENT_LIES, ...HEADER_LIES, ...OTHER_LIES, ...BRANCH_LIES] as const
export type LieName = (typeof LIES)[number]
type OpenLie = (random: Random, note: () => void) => (view: View) => Answerer

type Log = Block['logs'][number]
type ToldReceipt = { logs: readonly Log[] }

const isSwap = ({ topics: [first] }: Log) => first === V3_TOPICS.swap || first === V4_TOPICS.swap
/** Swaps of a third of the blocks. */
const isChosen = (log: Log) => isSwap(log) && Number.parseInt(log.blockHash.slice(-4), 16) % 3 === 0

/** As the node answers, and some results changed: `change` returns the same value where it has nothing to say. */
function changing(change: (call: Pick<Call, 'method' | 'params'>, result: unknown, view: View) => unknown): OpenLie {
  return (_, note) => (view) => (call) => {
    const outcome = respondFrom(view, call)
    if ('error' in outcome || outcome.result === null) return outcome
    const result = change(call, outcome.result, view)
    if (result !== outcome.result) note()
    return { result }
  }
}

/** In answers of logs and of receipts. */
function changingLogs(change: (logs: readonly Log[], view: View) => Log[]): OpenLie {
  return changing(({ method, params }, result, view) => {
    const isOfAll = (params?.[0] as { address?: unknown } | undefined)?.address === undefined
    const changed = (logs: readonly Log[]) => (logs.some(isChosen) ? change(logs, view) : logs)
    if (method === 'eth_getLogs') return isOfAll ? changed(result as Log[]) : result
    const ofReceipt = (receipt: ToldReceipt) => ({ ...receipt, logs: changed(receipt.logs) })
    if (method === 'eth_getBlockReceipts') return (result as ToldReceipt[]).map(ofReceipt)
    return method === 'eth_getTransactionReceipt' ? ofReceipt(result as ToldReceipt) : result
  })
}

/** The first amount 256 times as large. */
function multiplied(log: Log): Log {
  return { ...log, data: `0x${log.data.slice(4, 66)}00${log.data.slice(66)}` }
}

function ofParent(log: Log, { head }: View): Log {
  const other = ancestorOf(head, Number(log.blockNumber) - 1)?.logs.find(
    (it) => isSwap(it) && it.topics[0] === log.topics[0],
  )
  return other ? { ...log, address: other.address, topics: other.topics, data: other.data } : multiplied(log)
}

function changingHeaders(change: (header: Record<string, Hex>, view: View) => unknown): OpenLie {
  return changing(({ method }, result, view) =>
    method === 'eth_getBlockByNumber' ? change(result as Record<string, Hex>, view) : result,
  )
}

function naming(finalOf: (view: View) => Block | undefined): OpenLie {
  return changing(({ method, params }, result, view) => {
    if (method !== 'eth_getBlockByNumber' || params[0] !== 'finalized') return result
    const block = finalOf(view)
    return block ? headerOf(block) : result
  })
}

type Branch = { depth: (random: Random, view: View) => number; ahead?: number; later?: number; chainId?: number }

/** `ahead` of the chain's head; it grows with the chain. Where its blocks come `later`, the last but one is named as final, else its head. */
function branching({ depth, ahead = 0, later = 0, chainId }: Branch): OpenLie {
  return (random, note) => {
    let own: Block | undefined
    return (view) => {
      own ??= ancestorOf(view.head, Math.max(OLDEST, view.head.number - depth(random, view))) ?? view.head
      while (own.number < view.head.number + ahead) own = mine(own, random, later)
      const finalized = (later > 0 && own.parent) || own
      const forged = { ...view, head: own, finalized, ...(chainId !== undefined && { chainId }) }
      note()
      return (call) => respondFrom(forged, call)
    }
  }
}

const shallow = (random: Random, { head, finalized }: View) => random.between(1, head.number - finalized.number + 3)

export const LIARS: Readonly<Record<LieName, OpenLie>> = {
  'omitted swaps': changingLogs((logs) => logs.filter((log) => !isChosen(log))),
  'invented swaps': changingLogs((logs) =>
    logs.flatMap((log) =>
      isChosen(log) ? [log, { ...log, logIndex: numberToHex(Number(log.logIndex) + 1_000) }] : [log],
    ),
  ),
  'altered amounts': changingLogs((logs) => logs.map((log) => (isChosen(log) ? multiplied(log) : log))),
  'logs of another block': changingLogs((logs, view) => logs.map((log) => (isChosen(log) ? ofParent(log, view) : log))),
  'altered times of logs': changing(({ method }, result) =>
    method === 'eth_getLogs' && (result as Log[]).length > 0
      ? (result as Log[]).map((log) => ({ ...log, blockTimestamp: numberToHex(Number(log.blockTimestamp) + 1) }))
      : result,
  ),
  'a wrong header hash': changingHeaders((header) => ({ ...header, hash: `0x${'1'.repeat(64)}` })),
  'an altered header time': changingHeaders((header) => ({
    ...header,
    timestamp: numberToHex(Number(header['timestamp']) + 600),
  })),
  'the block before the one that was asked for': changing(({ method, params }, result, { head }) => {
    if (method !== 'eth_getBlockByNumber' || !`${params[0]}`.startsWith('0x')) return result
    const before = ancestorOf(head, Number(params[0]) - 1)
    return before ? headerOf(before) : result
  }),
  'forged receipts': changing(({ method }, result) =>
    method === 'eth_getBlockReceipts'
      ? (result as ToldReceipt[]).map((receipt) => ({ ...receipt, logs: receipt.logs.map(multiplied) }))
      : result,
  ),
  'no receipts': (_, note) => (view) => (call) => {
    const isOfReceipts = call.method.endsWith('Receipts') || call.method.endsWith('Receipt')
    if (!isOfReceipts) return respondFrom(view, call)
    note()
    return refusal(-32601, `the method ${call.method} does not exist/is not available`)
  },
  'its head is final': naming(({ head }) => head),
  'a final block that goes back': naming(({ head }) => ancestorOf(head, OLDEST + 1)),
  'a final block above its head': naming(({ head }) => headAbove(head)),
  'false token names': changing(({ method }, result) => {
    if (method !== 'eth_call') return result
    return NAMES.reduce((text, [real, told]) => text.replaceAll(real, told), result as string)
  }),
  'a branch of its own': branching({ depth: shallow }),
  'a longer branch of its own': branching({ depth: shallow, ahead: 5 }),
  'a branch of its own into the future': branching({ depth: shallow, later: 3_600 }),
  'another chain after a while': branching({ depth: () => Number.POSITIVE_INFINITY, chainId: NETWORK.chainId + 1 }),
}

const NAMES = (
  [
    ['Wrapped Ether', 'Wrapped Otter'],
    ['Tether USD', 'Feather USD'.slice(1)],
    ['Dog', 'Hog'],
  ] as const
).map((pair) => pair.map((name) => stringToHex(name).slice(2)) as [string, string])

/** A header that hashes to its hash, ten blocks above the head. */
function headAbove(head: Block): Block {
  return { ...head, ...sealedAbove(head) }
}

function sealedAbove(head: Block) {
  const number = head.number + 10
  const { timestamp, hash: parentHash } = head
  const header = sealedHeader({ number, parentHash, timestamp, logsBloom: head.header.logsBloom as Hex })
  return { number, header, hash: header.hash, hasReceipts: false }
}

/** The lie at one endpoint. A fickle one is told in half of the requests. */
export function openLie(name: LieName, random: Random, note: () => void, isFickle: boolean): Liar {
  const answererOf = LIARS[name](random, note)
  return (view) => (isFickle && random.chance(0.5) ? undefined : answererOf(view))
}
