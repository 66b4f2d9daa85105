/** `npm run ingest`: the listeners as a process of their own. */
import { runOnLogs } from './stage.ts'
import { runListener } from './stages.ts'

await runOnLogs('listener', runListener)
