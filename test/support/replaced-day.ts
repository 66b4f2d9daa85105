/** The recorded day as another branch has it from some block on; a node over recorded logs takes a block's hash from its first one. */
import { numberToHex } from 'viem'
import type { RpcLog } from '../../ingest/rpc/rpc.ts'
import { DAY, madeUpHash, recordedDay } from './recorded.ts'

/** Every block from `block` on has another hash; swaps only where `keeps` says so, and those under the hash of the new branch. */
export function dayReplacedFrom(block: number, fork: number, keeps: (log: RpcLog) => boolean = () => false): RpcLog[] {
  const logs = recordedDay().filter((log) => Number(log.blockNumber) < block)
  const [template] = logs
  if (!template) throw new Error('Something was recorded.')
  for (let number = block; number <= DAY.lastBlock; number++) {
    const blockHash = madeUpHash(number, fork)
    const place = { blockNumber: numberToHex(number), blockHash, transactionHash: madeUpHash(number, fork + 1_000) }
    const kept = recordedDay().filter((log) => Number(log.blockNumber) === number && keeps(log))
    if (kept.length === 0) logs.push({ ...template, topics: [madeUpHash(number)], ...place })
    for (const log of kept) logs.push({ ...log, ...place })
  }
  return logs
}
