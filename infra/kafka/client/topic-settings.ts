/** Settings of a topic that operators may change and that this service cannot work with. */
import type { Kafka } from 'kafkajs'
import { pause } from '../../../ingest/lib/wait.ts'
import { kafkajs } from '../wire/kafkajs.ts'
import type { RetryContext } from './retry.ts'
import { withAdmin } from './topic.ts'

const SETTING = 'compression.type'
/** Brokers repack batches of any other compression. */
const READABLE: ReadonlySet<string> = new Set(['producer', 'gzip', 'uncompressed'])
const LOOK_MS = 30_000

/** Reports an unsuitable setting at once and when it changes, until the log is closed. Needs the right DescribeConfigs, and does nothing without it. */
export async function watchSettings(kafka: Kafka, { topic, report, closed }: RetryContext): Promise<void> {
  let unsuitable: string | undefined
  while (!closed.aborted) {
    const value = await readSetting(kafka, topic).catch(() => undefined)
    const isReadable = value === undefined ? unsuitable === undefined : READABLE.has(value)
    if (value !== undefined && !isReadable && value !== unsuitable) {
      report({ kind: 'log-setting-unsuitable', topic, setting: SETTING, value, wanted: 'producer' })
      unsuitable = value
    }
    if (value !== undefined && isReadable && unsuitable !== undefined) {
      report({ kind: 'log-setting-mended', topic, setting: SETTING, value })
      unsuitable = undefined
    }
    await pause(LOOK_MS, closed)
  }
}

function readSetting(kafka: Kafka, topic: string): Promise<string | undefined> {
  return withAdmin(kafka, async (admin) => {
    const type = kafkajs.ConfigResourceTypes.TOPIC
    const resources = [{ type, name: topic, configNames: [SETTING] }]
    const described = await admin.describeConfigs({ includeSynonyms: false, resources })
    return described.resources[0]?.configEntries.find(({ configName }) => configName === SETTING)?.configValue
  })
}
