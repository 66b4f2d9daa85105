/** The key that `npm start` prints: the operator's own, or one that is made and kept beside the data. */
import { randomBytes } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ClickHouseClient } from '@clickhouse/client'
import { ensureKey, KEY_CHARACTERS } from '../../api/accounts/keys.ts'
import type { Report } from '../../ingest/model/report.ts'
import { BadConfiguration } from '../config/bad-configuration.ts'
import type { Config } from '../config/config.ts'
import type { ApiKeyFact } from '../telemetry/fact.ts'

const OWN = { plan: 'operator', name: 'bootstrap' } as const

/**
 * Stores BOOTSTRAP_API_KEY as a key if it is not stored yet, and returns whether it is valid. A revoked key stays revoked, and the process
 * runs all the same: other keys are still valid.
 */
export async function ensureBootstrapKey(
  { bootstrapApiKey: key }: Pick<Config, 'bootstrapApiKey'>,
  owner: ClickHouseClient,
  report: Report<ApiKeyFact>,
): Promise<boolean> {
  if (key === undefined) return false
  const { id, revoked } = await ensureKey({ client: owner, key, ...OWN })
  if (revoked !== undefined) report({ kind: 'bootstrap-key-revoked', account: id })
  return revoked === undefined
}

/** The key to print at the end of a start: kept in DATA_DIR, readable by its owner alone, because the tables hold only its hash. */
export async function keyToPrint(
  config: Pick<Config, 'bootstrapApiKey' | 'dataDir'>,
  owner: ClickHouseClient,
  report: Report<ApiKeyFact>,
): Promise<string> {
  const isGood = await ensureBootstrapKey(config, owner, report)
  if (isGood && config.bootstrapApiKey !== undefined) return config.bootstrapApiKey
  const file = join(config.dataDir, 'api-key')
  const kept = (await readFile(file, 'utf8').catch(() => '')).trim()
  if (kept !== '' && !KEY_CHARACTERS.test(kept))
    throw new BadConfiguration([`${file} holds something else than a key of printable ASCII characters: delete it`])
  const key = kept === '' ? await makeKey(file) : kept
  const { revoked } = await ensureKey({ client: owner, key, ...OWN })
  if (revoked === undefined) return key
  const other = await makeKey(file)
  await ensureKey({ client: owner, key: other, ...OWN })
  return other
}

/** Kept before it is stored: a start that ends between the two finds it, and stores it. */
async function makeKey(file: string): Promise<string> {
  const key = `cp_${randomBytes(32).toString('base64url')}`
  await writeFile(file, `${key}\n`, { mode: 0o600 })
  return key
}
