/** `npm run api`: the API as a process of its own, or as several behind one port. */
import { ensureBootstrapKey } from '../../process/api-key.ts'
import { isApiProcess, startApiProcesses } from '../../process/api-processes.ts'
import { startApi } from '../../process/api-server.ts'
import { withoutArguments } from '../../process/help.ts'
import { networksOf, runStage } from '../../process/stages/stage.ts'

withoutArguments({
  does: 'Runs the API as a process of its own: ClickHouse to HTTP. Settings are environment variables: infra/docs/configuration.md lists them.',
  usage: ['npm run api'],
  examples: ['ETHEREUM_RPC_URL=wss://… CLICKHOUSE_URL=http://localhost:8123 npm run api'],
})
await runStage(async (store, run, admin) => {
  const { config, report } = run
  await ensureBootstrapKey(config, store.owner, report)
  const networks = networksOf(run).map(({ network }) => network)
  if (config.apiProcesses === 1 || isApiProcess()) {
    const serving = await startApi(networks, store, run)
    serving.warm()
    return serving.closed
  }
  for (const { name } of networks) report({ kind: 'stage-started', stage: 'api', network: name })
  const processes = startApiProcesses(config.apiProcesses, run)
  admin.setProcesses(processes)
  await processes.closed
})
