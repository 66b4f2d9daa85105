/** The proof of one tick: the header, the receipt that has its log, and the path of the receipts' trie between them. `infra/docs/proofs.md` has the format. */
import { type Client, type Hash, type Hex, hexToNumber } from 'viem'
import type { Network } from '../model/network.ts'
import { encodeHeader } from '../proof/header-hash.ts'
import { encodeReceipt, pathTo } from '../proof/receipts-root.ts'
import type { Endpoints } from '../rpc/endpoints/endpoints.ts'
import { BadAnswer } from '../rpc/rpc-error.ts'
import { agreedHash } from './agreed-hash.ts'
import { type ReceiptsReading, readReceipts } from './audit-proof.ts'

export type TickProof = {
  format: 'candlepool-proof-1'
  network: string
  chainId: number
  /** The id of the tick. */
  tick: string
  block: {
    number: number
    hash: Hash
    /** The RLP list whose Keccak-256 is the hash. */
    header: Hex
  }
  receipt: {
    /** Place among the receipts of the block, from 0. */
    index: number
    /** The value of the trie: the type's byte and the RLP list. */
    value: Hex
    /** Nodes in RLP from the receipts' root to the value. */
    path: readonly Hex[]
  }
  /** Place of the swap among the logs of the receipt, from 0. */
  log: number
}

/** The chain has no such tick, or nothing proves it. */
export class NoProof extends Error {}

export type TickId = { transaction: Hash; logIndex: number }

/** Throws `NoProof`, or `RpcFailed` where no endpoint answers. */
export async function proveTick(
  endpoints: Endpoints,
  network: Network,
  { transaction, logIndex }: TickId,
): Promise<TickProof> {
  const number = await endpoints.run((client) => blockOf(client, transaction))
  const hash = await agreedHash(endpoints, number)
  if (hash === undefined) throw new NoProof(`The endpoints of ${network.name} disagree about block ${number}.`)
  const read = await endpoints.run((client) => readReceipts(client, { number, hash }), { atLeast: number })
  return proofIn(network, read, { transaction, logIndex })
}

/** `block`: as an endpoint answers it; the first `count` of its receipts have its receipts' root. Throws `NoProof`. */
export async function proofIn(
  network: Pick<Network, 'name' | 'chainId'>,
  { block, header: { number, hash }, receipts, count }: ReceiptsReading,
  { transaction, logIndex }: TickId,
): Promise<TickProof> {
  const isLog = (log: { transactionHash: Hash; logIndex: Hex }) =>
    log.transactionHash === transaction && hexToNumber(log.logIndex) === logIndex
  const index = receipts.findIndex(({ logs }) => logs.some(isLog))
  const receipt = receipts[index]
  if (!receipt) throw new NoProof(`Transaction ${transaction} has no log ${logIndex} in block ${number}.`)
  const header = encodeHeader(block)
  if (!header) throw new NoProof(`The hash of block ${number} is not that of the fields of its header.`)
  const values = receipts.slice(0, count).flatMap((it) => encodeReceipt(it) ?? [])
  const value = values[index]
  if (!value) throw new NoProof(`The receipt of ${transaction} is not under the receipts' root of block ${number}.`)
  return {
    format: 'candlepool-proof-1',
    network: network.name,
    chainId: network.chainId,
    tick: `${transaction}-${logIndex}`,
    block: { number, hash, header },
    receipt: { index, value, path: await pathTo(values, index) },
    log: receipt.logs.findIndex(isLog),
  }
}

async function blockOf(client: Client, transaction: Hash): Promise<number> {
  const receipt = await client.request({ method: 'eth_getTransactionReceipt', params: [transaction] })
  const number = Number(receipt?.blockNumber)
  if (receipt === null) throw new BadAnswer('behind', `The node has no receipt of transaction ${transaction}.`)
  if (!Number.isSafeInteger(number)) throw new BadAnswer('malformed', 'The node answered a receipt without a block.')
  return number
}
