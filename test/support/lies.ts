/** Faults of gateways, each a lie in the place of the truth. */
import { bytesToHex, type Hash, type Hex, numberToHex, zeroAddress } from 'viem'
import { rpcOver } from '../../infra/devnet/chain/rpc.ts'
import { bloomOf } from '../../ingest/proof/bloom.ts'
import { encodeReceipt, type RawReceipt, rootOf } from '../../ingest/proof/receipts-root.ts'
import type { GatewayFault } from './gateway.ts'
import { sealedHeader } from './sealed-header.ts'

type Log = {
  address: Hex
  topics: Hex[]
  data: Hex
  blockNumber: Hex
  blockHash: Hash
  logIndex: Hex
  blockTimestamp?: Hex
}
type Receipt = Omit<RawReceipt, 'logs'> & { logs: Log[] }
type Header = Record<string, Hex>

export type Lie = (nodeUrl: string) => GatewayFault | Promise<GatewayFault>

/** A swap of either protocol has amounts first. */
const isSwap = (log: Log) => log.data.length >= 2 + 5 * 64
/** Some swaps, the same ones in each answer. */
const isChosen = (log: Log) => isSwap(log) && Number(log.blockNumber) % 5 === 0

/** The same change of logs in answers of logs and of receipts. */
function changingLogs(change: (logs: readonly Log[]) => Log[]): GatewayFault {
  return {
    result({ method }, result) {
      if (result === null) return result
      if (method === 'eth_getLogs') return change(result as Log[])
      const changed = (receipt: Receipt) => ({ ...receipt, logs: change(receipt.logs) })
      if (method === 'eth_getBlockReceipts') return (result as Receipt[]).map(changed)
      return method === 'eth_getTransactionReceipt' ? changed(result as Receipt) : result
    },
  }
}

/** The first amount a hundred times as large, or as small. */
function tenfold(log: Log): Log {
  return { ...log, data: `0x${log.data.slice(4, 66)}00${log.data.slice(66)}` }
}

const later = (time: Hex) => numberToHex(Number(time) + 600)

export const LIES: Readonly<Record<string, Lie>> = {
  'altered amounts': () => changingLogs((logs) => logs.map((log) => (isChosen(log) ? tenfold(log) : log))),
  'another pool': () =>
    changingLogs((logs) => {
      const [first] = logs.filter((log) => isSwap(log) && log.topics.length === 3)
      return logs.map((log) =>
        first && isChosen(log) && log.topics.length === 3 ? { ...log, address: first.address } : log,
      )
    }),
  'omitted swaps': () => changingLogs((logs) => logs.filter((log) => !isChosen(log))),
  'invented swaps': () =>
    changingLogs((logs) =>
      logs.flatMap((log) =>
        isChosen(log) ? [log, { ...log, logIndex: numberToHex(Number(log.logIndex) + 1_000) }] : [log],
      ),
    ),
  'altered times': () => ({
    result({ method }, result) {
      if (method === 'eth_getBlockByNumber' && result)
        return { ...(result as Header), timestamp: later((result as Header)['timestamp'] as Hex) }
      if (method !== 'eth_getLogs') return result
      return (result as Log[]).map((log) =>
        log.blockTimestamp ? { ...log, blockTimestamp: later(log.blockTimestamp) } : log,
      )
    },
  }),
  'altered times of logs': () => ({
    result({ method }, result) {
      if (method !== 'eth_getLogs') return result
      return (result as Log[]).map((log) => ({
        ...log,
        blockTimestamp: numberToHex(Number(log.blockTimestamp ?? 0) + 5),
      }))
    },
  }),
  'ill-typed fields': () =>
    changingLogs((logs) => logs.map((log) => (isChosen(log) ? { ...log, data: null as unknown as Hex } : log))),
  'announced children': () => ({
    heads(head) {
      // It has a log, and none of a pool.
      const logsBloom = bytesToHex(bloomOf([{ address: zeroAddress, topics: [] }]))
      const { number, hash, timestamp } = head as Header
      const child = sealedHeader({
        ...{ number: Number(number) + 1, timestamp: Number(timestamp) + 12, parentHash: hash as Hash, logsBloom },
        salt: `0x${'7'.repeat(64)}`,
      })
      return [head, child]
    },
  }),
  'slow answers': () => ({ delayMs: 600 }),
  'another chain after a while': () => {
    let asked = 0
    return { call: ({ method }) => (method === 'eth_chainId' && ++asked > 40 ? { result: '0x5' } : undefined) }
  },
  'its head is final': () => ({
    rewrite: (call) => (call.params[0] === 'finalized' ? { ...call, params: ['latest', false] } : call),
  }),
  'final blocks that go back': () => {
    let asked = 0
    return {
      rewrite: (call) =>
        call.params[0] === 'finalized' && ++asked % 2 === 0 ? { ...call, params: ['0x3', false] } : call,
    }
  },
  'a branch of its own': branchOfItsOwn,
}

