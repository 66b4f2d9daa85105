/** A process that reads a log and is killed by a test: `reading-process.ts <brokers> <prefix>`. */
import { kafkaLog } from '../../../infra/kafka/kafka.ts'

const [brokers = '', prefix = ''] = process.argv.slice(2)
const log = await kafkaLog({
  brokers: brokers.split(','),
  network: 'ethereum',
  prefix,
  sessionTimeoutMs: 6000,
  report: () => {},
})
for await (const _ of log.read(0, new AbortController().signal)) console.log('reading')
