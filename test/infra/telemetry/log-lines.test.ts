/** Log lines: what they look like to a machine, that no secret is in them, and that silence is the rule. */
import { afterEach, expect, test, vi } from 'vitest'
import { readConfig } from '../../../infra/config/config.ts'
import { createRedactor } from '../../../infra/config/secrets.ts'
import type { Fact } from '../../../infra/telemetry/fact.ts'
import { openLogLines } from '../../../infra/telemetry/log-lines.ts'
import { LOG_MESSAGES } from '../../../infra/telemetry/log-messages.ts'
import { RpcFailed } from '../../../ingest/rpc/rpc-error.ts'

type Line = { level: number; kind: string; msg: string; [field: string]: unknown }

function linesOf(facts: readonly Fact[], environment: Record<string, string> = {}): Line[] {
  const config = readConfig(environment)
  const lines: Line[] = []
  const report = openLogLines(config.logLevel, createRedactor(config), {
    write: (text) => void lines.push(JSON.parse(text)),
  })
  for (const fact of facts) report(fact)
  return lines
}

const network = 'ethereum' as const

afterEach(() => void vi.useRealTimers())

test('a line has its kind, its fields as they are, and a sentence', () => {
  const [line] = linesOf([
    { kind: 'aggregator-started', network, tip: undefined, epoch: 7n, generation: 1, offset: 12 },
  ])
  const { time, pid, hostname, ...told } = line ?? ({} as Line)
  expect(told).toMatchInlineSnapshot(`
    {
      "epoch": "7",
      "generation": 1,
      "kind": "aggregator-started",
      "level": 30,
      "msg": "aggregator started: this process writes the tables of the network from now on",
      "network": "ethereum",
      "offset": 12,
    }
  `)
})

test('an error is told in one line, with its causes', () => {
  const error = new Error('The insert failed.', { cause: new Error('No space left on device') })
  const [line] = linesOf([{ kind: 'store-failed', network, error, retryMs: 250 }])
  expect(line).toMatchObject({
    level: 40,
    kind: 'store-failed',
    error: 'The insert failed.: No space left on device',
    retryMs: 250,
  })
})

test('nothing is said of single requests, calls and blocks unless it is asked for', () => {
  const request = {
    kind: 'request-answered',
    requestId: 'a',
    method: 'GET',
    path: '/v0/usage',
    route: '/v0/usage',
    status: 200,
    milliseconds: 1,
  } as const
  const call = { kind: 'rpc-called', network, endpoint: 'a.example', method: 'eth_getLogs', ms: 3 } as const
  const block = { kind: 'block-appended', network, number: 1, ticks: 2, timestamp: 3 } as const
  const charged = { kind: 'credits-charged', plan: 'free', credits: 1 } as const
  const all = [request, call, block, charged]
  const kinds = (level: string) => linesOf(all, { LOG_LEVEL: level }).map(({ kind }) => kind)
  expect(kinds('info')).toEqual([])
  expect(kinds('debug')).toEqual(['request-answered', 'block-appended'])
  expect(kinds('trace')).toEqual(all.map(({ kind }) => kind))
})

test('an outage is a line in ten seconds, not one for each request that it fails', () => {
  vi.useFakeTimers({ toFake: ['Date'] })
  const lines: Line[] = []
  const report = openLogLines('info', (text) => text, { write: (text) => void lines.push(JSON.parse(text)) })
  const fail = (message: string) =>
    report({ kind: 'request-failed', requestId: crypto.randomUUID(), path: '/v0/ticks', error: new Error(message) })
  for (let count = 0; count < 100; count++) fail('ClickHouse is away')
  fail('Another bug')
  expect(lines.map(({ error, alike }) => [error, alike])).toEqual([
    ['ClickHouse is away', undefined],
    ['Another bug', undefined],
  ])
  vi.advanceTimersByTime(10_000)
  fail('ClickHouse is away')
  expect(lines.at(-1)).toMatchObject({ error: 'ClickHouse is away', alike: 99 })
})

