/** What must never be told: keys of endpoints, passwords, keys of the API. */
import type { Config } from './config.ts'
import { configuredNetworks } from './networks.ts'
import type { ServerConfig } from './server-config.ts'

const REDACTED = '***'

/** Takes what this configuration holds in secret out of any text, and whatever looks like a key of ours. */
export function createRedactor(config: Pick<Config, 'chain' | 'store' | 'bootstrapApiKey'>): (text: string) => string {
  const { store, bootstrapApiKey } = config
  const own = configuredNetworks(config).filter(({ isPublic }) => !isPublic)
  const secrets = [
    ...own.flatMap(({ urls }) => urls.flatMap(secretsIn)),
    ...(store.kind === 'server' ? secretsOf(store) : []),
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

/** Of an address only scheme and host stay: paths, queries and users of RPC endpoints are keys. */
export function redactAddresses(text: string): string {
  return text
    .replace(/\b(https?|wss?):\/\/[^\s"'<>)]+/g, (address) => {
      const parsed = URL.canParse(address) ? new URL(address) : undefined
      return parsed ? `${parsed.protocol}//${parsed.host}` : 'an address'
    })
    .replace(/\bcp_[\w-]{16,}/g, REDACTED)
}

/** A node may repeat the path that it was asked at, so its parts are hidden as well, as they are and as they are written. */
function secretsIn(address: string): string[] {
  const { username, password, pathname, searchParams } = new URL(address)
  const named = [username, ...searchParams.values()].filter((it) => it.length >= 8)
  const placed = pathname.split('/').filter(mayBeKey)
  const written = [...named, ...placed, ...passwords(password)].flatMap((part) => [part, decoded(part)])
  // As it travels: in the header `Authorization`.
  const sent = password === '' ? [] : [Buffer.from(`${decoded(username)}:${decoded(password)}`).toString('base64')]
  return [...written, ...sent]
}

/** `v3` and `mainnet` are none. */
function mayBeKey(part: string): boolean {
  return part.length >= 16 || (part.length >= 8 && /\d/.test(part))
}

/** One that is shorter hides nothing, and would be found in half of all words. */
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
