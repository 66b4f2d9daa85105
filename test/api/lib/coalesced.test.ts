import { expect, test } from 'vitest'
import { coalesced } from '../../../api/lib/coalesced.ts'

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

function counting(freshMs: number, most?: number) {
  const get = coalesced<number>(freshMs, most)
  const loads: string[] = []
  const ask = (key: string) =>
    get(key, async () => {
      loads.push(key)
      const number = loads.length
      await pause(1)
      return number
    })
  return { ask, loads }
}

test('those who ask the same at once share one load, and so do those who come soon after', async () => {
  const { ask, loads } = counting(10_000)
  expect(await Promise.all([ask('a'), ask('a'), ask('b')])).toEqual([1, 1, 2])
  expect(await ask('a')).toBe(1)
  expect(loads).toEqual(['a', 'b'])
})

test('an expired answer is reloaded, and one without an age at once', async () => {
  const old = counting(20)
  await old.ask('a')
  await pause(30)
  expect(await old.ask('a')).toBe(2)
  const bare = counting(0)
  expect(await Promise.all([bare.ask('a'), bare.ask('a')])).toEqual([1, 2])
})

test('a failure is told to all who wait, and not again', async () => {
  const get = coalesced<number>(10_000)
  let tries = 0
  const load = async () => {
    if (++tries === 1) throw new Error('gone')
    return tries
  }
  await expect(Promise.all([get('a', load), get('a', load)])).rejects.toThrow('gone')
  expect(await get('a', load)).toBe(2)
})

test('no more than so many are held', async () => {
  const { ask, loads } = counting(10_000, 3)
  for (const key of ['a', 'b', 'c', 'd']) await ask(key)
  await ask('d')
  expect(loads).toEqual(['a', 'b', 'c', 'd'])
  await ask('a')
  expect(loads.at(-1)).toBe('a')
})