/** The last blocks of another branch, each proven by itself: headers hash to their hashes, and receipts have the roots. All of it is final. */
async function branchOfItsOwn(nodeUrl: string): Promise<GatewayFault> {
  const rpc = rpcOver(nodeUrl)
  const [head] = await rpc([{ method: 'eth_blockNumber', params: [] }])
  const first = Number(head) - 8
  const forged = new Map<number, { header: Header; receipts: Receipt[] }>()
  async function extend(to: number): Promise<void> {
    for (let number = first; number <= to; number++) {
      if (forged.has(number)) continue
      const tag = numberToHex(number)
      const [block, told] = await rpc([
        { method: 'eth_getBlockByNumber', params: [tag, false] },
        { method: 'eth_getBlockReceipts', params: [tag] },
      ])
      const real = block as Header
      const receipts = (told as Receipt[]).map((receipt) => ({
        ...receipt,
        logs: receipt.logs.map((log) => (isSwap(log) ? tenfold(log) : log)),
      }))
      const logsBloom = bytesToHex(bloomOf(receipts.flatMap(({ logs }) => logs)))
      const header = sealedHeader({
        ...{ number, logsBloom, timestamp: Number(real['timestamp']) },
        parentHash: (forged.get(number - 1)?.header['hash'] ?? real['parentHash']) as Hash,
        receiptsRoot: await rootOf(receipts.map(encodeReceipt).filter((value) => value !== undefined)),
        salt: `0x${'5'.repeat(64)}`,
      })
      const place = { blockHash: header.hash }
      const moved = receipts.map((receipt) => ({
        ...receipt,
        ...place,
        logs: receipt.logs.map((log) => ({ ...log, ...place })),
      }))
      forged.set(number, {
        header: { ...(header as Header), transactions: real['transactions'] as Hex },
        receipts: moved,
      })
    }
  }
  await extend(Number(head))
  // Later blocks follow those that the node mines.
  const extending = setInterval(async () => {
    const [newest] = await rpc([{ method: 'eth_blockNumber', params: [] }]).catch(() => [undefined])
    if (newest) await extend(Number(newest)).catch(() => undefined)
  }, 50)
  extending.unref()
  return {
    rewrite: (call) => (call.params[0] === 'finalized' ? { ...call, params: ['latest', false] } : call),
    result({ method, params }, result) {
      if (method === 'eth_getBlockByNumber' && result)
        return forged.get(Number((result as Header)['number']))?.header ?? result
      if (method === 'eth_getBlockReceipts') return forged.get(Number(params[0]))?.receipts ?? result
      if (method !== 'eth_getLogs') return result
      return (result as Log[]).map((log) => {
        const own = forged.get(Number(log.blockNumber))?.receipts.flatMap(({ logs }) => logs)
        return own?.find(({ logIndex }) => logIndex === log.logIndex) ?? log
      })
    },
  }
}
