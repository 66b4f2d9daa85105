/** Unusual requests, ten thousand in the soak: each has an answer that the document allows, and none contains internals. */
import { Agent, type IncomingMessage, request } from 'node:http'
import { brotliDecompressSync, unzipSync } from 'node:zlib'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openApi } from '../../../api/schema/openapi.ts'
import { conformityTo, type Seen } from '../../client/conformity.ts'
import { ODD_BYTES, oddQuestions, type Question } from '../../client/odd-questions.ts'
import { sendRaw } from '../../client/raw.ts'
import { freshDatabase, type TestDatabase, withoutClickHouse } from '../../support/clickhouse.ts'
import { ADDED_APIS } from '../../support/extras.ts'
import { sample } from '../../support/sample.ts'
import { seededOnServers } from '../../support/seed.ts'
import { ARBITRUM_POOLS, NETWORKS_SERVED, POOLS, storeScenario, TIP } from '../scenario.ts'
import { type Service, startService } from '../service.ts'

const BATCHES = sample('BATCHES', 25, 100)
const BATCH = 105

/** Answers link to the host that was asked, which is not the one inside. */
const HOST = 'candlepool.example'

const conformity = conformityTo(openApi(...ADDED_APIS))
/** Traces of internals: SQL, stacks, files, hosts, libraries. */
const INTERNAL =
  /\bSELECT\b|\bFROM [a-z_]+\b|\.(?:ts|mjs|js|sql)\b|node_modules|\bat \S+:\d+:\d+|\/(?:home|root|tmp|usr|var)\/|127\.0\.0\.1|ECONN|clickhouse|DB::|zod/

describe.skipIf(withoutClickHouse)('whatever is asked', () => {
  const agent = new Agent({ keepAlive: true, maxSockets: 24 })
  const statuses = new Map<number, number>()
  let database: TestDatabase
  let service: Service

  beforeAll(async () => {
    database = await freshDatabase()
    await storeScenario(database.client)
    const clock = () => new Date((TIP + 10) * 1000)
    service = await startService({ client: database.client, networks: NETWORKS_SERVED, clock, freshMs: 1_000 })
  })
  afterAll(async () => {
    agent.destroy()
    await service?.stop()
    await database?.drop()
  })

  function hold({ method, path, headers }: Question, seen: Seen): void {
    const [route = ''] = path.split('?')
    statuses.set(seen.status, (statuses.get(seen.status) ?? 0) + 1)
    const faults = [...conformity(method, route, seen)]
    // One of the networks has nothing stored.
    const isEmpty = seen.status === 503 && (method === 'HEAD' || seen.text.includes('"code":"nothing_stored"'))
    if (seen.status >= 500 && !isEmpty) faults.push('it is a server error')
    if (seen.headers.has('x-evil')) faults.push('a header was made by the question')
    const inside = INTERNAL.exec(seen.text)
    // An answer may repeat what it was asked.
    if (inside && !path.includes(inside[0])) faults.push(`it says what is inside: ${inside[0]}`)
    if (faults.length === 0) return
    throw new Error(
      [`${method} ${path} ${JSON.stringify(headers)}`, `${seen.status} ${seen.text}`, ...faults].join('\n'),
    )
  }

  test(`${BATCHES * BATCH} requests have an answer that the document allows`, async () => {
    const questions = oddQuestions({
      key: service.key,
      named: [
        'symbol=WETH-USDC',
        'symbol=usdc-eth&networks=ethereum',
        `pool=${POOLS.v4.id}`,
        `pool=${ARBITRUM_POOLS.main.id}`,
      ],
      pools: [POOLS.main.id, POOLS.main.id.toUpperCase(), POOLS.v4.id, POOLS.silent.id, ARBITRUM_POOLS.dai.id],
    })
    await fc.assert(
      fc.asyncProperty(fc.array(questions, { minLength: BATCH, maxLength: BATCH }), async (batch) => {
        await Promise.all(batch.map(async (one) => hold(one, await send(one))))
      }),
      seededOnServers({ numRuns: BATCHES }),
    )
    const asked = [...statuses.values()].reduce((sum, count) => sum + count, 0)
    expect(asked).toBeGreaterThanOrEqual(BATCHES * BATCH)
    // Good questions were among them, and each kind of bad one.
    expect(statuses.get(200)).toBeGreaterThan(BATCHES * 10)
    expect([...statuses.keys()]).toEqual(expect.arrayContaining([304, 400, 401, 404, 405, 414]))
  })

  test('bytes that are no request are refused in our own words', async () => {
    await fc.assert(
      fc.asyncProperty(ODD_BYTES, async (bytes) => {
        // What turned out to be a good request is asked again by a client that waits for its answer.
        const response = await sendRaw(service.url, bytes).catch(() => sendRaw(service.url, bytes, false))
        const { status, headers } = response
        hold({ method: 'GET', path: '/v0/health', headers: {} }, { status, headers, text: await response.text() })
      }),
      seededOnServers({ numRuns: 300 }),
    )
  })

  function send({ method, path, headers }: Question): Promise<Seen> {
    const { hostname, port } = new URL(service.url)
    return new Promise((resolve, reject) => {
      const sent = request({ agent, hostname, port, method, path, headers: { Host: HOST, ...headers } }, (response) => {
        const parts: Buffer[] = []
        response.on('data', (part: Buffer) => parts.push(part))
        response.on('error', reject)
        response.on('end', () => {
          const text = unpacked(Buffer.concat(parts), response.headers['content-encoding']).toString()
          resolve({ status: response.statusCode ?? 0, headers: headersOf(response), text })
        })
      })
      sent.on('error', (cause) => reject(new Error(`${method} ${path} ${JSON.stringify(headers)}`, { cause })))
      sent.end()
    })
  }
})

function unpacked(bytes: Buffer, encoding: string | undefined): Buffer {
  if (encoding === undefined || bytes.length === 0) return bytes
  return encoding === 'br' ? brotliDecompressSync(bytes) : unzipSync(bytes)
}

function headersOf({ rawHeaders }: IncomingMessage): Headers {
  const headers = new Headers()
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) headers.append(rawHeaders[at] ?? '', rawHeaders[at + 1] ?? '')
  return headers
}
