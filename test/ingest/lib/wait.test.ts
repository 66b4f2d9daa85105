import { expect, test } from 'vitest'
import { retried } from '../../../ingest/lib/wait.ts'

const { signal } = new AbortController()

async function pausesOf(failures: number, jitter?: number): Promise<number[]> {
  const pauses: number[] = []
  const task = async () => {
    if (pauses.length < failures) throw new Error('not yet')
  }
  const failed = (_: unknown, retryMs: number, attempt: number) => {
    pauses.push(retryMs)
    expect(attempt).toBe(pauses.length)
  }
  await retried(task, { firstMs: 4, maxMs: 10, signal, failed, ...(jitter !== undefined && { jitter }) })
  return pauses
}

test('the pause doubles up to its maximum', async () => {
  expect(await pausesOf(4)).toEqual([4, 8, 10, 10])
})

test('jitter takes up to its share off each pause', async () => {
  const [first = 0, second = 0, ...later] = await pausesOf(5, 0.5)
  expect(first).toBeGreaterThanOrEqual(2)
  expect(first).toBeLessThanOrEqual(4)
  expect(second).toBeGreaterThanOrEqual(4)
  expect(second).toBeLessThanOrEqual(8)
  for (const pause of later) {
    expect(pause).toBeGreaterThanOrEqual(5)
    expect(pause).toBeLessThanOrEqual(10)
  }
})

test('a failure that no retry resolves is thrown at once', async () => {
  const failed = (error: unknown) => {
    throw error
  }
  const task = () => Promise.reject(new Error('final'))
  await expect(retried(task, { firstMs: 1_000, maxMs: 1_000, signal, failed })).rejects.toThrow('final')
})

test('the last failure is thrown once the signal aborts', async () => {
  const stop = new AbortController()
  let attempts = 0
  const task = () => Promise.reject(new Error(`failure ${++attempts}`))
  const failed = () => stop.abort()
  await expect(retried(task, { firstMs: 1_000, maxMs: 1_000, signal: stop.signal, failed })).rejects.toThrow(
    'failure 2',
  )
})
