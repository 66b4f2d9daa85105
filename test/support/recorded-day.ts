/** A node that has recorded 2024-01-05 of the USDC/WETH 0.05 % pool, and nothing else. */
import { NETWORKS } from '../../ingest/model/networks.ts'
import { DAY, DAY_POOL, recordedDay } from './recorded.ts'
import { type RecordedChain, type RpcServer, startRpcServer } from './rpc-server.ts'

const SLOT_SECONDS = 12
const { ethereum } = NETWORKS

/** The whole day is there; up to `finalized` it is final. */
export function recordedDayChain({ finalized = DAY.lastBlock } = {}): RecordedChain {
  const logs = recordedDay()
  const times = new Map(logs.map((log) => [Number(log.blockNumber), Number(log.blockTimestamp)]))
  return {
    chainId: 1,
    head: DAY.lastBlock,
    finalized,
    logs,
    contracts: {
      [DAY_POOL]: {
        kind: 'v3-pool',
        factory: ethereum.v3.factory,
        token0: '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48',
        token1: '0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2',
        fee: 500,
      },
      '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48': { kind: 'token', symbol: 'USDC', name: 'USD Coin', decimals: 6 },
      '0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2': {
        kind: 'token',
        symbol: 'WETH',
        name: 'Wrapped Ether',
        decimals: 18,
      },
    },
    // The recording has no headers: a block without logs follows the last one that has some, slot by slot.
    timestampOf(block) {
      for (let known = block; known >= DAY.firstBlock; known--) {
        const time = times.get(known)
        if (time !== undefined) return time + (block - known) * SLOT_SECONDS
      }
      return DAY.start - (DAY.firstBlock - block) * SLOT_SECONDS
    },
  }
}

export function startRecordedDay(options?: { finalized?: number }): Promise<RpcServer> {
  return startRpcServer(recordedDayChain(options))
}
