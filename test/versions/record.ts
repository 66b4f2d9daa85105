/** `node --import tsx test/versions/record.ts`: keeps the backup, topic, answers and API document of this version, in `test/fixtures/versions`. Run with each release. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { kafkaClient } from '../e2e/cluster.ts'
import { run, temporaryFolder, untilReady } from '../support/candlepool.ts'
import { startJarBroker } from '../support/kafka-jars.ts'
import {
  answersOf,
  BACKUP_NAME,
  packBackup,
  saveJson,
  startSource,
  TOPIC,
  type TopicRecord,
} from './version-fixture.ts'

const { version } = JSON.parse(await readFile(join(import.meta.dirname, '../../package.json'), 'utf8')) as {
  version: string
}
const broker = await startJarBroker()
const { rpc, environment } = await startSource()
const folder = await temporaryFolder()
const settings = { ...environment, DATA_DIR: folder.path, KAFKA_BROKERS: broker.brokers.join() }
const started = run('start', settings, [], { fromSource: true })
try {
  const api = await untilReady(started)
  await saveJson(version, 'answers.json', await answersOf(api))
  const document = await fetch(`${api.url}/v0/openapi.json`)
  await saveJson(version, 'openapi.json', await document.json())
  const backup = run('backup', settings, [BACKUP_NAME], { fromSource: true })
  if ((await backup.exited) !== 0) throw new Error(backup.output())
  await packBackup(version, folder.path)
  await saveJson(version, 'topic.json', await recordsOf(broker.brokers))
  console.log(`Kept ${version}.`)
} finally {
  await started.stop()
  await rpc.stop()
  await broker.stop()
  await folder.remove()
}

async function recordsOf(brokers: readonly string[]): Promise<TopicRecord[]> {
  const kafka = kafkaClient(brokers)
  const admin = kafka.admin()
  await admin.connect()
  const [{ high } = { high: '0' }] = await admin.fetchTopicOffsets(TOPIC)
  await admin.disconnect()
  const records: TopicRecord[] = []
  const consumer = kafka.consumer({ groupId: 'record' })
  await consumer.connect()
  await consumer.subscribe({ topic: TOPIC, fromBeginning: true })
  await new Promise<void>((resolve, reject) => {
    consumer.on(consumer.events.CRASH, ({ payload }) => reject(payload.error))
    const eachMessage = async ({ message }: { message: import('kafkajs').KafkaMessage }) => {
      const headers = Object.entries(message.headers ?? {}).map(([name, value]) => [name, String(value)])
      records.push({
        key: message.key?.toString('base64') ?? null,
        value: (message.value ?? Buffer.alloc(0)).toString('base64'),
        headers: Object.fromEntries(headers),
      })
      if (Number(message.offset) >= Number(high) - 1) resolve()
    }
    consumer.run({ autoCommit: false, eachMessage }).catch(reject)
  })
  await consumer.disconnect()
  return records
}
