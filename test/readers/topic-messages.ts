/** All messages of a network's topic, by a consumer of its own. */
import { randomUUID } from 'node:crypto'
import { assembler } from '../../infra/kafka/wire/parts.ts'
import { storedRecords } from '../../infra/kafka/wire/stored-record.ts'
import type { Message } from '../../ingest/model/message.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import { kafkaClient } from '../e2e/cluster.ts'

/** Up to the end that the topic has now. */
export async function messagesOf(brokers: readonly string[], network: NetworkName): Promise<Message[]> {
  const topic = `blocks.${network}`
  const kafka = kafkaClient(brokers)
  const admin = kafka.admin()
  await admin.connect()
  const [{ high } = { high: '0' }] = await admin.fetchTopicOffsets(topic)
  await admin.disconnect()
  const last = Number(high) - 1
  const messages: Message[] = []
  if (last < 0) return messages
  const assemble = assembler({})
  const toStoredRecord = storedRecords()
  const consumer = kafka.consumer({ groupId: `test.${randomUUID()}`, maxWaitTimeInMs: 50 })
  await consumer.connect()
  await consumer.subscribe({ topic, fromBeginning: true })
  await new Promise<void>((resolve, reject) => {
    consumer.on(consumer.events.CRASH, ({ payload }) => reject(payload.error))
    const eachMessage = async ({ message }: { message: Parameters<typeof toStoredRecord>[0] }) => {
      const entry = assemble(toStoredRecord(message))
      // Nothing but the stream is ever appended to its topic.
      if (entry) messages.push(entry.message as Message)
      if (Number(message.offset) >= last) resolve()
    }
    consumer.run({ autoCommit: false, eachMessage }).catch(reject)
  })
  await consumer.disconnect()
  return messages
}
