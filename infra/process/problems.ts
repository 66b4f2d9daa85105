/**
 * Why networks are not read or stored as they should be: of this process from its facts, of others from their presence. The texts hold nothing that a
 * node or ClickHouse has said, since health needs no key.
 */
import { ask } from '../../aggregator/store/store.ts'
import { cachedValue } from '../../api/lib/cached-value.ts'
import { readTips, type Tips } from '../../api/market/model/tip.ts'
import type { NetworkName } from '../../ingest/model/network.ts'
import type { Store } from '../clickhouse/store.ts'
import type { Config } from '../config/config.ts'
import type { Readiness } from '../telemetry/readiness.ts'

/** A sentence per network that has a problem. */
export type Problems = ReadonlyMap<NetworkName, string>

type Own = { config: Pick<Config, 'readyTipSeconds'>; readiness: Readiness }

/** The problems of this process, from the facts of its stages. */
export async function ownProblems({ config, readiness }: Own, { owner }: Pick<Store, 'owner'>): Promise<Problems> {
  return problemsAt({ config, readiness }, await readTips(owner, readiness.networks()))
}

const FRESH_MS = 1_000

type ProblemRow = { network: NetworkName; role: string; problem: string }

/** The problems of all processes, at some tips. Where this process listens and stores itself, its own facts are newer than any row. */
export function watchProblems(own: Own, { owner }: Pick<Store, 'owner'>): (tips: Tips) => Promise<Problems> {
  const rows = cachedValue(
    () =>
      ask<ProblemRow>(
        owner,
        `SELECT network, role, if(role = 'listener', min(problem), max(problem)) AS problem FROM presences FINAL
         WHERE until > now() AND role IN ('listener', 'aggregator') GROUP BY network, role`,
        {},
      ),
    FRESH_MS,
  )
  return async (tips) => {
    const problems = new Map(problemsAt(own, tips))
    const others = own.readiness.networks().filter((network) => !own.readiness.isWorker(network))
    const found = others.length > 0 ? await rows.get() : []
    for (const network of others) {
      const problem = problemOf(found.filter((row) => row.network === network))
      if (problem !== undefined) problems.set(network, problem)
    }
    return problems
  }
}

/** Where an aggregator lacks blocks, its listener is the cause. One of several listeners is enough; an aggregator on stand-by has no problem. */
function problemOf(rows: readonly ProblemRow[]): string | undefined {
  for (const [role, does] of [
    ['listener', 'reads'],
    ['aggregator', 'stores'],
  ] as const) {
    const row = rows.find((it) => it.role === role)
    if (!row) return `no running process ${does} it.`
    if (row.problem !== '') return row.problem
  }
  return undefined
}

function problemsAt({ config, readiness }: Own, tips: Tips): Problems {
  return readiness.problems({ now: Date.now() / 1000, maxTipAgeSeconds: config.readyTipSeconds, tips })
}
