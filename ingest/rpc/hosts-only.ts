/** Addresses of RPC endpoints are keys: of each only the host may be told. */

/** `text` with every address in it cut down to its host. */
export function hostsOnly(text: string): string {
  return text.replace(/\b(?:https?|wss?):\/\/[^\s"'<>)]+/g, hostOf)
}

export function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : 'an address'
}
