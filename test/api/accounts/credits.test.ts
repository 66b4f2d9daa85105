import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  countCall,
  exhausted,
  type Hold,
  openMeter,
  recordPeerUsage,
  release,
  reserve,
  settle,
  usageOf,
} from '../../../api/accounts/credits.ts'
import { queueNearLimit } from '../../../api/accounts/near-limit.ts'

const NOW = Date.UTC(2024, 0, 5, 12, 0, 30) / 1000
const ALLOWANCE = { minute: 10, month: 1_000 }

function hold(meter: ReturnType<typeof openMeter>, known: number, now = NOW): Hold {
  const answer = reserve(meter, ALLOWANCE, now, known)
  if ('window' in answer) throw new Error(`refused for the ${answer.window}`)
  return answer
}

test('a question is let in while one credit remains, and may cost more than is left', () => {
  const meter = openMeter(undefined)
  settle(meter, hold(meter, 1), 9)
  settle(meter, hold(meter, 1), 4)
  expect(usageOf(meter, ALLOWANCE, NOW).minute).toMatchObject({ credits: 13, limit: 10, remaining: 0 })
  expect(reserve(meter, ALLOWANCE, NOW, 1)).toEqual({ window: 'minute', resetAt: NOW + 30 })
})

test('held credits count as used', () => {
  const meter = openMeter(undefined)
  for (let question = 0; question < 5; question++) hold(meter, 2)
  expect(reserve(meter, ALLOWANCE, NOW, 1)).toMatchObject({ window: 'minute' })
})

test('an error gives its hold back', () => {
  const meter = openMeter(undefined)
  release(meter, hold(meter, 10))
  expect(hold(meter, 1)).toBeDefined()
  expect(usageOf(meter, ALLOWANCE, NOW).minute.credits).toBe(0)
})

test('a new minute starts at zero, the month continues', () => {
  const meter = openMeter(undefined)
  settle(meter, hold(meter, 1), 7)
  const usage = usageOf(meter, ALLOWANCE, NOW + 60)
  expect([usage.minute.credits, usage.month.credits]).toEqual([0, 7])
})

test('a question that ends in the next minute is paid in the minute in which it was asked', () => {
  const meter = openMeter(undefined)
  const asked = hold(meter, 1)
  countCall(meter, NOW + 60)
  settle(meter, asked, 3)
  expect(usageOf(meter, ALLOWANCE, NOW).minute.credits).toBe(3)
  expect(usageOf(meter, ALLOWANCE, NOW + 60).minute.credits).toBe(0)
  expect(usageOf(meter, ALLOWANCE, NOW + 60).month).toMatchObject({ credits: 3, calls: 1 })
})

test('the month wins where both windows refuse', () => {
  const meter = openMeter(undefined)
  settle(meter, hold(meter, 1), 1_000)
  expect(reserve(meter, ALLOWANCE, NOW, 1)).toEqual({ window: 'month', resetAt: Date.UTC(2024, 1, 1) / 1000 })
})

test('the use of other processes counts', () => {
  const meter = openMeter(undefined)
  recordPeerUsage(meter, 'another', NOW - 30, { credits: 10, calls: 4 })
  expect(reserve(meter, ALLOWANCE, NOW, 1)).toMatchObject({ window: 'minute' })
  expect(usageOf(meter, ALLOWANCE, NOW).minute).toMatchObject({ credits: 10, calls: 4 })
})

test('the use of other processes counts once, however often it is told and however old it is', () => {
  const meter = openMeter(undefined)
  const first = Date.UTC(2024, 0, 5) / 1000
  for (let minute = 0; minute < 200; minute++) {
    for (const credits of [1, 3, 2]) recordPeerUsage(meter, 'another', first + 60 * minute, { credits, calls: credits })
    recordPeerUsage(meter, 'third', first + 60 * minute, { credits: 1, calls: 1 })
  }
  expect(meter.others.recent.size).toBeLessThan(100)
  expect(usageOf(meter, ALLOWANCE, first + 60 * 199).minute).toMatchObject({ credits: 4, calls: 4 })
  expect(usageOf(meter, ALLOWANCE, first + 60 * 199).month).toMatchObject({ credits: 800, calls: 800 })
})

test('however many questions are asked at once, use ends less than one question above the limit, and no work is done in vain', async () => {
  const question = fc.record({ known: fc.integer({ min: 1, max: 4 }), extra: fc.integer({ min: 0, max: 30 }) })
  await fc.assert(
    fc.asyncProperty(fc.array(question, { maxLength: 40 }), fc.infiniteStream(fc.nat(3)), async (questions, waits) => {
      const meter = openMeter(undefined)
      let dearest = 0
      let worked = 0
      let paid = 0
      await Promise.all(
        questions.map(async ({ known, extra }) => {
          const answer = reserve(meter, ALLOWANCE, NOW, known)
          if ('window' in answer) return
          const room = () => ALLOWANCE.minute - usageOf(meter, ALLOWANCE, NOW).minute.credits
          await queueNearLimit(meter, room, async () => {
            if (exhausted(meter, ALLOWANCE, answer) !== undefined) return
            worked += 1
            for (let wait = waits.next().value; wait > 0; wait--) await Promise.resolve()
            dearest = Math.max(dearest, known + extra)
            settle(meter, answer, known + extra)
            paid += known + extra
          })
          release(meter, answer)
        }),
      )
      const { credits } = usageOf(meter, ALLOWANCE, NOW).minute
      expect(credits).toBeLessThan(ALLOWANCE.minute + Math.max(1, dearest))
      expect(credits).toBe(paid)
      expect(worked).toBeGreaterThan(questions.length > 0 ? 0 : -1)
      expect([meter.holds.size, meter.running, meter.waiting.length]).toEqual([0, 0, 0])
    }),
  )
})

test('questions of a key with plenty of credits run beside each other', async () => {
  const meter = openMeter(undefined)
  let atOnce = 0
  await Promise.all(
    Array.from({ length: 20 }, () =>
      queueNearLimit(
        meter,
        () => 1_000_000,
        async () => {
          await Promise.resolve()
          atOnce = Math.max(atOnce, meter.running)
        },
      ),
    ),
  )
  expect([atOnce, meter.running]).toEqual([20, 0])
})
