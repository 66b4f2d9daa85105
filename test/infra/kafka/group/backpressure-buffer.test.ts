import { expect, test } from 'vitest'
import { backpressureBuffer } from '../../../../infra/kafka/group/backpressure-buffer.ts'

const numbers = () =>
  backpressureBuffer<number[]>({
    merge: (earlier, later) => [...earlier, ...later],
    isFull: (held) => held.length >= 3,
  })

test('batches that are put in while the reader is busy are taken out as one, in their order', async () => {
  const held = numbers()
  held.put([1])
  held.put([2])
  expect(await held.take()).toEqual([1, 2])
  const taken = held.take()
  held.put([3])
  expect(await taken).toEqual([3])
})

test('a buffer has room until it is full, and again once its content is taken', async () => {
  const held = numbers()
  held.put([1, 2])
  expect(await held.room(1)).toBe(true)
  held.put([3])
  expect(await held.room(1)).toBe(false)
  const room = held.room(60_000)
  expect(await held.take()).toEqual([1, 2, 3])
  expect(await room).toBe(true)
})

test('a buffer that fails does not hand over what it holds', async () => {
  const held = numbers()
  held.put([1])
  held.fail(new Error('taken away'))
  await expect(held.take()).rejects.toThrow('taken away')
  expect(await held.room(1)).toBe(false)
})

test('a reader that waits when the buffer is closed gets no more', async () => {
  const held = numbers()
  const taken = held.take()
  held.close()
  expect(await taken).toBeUndefined()
})
