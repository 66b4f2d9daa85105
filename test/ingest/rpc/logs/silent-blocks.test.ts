/** A node that leaves one whole block out of the answer for a range, as go-ethereum does while its log index grows. */
import { numberToHex } from 'viem'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { connectChain } from '../../../../infra/rpc/chain-client.ts'
import { V3_TOPICS } from '../../../../ingest/decode/decode-v3.ts'
import { readRange } from '../../../../ingest/rpc/logs/log-range.ts'
import type { RpcLog } from '../../../../ingest/rpc/rpc.ts'
import { DAY, madeUpHash } from '../../../support/recorded.ts'
import { recordedDayChain } from '../../../support/recorded-day.ts'
import { type RpcServer, startRpcServer } from '../../../support/rpc-server.ts'

const FROM = DAY.firstBlock
const TO = FROM + 99
const LOST = FROM + 60
const filter = { topics: [[V3_TOPICS.swap]] }
const day = recordedDayChain()

/** A swap in each block from `FROM` to `TO` but for these. */
function swapsWithout(silent: readonly number[]): RpcLog[] {
  const swap = day.logs.find(({ topics }) => topics[0] === V3_TOPICS.swap)
  if (!swap) throw new Error('The recording has a swap.')
  const blocks = Array.from({ length: TO - FROM + 1 }, (_, index) => FROM + index)
  return blocks
    .filter((block) => !silent.includes(block))
    .map((block) => ({ ...swap, blockNumber: numberToHex(block), blockHash: madeUpHash(block), logIndex: '0x1' }))
}

describe('a range', () => {
  let node: RpcServer
  let queries: number

  beforeEach(async () => {
    node = await startRpcServer({ ...day, logs: swapsWithout([]) })
    queries = 0
    // The first answer lacks the block.
    node.faults.onCall = (method) => {
      if (method === 'eth_getLogs') queries++
    }
    node.faults.hideLogs = (log) => queries === 1 && Number(log.blockNumber) === LOST
  })

  afterEach(() => node.stop())

  async function blocksRead(): Promise<number[]> {
    const { endpoints } = connectChain([node.url], { headerProof: 'off' })
    const { logs } = await endpoints.run((client) => readRange(client, filter, FROM, TO))
    return logs.map((log) => Number(log.blockNumber))
  }

  test('has the logs of a block that the answer left out, in its place', async () => {
    expect(await blocksRead()).toEqual(Array.from({ length: TO - FROM + 1 }, (_, index) => FROM + index))
    expect(queries).toBe(2)
  })

  test('asks for no logs of a block whose bloom has none', async () => {
    node.chain.logs = swapsWithout([LOST])
    expect(await blocksRead()).not.toContain(LOST)
    expect(queries).toBe(1)
  })

  test('asks for no header of a silent block where many blocks are silent', async () => {
    node.chain.logs = swapsWithout(Array.from({ length: 20 }, (_, index) => FROM + 3 * index))
    await blocksRead()
    expect(queries).toBe(1)
    // The two ends of the range.
    expect(node.calls['eth_getBlockByNumber']).toBe(2)
  })
})
