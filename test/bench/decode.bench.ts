/**
 * A swap's log decoded, priced and written for the log, beside the bare parsing of the same answer as JSON: logs a second on one core.
 * Each figure is the best of its rounds: what the machine does beside this only ever adds.
 */

import { connectChain } from '../../infra/chain-client.ts'
import { encode } from '../../infra/log/codec.ts'
import { createAssembler } from '../../ingest/assemble.ts'
import { decodeV3, V3_TOPICS } from '../../ingest/decode-v3.ts'
import type { RangeMessage } from '../../ingest/message.ts'
import { NETWORKS } from '../../ingest/networks.ts'
import { DAY, recordedDay } from '../support/recorded.ts'
import { startRecordedDay } from '../support/recorded-day.ts'

const ROUNDS = 30
const logs = recordedDay().filter((log) => log.topics[0] === V3_TOPICS.swap)
const answer = JSON.stringify(logs)
const rpc = await startRecordedDay()
const { ethereum } = NETWORKS
const assembler = createAssembler(connectChain([rpc.url]).endpoints, ethereum, undefined, () => {})
const headers = [...new Map(logs.map((log) => [log.blockNumber, log])).values()].map((log) => ({
  number: Number(log.blockNumber),
  hash: log.blockHash,
  timestamp: Number(log.blockTimestamp),
}))

async function ticksOf(): Promise<RangeMessage> {
  const blocks = await assembler.assemble(logs, headers)
  const { number: to, hash, timestamp } = headers.at(-1) ?? { number: 0, hash: '0x', timestamp: 0 }
  return {
    kind: 'range',
    network: 'ethereum',
    from: DAY.firstBlock,
    to,
    hash,
    timestamp,
    parentHash: undefined,
    blocks,
  }
}

const message = await ticksOf()
const floor = await best(() => JSON.parse(answer))
report('JSON.parse of the logs (floor)', floor)
report('decode', await best(() => logs.map((log) => decodeV3(log, ethereum.v3.factory))))
report('decode + price + tick', await best(ticksOf))
report('serialise', await best(() => encode(message)))
report('decode + price + serialise', await best(async () => encode(await ticksOf())))
await rpc.stop()

async function best(work: () => unknown): Promise<number> {
  let shortest = Number.POSITIVE_INFINITY
  for (let round = 0; round < ROUNDS; round++) {
    const began = performance.now()
    await work()
    shortest = Math.min(shortest, performance.now() - began)
  }
  return (shortest * 1_000) / logs.length
}

function report(what: string, microseconds: number): void {
  const rate = Math.round(1_000_000 / microseconds).toLocaleString('en')
  const ratio = (microseconds / floor).toFixed(2)
  console.log(
    `${what.padEnd(32)} ${microseconds.toFixed(2).padStart(6)} µs a log ${rate.padStart(12)} logs/s ${ratio.padStart(6)} × floor`,
  )
}
