import { expect, test } from 'vitest'
import { limitConcurrency } from '../../../api/lib/concurrency-limit.ts'

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

test('no more than so many are worked on at once, and all that may wait get their turn in order', async () => {
  const crowd = limitConcurrency({ maxRunning: 3, maxQueued: 100, maxWaitMs: 5_000 })
  let working = 0
  let most = 0
  const order: number[] = []
  await Promise.all(
    Array.from({ length: 50 }, (_, index) =>
      crowd(async () => {
        most = Math.max(most, ++working)
        order.push(index)
        await pause(1)
        working--
      }),
    ),
  )
  expect(most).toBe(3)
  expect(order).toEqual(Array.from({ length: 50 }, (_, index) => index))
})

test('one that fails leaves its place to the next', async () => {
  const crowd = limitConcurrency({ maxRunning: 1, maxQueued: 10, maxWaitMs: 5_000 })
  const failing = crowd(() => Promise.reject(new Error('gone')))
  const next = crowd(async () => 'answered')
  await expect(failing).rejects.toThrow('gone')
  expect(await next).toBe('answered')
})

test('those beyond the line, and those whose turn does not come, are sent away and told when to come back', async () => {
  const crowd = limitConcurrency({ maxRunning: 1, maxQueued: 1, maxWaitMs: 20 })
  let finish = () => {}
  const first = crowd(() => new Promise<void>((resolve) => (finish = resolve)))
  const second = crowd(async () => 'never')
  const refused: string[] = []
  second.catch(() => refused.push('second'))
  await expect(crowd(async () => 'never')).rejects.toMatchObject({
    code: 'overloaded',
    headers: { 'Retry-After': '1' },
  })
  refused.push('third')
  await expect(second).rejects.toMatchObject({ code: 'overloaded' })
  // The line was full: it did not wait.
  expect(refused).toEqual(['third', 'second'])
  finish()
  await first
  expect(await crowd(async () => 'again')).toBe('again')
})
