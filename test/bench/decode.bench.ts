/**
 * A swap's log decoded, priced and written for the log, beside the bare parsing of the same answer as JSON, on one core: a recorded day
 * of a reference pool, whose every swap moves the price of ether too. Best of the rounds.
 */

import { encode } from '../../infra/kafka/wire/encode.ts'
import { parseBounded } from '../../infra/lib/bounded-json.ts'
import { connectChain } from '../../infra/rpc/chain-client.ts'
import { readAnswer } from '../../infra/rpc/read-answer.ts'
import { createAssembler } from '../../ingest/blocks/assemble.ts'
import { decodeV3, V3_TOPICS } from '../../ingest/decode/decode-v3.ts'
import type { RangeMessage } from '../../ingest/model/message.ts'
import { NETWORKS } from '../../ingest/model/networks.ts'
import { checkAnswer } from '../../ingest/rpc/answers.ts'
import type { RpcLog } from '../../ingest/rpc/rpc.ts'
import { DAY, recordedDay } from '../support/recorded.ts'
import { startRecordedDay } from '../support/recorded-day.ts'
import { costOf, figure, least, title } from './figure.ts'

const ROUNDS = 60
const { ethereum } = NETWORKS
const answer = JSON.stringify(recordedDay().filter((log) => log.topics[0] === V3_TOPICS.swap))
const logs = JSON.parse(answer) as RpcLog[]
const headers = [...new Map(logs.map((log) => [log.blockNumber, log])).values()].map((log) => ({
  number: Number(log.blockNumber),
  hash: log.blockHash,
  timestamp: Number(log.blockTimestamp),
}))
const rpc = await startRecordedDay()
const assembler = createAssembler(
  connectChain([rpc.url], { headerProof: 'off' }).endpoints,
  ethereum,
  undefined,
  () => {},
)

async function priced(): Promise<RangeMessage> {
  const blocks = await assembler.assemble(logs, headers)
  assembler.usd.finalize(DAY.lastBlock)
  const { number: to, hash, timestamp } = headers.at(-1) ?? { number: 0, hash: '0x', timestamp: 0 }
  const place = { from: DAY.firstBlock, to, hash, timestamp, parentHash: undefined } as const
  return { kind: 'range', network: 'ethereum', ...place, blocks }
}

const message = await priced()
title(`${logs.length.toLocaleString('en')} recorded swaps, one core`)
const floor = await perLog('JSON.parse of the logs (floor)', () => JSON.parse(answer))
await perLog('check of the answer', () => checkAnswer('eth_getLogs', logs), floor)
const body = Buffer.from(`{"jsonrpc":"2.0","id":1,"result":${answer}}`)
await perLog('an answer parsed as any JSON and checked', () => checked(parseBounded(body)), floor)
await perLog('an answer read by its text', () => checked(readAnswer(body)), floor)
await perLog('decode', () => logs.map((log) => decodeV3(log, ethereum.v3.factory)), floor)
await perLog('decode + price', priced, floor)
const lists = (readAnswer(body) as { result: RpcLog[] }).result
await perLog('decode + price as columns', () => assembler.assembleColumns(lists, headers), floor)
await perLog('serialise', () => encode(message), floor)
const all = await perLog('decode + price + serialise', async () => encode(await priced()), floor)
figure('decode + price + serialise', 1_000_000 / all, 'logs/s', 1_000_000 / floor)
await rpc.stop()

function checked(answered: unknown): void {
  checkAnswer('eth_getLogs', (answered as { result: unknown }).result)
}

async function perLog(what: string, work: () => unknown, floorMicros?: number): Promise<number> {
  const costs = []
  for (let round = 0; round < ROUNDS; round++) costs.push(await costOf(work))
  const micros = (least(costs).seconds * 1_000_000) / logs.length
  figure(what, micros, 'µs/log', floorMicros)
  return micros
}
