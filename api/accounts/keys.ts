/** Keys: made, listed, revoked, given another plan. What is stored of a key is its SHA-256. */
import { createHash, randomBytes } from 'node:crypto'
import type { ClickHouseClient } from '@clickhouse/client'
import type { UnixSeconds } from '../../ingest/model/message.ts'
import type { PlanName } from '../lib/plan.ts'
import { queryRows, readSql } from '../lib/store.ts'

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

const LIST = readSql(new URL('./keys.sql', import.meta.url))
const BY_HASH = readSql(new URL('./keys-by-hash.sql', import.meta.url))
const INSERT = readSql(new URL('./key-insert.sql', import.meta.url))
/** What must not depend on the server's defaults: a key is there once its insert has answered. */
const DURABLE = { async_insert: 0, insert_deduplicate: 0 } as const

export function hashKey(key: string): KeyHash {
  return createHash('sha256').update(key).digest('hex')
}

/** Makes a key and returns it: the only time that it can be read. */
export type KeyOptions = {
  client: ClickHouseClient
  plan: PlanName
  name: string
  /** First second of a billing month; calendar months where it is left out. */
  billingStart?: Date | undefined
}

export async function createKey(options: KeyOptions): Promise<string> {
  return (await createNamedKey(options)).key
}

/** With the ID by which an operator names it. */
export async function createNamedKey(options: KeyOptions): Promise<{ key: string; id: string }> {
  const key = `cp_${randomBytes(32).toString('base64url')}`
  const billingStart = options.billingStart === undefined ? undefined : options.billingStart.getTime() / 1000
  const record = newRecord(key, options.plan, options.name, billingStart)
  await put(options.client, record)
  return { key, id: record.id }
}

/** The characters that a header takes as they are; all keys of ours are made of them. */
export const KEY_CHARACTERS = /^[\x21-\x7e]+$/

/** Makes a key of the operator's own choice where it is not stored yet. What was changed since, a revocation above all, stands. */
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

/** Those that are stored, revoked ones too. */
export async function keysByHash(client: ClickHouseClient, hashes: readonly KeyHash[]): Promise<readonly KeyRecord[]> {
  return (await queryRows<KeyRow>(client, BY_HASH, { hashes })).map(fromRow)
}

/** Newest first, revoked ones too. */
export async function listKeys(client: ClickHouseClient): Promise<readonly KeyRecord[]> {
  return (await queryRows<KeyRow>(client, LIST)).map(fromRow)
}

/** False where no good key has this handle. */
export async function revokeKey(options: { client: ClickHouseClient; id: string; now?: Date }): Promise<boolean> {
  const now = options.now ?? new Date()
  return change(options.client, options.id, (record) => ({ ...record, revoked: Math.floor(now.getTime() / 1000) }))
}

/** False where no good key has this handle. */
export async function setPlan(options: { client: ClickHouseClient; id: string; plan: PlanName }): Promise<boolean> {
  return change(options.client, options.id, (record) => ({ ...record, plan: options.plan }))
}

async function change(client: ClickHouseClient, id: string, to: (record: KeyRecord) => KeyRecord): Promise<boolean> {
  const record = (await listKeys(client)).find((known) => known.id === id && known.revoked === undefined)
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
