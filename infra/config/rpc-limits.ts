/** Limits on the requests to the endpoints of a network. */
import type { BudgetLimits } from '../../ingest/rpc/endpoints/request-budget.ts'
import { matching } from './values.ts'

const RULE = 'is not a number of requests a second, a UTC day, or both: `25/s`, `2000000/d` or `25/s,2000000/d`'
const PER_SECOND = /([1-9]\d{0,5})\/s/
const PER_DAY = /([1-9]\d{0,11})\/d/
const BUDGET = new RegExp(
  `^ *(${PER_SECOND.source}( *, *${PER_DAY.source})?|${PER_DAY.source}( *, *${PER_SECOND.source})?) *$`,
)

/** Each part is given once at most. */
export const requestBudget = matching(BUDGET, RULE).transform((text): BudgetLimits => {
  const [perSecond, perDay] = [PER_SECOND, PER_DAY].map((part) => {
    const digits = part.exec(text)?.[1]
    return digits === undefined ? undefined : Number(digits)
  })
  return { perSecond, perDay }
})

/** In seconds. */
export const pollPeriod = matching(/^([1-9]|[1-5]\d|60)s$/, 'is not a period from `1s` to `60s`').transform((text) =>
  Number.parseInt(text, 10),
)
