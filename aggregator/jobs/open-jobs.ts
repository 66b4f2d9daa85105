/** Which kinds of jobs are open: asked in one statement for all workers of a process, since mostly there is none. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { NetworkName } from '../../ingest/model/network.ts'
import { ask } from '../store/store.ts'
import type { JobKind } from './job.ts'

/** At most half a second old. False where the tables do not answer. */
export type HasOpenJobs = (network: NetworkName, kind: JobKind) => Promise<boolean>

const FRESH_MS = 500

export function watchOpenJobs(client: ClickHouseClient): HasOpenJobs {
  let asked = { at: Number.NEGATIVE_INFINITY, open: Promise.resolve<ReadonlySet<string>>(new Set()) }
  return async (network, kind) => {
    const now = performance.now()
    if (now - asked.at > FRESH_MS) asked = { at: now, open: readOpen(client).catch(() => new Set<string>()) }
    return (await asked.open).has(keyOf({ network, kind }))
  }
}

type Open = { network: NetworkName; kind: JobKind }

async function readOpen(client: ClickHouseClient): Promise<ReadonlySet<string>> {
  const rows = await ask<Open>(client, "SELECT DISTINCT network, kind FROM jobs FINAL WHERE state = 'open'", {})
  return new Set(rows.map(keyOf))
}

function keyOf({ network, kind }: Open): string {
  return `${network} ${kind}`
}
