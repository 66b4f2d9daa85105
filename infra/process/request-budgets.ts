/** The request budgets of a process, one a network. Their counts are rows: they outlive a restart, and the processes of a cluster share them. */
import type { ClickHouseClient } from '@clickhouse/client'
import { ask, run } from '../../aggregator/store/store.ts'
import type { IngestFact } from '../../ingest/model/fact.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import type { Report } from '../../ingest/model/report.ts'
import { RequestBudget, type RequestCount } from '../../ingest/rpc/endpoints/request-budget.ts'
import type { Store } from '../clickhouse/store.ts'
import type { NetworkConfig } from '../config/config.ts'

export class RequestBudgets {
  readonly #budgets = new Map<NetworkName, RequestBudget>()

  /** The listener, the audit and the jobs of a network share one. Undefined where none is configured. */
  open(
    { network: { name }, budget: limits }: NetworkConfig,
    { owner }: Store,
    report: Report<IngestFact>,
  ): RequestBudget | undefined {
    if (!limits) return undefined
    const budget = this.#budgets.get(name) ?? new RequestBudget(name, limits, storedCount(owner, name), report)
    this.#budgets.set(name, budget)
    return budget
  }
}

/** While the tables do not answer, requests are counted here and stored with the next ones. */
export function storedCount(client: ClickHouseClient, network: NetworkName): RequestCount {
  const unsaved = new Map<string, number>()
  let known = { day: '', requests: 0 }
  return {
    async add(day, requests) {
      unsaved.set(day, (unsaved.get(day) ?? 0) + requests)
      try {
        for (const [day, requests] of unsaved) {
          await addRequests(client, network, day, requests)
          unsaved.delete(day)
        }
        known = { day, requests: await readRequestCount(client, network, day) }
      } catch {
        known = { day, requests: (known.day === day ? known.requests : 0) + requests }
      }
      return known.requests
    },
  }
}

async function addRequests(client: ClickHouseClient, network: NetworkName, day: string, requests: number) {
  if (requests === 0) return
  // Equal rows are different requests: a replicated table would take them for a repeated insert.
  const statement = `INSERT INTO request_counts SETTINGS insert_deduplicate = 0
     SELECT {network:String}, {day:Date}, {requests:UInt64}`
  await run(client, statement, { network, day, requests })
}

/** `day`: `2026-11-24`, in UTC. */
export async function readRequestCount(client: ClickHouseClient, network: NetworkName, day: string): Promise<number> {
  const [row] = await ask<{ requests: number }>(
    client,
    'SELECT toFloat64(sum(requests)) AS requests FROM request_counts WHERE network = {network:String} AND day = {day:Date}',
    { network, day },
  )
  return row?.requests ?? 0
}
