/** A record as kafkajs hands it over: of this service's writers, or with the reason why not. */
import type { KafkaMessage } from 'kafkajs'
import type { MessagePart, StoredRecord } from './parts.ts'
import type { ReadRecord, Unreadable } from './record-batch.ts'
import { SIGNATURE_HEADER, type Signatures } from './signature.ts'

export type ToStoredRecord = (message: KafkaMessage) => StoredRecord

const MAX_ID_LENGTH = 64

export function storedRecords(signatures?: Signatures): ToStoredRecord {
  return (message) => {
    // `readBatch` has made it.
    const { unreadable, headers, key, ...read } = message as unknown as ReadRecord
    const offset = Number(read.offset)
    const value = read.value ?? Buffer.alloc(0)
    const text = (name: string) => headers[name]?.toString()
    const refused = (reason: string): StoredRecord & { unreadable: Unreadable } => ({
      ...{ offset, value, part: undefined },
      unreadable: { reason, since: offset },
    })
    if (unreadable) return { ...refused(unreadable.reason), unreadable }
    if (key !== null) return refused('It has a key, and no message of the log has one.')
    const part = partOf(text('message'), text('part'), text('parts'))
    if (part === 'invalid') return refused(`It says that it is part ${cut(text('part'))} of ${cut(text('parts'))}.`)
    const record = { value, part }
    const problem = signatures?.problemOf(record, text(SIGNATURE_HEADER))
    return problem === undefined ? { offset, ...record } : { ...refused(problem), part }
  }
}

function partOf(messageId: string | undefined, index = '', count = ''): MessagePart | 'invalid' | undefined {
  if (messageId === undefined) return undefined
  const isNumber = (text: string) => /^\d{1,6}$/.test(text)
  if (messageId.length > MAX_ID_LENGTH || !isNumber(index) || !isNumber(count)) return 'invalid'
  return { messageId, index: Number(index), count: Number(count) }
}

function cut(text = ''): string {
  return text.slice(0, 20)
}
