/** The listener of one network as a stage: endpoints, a first request that checks them, then listener and audit. */
import { ledgerStart, storedChain } from '../../../aggregator/ledger/stored-blocks.ts'
import { storedPools } from '../../../aggregator/store/stored-pools.ts'
import { storedTokens } from '../../../aggregator/store/stored-tokens.ts'
import { BY_RANGES } from '../../../ingest/blocks/recent-blocks.ts'
import { listen } from '../../../ingest/follow/listener.ts'
import { firstBlock } from '../../../ingest/follow/start-block.ts'
import { asTyped } from '../../../ingest/lib/as-typed.ts'
import { hostOf } from '../../../ingest/lib/hosts-only.ts'
import { retried } from '../../../ingest/lib/wait.ts'
import { WrongChain } from '../../../ingest/model/errors.ts'
import { type Endpoints, withHistoryPriority } from '../../../ingest/rpc/endpoints/endpoints.ts'
import { getHead } from '../../../ingest/rpc/rpc.ts'
import { RpcFailed } from '../../../ingest/rpc/rpc-error.ts'
import { sharedHosts } from '../../../ingest/rpc/voice.ts'
import type { Store } from '../../clickhouse/store.ts'
import type { NetworkConfig } from '../../config/config.ts'
import { connectChain } from '../../rpc/chain-client.ts'
import type { Logs } from '../log-backend.ts'
import type { Run } from '../run.ts'
import { runAudit } from './audit-stage.ts'
import { rereadNames } from './names-stage.ts'
import { restarting } from './restart.ts'

const RPC_RETRY_MS = 2_000

/** Reads the chain into the log, and audits the stored blocks once they are final. Ends with the signal. */
export async function listenAndAudit(
  config: NetworkConfig,
  { stream: log, backfillLog }: Logs,
  store: Store,
  run: Run,
): Promise<void> {
  const { network, urls, access, isPublic, start, pollSeconds, headerProof } = config
  const { report, signal } = run
  const budget = run.deployment.budgets.open(config, store, report)
  const { endpoints, watchHeads } = connectChain(urls, { network, access, headerProof, report, signal, budget })
  if (isPublic) {
    const advice = `They are shared and slow: set ${network.name.toUpperCase()}_RPC_URL to an endpoint of your own.`
    report({ kind: 'public-endpoint', network: network.name, hosts: urls.map(hostOf), advice })
  }
  for (const host of sharedHosts(urls)) report({ kind: 'shared-host', network: network.name, host })
  const connected = async () => {
    // Endpoints check their chain id before the first request: a wrong chain fails here, before anything is stored.
    await endpoints.run(getHead)
    await warnOfEarlierStart({ network, start }, endpoints, store, report)
  }
  await retried(connected, {
    firstMs: RPC_RETRY_MS,
    maxMs: RPC_RETRY_MS,
    signal,
    failed(error, retryMs) {
      if (error instanceof WrongChain) throw error
      if (!(error instanceof RpcFailed)) report({ kind: 'rpc-failed', network: network.name, error, retryMs })
    },
  })
  const stored = {
    ...storedChain(store.owner, network.name),
    newestRewind: () => store.newestRewind(network.name),
  }
  const pools = storedPools(store.owner, network.name)
  const listening = restarting('listener', network.name, run, () =>
    listen(endpoints, {
      network,
      log,
      stored,
      storedPools: pools,
      storedTokens: storedTokens(store.owner, network.name),
      start,
      pools: run.config.pools,
      ...(pollSeconds === undefined ? { watchHeads } : { pollMs: pollSeconds * 1_000, live: BY_RANGES }),
      report,
      signal,
    }),
  )
  await Promise.all([
    listening,
    runAudit(withHistoryPriority(endpoints), network, backfillLog, store, run),
    rereadNames(endpoints, network, store, run),
  ])
}

/** The listener never reads below the stored ledger: the warning names the backfill that does. */
async function warnOfEarlierStart(
  { network, start }: Pick<NetworkConfig, 'network' | 'start'>,
  endpoints: Endpoints,
  store: Store,
  report: Run['report'],
): Promise<void> {
  const stored = (await ledgerStart(store.owner, network.name))?.first
  if (stored === undefined) return
  const wanted = await firstBlock(endpoints, start)
  if (wanted >= stored) return
  const command = asTyped(
    `npm run backfill -- --network ${network.name} --from-block ${wanted} --to-block ${stored - 1}`,
  )
  report({ kind: 'earlier-start', network: network.name, wanted, stored, command })
}
