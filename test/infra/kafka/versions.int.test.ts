/** The contract of the log on the brokers that operators run: the newest of each line that is still in use. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe } from 'vitest'
import { kafkaLog } from '../../../infra/kafka/kafka.ts'
import { kafkaOrSkip } from '../../support/kafka.ts'
import { type JarBroker, NEWEST_OF_LINES, startOwnBroker } from '../../support/kafka-jars.ts'
import { drawn } from '../../support/sample.ts'
import { logContract } from './contract.ts'

/** Where Maven has to fetch the jars first. */
const START_TIMEOUT_MS = 240_000

const { skip } = kafkaOrSkip()

for (const version of drawn('brokers', NEWEST_OF_LINES, 1)) {
  describe.skipIf(skip)(`Apache Kafka ${version}`, () => {
    let broker: JarBroker | undefined
    beforeAll(async () => {
      broker = await startOwnBroker(version)
    }, START_TIMEOUT_MS)
    afterAll(() => broker?.stop())

    logContract('carries the log', async () => {
      if (!broker) throw new Error(`Kafka ${version} did not start.`)
      const prefix = `test-${randomUUID()}.`
      const log = await kafkaLog({ brokers: broker.brokers, network: 'ethereum', prefix, report: () => {} })
      return { log, close: () => log.close() }
    })
  })
}
