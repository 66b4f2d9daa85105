/** `npm run ingest`: the listeners as a process of their own. */
import { withoutArguments } from '../../process/help.ts'
import { runOnLogs } from '../../process/stages/stage.ts'
import { runListener } from '../../process/stages/stages.ts'

withoutArguments({
  does: 'Runs the listeners as a process of their own: chain to Kafka. Settings are environment variables: infra/docs/configuration.md lists them.',
  usage: ['npm run ingest'],
  examples: [
    'ETHEREUM_RPC_URL=wss://… KAFKA_BROKERS=localhost:9092 CLICKHOUSE_URL=http://localhost:8123 npm run ingest',
  ],
})
await runOnLogs('listener', runListener)
