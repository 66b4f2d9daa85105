/** Texts of reasons why a process is not ready. */
import { describeAsked } from '../../ingest/rpc/asked.ts'
import type { Fact } from './fact.ts'

/** In words of its own: what the endpoint has said is for operators. */
export function failureText({ problem, method, blocks }: Extract<Fact, { kind: 'rpc-failed' }>): string {
  const what = method === undefined ? 'a request' : describeAsked({ method, ...(blocks !== undefined && { blocks }) })
  switch (problem) {
    case 'rate-limited':
      return `the endpoint limits the rate of requests, ${what} among them`
    case 'behind':
      return `the endpoint lacks the block of ${what}`
    case 'timeout':
      return `the endpoint does not answer ${what} in time`
    case 'unreachable':
      return `the endpoint is not reached by ${what}, or fails at it`
    case 'malformed':
    case 'contradictory':
      return `the endpoint answers ${what} with what cannot be used`
    default:
      return `the endpoint refuses ${what}`
  }
}

/** `90 s`, `12 min`, `3 h`, `2 d`: what is just as long as one would say it. */
export function textOf(seconds: number): string {
  const [size, unit] = UNITS.find(([size]) => seconds >= 2 * size) ?? [1, 's']
  return `${Math.floor(seconds / size)} ${unit}`
}

const UNITS = [
  [86_400, 'd'],
  [3_600, 'h'],
  [60, 'min'],
] as const
