import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { describe, expect, test } from 'vitest'
import { isProxyAddress, openClientAddress, type TrustedProxies } from '../../../api/http/client-address.ts'

function addressOf(trusted: TrustedProxies | undefined, peer: string | undefined, forwarded?: string): string {
  const socket = Object.defineProperty(new Socket(), 'remoteAddress', { value: peer })
  const request = new IncomingMessage(socket)
  if (forwarded !== undefined) request.headers['x-forwarded-for'] = forwarded
  return openClientAddress(trusted)(request)
}

describe('the address that a request counts for', () => {
  test.each([
    ['203.0.113.7', '203.0.113.7'],
    ['::ffff:203.0.113.7', '203.0.113.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8:1:2::', '2001:db8:1:2::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    [undefined, ''],
  ])('the peer %s counts for %s without a proxy, whatever X-Forwarded-For says', (peer, expected) => {
    expect(addressOf(undefined, peer)).toBe(expected)
    expect(addressOf(undefined, peer, '198.51.100.1')).toBe(expected)
  })

  const PROXIES: TrustedProxies = { addresses: ['10.0.0.0/8', 'fd00::/8', '192.0.2.1'] }
  test.each([
    ['what the proxy wrote', '10.0.0.1', '198.51.100.1', '198.51.100.1'],
    ['the /64 of an IPv6 client', '10.0.0.1', '2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['what a proxy with a mapped address wrote', '::ffff:10.0.0.1', '198.51.100.1', '198.51.100.1'],
    ['what the first of two proxies wrote', 'fd00::1', '198.51.100.1, 192.0.2.1', '198.51.100.1'],
    ['not what the client claimed before it', '10.0.0.1', '1.1.1.1, 10.0.0.9, 198.51.100.1', '198.51.100.1'],
    ['an inner client, where all are proxies', '10.0.0.1', '10.0.0.7, 10.0.0.8', '10.0.0.7'],
    ['a client with a port', '10.0.0.1', '198.51.100.1:4711', '198.51.100.1'],
    ['an IPv6 client with a port', '10.0.0.1', '[2001:db8::1]:4711', '2001:db8:0:0::/64'],
    ['a peer that is no proxy', '203.0.113.7', '198.51.100.1', '203.0.113.7'],
    ['a proxy that passes nothing on', '10.0.0.1', undefined, '10.0.0.1'],
    ['a proxy that passes an empty header on', '10.0.0.1', '', '10.0.0.1'],
    ['the proxy that wrote no address', '10.0.0.1', '198.51.100.1, unknown', '10.0.0.1'],
    ['the proxy that wrote a number', '10.0.0.1', '2130706433', '10.0.0.1'],
    ['the proxy that wrote 8 kB', '10.0.0.1', '1'.repeat(8_000), '10.0.0.1'],
    ['the first of 5,000 proxies', '10.0.0.1', Array(5_000).fill('10.0.0.2').join(), '10.0.0.2'],
  ])('the address is %s', (_, peer, forwarded, expected) => {
    expect(addressOf(PROXIES, peer, forwarded)).toBe(expected)
  })

  test.each([
    [1, '198.51.100.1', '198.51.100.1'],
    [1, '1.1.1.1, 198.51.100.1', '198.51.100.1'],
    [2, '198.51.100.1, 192.0.2.1', '198.51.100.1'],
    [2, '1.1.1.1, 198.51.100.1, 192.0.2.1', '198.51.100.1'],
    [3, '198.51.100.1', '198.51.100.1'],
    [1, 'unknown', '203.0.113.7'],
    [2, 'unknown, 192.0.2.1', '192.0.2.1'],
  ])('the address with %s hops and %s is %s', (hops, forwarded, expected) => {
    expect(addressOf({ hops }, '203.0.113.7', forwarded)).toBe(expected)
  })
})

test('the names of proxies are those of Express', () => {
  for (const [name, peers] of [
    ['loopback', ['127.0.0.1', '127.9.9.9', '::1']],
    ['linklocal', ['169.254.1.1', 'fe80::1']],
    ['uniquelocal', ['10.1.1.1', '172.31.0.1', '192.168.1.1', 'fc00::1']],
  ] as const)
    for (const peer of peers) expect(addressOf({ addresses: [name] }, peer, '198.51.100.1'), peer).toBe('198.51.100.1')
})

test('an address of a proxy is one, or a range that leaves some out', () => {
  for (const text of ['10.0.0.1', '10.0.0.0/8', '::1', 'fd00::/8', 'loopback', 'linklocal', 'uniquelocal'])
    expect(isProxyAddress(text), text).toBe(true)
  for (const text of ['0.0.0.0/0', '::/0', '10.0.0.0/33', '10.0.0.0/8/8', '10.0.0.0/', '10.0.0.0/x', '10.0.0', 'true'])
    expect(isProxyAddress(text), text).toBe(false)
  for (const text of ['::ffff:10.0.0.0/104', 'fd00::/129', 'proxy.example.org', '*', '', 'constructor', '0x0a000001'])
    expect(isProxyAddress(text), text).toBe(false)
})
