/** A rewind on request of an operator: a plan to confirm, then a job for the process that writes the tables. */
import { openJob } from '../../aggregator/jobs/job.ts'
import { endBelow, ledgerStart, newestBlock, storedBlock } from '../../aggregator/ledger/stored-blocks.ts'
import type { BlockRef } from '../../ingest/model/message.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import { getHeader } from '../../ingest/rpc/rpc.ts'
import type { Store } from '../clickhouse/store.ts'
import { configuredNetwork } from '../config/networks.ts'
import { printLine } from '../lib/output.ts'
import { UsageError } from '../lib/usage-error.ts'
import { requireServed } from '../process/presence.ts'
import type { Run } from '../process/run.ts'
import { connectChain } from '../rpc/chain-client.ts'
import { describeError } from '../telemetry/describe-error.ts'
import { followPrinting, waitingNotice } from './job-notice.ts'
import { withStandaloneAggregator } from './standalone.ts'

export type RewindRequest = { network: NetworkName; to: number }

/** Removes all blocks above `to`: the requested block, or the end of the history range below it. */
export type RewindPlan = { network: NetworkName; to: BlockRef; tip: BlockRef }

/** `confirm` throws where the operator does not want it. Resolves once it is done. */
export async function rewindNetwork(
  request: RewindRequest,
  run: Run,
  confirm: (plan: RewindPlan) => Promise<void>,
): Promise<RewindPlan> {
  const { tables } = run.deployment
  const running = await tables.find()
  const store = running ?? (await tables.open(run.report, run.signal))
  try {
    const plan = await planOf(request, store)
    if (running) await requireServed(store, request.network, 'aggregator', run.signal)
    await refuseReplaced(plan, run)
    await confirm(plan)
    const { network, to, tip } = plan
    const ask = async () => {
      const request = { network, from: to.number + 1, to: tip.number, pools: undefined, concurrency: 1 }
      const job = await openJob(store.owner, request, 'rewind')
      await followPrinting(job, store, run.signal, running && waitingNotice(job, store, 'aggregator'))
    }
    if (running) await ask()
    else await withStandaloneAggregator(network, store, run, ask)
    return plan
  } finally {
    await store.close()
  }
}

async function planOf({ network, to }: RewindRequest, { owner }: Store): Promise<RewindPlan> {
  const [start, tip] = await Promise.all([ledgerStart(owner, network), newestBlock(owner, network)])
  if (!start || !tip)
    throw new UsageError(`No listener has stored anything of ${network}: there is nothing to take back.`)
  if (to > tip.number) throw new UsageError(`--to ${to} is above the stored tip of ${network}, block ${tip.number}.`)
  if (to === tip.number) throw new UsageError(`--to ${to} is the stored tip of ${network}: there is nothing above it.`)
  const end = await endBelow(owner, network, to)
  const block = end >= start.first ? await storedBlock(owner, network, end) : undefined
  if (block) return { network, to: block, tip }
  const first = `the first stored block of ${network}${to >= start.first ? ' that can be gone back to' : ''}`
  throw new UsageError(
    `--to ${to} is below ${first}: its history begins at ${start.first}. To read it from nothing, start with an empty DATA_DIR or CLICKHOUSE_DATABASE, and new topics in Kafka.`,
  )
}

/** A block that the chain does not have either would halt the listener again. Where no endpoint answers, the operator decides. */
async function refuseReplaced({ network, to }: RewindPlan, { config, signal }: Run): Promise<void> {
  const { urls, access, headerProof } = configuredNetwork(config, network) ?? {}
  if (!urls) return
  const done = new AbortController()
  const { endpoints } = connectChain(urls, {
    access,
    headerProof,
    timeoutMs: 5_000,
    signal: AbortSignal.any([signal, done.signal]),
  })
  const header = await endpoints
    .run((client) => getHeader(client, to.number))
    .catch((error: unknown) => {
      const why = describeError(error)
      printLine(`No endpoint of ${network} tells whether block ${to.number} is on the chain: ${why}`, process.stderr)
      return undefined
    })
  done.abort()
  if (!header || header.hash === to.hash) return
  throw new UsageError(
    `Block ${to.number} of ${network} is stored as ${to.hash}, and the chain has ${header.hash} in its place: go back further.`,
  )
}
