/** A BACKUP or RESTORE that ClickHouse does by itself, followed in `system.backups` until it has ended. */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { type ClickHouseClient, ClickHouseError } from '@clickhouse/client'
import { ask, IN_DEFAULT } from '../../aggregator/store/store.ts'

/** Takes a line about how far something is. */
export type OnProgress = (line: string) => void

const FIRST_POLL_MS = 20
const POLL_MS = 500
/** A server that does not answer for so many looks in a row is given up. */
const MAX_FAILED_POLLS = 120
const MEGABYTE = 1_000_000

/** `statement` without settings. Resolves once it has succeeded; throws why it failed. */
export async function followBackup(client: ClickHouseClient, statement: string, onProgress: OnProgress): Promise<void> {
  const id = randomUUID()
  try {
    await client.command({ query: `${statement} SETTINGS id = '${id}' ASYNC`, ...IN_DEFAULT })
  } catch (error) {
    // Where only the answer was lost, ClickHouse knows the id.
    if (error instanceof ClickHouseError) throw error
    if (!(await readProgress(client, id).catch(() => undefined))) throw error
  }
  let pollMs = FIRST_POLL_MS
  for (let failed = 0; ; ) {
    const found = await readProgress(client, id).catch((error) => {
      failed++
      if (error instanceof ClickHouseError || failed > MAX_FAILED_POLLS) throw error
      return 'no answer' as const
    })
    if (found !== 'no answer') {
      failed = 0
      if (!found)
        throw new Error('ClickHouse was restarted meanwhile: run the command again, with another NAME for a backup.')
      if (found.error !== '') throw new Error(found.error)
      onProgress(`${found.files} files, ${Math.round(found.bytes / MEGABYTE)} MB`)
      if (ENDED.includes(found.status)) return
    }
    await sleep(pollMs)
    pollMs = Math.min(POLL_MS, 2 * pollMs)
  }
}

const ENDED = ['BACKUP_CREATED', 'RESTORED']

type BackupProgress = { status: string; error: string; files: number; bytes: number }

/** Undefined where the server does not know it, or no more. */
async function readProgress(client: ClickHouseClient, id: string): Promise<BackupProgress | undefined> {
  const query = `SELECT toString(status) AS status, error, toFloat64(greatest(num_files, files_read)) AS files,
      toFloat64(greatest(total_size, bytes_read)) AS bytes
    FROM system.backups WHERE id = {id:String}`
  return (await ask<BackupProgress>(client, query, { id }, IN_DEFAULT))[0]
}
