import { expect, test } from 'vitest'
import { CODE_MINUTES, openPageCode } from '../../../../api/extras/page/page-code.ts'

const KEY = 'cp_the-key-of-the-operator'
let now = Date.UTC(2024, 0, 5)
const clock = () => new Date(now)

test('a code is exchanged once', () => {
  const codes = openPageCode(clock)
  const code = codes.issue(KEY)
  expect(code).toMatch(/^[\w-]{32}$/)
  expect([codes.exchange(code), codes.exchange(code)]).toEqual([KEY, undefined])
})

test('another code is not exchanged, and takes nothing from the one that is', () => {
  const codes = openPageCode(clock)
  const code = codes.issue(KEY)
  const others = ['', code.slice(1), `${code}=`, code.toLowerCase(), KEY, 'x'.repeat(10_000)]
  expect(others.map((other) => codes.exchange(other))).toEqual(others.map(() => undefined))
  expect(codes.exchange(code)).toBe(KEY)
})

test('a code expires', () => {
  const codes = openPageCode(clock)
  const code = codes.issue(KEY)
  now += CODE_MINUTES * 60_000
  expect(codes.exchange(code)).toBeUndefined()
  now -= 1
  expect(codes.exchange(code)).toBeUndefined()
})

test('a later code makes the earlier one void', () => {
  const codes = openPageCode(clock)
  const [first, second] = [codes.issue(KEY), codes.issue(KEY)]
  expect(first).not.toBe(second)
  expect([codes.exchange(first), codes.exchange(second)]).toEqual([undefined, KEY])
})
