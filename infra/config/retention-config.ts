/** The variables of retention. */
import type { Resolution } from '../../aggregator/candles/candle.ts'
import type { Retention } from '../../aggregator/candles/retention.ts'
import { BadConfiguration } from './bad-configuration.ts'
import { matching } from './values.ts'

/** An outage shorter than a week must not reach rows that are dropped already. */
const days = matching(/^\d{1,5}$/, 'is not a number of days')
  .transform(Number)
  .refine((it) => it >= 7, 'is less than 7 days')

export const retentionVariables = {
  TICKS_TTL_DAYS: days.optional(),
  CANDLES_1S_TTL_DAYS: days.optional(),
  CANDLES_1M_TTL_DAYS: days.optional(),
  CANDLES_1H_TTL_DAYS: days.optional(),
  CANDLES_1D_TTL_DAYS: days.optional(),
}

const CANDLE_TTLS = {
  CANDLES_1S_TTL_DAYS: 1,
  CANDLES_1M_TTL_DAYS: 60,
  CANDLES_1H_TTL_DAYS: 3_600,
  CANDLES_1D_TTL_DAYS: 86_400,
} as const

/** Candles are recomputed from ticks, so each retention of candles is at least that of ticks. */
export function retentionOf(
  it: Partial<Record<keyof typeof CANDLE_TTLS | 'TICKS_TTL_DAYS', number | undefined>>,
): Retention {
  const ticks = it.TICKS_TTL_DAYS
  const candles: Retention['candles'] = {}
  const problems: string[] = []
  for (const [name, resolution] of Object.entries(CANDLE_TTLS) as [keyof typeof CANDLE_TTLS, Resolution][]) {
    const days = it[name]
    if (days === undefined) continue
    if (ticks === undefined || days < ticks)
      problems.push(`${name} is shorter than TICKS_TTL_DAYS: candles outlive their ticks`)
    candles[resolution] = days
  }
  if (problems.length > 0) throw new BadConfiguration(problems)
  return { ticks, candles }
}
