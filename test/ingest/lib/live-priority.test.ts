import { expect, test, vi } from 'vitest'
import { whenIdle, withLivePriority } from '../../../ingest/lib/live-priority.ts'

test('periodic work runs once no live task is left, also after a failed one', async () => {
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
