/** `npm run api`: the API as a process of its own. */
import { ensureBootstrapKey } from '../process/api-key.ts'
import { startApi } from '../process/api-server.ts'
import { withoutArguments } from '../process/help.ts'
import { networksOf, runStage } from '../process/stage.ts'

withoutArguments({
  does: 'Runs the API as a process of its own: ClickHouse to HTTP. Settings are environment variables: README.md lists them.',
  usage: ['npm run api'],
  examples: ['ETHEREUM_RPC_URL=wss://… CLICKHOUSE_URL=http://localhost:8123 npm run api'],
})
await runStage(async (store, run) => {
  await ensureBootstrapKey(run.config, store.owner, run.report)
  const serving = await startApi(
    networksOf(run).map(({ network }) => network),
    store,
    run,
  )
  await serving.closed
})
