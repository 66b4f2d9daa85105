import { expect, test, vi } from 'vitest'
import { whenStored, withStreamPriority } from '../../../aggregator/store/stream-priority.ts'

test('publishing runs once no batch is being stored, also after a failed one', async () => {
  const seen: string[] = []
  let [end, fail] = [() => {}, (_: Error) => {}]
  const first = withStreamPriority(() => new Promise<void>((resolve) => (end = resolve)))
  const second = withStreamPriority(() => new Promise<void>((_, reject) => (fail = reject)))
  const waited = whenStored().then(() => seen.push('calm'))
  end()
  await first
  seen.push('first')
  fail(new Error('It did not work.'))
  await expect(second).rejects.toThrow('It did not work.')
  await waited
  expect(seen).toEqual(['first', 'calm'])
  await whenStored()
})

test('publishing does not wait for ever', async () => {
  vi.useFakeTimers()
  try {
    let end = () => {}
    const endless = withStreamPriority(() => new Promise<void>((resolve) => (end = resolve)))
    const waited = whenStored()
    await vi.advanceTimersByTimeAsync(1_000)
    await waited
    end()
    await endless
  } finally {
    vi.useRealTimers()
  }
})
