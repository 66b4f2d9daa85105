import { expect, test } from 'vitest'
import { backpressureBuffer } from '../../../../infra/kafka/group/backpressure-buffer.ts'

const numbers = () =>
  backpressureBuffer<number[]>({
    merge: (earlier, later) => [...earlier, ...later],
    isFull: (held) => held.length >= 3,
  })

test('what is put in while the reader is busy is taken out as one, in its order', async () => {
  const held = numbers()
  held.put([1])
  held.put([2])
  expect(await held.take()).toEqual([1, 2])
  const taken = held.take()
  held.put([3])
  expect(await taken).toEqual([3])
})

test('there is room until it is full, and again once it was taken', async () => {
  const held = numbers()
  held.put([1, 2])
  expect(await held.room(1)).toBe(true)
  held.put([3])
  expect(await held.room(1)).toBe(false)
  const room = held.room(60_000)
  expect(await held.take()).toEqual([1, 2, 3])
  expect(await room).toBe(true)
})

test('what lies in it when it fails is not handed over', async () => {
  const held = numbers()
  held.put([1])
  held.fail(new Error('taken away'))
  await expect(held.take()).rejects.toThrow('taken away')
  expect(await held.room(1)).toBe(false)
})

test('a reader that waits when it is closed hears of no more', async () => {
  const held = numbers()
  const taken = held.take()
  held.close()
  expect(await taken).toBeUndefined()
})
