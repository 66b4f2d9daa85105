/** The address that a request counts for: its peer's, or the one that a trusted proxy in front has written into X-Forwarded-For. */
import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/** Proxies in front of the service: how many pass a request on, or the addresses that they have. */
export type TrustedProxies = { hops: number } | { addresses: readonly string[] }

/** An IPv4 address, or the /64 of an IPv6 one: a single host may use all addresses of its /64. Empty where the peer is gone. */
export type ClientAddress = (request: IncomingMessage) => string

type Address = ipaddr.IPv4 | ipaddr.IPv6
type Range = (address: Address) => boolean

/** As Express has them for `trust proxy`, in the words of ipaddr.js. */
const NAMED_RANGES: Readonly<Record<string, readonly string[]>> = {
  loopback: ['loopback'],
  linklocal: ['linkLocal'],
  uniquelocal: ['private', 'uniqueLocal'],
}

/**
 * X-Forwarded-For is read from its end, which the nearest proxy wrote, up to the first address that is not a trusted proxy's: addresses before
 * it is a claim of the client. An entry that is no address counts for the proxy that passed it on.
 */
export function openClientAddress(trusted: TrustedProxies | undefined): ClientAddress {
  const isTrusted = trustOf(trusted)
  return ({ socket, headers }) => {
    let client = addressIn(socket.remoteAddress)
    if (client === undefined) return ''
    if (!isTrusted(client, 0)) return countedAs(client)
    const forwarded = String(headers['x-forwarded-for'] ?? '').split(',')
    for (let hop = 0; isTrusted(client, hop); hop++) {
      const before = addressIn(forwarded.pop())
      if (before === undefined) break
      client = before
    }
    return countedAs(client)
  }
}

/** A single address, a range such as 10.0.0.0/8, or the name of some: loopback, linklocal, uniquelocal. */
export function isProxyAddress(text: string): boolean {
  return rangeOf(text) !== undefined
}

function trustOf(trusted: TrustedProxies | undefined): (address: Address, hop: number) => boolean {
  if (trusted === undefined) return () => false
  if ('hops' in trusted) return (_, hop) => hop < trusted.hops
  const ranges = trusted.addresses.map(rangeOf).filter((range) => range !== undefined)
  return (address) => ranges.some((has) => has(address))
}

/** Undefined for a text that names no address, and for a range of all addresses. */
function rangeOf(text: string): Range | undefined {
  const named = Object.hasOwn(NAMED_RANGES, text) ? NAMED_RANGES[text] : undefined
  if (named) return (address) => named.includes(address.range())
  const [address = '', bits, ...more] = text.split('/')
  const family = isIP(address)
  if (family === 0 || more.length > 0) return undefined
  const longest = family === 4 ? 32 : 128
  const length = bits === undefined ? longest : Number(/^[1-9]\d{0,2}$/.exec(bits)?.[0] ?? 0)
  if (length < 1 || length > longest) return undefined
  const start = ipaddr.parse(address)
  if (start instanceof ipaddr.IPv4) return (other) => other instanceof ipaddr.IPv4 && other.match(start, length)
  // Addresses of the form ::ffff:10.0.0.1 are compared as 10.0.0.1.
  if (start.isIPv4MappedAddress()) return undefined
  return (other) => other instanceof ipaddr.IPv6 && other.match(start, length)
}

function addressIn(text: string | undefined): Address | undefined {
  const bare = withoutPort((text ?? '').trim())
  return isIP(bare) === 0 ? undefined : ipaddr.process(bare)
}

/** Some proxies write `203.0.113.7:4711` and `[2001:db8::1]:4711`. */
function withoutPort(text: string): string {
  const [, bracketed, plain] = /^\[([^\]]{1,100})\](?::\d{1,5})?$|^([\d.]{7,15}):\d{1,5}$/.exec(text) ?? []
  return bracketed ?? plain ?? text
}

function countedAs(address: Address): string {
  if (address instanceof ipaddr.IPv4) return address.toString()
  const network = address.parts.slice(0, 4).map((part) => part.toString(16))
  return `${network.join(':')}::/64`
}
