import { describe, expect, test } from 'vitest'
import { readConfig } from '../../../infra/config/config.ts'
import { headersFor, proxyFor } from '../../../infra/config/rpc-access.ts'
import { createRedactor } from '../../../infra/config/secrets.ts'

const ONE = { ETHEREUM_RPC_URL: 'https://a.example/v3' }
const TWO = { ETHEREUM_RPC_URL: 'https://a.example,wss://a.example,http://b.example:8545' }
const accessOf = (environment: Record<string, string>) => {
  const { chain } = readConfig(environment)
  return chain.kind === 'networks' ? chain.networks[0]?.access : undefined
}
const sent = (environment: Record<string, string>, url: string) =>
  headersFor(new URL(url), accessOf(environment)?.headers ?? [])

describe('headers of a network', () => {
  test('headers go to the only host of a network', () => {
    const environment = { ...ONE, ETHEREUM_RPC_HEADERS: 'Authorization: Bearer a.b=, X-Key:k' }
    expect(sent(environment, 'https://a.example/v3')).toEqual({ authorization: 'Bearer a.b=', 'x-key': 'k' })
    expect(accessOf(ONE)).toBeUndefined()
  })

  test('headers go to the host that is named before them, or to all of several hosts', () => {
    const environment = { ...TWO, ETHEREUM_RPC_HEADERS: 'A.example X-A: 1 2, b.example:8545 X-B: 2, * X-C: a: b' }
    expect(sent(environment, 'wss://a.example')).toEqual({ 'x-a': '1 2', 'x-c': 'a: b' })
    expect(sent(environment, 'http://b.example:8545')).toEqual({ 'x-b': '2', 'x-c': 'a: b' })
  })

  test.each([
    [ONE, 'Bearer abc', 'ETHEREUM_RPC_HEADERS is not a list of headers'],
    [ONE, 'X-Key: a\r\nX-Other: b', 'ETHEREUM_RPC_HEADERS is not a list of headers'],
    [ONE, 'X-Key: schlüssel', 'ETHEREUM_RPC_HEADERS is not a list of headers'],
    [ONE, `X-Key: ${'k'.repeat(3_000)}`, 'ETHEREUM_RPC_HEADERS is not a list of headers'],
    [ONE, Array.from({ length: 17 }, (_, it) => `X-${it}: a`).join(','), 'has more than 16 headers'],
    [ONE, 'Host: b.example', 'names a header that is part of the transport'],
    [ONE, 'Sec-WebSocket-Key: a', 'names a header that is part of the transport'],
    [ONE, 'c.example X-Key: a', 'names a host before x-key that no address of the network has'],
    [TWO, 'X-Key: a', 'names no host before x-key, and the network has several'],
    [{ NETWORKS: 'ethereum' }, 'X-Key: a', 'ETHEREUM_RPC_HEADERS needs ETHEREUM_RPC_URL: public endpoints get no key'],
  ])('a network of %j refuses the headers %j', (environment, text, message) => {
    expect(() => readConfig({ ...environment, ETHEREUM_RPC_HEADERS: text })).toThrow(message)
    expect(() => readConfig({ ...environment, ETHEREUM_RPC_HEADERS: text })).not.toThrow('abc')
  })

  test('headers are redacted, whole and in parts, with the password of a proxy', () => {
    const basic = Buffer.from('me:pa55word').toString('base64')
    const hide = createRedactor(
      readConfig({
        ...ONE,
        ETHEREUM_RPC_HEADERS: `Authorization: Bearer t0ken-of-mine, X-Basic: Basic ${basic}`,
        HTTPS_PROXY: 'http://u:pr0xy-pass@p.example:3128',
      }),
    )
    const said = hide(`t0ken-of-mine Bearer t0ken-of-mine ${basic} pa55word pr0xy-pass a.example p.example`)
    expect(said).toBe('*** *** *** *** *** a.example p.example')
  })
})

describe('the proxy of an address', () => {
  const rules = { HTTP_PROXY: 'http://plain.example:80', HTTPS_PROXY: 'secure.example:3128' }
  const proxyOf = (url: string, environment: Record<string, string> = rules) =>
    proxyFor(new URL(url), accessOf({ ...ONE, ...environment })?.proxies)

  test('the proxy is that of the kind of an address', () => {
    for (const url of ['https://a.example', 'wss://a.example']) expect(proxyOf(url)).toBe('http://secure.example:3128')
    for (const url of ['http://a.example', 'ws://a.example']) expect(proxyOf(url)).toBe('http://plain.example:80')
    expect(proxyOf('http://a.example', { HTTPS_PROXY: 'http://p.example' })).toBeUndefined()
    expect(proxyOf('https://a.example', {})).toBeUndefined()
  })

  test('a proxy may be named in small letters, which precede', () => {
    expect(proxyOf('https://a.example', { https_proxy: 'http://small.example', ...rules })).toBe('http://small.example')
    expect(proxyOf('https://a.example', { ...rules, no_proxy: 'a.example' })).toBeUndefined()
  })

  test.each(['http://localhost:8545', 'http://127.0.0.1', 'https://127.9.9.9', 'ws://[::1]:8546'])(
    'an address of this machine has no proxy: %s',
    (url) => expect(proxyOf(url)).toBeUndefined(),
  )

  test.each([
    ['*', 'https://a.example', true],
    ['a.example', 'https://a.example', true],
    ['.example', 'https://a.example', true],
    ['*.example', 'https://a.example', true],
    ['b.example, A.EXAMPLE', 'https://a.example', true],
    ['b.example a.example', 'https://a.example', true],
    ['a.example:443', 'https://a.example', true],
    ['a.example:8443', 'https://a.example', false],
    ['ample', 'https://a.example', false],
    ['10.0.0.0/8', 'https://10.1.2.3', true],
    ['10.0.0.0/8', 'https://11.1.2.3', false],
    ['10.1.2.3', 'https://10.1.2.3:8545', true],
    ['fd00::/8', 'https://[fd00::1]:8545', true],
    ['[fd00::1]:8545', 'https://[fd00::1]:8545', true],
    ['fd00::1', 'https://[fd00::1]', true],
    ['10.0.0.0/99', 'https://10.1.2.3', false],
    ['/', 'https://a.example', false],
  ])('NO_PROXY=%s and %s: exempt is %s', (exempt, url, isExempt) => {
    expect(proxyOf(url, { ...rules, NO_PROXY: exempt }) === undefined).toBe(isExempt)
  })

  test.each(['socks5://p.example:1080', 'http://', 'ftp://p.example'])('a proxy is refused as %s', (address) => {
    expect(() => readConfig({ HTTPS_PROXY: address })).toThrow('HTTPS_PROXY is not the http(s) address of a proxy')
  })
})
