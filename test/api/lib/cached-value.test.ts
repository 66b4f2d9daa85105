import { expect, test, vi } from 'vitest'
import { cachedValue } from '../../../api/lib/cached-value.ts'

test('those who wait share one load, and its value is kept while it is fresh', async () => {
  let loads = 0
  const value = cachedValue(async () => ++loads, 60_000)
  expect(await Promise.all([value.get(), value.get()])).toEqual([1, 1])
  expect(await value.get()).toBe(1)
})

test('renewing loads after the call, once for all who call meanwhile', async () => {
  let loads = 0
  const value = cachedValue(async () => ++loads, 60_000)
  const first = value.get()
  expect(await Promise.all([value.reload(), value.reload(), first])).toEqual([2, 2, 1])
  expect(await value.get()).toBe(2)
})

test('loads follow one another, also where a caller renews as soon as its own has ended', async () => {
  let [loads, running, most] = [0, 0, 0]
  const value = cachedValue(async () => {
    most = Math.max(most, ++running)
    await new Promise((resolve) => setTimeout(resolve, 1))
    running--
    return ++loads
  }, 60_000)
  const first = value.get().then(() => value.reload())
  const [, renewed] = await Promise.all([first, value.reload()])
  expect(most).toBe(1)
  expect(renewed).toBe(2)
  expect(await first).toBe(2)
})

test('a load that fails fails those who wait, and is tried again', async () => {
  let loads = 0
  const value = cachedValue(async () => {
    loads += 1
    if (loads === 1) throw new Error('down')
    return loads
  }, 60_000)
  await expect(value.get()).rejects.toThrow('down')
  expect(await value.get()).toBe(2)
})

test('a value near its age limit is served while it is reloaded, and not after', async () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  try {
    let finish = (_: string) => {}
    const loads = [Promise.resolve('first'), new Promise<string>((resolve) => (finish = resolve))]
    const value = cachedValue(() => loads.shift() ?? Promise.reject(new Error('Unexpected load.')), 1_000)
    expect(await value.get()).toBe('first')
    vi.advanceTimersByTime(999)
    expect(await Promise.all([value.get(), value.get()])).toEqual(['first', 'first'])
    expect(loads).toEqual([])
    vi.advanceTimersByTime(1)
    const late = value.get()
    finish('second')
    expect(await late).toBe('second')
    expect(await value.get()).toBe('second')
  } finally {
    vi.useRealTimers()
  }
})
