/**
 * Proves the logs of one block by its receipts: receipts do not come from the log index, which is the part that fails in practice, and the
 * header's bloom shows whether they are complete.
 */
import { type Client, type Hash, type Hex, hexToBytes, numberToHex } from 'viem'
import type { BlockHeader } from '../model/message.ts'
import { bitsOf } from '../rpc/bloom.ts'
import type { Endpoints } from '../rpc/endpoints.ts'
import { getHeader, type LogFilter, type RpcLog } from '../rpc/rpc.ts'
import { BadAnswer, classify, RpcFailed } from '../rpc/rpc-error.ts'
import { voiceOf } from '../rpc/voice.ts'

export type ProvenBlock = {
  header: BlockHeader
  /** All logs that match the filter, in order. */
  logs: readonly RpcLog[]
}

/** Content of a block according to one endpoint. */
type BlockProof = ProvenBlock & { client: Client; isProven: boolean }

/**
 * One endpoint suffices where its receipts match the bloom; else one of another voice must agree. Undefined where no proof exists. Throws
 * `RpcFailed` where a later attempt may succeed.
 */
export async function proveBlock(
  endpoints: Endpoints,
  filter: LogFilter,
  number: number,
): Promise<ProvenBlock | undefined> {
  try {
    const one = await endpoints.run((client) => readProof(client, filter, number), { atLeast: number })
    if (one.isProven) return one
    const other = await endpoints.run((client) => readProof(client, filter, number), {
      atLeast: number,
      notFirst: one.client,
    })
    return other.isProven || (voiceOf(other.client) !== voiceOf(one.client) && isSame(one, other)) ? other : undefined
  } catch (error) {
    if (error instanceof RpcFailed && CANNOT_TELL.some((kind) => kind === error.problem.kind)) return undefined
    throw error
  }
}

/** No receipts, or implausible ones. */
const CANNOT_TELL = ['pruned', 'unsupported', 'refused', 'malformed', 'contradictory'] as const

async function readProof(client: Client, filter: LogFilter, number: number): Promise<BlockProof> {
  const [header, block] = await Promise.all([
    getHeader(client, number),
    client.request({ method: 'eth_getBlockByNumber', params: [numberToHex(number), false] }),
  ])
  const transactions: unknown = block?.transactions
  if (!header || block?.hash !== header.hash || !Array.isArray(transactions)) {
    throw new BadAnswer(header ? 'contradictory' : 'behind', `The node does not answer block ${number} whole.`)
  }
  const receipts = await receiptsOf(client, number, transactions as Hash[])
  const all = receipts.flatMap((receipt) => receipt.logs)
  if (receipts.some(({ blockHash }) => blockHash !== header.hash) || all.some((log) => log.blockHash !== header.hash)) {
    throw new BadAnswer('contradictory', `The node answered receipts of another block than ${number}, ${header.hash}.`)
  }
  const logs = all.filter((log) => matches(log, filter)).sort((a, b) => Number(a.logIndex) - Number(b.logIndex))
  const bloom = header.logsBloom?.length === 2 + 512 ? hexToBytes(header.logsBloom) : new Uint8Array(256)
  // Receipts of system transactions may be outside the count and the bloom; logs of pools are in both.
  const isProven =
    receipts.length >= transactions.length && isWithin(bloom, bloomOf(all)) && isWithin(bloomOf(logs), bloom)
  return { client, header, logs, isProven }
}

type Receipt = { blockHash: Hash; logs: readonly RpcLog[] }

/** One call where the node supports it, else one call a transaction. */
async function receiptsOf(client: Client, number: number, transactions: readonly Hash[]): Promise<Receipt[]> {
  const ask = (method: string, parameter: Hex): Promise<unknown> =>
    client.request({ method, params: [parameter] } as never)
  const answer = await ask('eth_getBlockReceipts', numberToHex(number)).catch((error: unknown) => {
    if (!['unsupported', 'refused'].includes(classify(error).kind)) throw error
    return Promise.all(transactions.map((hash) => ask('eth_getTransactionReceipt', hash)))
  })
  const receipts = Array.isArray(answer) ? answer : [null]
  if (!receipts.every(isReceipt)) throw new BadAnswer('malformed', `The node has no receipts of block ${number}.`)
  return receipts
}

function isReceipt(value: Partial<Receipt> | null): value is Receipt {
  if (!Array.isArray(value?.logs)) return false
  return value.logs.every((log) => Array.isArray(log?.topics) && log.address && log.logIndex && log.blockNumber)
}

function matches({ address, topics }: RpcLog, filter: LogFilter): boolean {
  const isOurs = filter.address?.some((it) => it.toLowerCase() === address.toLowerCase()) ?? true
  return isOurs && filter.topics.every((wanted, place) => !wanted || wanted.some((it) => it === topics[place]))
}

function isSame(one: BlockProof, other: BlockProof): boolean {
  const say = ({ header, logs }: BlockProof) =>
    JSON.stringify([header.hash, logs.map(({ logIndex, address, topics, data }) => [logIndex, address, topics, data])])
  return say(one) === say(other)
}

function bloomOf(logs: readonly RpcLog[]): Uint8Array {
  const bloom = new Uint8Array(256)
  const values = new Set(logs.flatMap(({ address, topics }) => [address, ...topics]))
  for (const value of values) {
    for (const bit of bitsOf(value)) bloom[255 - (bit >> 3)] = (bloom[255 - (bit >> 3)] ?? 0) | (1 << (bit & 7))
  }
  return bloom
}

function isWithin(inner: Uint8Array, outer: Uint8Array): boolean {
  return inner.every((byte, place) => (byte & ~(outer[place] ?? 0)) === 0)
}
