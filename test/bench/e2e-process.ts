/**
 * Aggregator and API of one network in one process, composed as `npm start` composes them, over a log to which made-up blocks are appended.
 * Arguments: the data folder, a key for the API, and Kafka's brokers where the log is to be there. It prints where the API is.
 *
 * A line on standard input appends the block of that number, with the time of then. Lines on standard output say, with moments in
 * nanoseconds by the clock that all processes of a machine share, when a block is about to be appended and up to which one all is stored.
 */
import { createInterface } from 'node:readline'
import type { WriteEvent } from '../../aggregator/candles/changes.ts'
import { storedChain } from '../../aggregator/ledger/stored-blocks.ts'
import { openStore } from '../../infra/clickhouse/store.ts'
import { readConfig } from '../../infra/config/config.ts'
import { ensureBootstrapKey } from '../../infra/process/api-key.ts'
import { startApi } from '../../infra/process/api-server.ts'
import { resolveDeployment } from '../../infra/process/deployment.ts'
import type { Run } from '../../infra/process/run.ts'
import { runAggregator } from '../../infra/process/stages/stages.ts'
import { describeError } from '../../infra/telemetry/describe-error.ts'
import type { Fact } from '../../infra/telemetry/fact.ts'
import { openReadiness } from '../../infra/telemetry/readiness.ts'
import type { BlockRef } from '../../ingest/model/message.ts'
import { NETWORKS } from '../../ingest/model/networks.ts'
import { shapeOf } from './e2e.ts'
import { blockMessage, poolsOf } from './synthetic.ts'

const [folder = '', key = '', brokers = ''] = process.argv.slice(2)
const stopping = new AbortController()
let look = (_: WriteEvent) => {}
const config = readConfig({
  DATA_DIR: folder,
  PORT: '0',
  BOOTSTRAP_API_KEY: key,
  KAFKA_BROKERS: brokers,
  PUBLISH: process.env['PUBLISH'],
  FSYNC: process.env['FSYNC'],
})
const run: Run = {
  config,
  deployment: resolveDeployment(config),
  report: tell,
  readiness: openReadiness((text) => text),
  signal: stopping.signal,
  fail(error) {
    console.error(describeError(error))
    process.exit(1)
  },
}
const SHAPE = shapeOf(0)
const { network, pools } = SHAPE
const store = await openStore(run.config, folder, tell)
await ensureBootstrapKey(run.config, store.owner, run.report)
const logs = await run.deployment.log.open(network, store, run)
const aggregating = runAggregator(network, logs, store, run, (written) => look(written))
// In a cluster the API is a process of its own, and looks for itself.
const told = (listener: typeof look) => {
  look = listener
}
const { port, closed } = await startApi([NETWORKS[network]], store, run, brokers === '' ? told : undefined)
let tip: BlockRef | undefined = await storedChain(store.owner, network).tip()
let isFirst = true
console.log(`http://127.0.0.1:${port}`)

for await (const line of createInterface(process.stdin)) await append(Number(line))
stopping.abort()
await logs.close()
await Promise.all([aggregating, closed])
await store.close()
process.exit()

/** The first one trades all pools: the others find in memory what they would after hours of trading. */
async function append(number: number): Promise<void> {
  if (!tip) throw new Error(`Nothing is stored of ${network} that a block could follow.`)
  const block = blockMessage(number, isFirst ? { ...SHAPE, swapsPerBlock: pools * 8 } : SHAPE)
  const timestamp = Math.floor(Date.now() / 1_000)
  const message = { ...block, parentHash: tip.hash, timestamp, pools: isFirst ? poolsOf(pools) : [] }
  tip = message
  isFirst = false
  say('appended', number)
  await logs.stream.append([message])
}

function tell(fact: Fact): void {
  if (fact.kind === 'flushed') say('stored', fact.to)
  if (fact.kind === 'store-failed' || fact.kind === 'message-rejected' || fact.kind === 'stalled') console.error(fact)
}

function say(what: 'appended' | 'stored', number: number): void {
  console.log(`${what} ${number} ${process.hrtime.bigint()}`)
}
