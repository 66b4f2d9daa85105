/** A ClickHouse client whose every statement a test can watch, refuse, or take the answer of. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ClickHouseClient } from '@clickhouse/client'
import { ROOT } from '../support/files.ts'

/** Tells queries apart: a regular expression, or the file of a query. */
export type QueryPattern = { test(query: string): boolean }

/** Matches the query of a file, whose path starts at the root, by its first line. A reworded comment does not break the test. */
export function queryOf(file: `${string}.sql`): QueryPattern {
  const [firstLine = ''] = readFileSync(join(ROOT, file), 'utf8').split('\n')
  return { test: (query) => query.startsWith(firstLine) }
}

/** Methods of a client that the aggregator uses. Each call is one statement. */
const STATEMENTS = ['command', 'exec', 'query'] as const
type Statement = (typeof STATEMENTS)[number]
type Around = (send: () => Promise<unknown>, statement: Statement, args: readonly unknown[]) => Promise<unknown>

export function intercepted(client: ClickHouseClient, around: Around): ClickHouseClient {
  return new Proxy(client, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name)
      const statement = STATEMENTS.find((one) => one === name)
      if (!statement || typeof value !== 'function') return value
      return (...args: unknown[]) =>
        around(() => Reflect.apply(value, target, args) as Promise<unknown>, statement, args)
    },
  })
}

/** `look` is called before every statement that writes; what set out beside it may be under way. */
export function watched(client: ClickHouseClient, look: () => Promise<void>): ClickHouseClient {
  return intercepted(client, async (send, statement) => {
    if (statement !== 'query') await look()
    return send()
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
    client: intercepted(client, async (send) => {
      if (--left < 0) death.abort()
      if (death.signal.aborted) throw new Died('The process is dead.')
      return send()
    }),
  }
}

/** Statements that match are held while they are told to be: before they are sent, or before their answer arrives. */
export function held(client: ClickHouseClient, pattern: QueryPattern, when: 'sent' | 'answered') {
  let onHeld: (() => void) | undefined
  let onRelease = () => {}
  let released = Promise.resolve()
  const wait = async (asked: unknown) => {
    if (!onHeld || !pattern.test((asked as { query: string }).query)) return
    onHeld()
    await released
  }
  return {
    client: intercepted(client, async (send, _statement, [asked]) => {
      if (when === 'sent') await wait(asked)
      const answer = await send()
      if (when === 'answered') await wait(asked)
      return answer
    }),
    /** Resolves once a statement is held. */
    hold(): Promise<void> {
      released = new Promise((resolve) => {
        onRelease = resolve
      })
      return new Promise((resolve) => {
        onHeld = resolve
      })
    },
    release() {
      onHeld = undefined
      onRelease()
    },
  }
}

/** The table of an insert of rows. */
export function tableOf(options: unknown): string | undefined {
  return /^INSERT INTO (\w+)(?: \([^)]*\))? (?:FORMAT|SELECT \* FROM input)/.exec(
    (options as { query: string }).query,
  )?.[1]
}

export type Losing = {
  client: ClickHouseClient
  death: AbortSignal
  /** From now on the rows of `lost` never arrive, and the process dies once those of `kept` have. */
  lose(lost: string, kept: string): void
}

/** The client of a process that dies in the midst of statements that are under way at once. */
export function losing(client: ClickHouseClient): Losing {
  const death = new AbortController()
  let [lost, kept] = ['', '']
  let arrive = () => {}
  const arrived = new Promise<void>((resolve) => {
    arrive = resolve
  })
  return {
    death: death.signal,
    lose(...tables) {
      ;[lost, kept] = tables
    },
    client: intercepted(client, async (send, _, [options]) => {
      const table = tableOf(options)
      if (table === lost) {
        await arrived
        death.abort()
      }
      if (death.signal.aborted) throw new Died('The process is dead.')
      const answer = await send()
      if (table === kept) arrive()
      return answer
    }),
  }
}

export type Flaky = {
  client: ClickHouseClient
  /** The `at`th statement from now on takes effect, and its answer is lost. Once. */
  loseAnswer(at: number): void
  /** Were there so many? */
  wasLost(): boolean
}

/**
 * The client of a process that lives on. A statement that is refused leaves what the one before it leaves when its answer is lost,
 * so only that is tried.
 */
export function flaky(client: ClickHouseClient): Flaky {
  let left = 0
  return {
    loseAnswer(at) {
      left = at
    },
    wasLost: () => left <= 0,
    client: intercepted(client, async (send) => {
      const isLost = --left === 0
      const answer = await send()
      if (isLost) throw new Error('The answer was lost.')
      return answer
    }),
  }
}

export type Asked = { query: string; parameters: Record<string, unknown> }

/** Each statement that was sent, by its text and table, with its last parameters. */
export function recorded(client: ClickHouseClient): { client: ClickHouseClient; asked: ReadonlyMap<string, Asked> } {
  const asked = new Map<string, Asked>()
  return {
    asked,
    client: intercepted(client, (send, _, [options]) => {
      const { query, query_params: parameters = {} } = options as { query: string; query_params?: Asked['parameters'] }
      asked.set(`${query} ${parameters['table'] ?? ''}`, { query, parameters })
      return send()
    }),
  }
}

/** The client of which the rows are counted that its statements have read. */
export function counted(client: ClickHouseClient): { client: ClickHouseClient; rowsRead(): number } {
  let rows = 0
  return {
    rowsRead: () => rows,
    client: intercepted(client, async (_, statement, [options]) => {
      const { clickhouse_settings } = options as { clickhouse_settings?: object }
      // Only then the headers of an answer tell all that it took.
      const settings = { ...clickhouse_settings, wait_end_of_query: 1 }
      const send = client[statement] as (options: unknown) => Promise<{ response_headers: Record<string, string> }>
      const answer = await send.call(client, { ...(options as object), clickhouse_settings: settings })
      const { read_rows } = JSON.parse(answer.response_headers['x-clickhouse-summary'] ?? '{}')
      rows += Number(read_rows)
      return answer
    }),
  }
}
