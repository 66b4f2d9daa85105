/** `npm run aggregate`: the aggregators as a process of their own. A second one stands by. */
import { runOnLogs } from './stage.ts'
import { runAggregator } from './stages.ts'

await runOnLogs('aggregator', ({ network }, log, store, run) => runAggregator(network.name, log, store, run))
