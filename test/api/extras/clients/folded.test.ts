import { expect, test } from 'vitest'
import { FoldedRows } from '../../../../api/extras/clients/typescript/src/folded.ts'

const POOL = '0x1'
const tick = (id: string, second: number, place: object = {}) => ({
  id,
  timestamp: `2026-01-01T00:00:0${second}Z`,
  ...place,
})
const told = (row: object) => ({ id: undefined, event: 'tick', data: { network: 'ethereum', pool: POOL, ...row } })
const snapshot = (...data: object[]) => ({
  id: undefined,
  event: 'snapshot',
  data: { network: 'ethereum', pool: POOL, pair: 'A-B', data, credits_used: 1 },
})
const idsOf = (folded: FoldedRows) => folded.rowsOf(POOL).map(({ id }) => id)

test('ticks of one second that have their position are in the order of the chain, in whatever order they came', () => {
  const folded = new FoldedRows(10)
  folded.take(snapshot(tick('c', 1, { block: 10, logIndex: 2 }), tick('d', 1, { block: 11, logIndex: 0 })))
  folded.take(told(tick('a', 1, { block: 9, logIndex: 30 })))
  folded.take(told(tick('b', 1, { block: 10, logIndex: 1 })))
  expect(idsOf(folded)).toEqual(['a', 'b', 'c', 'd'])
})

test('ticks of one second without a position stay in the order in which they came, also where one is told again', () => {
  const folded = new FoldedRows(3)
  folded.take(snapshot(tick('b', 1), tick('c', 2)))
  for (const row of [tick('d', 2), tick('e', 2), tick('c', 2)]) folded.take(told(row))
  expect(idsOf(folded)).toEqual(['c', 'd', 'e'])
})
