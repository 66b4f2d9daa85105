import { expect, test } from 'vitest'
import { PriorityQueue } from '../../../aggregator/store/priority-queue.ts'

test('one at a time; what is urgent goes before everything patient that waits', async () => {
  const turns = new PriorityQueue()
  const order: string[] = []
  let running = 0
  const task = (name: string) => async () => {
    running += 1
    expect(running).toBe(1)
    await new Promise((resolve) => setTimeout(resolve, 1))
    order.push(name)
    running -= 1
  }
  await Promise.all([
    turns.low(task('patient 1')),
    turns.low(task('patient 2')),
    turns.high(task('urgent 1')),
    turns.high(task('urgent 2')),
  ])
  expect(order).toEqual(['patient 1', 'urgent 1', 'urgent 2', 'patient 2'])
})

test('a task that fails lets the next one in', async () => {
  const turns = new PriorityQueue()
  const failing = turns.high(async () => {
    throw new Error('no')
  })
  const next = turns.low(async () => 'yes')
  await expect(failing).rejects.toThrow('no')
  expect(await next).toBe('yes')
})
