import { expect, test } from 'vitest'
import { PriorityQueue } from '../../../aggregator/store/priority-queue.ts'

test('one task at a time; high priority goes before all of low priority that waits', async () => {
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
    turns.low(task('low 1')),
    turns.low(task('low 2')),
    turns.high(task('high 1')),
    turns.high(task('high 2')),
  ])
  expect(order).toEqual(['low 1', 'high 1', 'high 2', 'low 2'])
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
