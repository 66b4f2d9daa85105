/** A record as kafkajs hands it over. */
import type { KafkaMessage } from 'kafkajs'
import type { MessagePart, StoredRecord } from './parts.ts'

export function toStoredRecord({ offset, value, headers }: KafkaMessage): StoredRecord {
  const text = (name: string) => headers?.[name]?.toString()
  const messageId = text('message')
  const part: MessagePart | undefined =
    messageId === undefined ? undefined : { messageId, index: Number(text('part')), count: Number(text('parts')) }
  return { offset: Number(offset), value: value ?? Buffer.alloc(0), part }
}
