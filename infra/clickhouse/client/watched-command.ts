/** Statements that may take long: they have no time limit, and a lost connection does not mean that they have ended. */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { type ClickHouseClient, ClickHouseError } from '@clickhouse/client'
import { ask, IN_DEFAULT } from '../../../aggregator/store/store.ts'

export type PollTimes = {
  /** How long a statement is waited for before the server is asked about it. */
  firstPollMs: number
  pollMs: number
}

const TIMES: PollTimes = { firstPollMs: 10_000, pollMs: 1_000 }

/**
 * `command` over `unlimited`, a client without a time limit. `client` asks the server for running statements: after a lost connection, this
 * client sends no statement before the first one has ended. Throws `StatementLost` where the server has ended a statement and its answer
 * does not arrive.
 */
export function watchedCommand(
  client: ClickHouseClient,
  unlimited: ClickHouseClient,
  { firstPollMs, pollMs }: PollTimes = TIMES,
): ClickHouseClient['command'] {
  /** Ids of statements that may still run after their connection was lost. */
  const unconfirmed = new Set<string>()

  async function isRunning(ids: Iterable<string>): Promise<boolean> {
    const query = 'SELECT count() AS running FROM system.processes WHERE query_id IN {ids:Array(String)}'
    // The statement may be about the client's own database.
    const [row] = await ask<{ running: string }>(client, query, { ids: [...ids] }, IN_DEFAULT)
    return row?.running !== '0'
  }

  /** Throws where the server does not answer; a user who may not ask has nothing to wait for. */
  async function untilEnded(): Promise<void> {
    while (unconfirmed.size > 0) {
      const ids = [...unconfirmed]
      const running = await isRunning(ids).catch((error) => {
        if (error instanceof ClickHouseError) return false
        throw error
      })
      if (running) await sleep(pollMs)
      else for (const id of ids) unconfirmed.delete(id)
    }
  }

  /** Aborts `lost` once the server says twice in a row that the statement does not run. A server that does not answer says nothing. */
  async function watch(id: string, lost: AbortController, done: AbortSignal): Promise<void> {
    const waited = (ms: number) => sleep(ms, undefined, { signal: done, ref: false }).catch(() => undefined)
    await waited(firstPollMs)
    for (let quiet = 0; !done.aborted; await waited(pollMs)) {
      const running = await isRunning([id]).catch(() => true)
      quiet = running ? 0 : quiet + 1
      if (quiet === 2) return lost.abort()
    }
  }

  return async function command(parameters) {
    await untilEnded()
    const id = parameters.query_id ?? randomUUID()
    const lost = new AbortController()
    const done = new AbortController()
    const { abort_signal: signal } = parameters
    const ended = signal ? AbortSignal.any([signal as AbortSignal, lost.signal]) : lost.signal
    void watch(id, lost, done.signal)
    try {
      return await unlimited.command({ ...parameters, query_id: id, abort_signal: ended })
    } catch (error) {
      if (error instanceof ClickHouseError) throw error
      if (lost.signal.aborted) throw new StatementLost({ cause: error })
      unconfirmed.add(id)
      throw error
    } finally {
      done.abort()
    }
  }
}

/** How a statement ended is not known: its answer did not come. */
export class StatementLost extends Error {
  override readonly name = 'StatementLost'
  constructor(options: ErrorOptions) {
    super('ClickHouse has ended a statement and its answer was lost on the way: run it again.', options)
  }
}
