/** The deployment's document has the versions that the tests run with. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ROOT } from '../../support/files.ts'
import { KAFKA_VERSION, NEWEST_OF_LINES } from '../../support/kafka-jars.ts'

const read = (file: string) => readFileSync(join(ROOT, file), 'utf8')
const deployment = read('infra/docs/deployment.md')
const rowOf = (part: string) => new RegExp(`^\\| ${part} +\\|(.*)\\|$`, 'm').exec(deployment)?.[1] ?? ''
const versionsIn = (text: string) => [...text.matchAll(/\d+(?:\.\d+)+/g)].map(([version]) => version)

test('the document names the versions of Kafka whose brokers the tests start', () => {
  expect(versionsIn(rowOf('Apache Kafka'))).toEqual([...NEWEST_OF_LINES, KAFKA_VERSION].toSorted())
  expect(versionsIn(read('infra/compose.yaml').match(/apache\/kafka:\S+/)?.[0] ?? '')).toEqual([KAFKA_VERSION])
  expect(read('test/support/pom.xml')).toContain(`<kafka.version>${KAFKA_VERSION}<`)
})

test('the document names the version of ClickHouse of the embedded engine and of the containers', () => {
  const packages = JSON.parse(read('package-lock.json')).packages as Record<string, { version: string }>
  const engine = packages['node_modules/@chdb/lib-linux-x64-gnu']?.version ?? ''
  const [named = ''] = versionsIn(rowOf('ClickHouse'))
  expect(engine.startsWith(`${named}.`), engine).toBe(true)
  for (const file of ['infra/compose.yaml', 'infra/compose.replicas.yaml', 'test/support/clickhouse-server.ts']) {
    const images = [...read(file).matchAll(/clickhouse-(?:server|keeper):([\d.]+)/g)].map(([, version]) => version)
    expect([...new Set(images)], file).toEqual([named])
  }
})
