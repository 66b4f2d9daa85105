/** Finality survives a restart in the real tables: a chain that replaced a final block meanwhile halts the listener. */
import { setTimeout as sleep } from 'node:timers/promises'
import { numberToHex } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { RpcLog } from '../../../ingest/rpc/rpc.ts'
import { asker, type Running, run, temporaryFolder, untilReady } from '../../support/candlepool.ts'
import { withoutClickHouse } from '../../support/clickhouse.ts'
import { DAY, madeUpHash, recordedDay } from '../../support/recorded.ts'
import { startRecordedDay } from '../../support/recorded-day.ts'
import type { RpcServer } from '../../support/rpc-server.ts'
import { until } from '../../support/until.ts'

/** Finality of a block that is read live and becomes final later. */
const FINAL = DAY.lastBlock - 30

let rpc: RpcServer
let folder: Awaited<ReturnType<typeof temporaryFolder>>
let main: Running | undefined

beforeAll(async () => {
  rpc = await startRecordedDay({ finalized: FINAL - 20 })
  rpc.chain.head = FINAL + 1
  folder = await temporaryFolder()
})

afterAll(async () => {
  await main?.stop()
  await folder?.remove()
  await rpc?.stop()
})

function start(): Running {
  main = run('start', {
    ETHEREUM_RPC_URL: rpc.url,
    ETHEREUM_START: String(FINAL - 100),
    DATA_DIR: folder.path,
    PORT: '0',
  })
  return main
}

async function untilStored(process: Running, block: number): Promise<void> {
  const { url, key } = await untilReady(process)
  type Health = { networks: { tip: { number: number } | null }[] }
  const look = async () => (await asker(url, key)<Health>('/v0/health')).networks[0]?.tip?.number === block || undefined
  await until(look, `block ${block} is stored`)
}

/** The chain from `block` on in other blocks; a node over recorded logs takes a block's hash from its first one. */
function chainFrom(block: number, fork: number): RpcLog[] {
  const logs = recordedDay().filter((log) => Number(log.blockNumber) < block)
  const [template] = logs
  if (!template) throw new Error('Something was recorded.')
  const numbers = Array.from({ length: DAY.lastBlock - block }, (_, index) => block + index)
  const empty = numbers.map((number) => ({
    ...template,
    topics: [madeUpHash(number)],
    blockNumber: numberToHex(number),
    blockHash: madeUpHash(number, fork),
  }))
  return [...logs, ...empty]
}

describe.skipIf(withoutClickHouse)('npm start, after a stop', () => {
  test('continues where the chain was replaced above finality', async () => {
    const first = start()
    await untilStored(first, FINAL + 1)
    await first.stop()
    rpc.chain.logs = chainFrom(FINAL - 5, 1)
    rpc.chain.head = FINAL + 3
    const second = start()
    await untilStored(second, FINAL + 3)
    rpc.chain.finalized = FINAL
    rpc.chain.head = FINAL + 4
    await untilStored(second, FINAL + 4)
    // It requests finality every twelve seconds, and the next block says what it has read.
    await sleep(13_000)
    rpc.chain.head = FINAL + 5
    await untilStored(second, FINAL + 5)
    expect(await second.stop()).toBe(0)
  })

  test('halts where it was replaced below, says what to do, and answers what is stored', async () => {
    rpc.chain.logs = chainFrom(FINAL, 2)
    rpc.chain.head = FINAL + 7
    const third = start()
    await untilStored(third, FINAL + 5)
    await third.untilPrinted(/"kind":"stage-halted","stage":"listener","network":"ethereum"/)
    expect(await third.stop()).toBe(0)
    const [stored, found] = [madeUpHash(FINAL, 1), madeUpHash(FINAL, 2)]
    expect(third.output()).toContain(
      `The ethereum chain was replaced below its finality: block ${FINAL} was final as ${stored}, and is ${found} now. Nothing stored was changed. Check that ETHEREUM_RPC_URL names nodes of the right chain; if the chain itself was replaced, go back to a block below: npm run rewind -- --network ethereum --to BLOCK`,
    )
  })
})
