/** API keys: create, list, revoke, change the plan. Only the SHA-256 of a key is stored. */
import { createHash, randomBytes } from 'node:crypto'
import type { ClickHouseClient } from '@clickhouse/client'
import type { UnixSeconds } from '../../ingest/model/message.ts'
import type { PlanName } from '../lib/plan.ts'
import { DURABLE, queryRows, readSql } from '../lib/store.ts'

/** Lower-case hex. */
export type KeyHash = string

export type KeyRecord = {
  hash: KeyHash
  /** Public handle, shown in lists and logs. */
  id: string
  name: string
  plan: string
  billingStart: UnixSeconds | undefined
  created: UnixSeconds
  revoked: UnixSeconds | undefined
}

const KEYS = readSql(new URL('./keys.sql', import.meta.url))
const INSERT = readSql(new URL('./key-insert.sql', import.meta.url))

export function hashKey(key: string): KeyHash {
  return createHash('sha256').update(key).digest('hex')
}

export type KeyOptions = {
  client: ClickHouseClient
  plan: PlanName
  name: string
  /** First second of a billing month; calendar months where it is left out. */
  billingStart?: Date | undefined
}

/** Returns the key, which cannot be read again later. */
export async function createKey(options: KeyOptions): Promise<string> {
  return (await createNamedKey(options)).key
}

/** The key, and the id by which an operator names it. */
export async function createNamedKey(options: KeyOptions): Promise<{ key: string; id: string }> {
  const key = `cp_${randomBytes(32).toString('base64url')}`
  const billingStart = options.billingStart === undefined ? undefined : options.billingStart.getTime() / 1000
  const record = newRecord(key, options.plan, options.name, billingStart)
  await put(options.client, record)
  return { key, id: record.id }
}

/** Printable ASCII: valid in a header without encoding. */
export const KEY_CHARACTERS = /^[\x21-\x7e]+$/

/** Stores a key that the operator has chosen. A stored key keeps its state: a revoked one stays revoked. */
export async function ensureKey(options: {
  client: ClickHouseClient
  key: string
  plan: PlanName
  name: string
}): Promise<KeyRecord> {
  const { client, key, plan, name } = options
  const [known] = await keysByHash(client, [hashKey(key)])
  if (known !== undefined) return known
  const record = newRecord(key, plan, name, undefined)
  await put(client, record)
  return record
}

/** The stored keys among these, revoked ones included. */
export async function keysByHash(client: ClickHouseClient, hashes: readonly KeyHash[]): Promise<readonly KeyRecord[]> {
  return (await queryRows<KeyRow>(client, KEYS, { all: false, hashes })).map(fromRow)
}

/** Newest first, revoked ones included. */
export async function listKeys(client: ClickHouseClient): Promise<readonly KeyRecord[]> {
  return (await queryRows<KeyRow>(client, KEYS, { all: true, hashes: [] })).map(fromRow)
}

/** False where no valid key has this id. */
export async function revokeKey(options: { client: ClickHouseClient; id: string; now?: Date }): Promise<boolean> {
  const now = options.now ?? new Date()
  return change(options.client, options.id, (record) => ({ ...record, revoked: Math.floor(now.getTime() / 1000) }))
}

/** False where no valid key has this id. */
export async function setPlan(options: { client: ClickHouseClient; id: string; plan: PlanName }): Promise<boolean> {
  return change(options.client, options.id, (record) => ({ ...record, plan: options.plan }))
}

async function change(client: ClickHouseClient, id: string, to: (record: KeyRecord) => KeyRecord): Promise<boolean> {
  const record = (await listKeys(client)).find((key) => key.id === id && key.revoked === undefined)
  if (record === undefined) return false
  await put(client, to(record))
  return true
}

function newRecord(key: string, plan: PlanName, name: string, billingStart: UnixSeconds | undefined): KeyRecord {
  return {
    hash: hashKey(key),
    id: `key_${randomBytes(6).toString('hex')}`,
    name,
    plan,
    billingStart,
    created: Math.floor(Date.now() / 1000),
    revoked: undefined,
  }
}

async function put(client: ClickHouseClient, record: KeyRecord): Promise<void> {
  await client.command({ query: INSERT, query_params: toRow(record), clickhouse_settings: DURABLE })
}

type KeyRow = {
  hash: string
  id: string
  name: string
  plan: string
  billing_start: number | null
  created: number
  revoked: number | null
}

function toRow(record: KeyRecord): KeyRow {
  const { billingStart, revoked, ...same } = record
  return { ...same, billing_start: billingStart ?? null, revoked: revoked ?? null }
}

function fromRow(row: KeyRow): KeyRecord {
  const { billing_start, revoked, ...same } = row
  return { ...same, billingStart: billing_start ?? undefined, revoked: revoked ?? undefined }
}
