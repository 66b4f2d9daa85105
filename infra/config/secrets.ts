/** Redaction of secrets: keys in endpoint addresses, passwords, API keys. */
import type { Config } from './config.ts'
import { configuredNetworks } from './networks.ts'
import type { ServerConfig } from './server-config.ts'

const REDACTED = '***'

/** Replaces secrets of this configuration, and everything shaped like an API key, in any text. */
export function createRedactor(
  config: Pick<Config, 'chain' | 'store' | 'log' | 'publish' | 'bootstrapApiKey'>,
): (text: string) => string {
  const { store, log, publish, bootstrapApiKey } = config
  const own = configuredNetworks(config).filter(({ isPublic }) => !isPublic)
  const secrets = [
    ...own.flatMap(({ urls }) => urls.flatMap(secretsIn)),
    ...own.flatMap(({ access }) => access?.headers.flatMap(({ value }) => secretsOfHeader(value)) ?? []),
    ...configuredNetworks(config).flatMap(({ access }) =>
      [access?.proxies?.http, access?.proxies?.https].flatMap((it) => (it === undefined ? [] : secretsIn(it))),
    ),
    ...(store.kind === 'server' ? secretsOf(store) : []),
    ...(log.kind === 'kafka' ? log.secrets.flatMap(passwords) : []),
    ...passwords(publish?.registry?.password ?? ''),
    ...(bootstrapApiKey === undefined ? [] : [bootstrapApiKey]),
  ]
  // A longer one may hold a shorter one.
  const ordered = [...new Set(secrets)].sort((a, b) => b.length - a.length)
  return (text) => ordered.reduce((rest, secret) => rest.replaceAll(secret, REDACTED), redactAddresses(text))
}

function secretsOf({ url, cluster, password, apiPassword = '', accountsPassword = '' }: ServerConfig): string[] {
  const urls = cluster?.urls ?? [url]
  return [...urls.flatMap(secretsIn), ...[password, apiPassword, accountsPassword].flatMap(passwords)]
}

/** Keeps scheme and host of each address: paths, queries and users of RPC endpoints hold keys. */
export function redactAddresses(text: string): string {
  return text
    .replace(/\b(https?|wss?):\/\/[^\s"'<>)]+/g, (address) => {
      const parsed = URL.canParse(address) ? new URL(address) : undefined
      return parsed ? `${parsed.protocol}//${parsed.host}` : 'an address'
    })
    .replace(/\bcp_[\w-]{16,}/g, REDACTED)
}

/** Error texts of a node may quote the request path: its parts are redacted too, plain and percent-encoded. */
function secretsIn(address: string): string[] {
  const { username, password, pathname, searchParams } = new URL(address)
  const named = [username, ...searchParams.values()].filter((it) => it.length >= 8)
  const placed = pathname.split('/').filter(mayBeKey)
  const written = [...named, ...placed, ...passwords(password)].flatMap((part) => [part, decoded(part)])
  // As it travels: in the header `Authorization`.
  const sent = password === '' ? [] : [Buffer.from(`${decoded(username)}:${decoded(password)}`).toString('base64')]
  return [...written, ...sent]
}

/** The secrets of a header: its value, its words of 8 letters or more (not `Bearer`), and user and password from base64. */
function secretsOfHeader(value: string): string[] {
  const parts = value.split(/[\s;,]+/)
  const words = [...parts, ...parts.flatMap((part) => part.split('='))].filter((word) => word.length >= 8)
  const pairs = words
    .map((word) => Buffer.from(word, 'base64').toString())
    .filter((text) => /^[\x20-\x7e]+:/.test(text))
  return [...passwords(value), ...words, ...pairs.flatMap((pair) => passwords(pair.slice(pair.indexOf(':') + 1)))]
}

/** False for `v3` and `mainnet`. */
function mayBeKey(part: string): boolean {
  return part.length >= 16 || (part.length >= 8 && /\d/.test(part))
}

/** Shorter ones occur inside ordinary words. */
function passwords(password: string): string[] {
  return password.length >= 4 ? [password] : []
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
