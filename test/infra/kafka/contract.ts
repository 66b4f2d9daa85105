/** The contract of every log: the suite that both adapters run. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Message } from '../../../ingest/model/message.ts'
import type { Entry, Offset, TickLog } from '../../../ingest/model/tick-log.ts'
import { blockMessage, blockMessages } from './messages.ts'

export type OpenedLog = { log: TickLog; close(): Promise<void> }

/** Reads until `count` messages are there, and acknowledges every batch but the last. */
export async function readSome(log: TickLog, from: Offset, count: number): Promise<Entry[]> {
  const stop = new AbortController()
  const entries: Entry[] = []
  for await (const batch of log.read(from, stop.signal)) {
    entries.push(...batch)
    if (entries.length >= count) stop.abort()
  }
  return entries
}

export function messagesOf(entries: readonly Entry[]): Message[] {
  return entries.map(({ message }) => message)
}

export function logContract(name: string, open: () => Promise<OpenedLog>): void {
  describe(name, () => {
    let opened: OpenedLog
    beforeEach(async () => {
      opened = await open()
    })
    afterEach(() => opened.close())

    test('messages are read in the order in which they were appended, none missing', async () => {
      const { log } = opened
      const messages = blockMessages(1, 60)
      const read = readSome(log, 0, messages.length)
      for (let start = 0; start < messages.length; start += 7) await log.append(messages.slice(start, start + 7))
      const entries = await read
      expect(messagesOf(entries)).toStrictEqual(messages)
      const offsets = entries.map(({ offset }) => offset)
      expect(offsets).toStrictEqual([...new Set(offsets)].sort((a, b) => a - b))
    })

    test('appends that do not wait for each other keep their order', async () => {
      const { log } = opened
      const messages = blockMessages(1, 20)
      const read = readSome(log, 0, messages.length)
      await Promise.all(messages.map((message) => log.append([message])))
      expect(messagesOf(await read)).toStrictEqual(messages)
    })

    test('what was appended before the reader came is read', async () => {
      const { log } = opened
      const messages = blockMessages(1, 3)
      const appended = log.append(messages)
      await new Promise((resolve) => setTimeout(resolve, 50))
      expect(messagesOf(await readSome(log, 0, 3))).toStrictEqual(messages)
      await appended
    })

    test('a block of several megabytes arrives whole, between its neighbours', async () => {
      const { log } = opened
      const messages = [blockMessage(1), blockMessage(2, 20_000), blockMessage(3)]
      const read = readSome(log, 0, 3)
      await log.append(messages)
      expect(messagesOf(await read)).toStrictEqual(messages)
    })

    test('more than one Kafka batch can hold is appended at once', async () => {
      const { log } = opened
      const messages = blockMessages(1, 400, 60)
      const read = readSome(log, 0, messages.length)
      await log.append(messages)
      expect(messagesOf(await read)).toStrictEqual(messages)
    })

    test('an append of nothing resolves', async () => {
      await opened.log.append([])
    })

    test('the first batch is empty: it says that the log is this reader’s now', async () => {
      const { log } = opened
      const appended = log.append([blockMessage(1)])
      const sizes: number[] = []
      const stop = new AbortController()
      for await (const batch of log.read(0, stop.signal)) {
        sizes.push(batch.length)
        if (batch.length > 0) stop.abort()
      }
      expect(sizes).toStrictEqual([0, 1])
      await appended
    })

    test('a reader that waits ends promptly when its signal aborts', async () => {
      const { log } = opened
      const stop = new AbortController()
      const reader = log.read(0, stop.signal)[Symbol.asyncIterator]()
      await reader.next()
      const pending = reader.next()
      setTimeout(() => stop.abort(), 200)
      expect(await pending).toStrictEqual({ done: true, value: undefined })
    })

    test('a reader whose signal has aborted before reads nothing', async () => {
      const { log } = opened
      const reader = log.read(0, AbortSignal.abort())[Symbol.asyncIterator]()
      expect((await reader.next()).done).toBe(true)
    })

    test('a second reader resumes where the first one stopped', async () => {
      const { log } = opened
      const appended = log.append(blockMessages(1, 3))
      const first = await readSome(log, 0, 3)
      await appended
      const after = (first.at(-1)?.offset ?? 0) + 1
      const read = readSome(log, after, 2)
      await log.append(blockMessages(4, 5))
      const second = await read
      expect(messagesOf(second)).toStrictEqual(blockMessages(4, 5))
      expect(second[0]?.offset).toBeGreaterThanOrEqual(after)
    })
  })
}
