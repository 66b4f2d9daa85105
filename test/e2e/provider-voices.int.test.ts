/** Two addresses of one provider: an audit that read from the second would confirm the faults of the first. */
import type { Hash } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createAudit } from '../../aggregator/extras/audit/audit.ts'
import { readRecords } from '../../aggregator/history/audit-record.ts'
import { rpcOver } from '../../infra/devnet/chain/rpc.ts'
import type { BlockRef } from '../../ingest/model/message.ts'
import { NETWORKS } from '../../ingest/model/networks.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../support/clickhouse.ts'
import { type Gateway, startGateway } from '../support/gateway.ts'
import { openPipeline, type Pipeline } from '../support/pipeline.ts'
import { DAY, DAY_POOL } from '../support/recorded.ts'
import { recordedDayChain } from '../support/recorded-day.ts'
import { type RpcServer, startRpcServer } from '../support/rpc-server.ts'
import { swapsInLogs, swapsInTables } from './chain-swaps.ts'

const FIRST = DAY.firstBlock
const FINALIZED = FIRST + 100
/** The provider's index of logs lacks them. */
const LOST = { from: FIRST + 40, to: FIRST + 60 }

async function headOf({ url }: RpcServer): Promise<BlockRef> {
  const [head] = await rpcOver(url)([{ method: 'eth_getBlockByNumber', params: ['latest', false] }])
  const { number, hash } = head as { number: string; hash: Hash }
  return { number: Number(number), hash }
}

describe.skipIf(withoutClickHouse)('an http and a ws address of one host, with a sound endpoint of another', () => {
  let node: RpcServer
  let gateway: Gateway
  let database: TestDatabase
  let pipeline: Pipeline

  beforeAll(async () => {
    const day = recordedDayChain({ finalized: FINALIZED })
    const logs = day.logs.filter((log) => Number(log.blockNumber) <= FINALIZED + 10)
    node = await startRpcServer({ ...day, logs, head: FINALIZED + 10 }, '127.0.0.2')
    gateway = await startGateway(node.url, {
      result: ({ method }, result) =>
        method === 'eth_getLogs' && Array.isArray(result) ? result.filter((log) => !isLost(log)) : result,
    })
    database = await freshDatabase()
    const url = [gateway.url, gateway.wsUrl, node.url]
    pipeline = await openPipeline({ network: NETWORKS.ethereum, url, database, firstBlock: FIRST, headerProof: 'off' })
  })

  afterAll(async () => {
    await pipeline?.stop()
    await database?.drop()
    await gateway?.stop()
    await node?.stop()
  })

  const isLost = ({ blockNumber }: { blockNumber: string }) =>
    Number(blockNumber) >= LOST.from && Number(blockNumber) <= LOST.to

  test('the audit reads from the other host, and repairs what the first one left out', async () => {
    await pipeline.untilStored(await headOf(node))
    const range = { from: FIRST, to: FINALIZED }
    const swaps = await swapsInLogs(node.url, range, DAY_POOL)
    expect((await swapsInTables(database, range)).length).toBeLessThan(swaps.length)
    const audit = createAudit(database.client, pipeline.endpoints, {
      ...{ network: NETWORKS.ethereum, pools: undefined, history: pipeline.history, everyMs: 0 },
      report: (fact) => pipeline.facts.push(fact),
      signal: AbortSignal.timeout(50_000),
    })
    while (await audit());
    const [record] = await readRecords(database.client, 'ethereum')
    expect(record?.omitted).toBeGreaterThan(0)
    expect(await swapsInTables(database, range)).toEqual(swaps)
  })
})
