import { expect, test, vi } from 'vitest'
import { whenIdle, withLivePriority } from '../../../ingest/lib/live-priority.ts'

test('what can wait goes on once nothing is hurried any more, also where that failed', async () => {
  const seen: string[] = []
  let [end, fail] = [() => {}, (_: Error) => {}]
  const first = withLivePriority(() => new Promise<void>((resolve) => (end = resolve)))
  const second = withLivePriority(() => new Promise<void>((_, reject) => (fail = reject)))
  const waited = whenIdle().then(() => seen.push('calm'))
  end()
  await first
  seen.push('first')
  fail(new Error('It did not work.'))
  await expect(second).rejects.toThrow('It did not work.')
  await waited
  expect(seen).toEqual(['first', 'calm'])
  await whenIdle()
})

test('it does not wait for ever', async () => {
  vi.useFakeTimers()
  try {
    let end = () => {}
    const endless = withLivePriority(() => new Promise<void>((resolve) => (end = resolve)))
    const waited = whenIdle()
    await vi.advanceTimersByTimeAsync(1_000)
    await waited
    end()
    await endless
  } finally {
    vi.useRealTimers()
  }
})
