/** Several processes of the API over the same tables, as accounts see them: limits hold over all, and no process asks for each key. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { ClickHouseClient } from '@clickhouse/client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Account, type Accounts, openAccounts } from '../../../api/accounts/accounts.ts'
import { createKey, ensureKey, hashKey, listKeys, revokeKey } from '../../../api/accounts/keys.ts'
import { PLANS } from '../../../api/lib/plan.ts'
import { Problem } from '../../../api/lib/problem.ts'
import { intercepted } from '../../aggregator/statements.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../support/clickhouse.ts'
import { inSoak } from '../../support/sample.ts'
import { until } from '../../support/until.ts'

const PROCESSES = 5
const LIMIT = PLANS.free.minute
const ADDRESS = '127.0.0.1'

describe.skipIf(withoutClickHouse)('processes of the API', () => {
  let database: TestDatabase
  let now = Date.UTC(2024, 0, 5, 12) / 1000
  const clock = () => new Date(now * 1000)
  const opened: Accounts[] = []

  beforeAll(async () => {
    database = await freshDatabase()
  })
  afterAll(async () => {
    await Promise.all(opened.map((one) => one.close()))
    await database?.drop()
  })

  function open(client: ClickHouseClient = database.connect()): Accounts {
    const accounts = openAccounts({ client, clock, report: () => {} })
    opened.push(accounts)
    return accounts
  }
  const openAll = (count = PROCESSES) => Array.from({ length: count }, () => open())
  const newKey = () => createKey({ client: database.client, plan: 'free', name: 'test' })
  async function find(accounts: Accounts, key: string): Promise<Account> {
    const account = await accounts.find(key, ADDRESS)
    if (account === undefined) throw new Error('The key is not known.')
    return account
  }

  /** Credits served, and questions that were worked on. */
  type Served = { credits: number; worked: number; refused: number }
  async function ask(accounts: Accounts, key: string, cost: number, served: Served): Promise<boolean> {
    const account = await find(accounts, key)
    await accounts.countCall(account)
    try {
      await accounts.charge(account, cost, async () => {
        served.worked += 1
        await new Promise((resolve) => setTimeout(resolve, 1))
        return { cost }
      })
      served.credits += cost
      return true
    } catch (error) {
      if (!(error instanceof Problem) || error.code !== 'minute_credits_exceeded') throw error
      served.refused += 1
      return false
    }
  }
  /** Many at once, again and again, until all are refused. */
  async function hammer(accounts: Accounts, key: string, served: Served, cost = 1): Promise<void> {
    for (let round = 0; round < 6; round++)
      await Promise.all(Array.from({ length: 40 }, () => ask(accounts, key, cost, served)))
  }
  const nothing = (): Served => ({ credits: 0, worked: 0, refused: 0 })

  test.each([1, 3])(
    'five that are hammered at once serve the whole limit and no more, in every minute, at a cost of %d',
    async (cost) => {
      const [all, key] = [openAll(), await newKey()]
      for (let minute = 0; minute < 3; minute++) {
        now += 60
        const served = nothing()
        await Promise.all(all.map((one) => hammer(one, key, served, cost)))
        expect(served.credits).toBe(LIMIT)
        // No work was done for a question that was refused.
        expect(served.worked * cost).toBe(served.credits)
      }
    },
  )

  test('a key that asks one of five has its whole limit there, and one that moves has what is left', async () => {
    const [all, key] = [openAll(), await newKey()]
    now += 60
    const [first, second, ...others] = all
    if (first === undefined || second === undefined) throw new Error('There are five.')
    for (const one of others) await find(one, key)
    const served = nothing()
    for (let question = 0; question < 40; question++) expect(await ask(first, key, 1, served)).toBe(true)
    // A peer that takes longer than two seconds to give credits back, as on a busy machine, costs a refusal meanwhile.
    const isServed = async () => ((await ask(second, key, 1, served)) ? true : undefined)
    for (let question = 0; question < 20; question++) await until(isServed, 'the credits are given back')
    expect(await ask(second, key, 1, served)).toBe(false)
    expect(await ask(first, key, 1, served)).toBe(false)
    expect(served.credits).toBe(LIMIT)
  })

  test('a warm query of a key far below its limit waits for no statement', async () => {
    let held: Promise<void> | undefined
    const one = open(
      intercepted(database.connect(), async (send) => {
        await held
        return send()
      }),
    )
    const key = await createKey({ client: database.client, plan: 'operator', name: 'warm' })
    now += 60
    const served = nothing()
    async function askFive(): Promise<true> {
      for (let question = 0; question < 5; question++) await ask(one, key, 1, served)
      return true
    }
    // The counts are at most a second old: the next queries come at once, or are late on a busy machine.
    async function areAnsweredAtOnce(): Promise<true | undefined> {
      await askFive()
      let release = () => {}
      held = new Promise((resolve) => (release = resolve))
      const five = askFive()
      const answered = await Promise.race([five, sleep(1_000, undefined)])
      held = undefined
      release()
      await five
      return answered
    }
    await until(areAnsweredAtOnce, 'five queries are answered while every statement is held')
    expect(served).toMatchObject({ refused: 0, credits: served.worked })
  })

  test('claims of a killed process come back, and its written counts are not spent again', async () => {
    const key = await newKey()
    now += 60
    let isDead = false
    const dying = open(
      intercepted(database.connect(), async (send) => (isDead ? Promise.reject(new Error('It is dead.')) : send())),
    )
    const served = nothing()
    for (let question = 0; question < 10; question++) await ask(dying, key, 1, served)
    // It has told what it used, and holds more.
    const other = open()
    await expect.poll(async () => (await other.usage(await find(other, key))).minute.credits).toBe(10)
    isDead = true
    await expect
      .poll(
        async () => {
          while (await ask(other, key, 1, served));
          return served.credits
        },
        { interval: 500 },
      )
      .toBe(LIMIT)
  })

  test(
    'where the store is too slow for claims to be valid, it is said to be, and not that credits are used up',
    inSoak,
    async () => {
      const key = await newKey()
      now += 60
      let isSlow = false
      const slow = open(
        intercepted(database.connect(), async (send, _, args) => {
          if (isSlow && /credit_claims/.test(JSON.stringify(args)))
            await new Promise((resolve) => setTimeout(resolve, 1_700))
          return send()
        }),
      )
      await find(slow, key)
      isSlow = true
      await expect(ask(slow, key, 1, nothing())).rejects.toMatchObject({ code: 'store_unavailable' })
      isSlow = false
      await expect.poll(() => ask(slow, key, 1, nothing()).catch(() => false)).toBe(true)
    },
  )

  test('a query outlasts one slow write of claims', async () => {
    const key = await newKey()
    now += 60
    let slowMs = 2_500
    const stalled = open(
      intercepted(database.connect(), async (send, _, args) => {
        if (/INTO credit_claims/.test(JSON.stringify(args))) {
          const ms = slowMs
          slowMs = 0
          await new Promise((resolve) => setTimeout(resolve, ms))
        }
        return send()
      }),
    )
    expect(await ask(stalled, key, 1, nothing())).toBe(true)
    expect(slowMs).toBe(0)
  })

  test('claims that collide while the store is slow refuse no query of a key that has credits', async () => {
    const key = await newKey()
    const slow = () =>
      intercepted(database.connect(), async (send, _, args) => {
        if (JSON.stringify(args).includes('credit_claims')) await new Promise((resolve) => setTimeout(resolve, 700))
        return send()
      })
    const all = [slow(), slow(), slow()].map(open)
    now += 60
    const served = nothing()
    // The store of a busy machine may be too slow for claims, which is no refusal.
    const askAgain = (one: Accounts): Promise<boolean> =>
      ask(one, key, LIMIT / 6, served).catch((error: unknown) => {
        if (error instanceof Problem && error.code === 'store_unavailable') return askAgain(one)
        throw error
      })
    // Half of the limit, by all of them together.
    await Promise.all(all.map(askAgain))
    expect(served.refused).toBe(0)
    expect(served.credits).toBe(LIMIT / 2)
  })

  test('ten times the keys are no more statements, nor more rows read for each round', inSoak, async () => {
    const statementsOf = async (count: number) => {
      const sent: string[] = []
      const one = open(
        intercepted(database.connect(), (send, _, [options]) => {
          sent.push((options as { query: string }).query)
          return send()
        }),
      )
      const keys = await manyKeys(count)
      now += 60
      for (let round = 0; round < 3; round++) {
        await Promise.all(
          keys.map(async (key) => {
            const account = await find(one, key)
            await one.countCall(account)
            await one.usage(account)
          }),
        )
        await new Promise((resolve) => setTimeout(resolve, 1_100))
      }
      await one.close()
      return sent.length
    }
    const few = await statementsOf(30)
    const many = await statementsOf(300)
    expect(many).toBeLessThan(few * 2)
  })

  /** Stored in one insert. */
  async function manyKeys(count: number): Promise<string[]> {
    const keys = Array.from({ length: count }, () => `cp_${crypto.randomUUID()}`)
    await database.client.command({
      query: `INSERT INTO api_keys SELECT unhex(arrayJoin({hashes:Array(String)})) AS key_hash, substring(hex(key_hash), 1, 12), '', 'free', NULL, now(), NULL, 1`,
      query_params: { hashes: keys.map(hashKey) },
    })
    return keys
  }

  test('a key whose hash ends with a zero byte is found, and so is what it used', async () => {
    let key = ''
    for (let number = 0; !hashKey(key).endsWith('00'); number++) key = `a-key-of-my-own-choice-${number}`
    await ensureKey({ client: database.client, key, plan: 'free', name: 'zero' })
    const [one, served] = [open(), nothing()]
    await ask(one, key, 1, served)
    await one.close()
    const other = open()
    expect((await other.usage(await find(other, key))).minute.credits).toBe(1)
  })

  test(
    'with a hundred thousand keys stored, a look reads none of them but those that were changed',
    inSoak,
    async () => {
      await database.client.command({
        query: `INSERT INTO api_keys (key_hash, id, name, plan, created, version)
        SELECT reinterpretAsFixedString(cityHash64(number)) || repeat('\\0', 24), toString(number), 'stored', 'free', now(), 1
        FROM numbers(100000)`,
      })
      const reads: { query: string; rows: number }[] = []
      const client = database.connect()
      const watched = intercepted(client, async (send, _, [options]) => {
        const answer = (await send()) as { summary?: { read_rows: string }; response_headers?: Record<string, string> }
        const summary = answer.response_headers?.['x-clickhouse-summary']
        const { read_rows = '0' } = JSON.parse(summary ?? '{}') as { read_rows?: string }
        reads.push({ query: (options as { query: string }).query, rows: Number(read_rows) })
        return answer
      })
      const one = open(watched)
      const key = await newKey()
      const account = await find(one, key)
      reads.length = 0
      for (let look = 0; look < 3; look++) {
        await new Promise((resolve) => setTimeout(resolve, 1_100))
        await find(one, key)
        await one.usage(account)
      }
      expect(reads.length).toBeGreaterThan(3)
      expect(Math.max(...reads.map(({ rows }) => rows))).toBeGreaterThan(0)
      expect(reads.filter(({ rows }) => rows > 20_000)).toEqual([])
      // It is seen all the same what changes.
      const record = (await listKeys(database.client)).find(({ hash }) => hash === hashKey(key))
      await revokeKey({ client: database.client, id: record?.id ?? '' })
      await expect.poll(() => one.find(key, ADDRESS), { interval: 300 }).toBeUndefined()
    },
  )
})
