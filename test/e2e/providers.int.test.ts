/** The ways of providers: whatever an endpoint does, the tables have what the chain has, alone and beside a sound endpoint. */
import { afterAll, describe, expect, test } from 'vitest'
import { withoutClickHouse } from '../support/clickhouse.ts'
import { PROVIDER_FAULTS } from '../support/provider-faults.ts'
import { drawn, drawnOfEach } from '../support/sample.ts'
import { type ProviderOutcomes, type ProviderWay, type ProviderWork, runProviderCase } from './provider-case.ts'

/** `ROWS=c,d` runs all faults of these rows of the table; without it, a check draws one of each row, alone, and some other ways. */
const ROWS = process.env['ROWS']?.split(',')
/** A bound, not a measure: of what fails, the reason is told then. */
const BOUND_MS = Number(process.env['BOUND_SECONDS'] ?? 60) * 1_000

const FAULTS = PROVIDER_FAULTS.filter(({ row }) => ROWS?.includes(row) ?? true)
const OTHER_WAYS = FAULTS.flatMap((fault) => {
  const ways: ProviderWay[] = fault.isHttp ? ['beside'] : ['beside', 'socket']
  return ways.map((way) => ({ ...fault, way }))
})
const CASES = [
  ...(ROWS ? FAULTS : drawnOfEach('faults of providers', FAULTS, ({ row }) => row, 1)).map((fault) => ({
    ...fault,
    way: 'alone' as const,
  })),
  ...drawn('other ways of providers', OTHER_WAYS, 4),
]

const seen: { row: string; title: string; way: ProviderWay; outcomes: ProviderOutcomes }[] = []

describe.skipIf(withoutClickHouse).concurrent('a listener, a backfill and an audit read the whole chain', () => {
  test.each(CASES)('$row, $title, $way', { timeout: 5 * BOUND_MS + 600_000 }, async ({ way, ...fault }) => {
    const outcomes = await runProviderCase(fault, way, BOUND_MS)
    seen.push({ ...fault, way, outcomes })
    const failures = Object.entries(outcomes).flatMap(([work, { failure }]) => (failure ? `${work}: ${failure}` : []))
    expect(failures).toEqual([])
  })

  afterAll(() => {
    if (seen.length > 0) console.log(tableOf())
  })
})

/** Seconds, as information: to the head, through a backfill, through an audit. */
function tableOf(): string {
  const told = ({ seconds, failure }: ProviderOutcomes[ProviderWork]) => (failure ? 'fails' : seconds.toFixed(1))
  const rows = PROVIDER_FAULTS.flatMap(({ row, title }) => {
    const own = seen.filter((it) => it.title === title)
    if (own.length === 0) return []
    const cells = (['alone', 'beside', 'socket'] as const).map((way) => {
      const outcomes = own.find((it) => it.way === way)?.outcomes
      return outcomes ? [outcomes.live, outcomes.backfill, outcomes.audit].map(told).join(' / ') : '–'
    })
    return [`| ${row} | ${title} | ${cells.join(' | ')} |`]
  })
  const head = '| # | fault | alone: head / backfill / audit, s | beside a sound one | alone, ws |'
  return [head, '|---|---|---|---|---|', ...rows].join('\n')
}
