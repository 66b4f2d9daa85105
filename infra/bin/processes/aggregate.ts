/** `npm run aggregate`: the aggregators as a process of their own. A second one stands by. */
import { withoutArguments } from '../../process/help.ts'
import { runOnLogs } from '../../process/stages/stage.ts'
import { runAggregator } from '../../process/stages/stages.ts'

withoutArguments({
  does: 'Runs the aggregators as a process of their own: Kafka to ClickHouse. A second one stands by. Settings are environment variables: infra/docs/configuration.md lists them.',
  usage: ['npm run aggregate'],
  examples: [
    'ETHEREUM_RPC_URL=wss://… KAFKA_BROKERS=localhost:9092 CLICKHOUSE_URL=http://localhost:8123 npm run aggregate',
  ],
})
await runOnLogs('aggregator', ({ network }, log, store, run) => runAggregator(network.name, log, store, run))
