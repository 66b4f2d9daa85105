import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  assembler,
  type DroppedParts,
  type LogRecord,
  type Rejected,
  toBatches,
  toRecords,
} from '../../../../infra/kafka/wire/parts.ts'
import type { AnyMessage } from '../../../../infra/kafka/wire/wire-format.ts'
import { tipOf } from '../../../../ingest/model/message.ts'
import type { Entry } from '../../../../ingest/model/tick-log.ts'
import { anyMessage, blockMessage, blockMessages } from '../messages.ts'

function assembleAll(
  records: readonly LogRecord[],
  firstOffset = 0,
): { entries: Entry<AnyMessage>[]; dropped: DroppedParts[]; rejected: Rejected[] } {
  const dropped: DroppedParts[] = []
  const rejected: Rejected[] = []
  const assemble = assembler({
    onDropped: (parts) => dropped.push(parts),
    onRejected: (message) => rejected.push(message),
  })
  const entries = records.flatMap((record, index) => assemble({ ...record, offset: firstOffset + index }) ?? [])
  return { entries, dropped, rejected }
}

test('messages of any size come back whole and in order, under the offset of their last part', () => {
  fc.assert(
    fc.property(fc.array(anyMessage, { maxLength: 4 }), fc.integer({ min: 200, max: 4000 }), (messages, maxBytes) => {
      const records = messages.map((message, index) => toRecords(message, `m${index}`, maxBytes))
      const { entries, dropped } = assembleAll(records.flat())
      expect(entries.map(({ message }) => message)).toStrictEqual(messages)
      const ends = records.map((_, index) => records.slice(0, index + 1).flat().length - 1)
      expect(entries.map(({ offset }) => offset)).toStrictEqual(ends)
      expect(dropped).toStrictEqual([])
    }),
  )
})

test('a message that was cut off is dropped with a fact, and what follows is read', () => {
  const [first, second] = toRecords(blockMessage(1, 30), 'cut', 2000)
  if (!first || !second) throw new Error('The message should have several parts.')
  const whole = blockMessages(2, 67).flatMap((message) => toRecords(message, 'whole'))
  const { entries, dropped } = assembleAll([first, second, ...whole])
  expect(entries).toHaveLength(66)
  expect(dropped).toStrictEqual([{ messageId: 'cut', lastOffset: 1, parts: 2, count: first.part?.count }])
})

test('records of others between the parts of a message do not break it off', () => {
  const parts = toRecords(blockMessage(1, 30), 'mine', 2000)
  const others = parts.flatMap((part, index) => [
    part,
    ...toRecords(blockMessage(index + 2), 'whole'),
    { value: Buffer.from('rubbish'), part: undefined },
    { value: Buffer.from('begun'), part: { messageId: 'never finished', index: 0, count: 900 } },
  ])
  const { entries, dropped } = assembleAll(others)
  expect(entries.map(({ message }) => tipOf(message).number).sort((a, b) => a - b)).toStrictEqual(
    Array.from({ length: parts.length + 1 }, (_, index) => index + 1),
  )
  expect(dropped).toStrictEqual([])
})

test('messages that never end are held up to a bound, whatever they say', () => {
  const endless = (messageId: string, index: number) => ({
    value: Buffer.alloc(900_000),
    part: { messageId, index, count: 1_000 },
  })
  const one = Array.from({ length: 40 }, (_, index) => endless('one', index))
  const many = Array.from({ length: 40 }, (_, index) => endless(`${index}`, 0))
  const { entries, dropped, rejected } = assembleAll([...one, ...many, ...toRecords(blockMessage(2), 'whole')])
  expect(entries.map(({ message }) => message)).toStrictEqual([blockMessage(2)])
  expect(rejected.map(({ reason }) => reason)).toStrictEqual(['Its parts come to more than 33554432 bytes.'])
  expect(dropped).toHaveLength(36)
})

test('a part that is there twice counts once', () => {
  const parts = toRecords(blockMessage(1, 30), 'twice', 2000)
  const { entries, dropped } = assembleAll(parts.flatMap((part) => [part, part]))
  expect(entries.map(({ message }) => message)).toStrictEqual([blockMessage(1, 30)])
  expect(dropped).toStrictEqual([])
})

test('bytes that are no message are rejected with a reason, alone or in parts, and stop nothing', () => {
  const rubbish = [
    Buffer.from('hello'),
    Buffer.alloc(0),
    Buffer.from('{"v":1}'),
    Buffer.from('{"v":1,"head":{"kind":"gossip"},"blocks":{"number":[]}}'),
  ].map((value): LogRecord => ({ value, part: undefined }))
  const broken = toRecords(blockMessage(1, 30), 'broken', 2000).map((record, index) =>
    index === 1 ? { ...record, value: Buffer.from('not these bytes') } : record,
  )
  const strange: LogRecord = { value: Buffer.from('{}'), part: { messageId: 'strange', index: 2, count: Number.NaN } }
  const { entries, rejected } = assembleAll([...rubbish, ...broken, strange, ...toRecords(blockMessage(2), 'whole')])
  expect(entries.map(({ message }) => message)).toStrictEqual([blockMessage(2)])
  const last = rubbish.length + broken.length
  expect(rejected.map(({ offset }) => offset)).toStrictEqual([0, 1, 2, 3, last - 1, last])
  expect(rejected.map(({ records }) => records)).toStrictEqual([
    ...rubbish.map((record) => [record]),
    broken,
    [strange],
  ])
  for (const { reason } of rejected) expect(reason).not.toBe('')
})

test('parts whose beginning was not read are passed over', () => {
  const [, ...rest] = toRecords(blockMessage(1, 30), 'headless', 2000)
  const { entries, dropped } = assembleAll([...rest, ...toRecords(blockMessage(2), 'whole')])
  expect(entries.map(({ message }) => message.hash)).toStrictEqual([blockMessage(2).hash])
  expect(dropped).toStrictEqual([])
})

test('batches keep the order and stay under the limit', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 100 })), (sizes) => {
      const records = sizes.map((size) => ({ value: Buffer.alloc(size), part: undefined }))
      const batches = [...toBatches(records, 100)]
      expect(batches.flat()).toStrictEqual(records)
      for (const batch of batches) {
        expect(batch.reduce((sum, { value }) => sum + value.length, 0)).toBeLessThanOrEqual(100)
      }
    }),
  )
})
