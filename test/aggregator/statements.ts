/** A ClickHouse client whose every statement a test can watch, refuse, or take the answer of. */
import type { ClickHouseClient } from '@clickhouse/client'

/** What the aggregator uses of a client. Each call is one statement. */
const STATEMENTS = ['command', 'exec', 'query'] as const
type Statement = () => Promise<unknown>

function intercepted(client: ClickHouseClient, around: (statement: Statement) => Promise<unknown>): ClickHouseClient {
  return new Proxy(client, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name)
      if (!STATEMENTS.some((statement) => statement === name) || typeof value !== 'function') return value
      return (...args: unknown[]) => around(() => Reflect.apply(value, target, args) as Promise<unknown>)
    },
  })
}

/** `look` is called where nothing is under way: before every statement. */
export function watched(client: ClickHouseClient, look: () => Promise<void>): ClickHouseClient {
  return intercepted(client, async (statement) => {
    await look()
    return statement()
  })
}

export class Died extends Error {
  override readonly name = 'Died'
}

/** The client of a process that dies after so many statements: none after them is heard. */
export function mortal(client: ClickHouseClient, statements: number): { client: ClickHouseClient; death: AbortSignal } {
  const death = new AbortController()
  let left = statements
  return {
    death: death.signal,
    client: intercepted(client, async (statement) => {
      if (--left < 0) death.abort()
      if (death.signal.aborted) throw new Died('The process is dead.')
      return statement()
    }),
  }
}

export const LOSSES = ['refused', 'answer lost'] as const

/** For a process that lives on: statement `at` is refused once, or takes effect and its answer is lost. */
export function flaky(client: ClickHouseClient, at: number, loss: (typeof LOSSES)[number]): ClickHouseClient {
  let count = 0
  return intercepted(client, async (statement) => {
    const isLost = ++count === at
    if (isLost && loss === 'refused') throw new Error('Connection refused.')
    const answer = await statement()
    if (isLost) throw new Error('The answer was lost.')
    return answer
  })
}
