/** Plans: the credits of an account. */

/** Credits a minute and a month (or billing period), and streams that may be open at once, in each process. */
export const PLANS = {
  free: { minute: 60, month: 10_000, streams: 10 },
  operator: { minute: 1_000_000, month: 1_000_000_000, streams: 10_000 },
} as const
export type PlanName = keyof typeof PLANS

export type Allowance = { minute: number; month: number }

export function isPlan(name: string): name is PlanName {
  return Object.hasOwn(PLANS, name)
}
