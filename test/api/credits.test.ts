import fc from 'fast-check'
import { expect, test } from 'vitest'
import { countCall, type Hold, openMeter, release, reserve, settle, usageOf } from '../../api/credits.ts'

const NOW = Date.UTC(2024, 0, 5, 12, 0, 30) / 1000
const ALLOWANCE = { minute: 10, month: 1_000 }

function hold(meter: ReturnType<typeof openMeter>, known: number, now = NOW): Hold {
  const answer = reserve(meter, ALLOWANCE, now, known)
  if ('window' in answer) throw new Error(`refused for the ${answer.window}`)
  return answer
}

test('a question is let in while one credit remains, and may cost more than is left', () => {
  const meter = openMeter(undefined)
  expect(settle(meter, ALLOWANCE, hold(meter, 1), 9)).toBeUndefined()
  expect(settle(meter, ALLOWANCE, hold(meter, 1), 4)).toBeUndefined()
  expect(usageOf(meter, ALLOWANCE, NOW).minute).toMatchObject({ credits: 13, limit: 10, remaining: 0 })
  expect(reserve(meter, ALLOWANCE, NOW, 1)).toEqual({ window: 'minute', resetAt: NOW + 30 })
})

test('what is held counts as used by others', () => {
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

test('a new minute starts at nothing, the month goes on', () => {
  const meter = openMeter(undefined)
  settle(meter, ALLOWANCE, hold(meter, 1), 7)
  const usage = usageOf(meter, ALLOWANCE, NOW + 60)
  expect([usage.minute.credits, usage.month.credits]).toEqual([0, 7])
})

test('a question that ends in the next minute is paid in the minute in which it was asked', () => {
  const meter = openMeter(undefined)
  const asked = hold(meter, 1)
  countCall(meter, NOW + 60)
  settle(meter, ALLOWANCE, asked, 3)
  expect(usageOf(meter, ALLOWANCE, NOW).minute.credits).toBe(3)
  expect(usageOf(meter, ALLOWANCE, NOW + 60).minute.credits).toBe(0)
  expect(usageOf(meter, ALLOWANCE, NOW + 60).month).toMatchObject({ credits: 3, calls: 1 })
})

test('the month wins where both windows refuse', () => {
  const meter = openMeter(undefined)
  settle(meter, ALLOWANCE, hold(meter, 1), 1_000)
  expect(reserve(meter, ALLOWANCE, NOW, 1)).toEqual({ window: 'month', resetAt: Date.UTC(2024, 1, 1) / 1000 })
})

test('what other processes used counts', () => {
  const meter = openMeter(undefined)
  const minute = { start: NOW - 30, credits: 10, calls: 4 }
  meter.others = { minute, month: { ...minute, start: Date.UTC(2024, 0, 1) / 1000 } }
  expect(reserve(meter, ALLOWANCE, NOW, 1)).toMatchObject({ window: 'minute' })
  expect(usageOf(meter, ALLOWANCE, NOW).minute).toMatchObject({ credits: 10, calls: 4 })
})

test('however many questions run at once, use ends less than one question above the limit', () => {
  const question = fc.record({ known: fc.integer({ min: 1, max: 4 }), extra: fc.integer({ min: 0, max: 30 }) })
  fc.assert(
    fc.property(fc.array(question, { maxLength: 40 }), fc.infiniteStream(fc.boolean()), (questions, coin) => {
      const meter = openMeter(undefined)
      const running: { hold: Hold; cost: number }[] = []
      let dearest = 0
      const end = () => {
        const ended = running.shift()
        if (ended !== undefined) settle(meter, ALLOWANCE, ended.hold, ended.cost)
      }
      for (const { known, extra } of questions) {
        const answer = reserve(meter, ALLOWANCE, NOW, known)
        if (!('window' in answer)) running.push({ hold: answer, cost: known + extra })
        dearest = Math.max(dearest, known + extra)
        if (coin.next().value) end()
      }
      while (running.length > 0) end()
      expect(usageOf(meter, ALLOWANCE, NOW).minute.credits).toBeLessThan(ALLOWANCE.minute + Math.max(1, dearest))
      expect(meter.holds.size).toBe(0)
    }),
  )
})
