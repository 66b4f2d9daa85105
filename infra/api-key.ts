/** The key that `npm start` prints: the operator's own, or one that is made once and kept beside the data. */
import { randomBytes } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ClickHouseClient } from '@clickhouse/client'
import { ensureKey } from '../api/keys.ts'
import type { Config } from './config.ts'

const NAME = 'bootstrap'

/** Sees to it that BOOTSTRAP_API_KEY, if there is one, opens the API. */
export async function ensureBootstrapKey(
  config: Pick<Config, 'bootstrapApiKey'>,
  owner: ClickHouseClient,
): Promise<void> {
  if (config.bootstrapApiKey === undefined) return
  await ensureKey({ client: owner, key: config.bootstrapApiKey, plan: 'operator', name: NAME })
}

/** The key to print at the end of a start: kept in DATA_DIR, readable by its owner alone, because the tables hold only its hash. */
export async function keyToPrint(
  config: Pick<Config, 'bootstrapApiKey' | 'dataDir'>,
  owner: ClickHouseClient,
): Promise<string> {
  await ensureBootstrapKey(config, owner)
  if (config.bootstrapApiKey !== undefined) return config.bootstrapApiKey
  const file = join(config.dataDir, 'api-key')
  const kept = await readFile(file, 'utf8').catch(() => undefined)
  const key = kept?.trim() || `cp_${randomBytes(32).toString('base64url')}`
  if (!kept) await writeFile(file, `${key}\n`, { mode: 0o600 })
  await ensureKey({ client: owner, key, plan: 'operator', name: NAME })
  return key
}
