import { describe, expect, test } from 'vitest'
import { type InProcessLog, inProcessLog } from '../../../infra/kafka/in-process.ts'
import { logContract, messagesOf } from './contract.ts'
import { blockMessage, blockMessages } from './messages.ts'

logContract('the in-process log', async () => {
  const log = inProcessLog({ nextOffset: 0 })
  return { log, close: log.close }
})

describe('the in-process log alone', () => {
  const never = new AbortController().signal
  /** A reader that has been told that the log is its own. */
  const readerOf = async (log: InProcessLog) => {
    const reader = log.read(0, never)[Symbol.asyncIterator]()
    expect(await reader.next()).toStrictEqual({ done: false, value: [] })
    return reader
  }
  const settled = async (promise: Promise<unknown>) =>
    Promise.race([
      promise.then(
        () => true,
        () => true,
      ),
      new Promise((resolve) => setTimeout(resolve, 20, false)),
    ])

  test('an append resolves when the reader asks for the next batch, not before', async () => {
    const log = inProcessLog({ nextOffset: 7 })
    const reader = await readerOf(log)
    const appended = log.append([blockMessage(1)])
    expect(await reader.next()).toStrictEqual({ done: false, value: [{ offset: 7, message: blockMessage(1) }] })
    expect(await settled(appended)).toBe(false)
    const next = reader.next()
    await appended
    await log.close()
    await next
  })

  test('appends that wait together are one batch', async () => {
    const log = inProcessLog({ nextOffset: 0 })
    const appends = blockMessages(1, 3).map((message) => log.append([message]))
    const reader = await readerOf(log)
    const batch = await reader.next()
    expect(messagesOf(batch.done ? [] : [...batch.value])).toStrictEqual(blockMessages(1, 3))
    const next = reader.next()
    await Promise.all(appends)
    await log.close()
    await next
  })

  test('a reader that fails with a batch in hand rejects its appends and those behind it', async () => {
    const log = inProcessLog({ nextOffset: 0 })
    const first = log.append([blockMessage(1)])
    const failure = expect(first).rejects.toMatchObject({ name: 'ReaderEnded', retryable: true })
    let second: Promise<void> | undefined
    await expect(async () => {
      for await (const batch of log.read(0, never)) {
        if (batch.length === 0) continue
        second = expect(log.append([blockMessage(2)])).rejects.toMatchObject({ name: 'ReaderEnded' })
        throw new Error('The table is full.')
      }
    }).rejects.toThrow('The table is full.')
    await failure
    await second
  })

  test('offsets of rejected messages are not used again', async () => {
    const log = inProcessLog({ nextOffset: 0 })
    const rejected = log.append([blockMessage(1)]).catch(() => 'rejected')
    for await (const batch of log.read(0, never)) if (batch.length > 0) break
    expect(await rejected).toBe('rejected')
    const again = log.append([blockMessage(1)])
    const reader = await readerOf(log)
    expect(await reader.next()).toMatchObject({ value: [{ offset: 1 }] })
    const next = reader.next()
    await again
    await log.close()
    await next
  })

  test('the batch in hand counts as stored when the reader comes back after its signal aborted', async () => {
    const log = inProcessLog({ nextOffset: 0 })
    const appended = log.append([blockMessage(1)])
    const stop = new AbortController()
    for await (const batch of log.read(0, stop.signal)) if (batch.length > 0) stop.abort()
    await appended
  })

  test('a closed log rejects what waits and what comes', async () => {
    const log = inProcessLog({ nextOffset: 0 })
    const waiting = expect(log.append([blockMessage(1)])).rejects.toMatchObject({ name: 'LogClosed' })
    await log.close()
    await waiting
    await expect(log.append([blockMessage(2)])).rejects.toMatchObject({ name: 'LogClosed' })
  })

  test('a log has one reader at a time', async () => {
    const log = inProcessLog({ nextOffset: 0 })
    const stop = new AbortController()
    const first = log.read(0, stop.signal)[Symbol.asyncIterator]().next()
    await expect(log.read(0, stop.signal)[Symbol.asyncIterator]().next()).rejects.toThrow('has a reader already')
    stop.abort()
    await first
  })

  test('the log keeps nothing', async () => {
    const log = inProcessLog({ nextOffset: 0 })
    expect(await log.last()).toBeUndefined()
    expect(await log.at(0)).toBeUndefined()
  })
})
