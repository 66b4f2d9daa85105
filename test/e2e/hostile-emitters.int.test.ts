/** Contracts that emit logs like a pool's and answer nothing, burn gas or flood, on a real node: they cost a few calls together. */
import { type Address, type Hex, numberToHex, padHex, RpcRequestError } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connectChain } from '../../infra/rpc/chain-client.ts'
import type { PoolEvent } from '../../ingest/decode/event.ts'
import type { PoolId } from '../../ingest/model/pool.ts'
import { readV3Keys } from '../../ingest/pools/pool-key.ts'
import { Registry } from '../../ingest/pools/registry.ts'
import { readTokens } from '../../ingest/pools/token.ts'
import { deployMarkets, startAnvil, type TestAnvil, type TestMarkets } from '../support/anvil.ts'

const REVERT: Hex = '0x60006000fd'
/** INVALID, the one opcode that takes all gas. */
const BURN: Hex = '0xfe'
/** Returns memory as long as gas allows: a length of gas / 8. */
const FLOOD: Hex = '0x60085a046000f3'
/** Answers a word of its own to every question: an address that is no factory. */
const LIE: Hex = '0x61123460005260206000f3'

const EMITTERS = 300

describe('contracts that only look like pools', () => {
  let anvil: TestAnvil
  let markets: TestMarkets
  let emitters = 0

  beforeAll(async () => {
    anvil = await startAnvil()
    markets = await deployMarkets(anvil)
  })

  afterAll(() => anvil?.stop())

  async function place(code: Hex): Promise<Address> {
    emitters += 1
    const address = padHex(numberToHex(0xbad00000 + emitters), { size: 20 })
    await anvil.rpc([{ method: 'anvil_setCode', params: [address, code] }])
    return address
  }

  const swapOf = (pool: PoolId): PoolEvent => ({ kind: 'initialized', pool, sqrtPriceX96: 1n })

  /** Endpoints of its own, and how often they were asked for a contract. */
  function endpointsOn() {
    let calls = 0
    const { endpoints } = connectChain([anvil.httpUrl], {
      network: markets.network,
      report: (fact) => {
        if (fact.kind === 'rpc-called' && fact.method === 'eth_call') calls += 1
      },
    })
    return { endpoints, calls: () => calls }
  }

  function registryOn() {
    const { endpoints, calls } = endpointsOn()
    return { registry: new Registry(endpoints, markets.network), calls }
  }

  const realPools = () => ['v3 USDC/WETH 500', 'v3 USDC/WETH 3000'].map((name) => markets.market(name).id)

  test.each([
    ['revert', [REVERT]],
    ['burn all gas', [BURN]],
    ['flood', [FLOOD]],
    ['lie', [LIE]],
    ['do each of these', [REVERT, BURN, LIE, FLOOD]],
  ])('300 contracts that %s are decided in a few calls, and the real pools among them are kept', async (_, codes) => {
    const impostors: Address[] = []
    for (let count = 0; count < EMITTERS; count++) impostors.push(await place(codes[count % codes.length] ?? REVERT))
    const [first, second] = realPools() as [PoolId, PoolId]
    const ids = [...impostors.slice(0, 150), first, ...impostors.slice(150), second]
    const { registry, calls } = registryOn()
    const block = await anvil.block('latest')
    const skipped = await registry.resolvePools(ids.map(swapOf), block)
    expect(skipped.map(({ pool }) => pool).sort()).toEqual([...impostors].sort())
    expect(new Set(skipped.map(({ reason }) => reason))).toEqual(new Set(['other-factory']))
    expect([first, second].map((id) => registry.get(id)?.kind)).toEqual(['pool', 'pool'])
    expect(calls()).toBeLessThan(30)
  })

  test('250 tokens that burn all gas take neither many calls nor the metadata of the others', async () => {
    const hostile: Address[] = []
    for (let count = 0; count < 250; count++) hostile.push(await place(BURN))
    const { network, market } = markets
    const { token0, token1 } = market('v3 USDC/WETH 500')
    const { endpoints, calls } = endpointsOn()
    const addresses = [...hostile.slice(0, 100), token0.address, ...hostile.slice(100), token1.address]
    const tokens = await endpoints.run((client) => readTokens(client, network, addresses))
    expect(hostile.map((address) => tokens.get(address))).toEqual(hostile.map(() => undefined))
    expect([token0, token1].map(({ address }) => tokens.get(address)?.symbol)).toEqual([token0.symbol, token1.symbol])
    expect(calls()).toBeLessThan(80)
  })

  test('a node that takes no calls without a recipient decides the same, in more calls', async () => {
    const impostors: Address[] = []
    for (let count = 0; count < 30; count++) impostors.push(await place([BURN, REVERT, FLOOD][count % 3] ?? BURN))
    const [pool] = realPools() as [PoolId]
    const { endpoints } = endpointsOn()
    const keys = await endpoints.run((client) => {
      const request = (async (args: { method: string; params: [{ to?: Hex }] }) => {
        const isRefused = args.method === 'eth_call' && !args.params[0].to
        const error = { code: -32602, message: 'missing value for required argument: to' }
        if (isRefused) throw new RpcRequestError({ body: args, error, url: 'a node' })
        return client.request(args as never)
      }) as typeof client.request
      return readV3Keys({ ...client, request }, markets.network, [...impostors, pool])
    })
    expect(keys.map((key) => key.pool)).toEqual([pool])
  })

  test('a refused pool is not asked again', async () => {
    const impostor = await place(REVERT)
    const { registry, calls } = registryOn()
    const block = await anvil.block('latest')
    await registry.resolvePools([swapOf(impostor)], block)
    const before = calls()
    expect(await registry.resolvePools([swapOf(impostor)], block)).toEqual([])
    expect(calls()).toBe(before)
  })
})
