/** `npm start`: all stages in one process, with an embedded ClickHouse and a devnet where none is configured. */
import type { WriteEvent } from '../../../aggregator/candles/changes.ts'
import { storedChain } from '../../../aggregator/ledger/stored-blocks.ts'
import { openPageCode } from '../../../api/extras/page/page-code.ts'
import { pause, untilAborted } from '../../../ingest/lib/wait.ts'
import type { NetworkName } from '../../../ingest/model/network.ts'
import { type SqlPort, startSqlPort } from '../../clickhouse/sql-port/sql-port.ts'
import { openStore, type Store } from '../../clickhouse/store.ts'
import type { NetworkConfig } from '../../config/config.ts'
import { currentStoreFolder, devnetStoreFolder, saveDevnetNetwork } from '../../config/folders.ts'
import { describeExit } from '../../devnet/chain/anvil.ts'
import { startDevnet } from '../../devnet/devnet.ts'
import { runBackfills } from '../../jobs/job-runner.ts'
import { startAdmin } from '../../process/admin.ts'
import { announce, notesOf, untilRead } from '../../process/announcement.ts'
import { keyToPrint } from '../../process/api-key.ts'
import { startApi } from '../../process/api-server.ts'
import { withoutArguments } from '../../process/help.ts'
import type { Logs } from '../../process/log-backend.ts'
import { checkPlaces } from '../../process/ports.ts'
import { announcePresence, type Role } from '../../process/presence.ts'
import { ownProblems } from '../../process/problems.ts'
import { type Run, runProcess } from '../../process/run.ts'
import { runPartMerges } from '../../process/stages/part-merges.ts'
import { runAggregator, runListener, withLogs } from '../../process/stages/stages.ts'
import { readHead } from '../../rpc/chain-client.ts'

/** How long the start-up waits for the first blocks; the rest of the history follows while the API answers. */
const FIRST_DATA_MS = 15_000

type Chains = {
  networks: readonly NetworkConfig[]
  storeFolder: string
  stop(): Promise<void>
}

withoutArguments({
  does: 'Runs listener, aggregator and API in one process, with a devnet and a ClickHouse engine where none is configured. Settings are environment variables: infra/docs/configuration.md lists them.',
  usage: ['npm start'],
  examples: ['npm start', 'ETHEREUM_RPC_URL=wss://… npm start'],
})
await runProcess(async (run, telemetry) => {
  const { config, report, signal, fail } = run
  await checkPlaces(config)
  const admin = await startAdmin(run, telemetry)
  const chains = await openChains(run)
  try {
    const store = await openStore(config, chains.storeFolder, report, signal)
    void store.failed.then(fail)
    report({ kind: 'tables-ready' })
    admin.setStore(store)
    try {
      await runStages(chains, store, run)
    } catch (error) {
      // Recorded before anything stops, so that a follow-up failure of the shutdown is not reported as the cause.
      fail(error)
    } finally {
      await store.close()
    }
  } catch (error) {
    fail(error)
  } finally {
    await chains.stop()
  }
})

/** The configured networks, or a devnet that stands in for ethereum. */
async function openChains({ config, report, signal, fail }: Run): Promise<Chains> {
  if (config.chain.kind === 'networks') {
    const storeFolder = (await currentStoreFolder(config)) ?? config.dataDir
    return { networks: config.chain.networks, storeFolder, stop: async () => {} }
  }
  const devnet = await startDevnet({ dataDir: config.dataDir, report, signal })
  void devnet.exited.then((exit) => {
    if (!exit.expected) fail(new Error(`The devnet node ended: ${describeExit(exit)}.`))
  })
  const { folder, replaces } = await devnetStoreFolder(config.dataDir, devnet.genesisHash)
  if (replaces !== undefined) report({ kind: 'another-devnet', folder, replaces })
  await saveDevnetNetwork(folder, devnet.network)
  const network: NetworkConfig = {
    network: devnet.network,
    urls: [devnet.wsUrl, devnet.httpUrl],
    isPublic: false,
    start: { kind: 'block', number: 0 },
  }
  return { networks: [network], storeFolder: folder, stop: devnet.stop }
}

async function runStages({ networks }: Chains, store: Store, run: Run): Promise<void> {
  const { config, deployment, signal, fail } = run
  // Where other processes can append to the log, the command that opens a job reads it itself.
  const readsJobs = deployment.log.openBackfillLog === undefined
  // Writes of this process notify its API directly.
  let look = (_: WriteEvent) => {}
  const key = await keyToPrint(config, store.owner, run.report)
  const pageCode = openPageCode(() => new Date())
  const stages: Promise<unknown>[] = []
  const keep = (stage: Promise<unknown>) => stages.push(stage.catch(fail))
  const names = networks.map(({ network }) => network.name)
  const roles: readonly Role[] = ['listener', 'aggregator', ...(readsJobs ? (['jobs'] as const) : [])]
  keep(announcePresence(store.owner, names, roles, signal, () => ownProblems(run, store)))
  keep(runPartMerges(store, run))
  for (const network of networks) {
    const { name } = network.network
    const stagesOf = async (logs: Logs, attempt: Run) => {
      const written = (it: WriteEvent) => look(it)
      const parts = [runAggregator(name, logs, store, attempt, written), runListener(network, logs, store, attempt)]
      if (readsJobs) parts.push(runBackfills(network, logs.backfillLog, { store, run: attempt }))
      await Promise.all(parts)
    }
    keep(withLogs('aggregator', name, store, run, stagesOf))
  }
  const serving = await startApi(
    networks.map(({ network }) => network),
    store,
    run,
    (listener) => {
      look = listener
    },
    pageCode,
  )
  keep(serving.closed)
  const sql = await openSqlPort(store, run)
  if (sql) keep(sql.closed)
  run.report({ kind: 'first-data', networks: names })
  const unanswered = await firstData(networks, store, signal)
  // Not before: caches may be a second old, and the printed question needs the rows that were stored just now.
  serving.warm()
  const notes = await notesOf(networks, unanswered, store, run)
  if (!signal.aborted) announce(networks, serving, { key, code: pageCode.issue(key), notes })
  if (notes.length > 0) await untilRead(networks, store, run)
  await untilAborted(signal)
  await Promise.all(stages)
}

/** Where SQL_PORT is set. */
async function openSqlPort({ engine, landlock }: Store, { config, report, signal }: Run): Promise<SqlPort | undefined> {
  const { sqlPort, sqlHost } = config
  if (sqlPort === undefined || !engine) return undefined
  const sql = await startSqlPort({ engine, host: sqlHost, port: sqlPort, signal })
  report({ kind: 'sql-listening', host: sqlHost, port: sql.port })
  if (landlock === 0) report({ kind: 'sql-unrestricted' })
  return sql
}

/** Waits, at most FIRST_DATA_MS, until every network has stored its chain's current head. Returns the networks without an endpoint that answers. */
async function firstData(
  networks: readonly NetworkConfig[],
  store: Store,
  signal: AbortSignal,
): Promise<ReadonlySet<NetworkName>> {
  const giveUp = performance.now() + FIRST_DATA_MS
  const unanswered = new Set<NetworkName>()
  await Promise.all(
    networks.map(async ({ network, urls, access }) => {
      const head = await readHead(urls, access)
      if (!head) unanswered.add(network.name)
      const chain = storedChain(store.owner, network.name)
      while (head && !signal.aborted && performance.now() < giveUp) {
        if (((await chain.tip())?.number ?? -1) >= head.number) return
        await pause(100, signal)
      }
    }),
  )
  return unanswered
}
