import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  createKey,
  ensureKey,
  hashKey,
  type KeyRecord,
  listKeys,
  revokeKey,
  setPlan,
} from '../../../api/accounts/keys.ts'
import { ensureBootstrapKey, keyToPrint } from '../../../infra/process/api-key.ts'
import type { Fact } from '../../../infra/telemetry/fact.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../support/clickhouse.ts'

const ROUNDS = 20

describe.skipIf(withoutClickHouse)('keys', () => {
  let database: TestDatabase
  let dataDir: string
  const facts: Fact[] = []
  const report = (fact: Fact) => facts.push(fact)

  beforeAll(async () => {
    database = await freshDatabase()
    dataDir = await mkdtemp(join(tmpdir(), 'candlepool-'))
  })
  afterAll(async () => {
    await rm(dataDir, { recursive: true, force: true })
    await database?.drop()
  })

  async function recordOf(key: string): Promise<KeyRecord> {
    const record = (await listKeys(database.client)).find(({ hash }) => hash === hashKey(key))
    if (record === undefined) throw new Error('There is no such key.')
    return record
  }
  const isRevoked = async (key: string) => (await recordOf(key)).revoked !== undefined
  async function newKey(): Promise<{ key: string; id: string }> {
    const key = await createKey({ client: database.client, plan: 'free', name: 'test' })
    return { key, id: (await recordOf(key)).id }
  }

  test('a revocation stands, whichever of several changes at once is stored last', async () => {
    const { client } = database
    const kept: boolean[] = []
    for (let round = 0; round < ROUNDS; round++) {
      const { key, id } = await newKey()
      await Promise.all([
        setPlan({ client, id, plan: 'operator' }),
        revokeKey({ client, id }),
        setPlan({ client, id, plan: 'free' }),
      ])
      kept.push(await isRevoked(key))
    }
    expect(kept.filter((isKept) => !isKept)).toEqual([])
  })

  test('a revocation stands after a change that was read before it and is stored long after, merged or not', async () => {
    const { client } = database
    const { key, id } = await newKey()
    // The read of the one, then all of the other, then the write of the first.
    let letGo = () => {}
    const held = new Promise<void>((resolve) => {
      letGo = resolve
    })
    let isHeld = () => {}
    const reached = new Promise<void>((resolve) => {
      isHeld = resolve
    })
    const slow = new Proxy(client, {
      get(target, name) {
        if (name !== 'command') return Reflect.get(target, name).bind?.(target) ?? Reflect.get(target, name)
        return async (...args: Parameters<typeof client.command>) => {
          isHeld()
          await held
          return client.command(...args)
        }
      },
    })
    const changing = setPlan({ client: slow, id, plan: 'operator' })
    await reached
    expect(await revokeKey({ client, id })).toBe(true)
    letGo()
    await changing
    expect(await isRevoked(key)).toBe(true)
    await client.command({ query: 'OPTIMIZE TABLE api_keys FINAL' })
    expect(await isRevoked(key)).toBe(true)
    expect(await setPlan({ client, id, plan: 'free' })).toBe(false)
    expect(await revokeKey({ client, id })).toBe(false)
  })

  test('a key of the operator is made once, keeps the plan that it was given, and is not made good once it is revoked', async () => {
    const { client } = database
    const options = { client, key: 'of-my-own-choice', plan: 'operator', name: 'own' } as const
    const made = await ensureKey(options)
    expect(await ensureKey(options)).toEqual(made)
    const own = async () => (await listKeys(client)).filter(({ name }) => name === 'own')
    const [record, ...others] = await own()
    expect([record?.plan, others]).toEqual(['operator', []])
    const id = record?.id ?? ''
    await setPlan({ client, id, plan: 'free' })
    expect(await ensureKey(options)).toMatchObject({ id, plan: 'free' })
    expect(await own()).toEqual([expect.objectContaining({ id, plan: 'free' })])
    await revokeKey({ client, id })
    expect(await ensureKey(options)).toMatchObject({ id, revoked: expect.any(Number) })
    expect(await own()).toEqual([expect.objectContaining({ id, revoked: expect.any(Number) })])
  })

  test('the printed key is kept from start to start; a revoked one is replaced by another', async () => {
    const { client } = database
    const config = { bootstrapApiKey: undefined, dataDir }
    const first = await keyToPrint(config, client, report)
    expect(await keyToPrint(config, client, report)).toBe(first)
    await revokeKey({ client, id: (await recordOf(first)).id })
    const second = await keyToPrint(config, client, report)
    expect(second).not.toBe(first)
    expect([await isRevoked(first), await isRevoked(second)]).toEqual([true, false])
    expect(await readFile(join(dataDir, 'api-key'), 'utf8')).toBe(`${second}\n`)
    expect(await keyToPrint(config, client, report)).toBe(second)
  })

  test('a revoked BOOTSTRAP_API_KEY stays revoked, which is reported, and another key is printed', async () => {
    const { client } = database
    const config = { bootstrapApiKey: 'a-key-from-the-environment', dataDir }
    expect(await keyToPrint(config, client, report)).toBe(config.bootstrapApiKey)
    const { id } = await recordOf(config.bootstrapApiKey)
    await revokeKey({ client, id })
    facts.length = 0
    await ensureBootstrapKey(config, client, report)
    expect(await isRevoked(config.bootstrapApiKey)).toBe(true)
    expect(facts).toEqual([{ kind: 'bootstrap-key-revoked', account: id }])
    const printed = await keyToPrint(config, client, report)
    expect(printed).not.toBe(config.bootstrapApiKey)
    expect([await isRevoked(config.bootstrapApiKey), await isRevoked(printed)]).toEqual([true, false])
  })

  test('a kept key that no header takes is refused with the name of its file', async () => {
    const file = join(dataDir, 'api-key')
    await writeFile(file, 'clé secrète de mon choix\n')
    await expect(keyToPrint({ bootstrapApiKey: undefined, dataDir }, database.client, report)).rejects.toThrow(file)
    await rm(file)
  })
})
