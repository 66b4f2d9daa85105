/** `npm run api`: the API as a process of its own. */
import { ensureBootstrapKey } from './api-key.ts'
import { startApi } from './http-api.ts'
import { networksOf, runStage } from './stage.ts'

await runStage(async (store, run) => {
  await ensureBootstrapKey(run.config, store.owner, run.report)
  const serving = await startApi(
    networksOf(run).map(({ network }) => network),
    store,
    run,
  )
  await serving.closed
})
