/** Ethereum JSON-RPC as ingest asks it: answers stay as the node wrote them, in hex, because most of it is only passed through. */
import { type Address, type Client, type Hash, type Hex, numberToHex } from 'viem'

export type RpcLog = {
  address: Address
  topics: readonly Hex[]
  data: Hex
  blockNumber: Hex
  blockHash: Hash
  transactionHash: Hash
  logIndex: Hex
  /** Newer nodes send it; where they do not, the header is asked. */
  blockTimestamp?: Hex
  removed?: boolean
}

export type Header = { number: number; hash: Hash; parentHash: Hash; timestamp: number }

export type LogFilter = {
  topics: readonly (readonly Hex[] | null)[]
  address?: readonly Address[]
}

export type BlockTag = number | 'latest' | 'finalized'

/** Undefined where the node has no such block (yet), or does not know the tag. */
export async function getHeader(client: Client, tag: BlockTag): Promise<Header | undefined> {
  const block = await client.request({
    method: 'eth_getBlockByNumber',
    params: [typeof tag === 'number' ? numberToHex(tag) : tag, false],
  })
  if (!block?.hash || block.number === null) return undefined
  return {
    number: Number(block.number),
    hash: block.hash,
    parentHash: block.parentHash,
    timestamp: Number(block.timestamp),
  }
}

export async function getLogs(
  client: Client,
  filter: LogFilter,
  where: { from: number; to: number } | { blockHash: Hash },
): Promise<RpcLog[]> {
  const place =
    'blockHash' in where
      ? { blockHash: where.blockHash }
      : { fromBlock: numberToHex(where.from), toBlock: numberToHex(where.to) }
  const logs = await client.request({
    method: 'eth_getLogs',
    params: [{ ...filter, ...place } as never],
  })
  // Nodes do not promise an order, and it is by log index that trades of one block are told apart.
  return (logs as RpcLog[])
    .filter((log) => log.removed !== true)
    .sort((a, b) => Number(a.blockNumber) - Number(b.blockNumber) || Number(a.logIndex) - Number(b.logIndex))
}
