/**
 * Proves the logs of one block: the endpoints say which hash the chain has, the header hashes to it, and its receipts' root is that of the
 * receipts. Which endpoint answers the receipts does not matter.
 */
import { type Client, type Hash, type Hex, numberToHex } from 'viem'
import type { BlockHeader } from '../model/message.ts'
import { countProven, type RawReceipt } from '../proof/receipts-root.ts'
import type { Endpoints } from '../rpc/endpoints/endpoints.ts'
import { headerIn, type LogFilter, type RpcLog } from '../rpc/rpc.ts'
import { BadAnswer, classify, RpcFailed } from '../rpc/rpc-error.ts'
import { voiceOf } from '../rpc/voice.ts'
import { agreedHash } from './agreed-hash.ts'

export type ProvenBlock = {
  header: BlockHeader
  /** All logs that match the filter, in order. */
  logs: readonly RpcLog[]
}

/** Content of a block according to one endpoint. `isProven`: by the receipts' root of its header. */
type BlockReading = ProvenBlock & { client: Client; isProven: boolean }

/**
 * One endpoint suffices where the receipts' root proves its receipts; where a matching log is beside the root, one of another voice must agree.
 * Undefined where no proof exists. Throws `RpcFailed` where a later attempt may succeed.
 */
export async function proveBlock(
  endpoints: Endpoints,
  filter: LogFilter,
  number: number,
): Promise<ProvenBlock | undefined> {
  try {
    const hash = await agreedHash(endpoints, number)
    if (hash === undefined) return undefined
    const read = (client: Client) => readBlock(client, filter, { number, hash })
    const one = await endpoints.run(read, { atLeast: number })
    if (one.isProven) return one
    const other = await endpoints.run(read, { atLeast: number, notFirst: one.client })
    return other.isProven || (voiceOf(other.client) !== voiceOf(one.client) && isSame(one, other)) ? other : undefined
  } catch (error) {
    if (error instanceof RpcFailed && CANNOT_TELL.some((kind) => kind === error.problem.kind)) return undefined
    throw error
  }
}

/** Failures that prove nothing about the logs: the endpoint has no receipts, or receipts that do not hash to the root. */
const CANNOT_TELL = ['pruned', 'unsupported', 'refused', 'malformed', 'contradictory'] as const

async function readBlock(client: Client, filter: LogFilter, block: BlockName): Promise<BlockReading> {
  const { number, hash } = block
  const { header, receipts, count } = await readReceipts(client, block)
  const place = { blockNumber: numberToHex(number), blockHash: hash }
  const logs = receipts.flatMap((receipt) => receipt.logs.map((log) => ({ ...log, ...place })))
  requireOrder(logs, number)
  const beside = receipts.slice(count).flatMap((receipt) => receipt.logs)
  return {
    client,
    header,
    logs: logs.filter((log) => matches(log, filter)),
    isProven: !beside.some((log) => matches(log, filter)),
  }
}

type BlockName = { number: number; hash: Hash }

/** A block with its receipts. */
export type ReceiptsReading = {
  /** As the endpoint answers it, without transactions. */
  block: Readonly<Record<string, unknown>>
  header: BlockHeader
  receipts: readonly Receipt[]
  /** So many of the receipts, from the first on, have the receipts' root of the block. */
  count: number
}

export async function readReceipts(client: Client, { number, hash }: BlockName): Promise<ReceiptsReading> {
  const block = await client.request({ method: 'eth_getBlockByNumber', params: [numberToHex(number), false] })
  const header = headerIn(block)
  const transactions: unknown = block?.transactions
  if (!block || header?.hash !== hash || !Array.isArray(transactions)) {
    throw new BadAnswer(
      header ? 'contradictory' : 'behind',
      `The node does not answer block ${number} (${hash}) whole.`,
    )
  }
  const receipts = await receiptsOf(client, number, transactions as Hash[])
  const count = await countProven(receipts, block.receiptsRoot)
  if (count === undefined) {
    throw new BadAnswer(
      'contradictory',
      `The node answered receipts of block ${number} that do not have its receipts' root.`,
    )
  }
  return { block: block as unknown as ReceiptsReading['block'], header, receipts, count }
}

export type Receipt = Omit<RawReceipt, 'logs'> & { logs: readonly RpcLog[] }

/** One call where the node supports it, else one call a transaction. The endpoint has checked the fields, see `answers.ts`. */
async function receiptsOf(client: Client, number: number, transactions: readonly Hash[]): Promise<Receipt[]> {
  const ask = (method: string, parameter: Hex): Promise<unknown> =>
    client.request({ method, params: [parameter] } as never)
  const answer = await ask('eth_getBlockReceipts', numberToHex(number)).catch((error: unknown) => {
    if (!['unsupported', 'refused'].includes(classify(error).kind)) throw error
    return Promise.all(transactions.map((hash) => ask('eth_getTransactionReceipt', hash)))
  })
  const receipts = (answer ?? [null]) as (Receipt | null)[]
  const known = receipts.filter((receipt) => receipt !== null)
  // Live blocks are also read from a node that keeps no receipts.
  if (known.length < receipts.length) throw new BadAnswer('pruned', `The node has no receipts of block ${number}.`)
  return known
}

/** The root fixes the order of the logs, and not the indexes that a node gives them. */
function requireOrder(logs: readonly RpcLog[], number: number): void {
  const isInOrder = logs.every((log, index) => index === 0 || Number(log.logIndex) > Number(logs[index - 1]?.logIndex))
  if (!isInOrder) throw new BadAnswer('contradictory', `The node answered logs of block ${number} out of order.`)
}

function matches({ address, topics }: RpcLog, filter: LogFilter): boolean {
  const isOurs = filter.address?.some((it) => it.toLowerCase() === address.toLowerCase()) ?? true
  return isOurs && filter.topics.every((wanted, place) => !wanted || wanted.some((it) => it === topics[place]))
}

function isSame(one: BlockReading, other: BlockReading): boolean {
  const say = ({ logs }: BlockReading) =>
    JSON.stringify(logs.map(({ logIndex, address, topics, data }) => [logIndex, address, topics, data]))
  return say(one) === say(other)
}
