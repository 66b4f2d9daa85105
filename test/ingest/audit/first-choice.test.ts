/** The newest final block of an audit: what the listener has requested shortly before is not requested again. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { connectChain } from '../../../infra/rpc/chain-client.ts'
import { firstChoice } from '../../../ingest/audit/audit.ts'
import { NETWORKS } from '../../../ingest/model/networks.ts'
import { getHeads } from '../../../ingest/rpc/rpc.ts'
import { DAY } from '../../support/recorded.ts'
import { startRecordedDay } from '../../support/recorded-day.ts'
import type { RpcServer } from '../../support/rpc-server.ts'

let node: RpcServer

beforeEach(async () => {
  node = await startRecordedDay({ finalized: DAY.lastBlock - 40 })
})

afterEach(() => node.stop())

test('the newest final block is the one that the listener knows, or is requested', async () => {
  const { endpoints } = connectChain([node.url], { network: NETWORKS.ethereum, headerProof: 'off' })
  const requests = () => node.calls['eth_getBlockByNumber'] ?? 0
  expect(await firstChoice(endpoints, 60_000)).toMatchObject({ finalized: DAY.lastBlock - 40 })
  expect(requests()).toBe(2)
  node.chain.finalized += 10
  expect(await firstChoice(endpoints, 60_000)).toMatchObject({ finalized: DAY.lastBlock - 40 })
  expect(requests()).toBe(2)
  await endpoints.run((client) => getHeads(client, endpoints.finality))
  expect(await firstChoice(endpoints, 60_000)).toMatchObject({ finalized: DAY.lastBlock - 30 })
  expect(requests()).toBe(4)
  node.chain.finalized += 10
  expect(await firstChoice(endpoints, 0)).toMatchObject({ finalized: DAY.lastBlock - 20 })
})
