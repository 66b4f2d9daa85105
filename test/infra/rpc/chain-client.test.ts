/** Which endpoints a network is read from, and what is told of them. */
import { arbitrum, base, mainnet, optimism, polygon } from 'viem/chains'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { readConfig } from '../../../infra/config/config.ts'
import { connectChain, readHead } from '../../../infra/rpc/chain-client.ts'
import type { IngestFact } from '../../../ingest/model/fact.ts'
import { NETWORK_NAMES } from '../../../ingest/model/network.ts'
import { NETWORKS } from '../../../ingest/model/networks.ts'
import { getHead } from '../../../ingest/rpc/rpc.ts'
import { DAY } from '../../support/recorded.ts'
import { startRecordedDay } from '../../support/recorded-day.ts'
import type { RpcServer } from '../../support/rpc-server.ts'

const CHAINS = { ethereum: mainnet, arbitrum, polygon, base, optimism } as const

describe('a network that is named without an address', () => {
  test.each(NETWORK_NAMES)('%s is read from the public endpoint of its chain', (name) => {
    const { chain } = readConfig({ NETWORKS: name })
    const [url] = CHAINS[name].rpcUrls.default.http
    expect(chain).toMatchObject({ kind: 'networks', networks: [{ network: { name }, urls: [url], isPublic: true }] })
    expect(new URL(url).protocol).toBe('https:')
    expect(NETWORKS[name].chainId).toBe(CHAINS[name].id)
  })

  test('stands beside one with an address; the order is that of NETWORKS', () => {
    const { chain } = readConfig({ NETWORKS: 'base,polygon', POLYGON_RPC_URL: 'https://a.example' })
    expect(chain).toMatchObject({
      networks: [
        { network: { name: 'base' }, isPublic: true },
        { network: { name: 'polygon' }, urls: ['https://a.example'], isPublic: false },
      ],
    })
  })

  test('is not read where only others are named', () => {
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
      report: (fact) => void facts.push(fact),
      retryPolicy: { coolDownMs: 5 },
    })

  test('are called by their hosts, and two of one host are told apart', async () => {
    node.faults.reset = true
    const { endpoints } = connect([`${node.url}/v3/key-one`, `${node.url}/v3/key-two`])
    await expect(endpoints.run(getHead)).rejects.toThrow('unreachable')
    const host = new URL(node.url).host
    const names = facts.flatMap((fact) => (fact.kind === 'rpc-failed' ? [fact.endpoint] : []))
    expect(new Set(names)).toEqual(new Set([host, `${host} #2`]))
    expect(JSON.stringify(facts)).not.toContain('key-')
  })

  test('may hold a user and a password, which are sent and not told', async () => {
    const { host } = new URL(node.url)
    const { endpoints } = connect([`http://me:se%20cret@${host}/`])
    expect((await endpoints.run(getHead)).number).toBe(DAY.lastBlock)
    expect(node.headers.authorization).toBe(`Basic ${Buffer.from('me:se cret').toString('base64')}`)
    node.faults.reset = true
    await expect(endpoints.run(getHead)).rejects.not.toThrow('cret')
  })

  test('a head without an answer is undefined, and soon', async () => {
    expect(await readHead([node.url])).toMatchObject({ number: DAY.lastBlock })
    node.faults.reset = true
    expect(await readHead([node.url])).toBeUndefined()
  })
})
