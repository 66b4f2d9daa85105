import { describe, expect, test } from 'vitest'
import { readConfig } from '../../../infra/config/config.ts'

describe('the environment', () => {
  test('empty: a devnet, an in-process log, the embedded engine', () => {
    const config = readConfig({})
    expect(config).toMatchObject({
      chain: { kind: 'devnet' },
      log: { kind: 'in-process' },
      store: { kind: 'embedded' },
      host: '127.0.0.1',
      port: 3000,
      apiProcesses: 1,
      adminPort: undefined,
      adminHost: '127.0.0.1',
      readyTipSeconds: 300,
      logLevel: 'info',
    })
  })

  test('an RPC address alone chooses its network, from a day ago on', () => {
    const { chain } = readConfig({ BASE_RPC_URL: 'https://a.example, wss://b.example' })
    expect(chain).toMatchObject({
      kind: 'networks',
      networks: [
        {
          network: { name: 'base' },
          urls: ['https://a.example', 'wss://b.example'],
          isPublic: false,
          start: { kind: 'seconds-ago', seconds: 86_400 },
        },
      ],
    })
  })

  test('a network without an address is read from a public endpoint', () => {
    const { chain } = readConfig({ NETWORKS: 'polygon', POLYGON_START: '-5000' })
    expect(chain).toMatchObject({
      networks: [{ network: { name: 'polygon' }, isPublic: true, start: { kind: 'blocks-ago', blocks: 5000 } }],
    })
  })

  test.each([
    ['latest', { kind: 'latest' }],
    ['18937382', { kind: 'block', number: 18_937_382 }],
    ['90m', { kind: 'seconds-ago', seconds: 5_400 }],
    ['7d', { kind: 'seconds-ago', seconds: 604_800 }],
  ])('a start may be %s', (text, start) => {
    expect(readConfig({ ETHEREUM_RPC_URL: 'http://a.example', ETHEREUM_START: text }).chain).toMatchObject({
      networks: [{ start }],
    })
  })

  test('venues are read where they have factories, and a network may have its own', () => {
    const { chain } = readConfig({
      NETWORKS: 'base,polygon',
      VENUES: 'uniswap,slipstream',
      POLYGON_VENUES: 'uniswap,sushi',
    })
    const venues =
      chain.kind === 'networks' && chain.networks.map(({ network }) => network.venues?.map((it) => it.venue))
    expect(venues).toEqual([['slipstream'], ['sushi']])
    expect(readConfig({ NETWORKS: 'base', VENUES: 'uniswap' })).toEqual(readConfig({ NETWORKS: 'base' }))
  })

  test.each([
    [
      { NETWORKS: 'base', VENUES: 'uniswap,pancak' },
      'VENUES names something else than uniswap, sushi, pancake, slipstream, algebra',
    ],
    [{ NETWORKS: 'base', VENUES: 'sushi' }, 'VENUES does not name uniswap, which prices all others'],
    [
      { NETWORKS: 'ethereum,polygon', VENUES: 'uniswap,slipstream' },
      'VENUES names slipstream, which has no pools on ethereum, polygon',
    ],
    [
      { NETWORKS: 'polygon', POLYGON_VENUES: 'uniswap,pancake' },
      'POLYGON_VENUES names pancake, which has no pools there',
    ],
    [{ VENUES: 'uniswap,sushi' }, 'VENUES names sushi, which has no pools on the devnet'],
  ])('venues %j are refused: %s', (environment, message) => {
    expect(() => readConfig(environment)).toThrow(message)
  })

  test.each([
    ['25/s', { perSecond: 25, perDay: undefined }],
    ['2000000/d', { perSecond: undefined, perDay: 2_000_000 }],
    ['25/s,2000000/d', { perSecond: 25, perDay: 2_000_000 }],
    ['2000000/d, 25/s', { perSecond: 25, perDay: 2_000_000 }],
  ])('a request budget may be %s', (text, budget) => {
    expect(readConfig({ NETWORKS: 'base', BASE_RPC_BUDGET: text }).chain).toMatchObject({ networks: [{ budget }] })
  })

  test.each(['25', '25/m', '0/s', '1.5/s', '25/s,30/s', '25/s;9/d', '25/s,'])('a request budget is not %s', (text) => {
    expect(() => readConfig({ NETWORKS: 'base', BASE_RPC_BUDGET: text })).toThrow(
      'BASE_RPC_BUDGET is not a number of requests a second, a UTC day, or both: `25/s`, `2000000/d` or `25/s,2000000/d`',
    )
  })

  test('a network may be polled in a period of 1 to 60 seconds', () => {
    const pollOf = (text: string) => readConfig({ NETWORKS: 'base', BASE_POLL: text }).chain
    for (const [text, pollSeconds] of [
      ['1s', 1],
      ['5s', 5],
      ['60s', 60],
    ] as const)
      expect(pollOf(text)).toMatchObject({ networks: [{ pollSeconds }] })
    for (const text of ['0s', '61s', '5', '500ms', '1m', '1.5s'])
      expect(() => pollOf(text), text).toThrow('BASE_POLL is not a period from `1s` to `60s`')
  })

  test('a server has one user for everything, and two with fewer rights where their passwords are named', () => {
    const server = { CLICKHOUSE_URL: 'http://a.example', CLICKHOUSE_USER: 'owner', CLICKHOUSE_PASSWORD: 'secret' }
    expect(readConfig(server).store).toMatchObject({ apiPassword: undefined, accountsPassword: undefined })
    const named = { CLICKHOUSE_API_PASSWORD: 'reads', CLICKHOUSE_ACCOUNTS_PASSWORD: 'counts' }
    expect(readConfig({ ...server, ...named }).store).toMatchObject({
      username: 'owner',
      password: 'secret',
      apiPassword: 'reads',
      accountsPassword: 'counts',
    })
  })

  test('the admin port may listen elsewhere', () => {
    expect(readConfig({ ADMIN_PORT: '9464', ADMIN_HOST: '0.0.0.0' })).toMatchObject({
      adminPort: 9464,
      adminHost: '0.0.0.0',
    })
  })

  test('every bad variable is reported, with its rule and without its value', () => {
    const bad = {
      NETWORKS: 'ethereum,solana',
      ETHEREUM_RPC_URL: 'ftp://user:secret@a.example',
      ETHEREUM_START: 'yesterday',
      POOLS: '0x1234',
      KAFKA_BROKERS: 'broker',
      CLICKHOUSE_URL: 'clickhouse',
      CLICKHOUSE_CLUSTER: 'a, b',
      CLICKHOUSE_DATABASE: 'a b',
      PORT: '99999',
      READY_TIP_SECONDS: '5m',
      BOOTSTRAP_API_KEY: 'short',
      LOG_LEVEL: 'loud',
    }
    expect(() => readConfig(bad)).toThrowErrorMatchingInlineSnapshot(`
      [BadConfiguration: The environment has 12 bad values:
        ETHEREUM_RPC_URL is not a list of http(s) or ws(s) addresses, comma separated
        ETHEREUM_START is not a block number, \`latest\`, \`-5000\` (blocks before the head) or a duration such as \`24h\`
        NETWORKS names something else than ethereum, arbitrum, polygon, base, optimism
        POOLS holds something that is neither a v3 pool address (20 bytes) nor a v4 pool id (32 bytes)
        KAFKA_BROKERS is not a list of host:port, comma separated
        CLICKHOUSE_URL is not an http(s) address, or those of a cluster, comma separated
        CLICKHOUSE_CLUSTER is not a name of letters, digits, underscores and hyphens
        CLICKHOUSE_DATABASE is not a name of letters, digits and underscores
        PORT is not a port: a number from 0 to 65535
        READY_TIP_SECONDS is not a number of seconds from 1 to 999999
        BOOTSTRAP_API_KEY is shorter than 16 characters: it could be guessed
        LOG_LEVEL is none of trace, debug, info, warn, error, fatal, silent]
    `)
  })

  test.each([
    ['with a blank', 'holds a blank or a character that is not ASCII, which no header takes'],
    [' leading-blank-0123', 'holds a blank or a character that is not ASCII, which no header takes'],
    ['schlüssel-des-betreibers', 'holds a blank or a character that is not ASCII, which no header takes'],
    ['a-key-with-a\nnew-line', 'holds a blank or a character that is not ASCII, which no header takes'],
    ['x'.repeat(257), 'is longer than 256 characters'],
  ])('a bootstrap key that no request could send is refused: %j', (key, rule) => {
    const padded = key.padEnd(16, '-')
    expect(() => readConfig({ BOOTSTRAP_API_KEY: padded })).toThrow(`BOOTSTRAP_API_KEY ${rule}`)
    expect(readConfig({ BOOTSTRAP_API_KEY: '!a-key~of:my,own"choice' }).bootstrapApiKey).toBe('!a-key~of:my,own"choice')
  })

  test('origins that may frame the chart are whole origins, as browsers write them', () => {
    const { embedOrigins } = readConfig({ EMBED_ORIGINS: 'https://Example.org, http://a.example:8080' })
    expect(embedOrigins).toEqual(['https://example.org', 'http://a.example:8080'])
    expect(readConfig({}).embedOrigins).toBeUndefined()
    // They become part of a policy, in which these have a meaning.
    for (const text of [
      '*',
      'https://*.example.org',
      'https://a.example/',
      'https://a.example:443',
      "'self'",
      'a.example',
    ])
      expect(() => readConfig({ EMBED_ORIGINS: text }), text).toThrow('EMBED_ORIGINS is not a list of origins such as')
    for (const text of ['https://a.example; script-src *', 'https://a;b.example', 'null', 'https://u@a.example'])
      expect(() => readConfig({ EMBED_ORIGINS: text }), text).toThrow('EMBED_ORIGINS is not a list of origins such as')
    expect(() => readConfig({ EMBED_ORIGINS: ' , ' })).toThrow('EMBED_ORIGINS names no origin')
  })

  test('proxies are trusted by number or by address, and never all addresses', () => {
    expect(readConfig({}).trustedProxies).toBeUndefined()
    expect(readConfig({ TRUST_PROXY: '2' }).trustedProxies).toEqual({ hops: 2 })
    const { trustedProxies } = readConfig({ TRUST_PROXY: 'loopback, 10.0.0.0/8,2001:db8::1' })
    expect(trustedProxies).toEqual({ addresses: ['loopback', '10.0.0.0/8', '2001:db8::1'] })
    for (const text of ['true', '0', '33', '1.5', '10.0.0.0/0', '::/0', 'proxy.example.org', ',', '10.0.0.1 10.0.0.2'])
      expect(() => readConfig({ TRUST_PROXY: text }), text).toThrow(
        'TRUST_PROXY is neither a number of proxies from 1 to 32 nor a list of their addresses, such as 10.0.0.0/8',
      )
  })

  test('a cluster is named with the address of each of its servers', () => {
    const CLICKHOUSE_URL = 'http://a.example:8123, http://b.example:8123'
    const { store } = readConfig({ CLICKHOUSE_URL, CLICKHOUSE_CLUSTER: 'market' })
    const urls = ['http://a.example:8123', 'http://b.example:8123']
    expect(store).toMatchObject({ kind: 'server', url: urls[0], cluster: { name: 'market', urls } })
    expect(readConfig({ CLICKHOUSE_URL: urls[0] }).store).toMatchObject({ url: urls[0], cluster: undefined })
    expect(() => readConfig({ CLICKHOUSE_URL })).toThrowErrorMatchingInlineSnapshot(`
      [BadConfiguration: The environment has a bad value:
        CLICKHOUSE_URL names several servers, and CLICKHOUSE_CLUSTER no cluster of them]
    `)
    expect(() => readConfig({ CLICKHOUSE_CLUSTER: 'market' })).toThrowErrorMatchingInlineSnapshot(`
      [BadConfiguration: The environment has a bad value:
        CLICKHOUSE_CLUSTER needs the address of each of its servers in CLICKHOUSE_URL]
    `)
  })

  test('an empty variable is an unset one', () => {
    expect(readConfig({ NETWORKS: '', PORT: '' })).toMatchObject({ chain: { kind: 'devnet' }, port: 3000 })
  })
})
