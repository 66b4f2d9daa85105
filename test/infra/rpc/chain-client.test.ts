/** Which endpoints a network is read from, and what is told of them. */
import { arbitrum, base, mainnet, optimism, polygon } from 'viem/chains'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { readConfig } from '../../../infra/config/config.ts'
import { connectChain, readHead } from '../../../infra/rpc/chain-client.ts'
import type { IngestFact } from '../../../ingest/model/fact.ts'
import { NETWORK_NAMES } from '../../../ingest/model/network.ts'
import { NETWORKS } from '../../../ingest/model/networks.ts'
import { getHead } from '../../../ingest/rpc/rpc.ts'
import { sharedHosts, voicesOf } from '../../../ingest/rpc/voice.ts'
import { DAY } from '../../support/recorded.ts'
import { recordedDayChain, startRecordedDay } from '../../support/recorded-day.ts'
import { type RpcServer, startRpcServer } from '../../support/rpc-server.ts'

const CHAINS = { ethereum: mainnet, arbitrum, polygon, base, optimism } as const

describe('a network that is named without an address', () => {
  test.each(NETWORK_NAMES)('%s is read from several public endpoints of different operators', (name) => {
    const { chain } = readConfig({ NETWORKS: name })
    expect(chain).toMatchObject({ kind: 'networks', networks: [{ network: { name }, isPublic: true }] })
    const urls = chain.kind === 'networks' ? (chain.networks[0]?.urls ?? []) : []
    expect(urls[0]).toBe(CHAINS[name].rpcUrls.default.http[0])
    expect(urls.map((url) => new URL(url).protocol)).toEqual(['https:', 'https:', 'https:'])
    const operators = urls.map((url) => new URL(url).hostname.split('.').slice(-2).join('.'))
    expect(new Set(operators).size).toBe(3)
    expect(NETWORKS[name].chainId).toBe(CHAINS[name].id)
  })

  test('a network without an address stands beside one with an address, in the order of NETWORKS', () => {
    const { chain } = readConfig({ NETWORKS: 'base,polygon', POLYGON_RPC_URL: 'https://a.example' })
    expect(chain).toMatchObject({
      networks: [
        { network: { name: 'base' }, isPublic: true },
        { network: { name: 'polygon' }, urls: ['https://a.example'], isPublic: false },
      ],
    })
  })

  test('a network without an address is not read where only others are named', () => {
    const shared = Object.fromEntries(
      NETWORK_NAMES.map((name) => [`${name.toUpperCase()}_RPC_URL`, 'https://a.example']),
    )
    for (const name of NETWORK_NAMES) {
      const { chain } = readConfig({ ...shared, NETWORKS: name, KAFKA_BROKERS: 'a:1', CLICKHOUSE_URL: 'http://a' })
      expect(chain.kind === 'networks' && chain.networks.map((it) => it.network.name)).toEqual([name])
    }
  })
})

describe('endpoints by their addresses', () => {
  let node: RpcServer
  let facts: IngestFact[]

  beforeEach(async () => {
    node = await startRecordedDay()
    facts = []
  })

  afterEach(() => node.stop())

  const connect = (urls: readonly string[]) =>
    connectChain(urls, {
      network: NETWORKS.ethereum,
      headerProof: 'off',
      report: (fact) => void facts.push(fact),
      retryPolicy: { coolDownMs: 5 },
    })

  test('endpoints are called by their hosts, and two of one host are told apart', async () => {
    node.faults.reset = true
    const { endpoints } = connect([`${node.url}/v3/key-one`, `${node.url}/v3/key-two`])
    await expect(endpoints.run(getHead)).rejects.toThrow('unreachable')
    const host = new URL(node.url).host
    const names = facts.flatMap((fact) => (fact.kind === 'rpc-failed' ? [fact.endpoint] : []))
    expect(new Set(names)).toEqual(new Set([host, `${host} #2`]))
    expect(JSON.stringify(facts)).not.toContain('key-')
  })

  test('an address may hold a user and a password, which are sent and not told', async () => {
    const { host } = new URL(node.url)
    const { endpoints } = connect([`http://me:se%20cret@${host}/`])
    expect((await endpoints.run(getHead)).number).toBe(DAY.lastBlock)
    expect(node.headers.authorization).toBe(`Basic ${Buffer.from('me:se cret').toString('base64')}`)
    node.faults.reset = true
    await expect(endpoints.run(getHead)).rejects.not.toThrow('cret')
  })

  test('an http and a ws endpoint of one host name are one voice; a second of a kind is another', () => {
    const urls = ['https://a.example/1', 'wss://a.example:8546', 'https://b.example', 'http://a.example:8545']
    expect(voicesOf([...urls, 'ws://[::1]:1', 'http://[::1]:2'])).toEqual([
      ...['a.example', 'a.example', 'b.example', 'a.example #2'],
      ...['[::1]', '[::1]'],
    ])
    expect(sharedHosts(urls)).toEqual(['a.example'])
    expect(sharedHosts(['http://127.0.0.1:1', 'http://127.0.0.1:2', 'http://[::1]:1', 'http://[::1]:2'])).toEqual([])
  })

  test('an endpoint of the same voice is no second opinion: another voice is asked, or there is none', async () => {
    const second = await startRpcServer({ ...recordedDayChain() }, 'localhost')
    const gone = 'ws://127.0.0.1:9'
    const { endpoints } = connect([node.url, gone, second.url])
    const first = await endpoints.run(async (client) => client)
    const asked = await endpoints.run(async (client) => client, { notFirst: first })
    expect(asked.name).toBe(new URL(second.url).host)
    await second.stop()

    const alone = connect([node.url, gone]).endpoints
    const only = await alone.run(async (client) => client)
    expect((await alone.run(async (client) => client, { notFirst: only })).name).toBe(only.name)
    expect(alone.waitForOther(only)).toBe(0)
  })

  test('a head without an answer is undefined, and soon', async () => {
    expect(await readHead([node.url])).toMatchObject({ number: DAY.lastBlock })
    node.faults.reset = true
    expect(await readHead([node.url])).toBeUndefined()
  })
})
