/** How the endpoints of a network are reached: headers that hold keys, proxies, and limits on requests. */
import { BlockList, isIP } from 'node:net'
import { z } from 'zod'
import type { BudgetLimits } from '../../ingest/rpc/endpoints/request-budget.ts'
import { listOf, matching } from './values.ts'

/** `host`: of one endpoint, with or without its port; `*`: of all; absent: the network has one host. */
export type RpcHeader = { host: string | undefined; name: string; value: string }

/** Addresses of proxies, and hosts that are reached without one. */
export type ProxyRules = { http: string | undefined; https: string | undefined; exempt: readonly string[] }

export type RpcAccess = { headers: readonly RpcHeader[]; proxies: ProxyRules | undefined }

export const DIRECT: RpcAccess = { headers: [], proxies: undefined }

const MAX_HEADERS = 16
const HEADER =
  /^(?:(\*|[^\s*]*[^\s:*]) +)?([!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}): *([\x21-\x7e](?:[\x20-\x7e]{0,2046}[\x21-\x7e])?)$/
/** They are part of the transport. */
const RESERVED =
  /^(host|connection|content-.*|transfer-encoding|accept-encoding|upgrade|te|trailer|expect|keep-alive|proxy-.*|sec-.*)$/i
const RULE =
  'is not a list of headers such as `Authorization: Bearer …`, comma separated, each with its host before it where there are several: `a.example X-Key: …`, or `* X-Key: …` for all'

export const rpcHeaders = listOf(matching(HEADER, RULE), 'names no header')
  .refine((texts) => texts.length <= MAX_HEADERS, `has more than ${MAX_HEADERS} headers`)
  .transform((texts) =>
    texts.map((text): RpcHeader => {
      const [, host, name = '', value = ''] = HEADER.exec(text) ?? []
      return { host: host?.toLowerCase(), name: name.toLowerCase(), value }
    }),
  )
  .refine(
    (headers) => headers.every(({ name }) => !RESERVED.test(name)),
    'names a header that is part of the transport',
  )

const NO_PROXY_RULE = 'is not the http(s) address of a proxy'
const proxyAddress = z
  .string()
  .transform((text) => (text.includes('://') ? text : `http://${text}`))
  .refine((text) => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol), NO_PROXY_RULE)

export const proxyVariables = {
  HTTP_PROXY: proxyAddress.optional(),
  HTTPS_PROXY: proxyAddress.optional(),
  NO_PROXY: z.string().optional(),
}

/** Undefined where no proxy is named. */
export function proxiesOf(it: z.infer<z.ZodObject<typeof proxyVariables>>): ProxyRules | undefined {
  const { HTTP_PROXY: http, HTTPS_PROXY: https, NO_PROXY: exempt = '' } = it
  if (http === undefined && https === undefined) return undefined
  return {
    http,
    https,
    exempt: exempt
      .toLowerCase()
      .split(/[\s,]+/)
      .filter((entry) => entry !== ''),
  }
}

/** Headers that belong to no endpoint, or to an unknown number of them, with what to do. */
export function headerProblems(variable: string, headers: readonly RpcHeader[], urls: readonly string[]): string[] {
  const known = new Set(urls.flatMap((url) => [new URL(url).host, new URL(url).hostname]))
  const hosts = new Set(urls.map((url) => new URL(url).hostname))
  return headers.flatMap(({ host, name }) => {
    if (host === undefined && hosts.size > 1)
      return [`${variable} names no host before ${name}, and the network has several: name one, or \`*\` for all`]
    return host === undefined || host === '*' || known.has(host)
      ? []
      : [`${variable} names a host before ${name} that no address of the network has`]
  })
}

export function headersFor(url: URL, headers: readonly RpcHeader[]): Record<string, string> {
  const own = headers.filter(({ host = '*' }) => host === '*' || host === url.host || host === url.hostname)
  return Object.fromEntries(own.map(({ name, value }) => [name, value]))
}

/** The proxy of an address; undefined where it is reached directly, as this machine is. */
export function proxyFor({ protocol, hostname, port }: URL, rules: ProxyRules | undefined): string | undefined {
  const isSecure = protocol === 'https:' || protocol === 'wss:'
  const proxy = isSecure ? rules?.https : rules?.http
  const host = hostname.replace(/^\[|\]$/g, '')
  if (!rules || proxy === undefined || /^(localhost|127(\.\d+){3}|::1)$/.test(host)) return undefined
  const usedPort = port || (isSecure ? '443' : '80')
  return rules.exempt.some((entry) => isExempt(entry, host, usedPort)) ? undefined : proxy
}

/** `*`, a host with all below it, an address or a block of addresses, each with a port or without. */
function isExempt(entry: string, host: string, port: string): boolean {
  const [, bare = '', ofPort] = /^\[?(.*?)\]?(?::(\d+))?$/.exec(isIP(entry) ? `[${entry}]` : entry) ?? []
  if (ofPort !== undefined && ofPort !== port) return false
  const [address = '', bits] = bare.split('/')
  const family = isIP(address)
  if (bits !== undefined && family > 0) {
    const kind = family === 4 ? 'ipv4' : 'ipv6'
    if (isIP(host) !== family || !/^\d{1,3}$/.test(bits) || Number(bits) > (family === 4 ? 32 : 128)) return false
    const block = new BlockList()
    block.addSubnet(address, Number(bits), kind)
    return block.check(host, kind)
  }
  const name = bare.replace(/^\*?\./, '')
  return bare === '*' || host === name || (family === 0 && host.endsWith(`.${name}`))
}

const BUDGET_RULE = 'is not a number of requests a second, a UTC day, or both: `25/s`, `2000000/d` or `25/s,2000000/d`'
const PER_SECOND = /([1-9]\d{0,5})\/s/
const PER_DAY = /([1-9]\d{0,11})\/d/
const BUDGET = new RegExp(
  `^ *(${PER_SECOND.source}( *, *${PER_DAY.source})?|${PER_DAY.source}( *, *${PER_SECOND.source})?) *$`,
)

/** Each part is given once at most. */
export const requestBudget = matching(BUDGET, BUDGET_RULE).transform((text): BudgetLimits => {
  const [perSecond, perDay] = [PER_SECOND, PER_DAY].map((part) => {
    const digits = part.exec(text)?.[1]
    return digits === undefined ? undefined : Number(digits)
  })
  return { perSecond, perDay }
})

/** In seconds. */
export const pollPeriod = matching(/^([1-9]|[1-5]\d|60)s$/, 'is not a period from `1s` to `60s`').transform((text) =>
  Number.parseInt(text, 10),
)
