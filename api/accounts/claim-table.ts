/** The table through which the API processes exchange their claims: one insert and one query a round, whatever the number of keys. */
import type { ClickHouseClient } from '@clickhouse/client'
import type { UnixSeconds } from '../../ingest/model/message.ts'
import { insertJson, queryRows, readSql, storeUnavailable } from '../lib/store.ts'
import type { Claim } from './claims.ts'
import type { KeyHash } from './keys.ts'
import { type ClaimRow, NO_KEY } from './peer-claims.ts'

const INSERT = readSql(new URL('./claims-insert.sql', import.meta.url))
const READ = readSql(new URL('./claims-read.sql', import.meta.url))
/** A peer's read overlaps its last one by less than a longer write, and could miss it. */
const MAX_WRITE_MS = 2_000

export type WrittenClaim = Claim & { hash: KeyHash; minute: UnixSeconds }

export type ClaimTable = {
  /**
   * Without claims the row only shows that the process runs. Resolves with false where the write took so long that peers may have missed it.
   * Throws `store_unavailable`.
   */
  write(claims: readonly WrittenClaim[], nowSeconds: UnixSeconds): Promise<boolean>
  /** The rows of other processes that were written within so many milliseconds. */
  read(agoMs: number): Promise<readonly ClaimRow[]>
}

export function openClaimTable(client: ClickHouseClient, instance: string): ClaimTable {
  let version = 0
  return {
    async write(claims, nowSeconds) {
      const began = performance.now()
      version += 1
      const alive = { hash: NO_KEY, minute: nowSeconds, claimed: 0, needed: 0, credits: 0, calls: 0 }
      const rows = (claims.length > 0 ? claims : [alive]).map((claim) => ({ ...claim, instance, version }))
      try {
        await insertJson(client, INSERT, rows)
        return performance.now() - began <= MAX_WRITE_MS
      } catch (error) {
        throw storeUnavailable(error)
      }
    },
    read: (agoMs) => queryRows<ClaimRow>(client, READ, { instance, ago_ms: agoMs }),
  }
}
