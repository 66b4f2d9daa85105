import { expect, test } from 'vitest'
import { Turns } from '../../../aggregator/store/priority-queue.ts'

test('one at a time; what is urgent goes before everything patient that waits', async () => {
  const turns = new Turns()
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
    turns.patient(task('patient 1')),
    turns.patient(task('patient 2')),
    turns.urgent(task('urgent 1')),
    turns.urgent(task('urgent 2')),
  ])
  expect(order).toEqual(['patient 1', 'urgent 1', 'urgent 2', 'patient 2'])
})

test('a task that fails lets the next one in', async () => {
  const turns = new Turns()
  const failing = turns.urgent(async () => {
    throw new Error('no')
  })
  const next = turns.patient(async () => 'yes')
  await expect(failing).rejects.toThrow('no')
  expect(await next).toBe('yes')
})