test('failures of one endpoint are a line in ten seconds, whatever they are and whatever waits for them', () => {
  vi.useFakeTimers({ toFake: ['Date'] })
  const lines: Line[] = []
  const report = openLogLines('info', (text) => text, { write: (text) => void lines.push(JSON.parse(text)) })
  const fail = (endpoint: string, block: number) => {
    const error = new RpcFailed(endpoint, { kind: 'timeout' }, new Error(`Block ${block} took too long.`))
    report({ kind: 'rpc-failed', network, endpoint, problem: 'timeout', error, retryMs: 1 })
    report({ kind: 'endpoint-cooling', network, endpoint, problem: 'timeout', ms: 1, failures: 1 })
    report({ kind: 'backfill-waiting', network, from: block, error, retryMs: 1 })
    report({ kind: 'endpoint-recovered', network, endpoint, failures: 1 })
  }
  for (let block = 0; block < 10; block++) fail('a.example', block)
  fail('b.example', 1)
  const told = () => lines.map(({ kind, error, endpoint, alike }) => [kind, error ?? endpoint, alike])
  expect(told()).toEqual([
    ['rpc-failed', 'a.example did not answer as it was asked (timeout): Block 0 took too long.', undefined],
    ['endpoint-recovered', 'a.example', undefined],
    ['rpc-failed', 'b.example did not answer as it was asked (timeout): Block 1 took too long.', undefined],
    ['endpoint-recovered', 'b.example', undefined],
  ])
  vi.advanceTimersByTime(10_000)
  fail('a.example', 10)
  expect(told().slice(4)).toEqual([
    ['rpc-failed', 'a.example did not answer as it was asked (timeout): Block 10 took too long.', 19],
    ['endpoint-recovered', 'a.example', 9],
  ])
})

test('each kind has a sentence of its own, which is more than its name', () => {
  const sentences = Object.entries(LOG_MESSAGES).map(([kind, [, sentence]]) => {
    expect(sentence).not.toBe(kind.replaceAll('-', ' '))
    return sentence
  })
  expect(new Set(sentences).size).toBe(sentences.length)
})

test('keys and passwords are in no line, however they come into it', () => {
  const secrets = [
    'Us3r-of-node',
    'p4ss word',
    'k3y-in-the-path',
    'k3y-in-the-query',
    'ch-passw0rd',
    'a-bootstrap-key-of-mine',
    'url-p4ssword',
    'api-p4ssword',
    'accounts-p4ssword',
  ] as const
  const [user, password, path, query, store, bootstrap, ofUrl, ofApi, ofAccounts] = secrets
  const own = 'cp_dGhpcyBpcyBhIGtleSBvZiB0aGUgQVBJIHRoYXQgbm9ib2R5'
  const environment = {
    ETHEREUM_RPC_URL: `https://${user}:${encodeURIComponent(password)}@a.example/v3/${path}?apikey=${query}`,
    CLICKHOUSE_URL: `http://someone:${ofUrl}@b.example:8123`,
    CLICKHOUSE_PASSWORD: store,
    CLICKHOUSE_API_PASSWORD: ofApi,
    CLICKHOUSE_ACCOUNTS_PASSWORD: ofAccounts,
    BOOTSTRAP_API_KEY: bootstrap,
    LOG_LEVEL: 'trace',
  }
  const quoted = [...secrets, encodeURIComponent(password), own].join(' | ')
  const error = new Error(`Cannot POST ${environment.ETHEREUM_RPC_URL}`, { cause: new Error(quoted) })
  const lines = linesOf(
    [
      { kind: 'rpc-failed', network, error, retryMs: 1 },
      { kind: 'public-endpoint', network, hosts: [environment.ETHEREUM_RPC_URL], advice: quoted },
      { kind: 'store-failed', network, error: quoted, retryMs: 1 },
      { kind: 'engine-ended', exit: { code: 1, signal: null, expected: false, lastLines: [quoted] } },
      { kind: 'request-failed', requestId: '1', path: `/v0/${own}`, error },
    ],
    environment,
  )
  expect(lines).toHaveLength(5)
  const text = JSON.stringify(lines)
  for (const secret of [...secrets, encodeURIComponent(password), own]) expect(text).not.toContain(secret)
  expect(text).toContain('a.example')
})

test('text that is no secret stays readable, though it stands in an address', () => {
  const [line] = linesOf(
    [{ kind: 'store-failed', network, error: new Error('ethereum mainnet default v3 me 1'), retryMs: 1 }],
    {
      ETHEREUM_RPC_URL: 'https://me:abc@a.example/ethereum/mainnet/v3?network=1',
      CLICKHOUSE_URL: 'http://b.example',
    },
  )
  expect(line?.['error']).toBe('ethereum mainnet default v3 me 1')
})
