/** The kinds of open jobs, and the newest rewind that is done. One statement serves all workers of a process, because mostly no job is open. */

import type { ClickHouseClient } from '@clickhouse/client'
import type { NetworkName } from '../../ingest/model/network.ts'
import { ask } from '../store/store.ts'
import type { HasOpenJobs, JobKind } from './job.ts'

/** Number of the newest rewind that is done, 0 without one, undefined if the tables do not answer. At most half a second old. */
export type NewestRewind = (network: NetworkName) => Promise<number | undefined>

export type WatchedJobs = { hasOpenJobs: HasOpenJobs; newestRewind: NewestRewind }

const FRESH_MS = 500

export function watchJobs(client: ClickHouseClient): WatchedJobs {
  let asked: { at: number; rows: Promise<readonly JobsOfKind[] | undefined> } | undefined
  const rows = () => {
    const now = performance.now()
    if (!asked || now - asked.at > FRESH_MS) asked = { at: now, rows: readJobsOfKinds(client).catch(() => undefined) }
    return asked.rows
  }
  return {
    async hasOpenJobs(network, kind) {
      return (
        (await rows())?.some((row) => row.state === 'open' && row.network === network && row.kind === kind) ?? false
      )
    },
    async newestRewind(network) {
      const known = await rows()
      return known && (known.find((row) => row.state === 'done' && row.network === network)?.newest ?? 0)
    },
  }
}

type JobsOfKind = { network: NetworkName; kind: JobKind; state: 'open' | 'done'; newest: number }

function readJobsOfKinds(client: ClickHouseClient): Promise<JobsOfKind[]> {
  return ask<JobsOfKind>(
    client,
    `SELECT network, kind, state, max(id) AS newest FROM jobs FINAL
     WHERE state = 'open' OR (kind = 'rewind' AND state = 'done') GROUP BY network, kind, state`,
    {},
  )
}
